"""From one cluster of the fleet to what has to be installed for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from osm_gitops.commands.install.install_plan import InstallPlan, Jobs
from osm_gitops.commands.install.jobs import FILES
from osm_gitops.config.setting_flags import arguments
from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget, SourceSpec
from osm_gitops.errors import InputError
from osm_gitops.kube.connecting import connect
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import load_inputs, load_settings
from osm_gitops.render.resolve.named_facts import named_facts, named_profiles
from osm_gitops.sops.search import KeySearch
from osm_gitops.sources.cluster import read_machines

_BUNDLES: Final[Mapping[str, str]] = {
    "kubernetes-ca-bundle": "kubernetes_ca_bundle",
    "host-ca-bundle": "host_ca_bundle",
}


def machines_of(spec: ClusterSpec, environment: Mapping[str, str]) -> Sequence[MachineDeployment]:
    """The MachineDeployments of a cluster's source; nothing else is read. Raises InputError and ClusterError."""
    machines = spec.source.machines
    if isinstance(machines, LiveRef):
        return read_machines(connect(spec.worker, environment)).machines
    alone = replace(spec, source=SourceSpec(machines, machines, machines), overlays=())
    inputs = load_inputs(alone, load_settings(spec), environment, KeySearch(environment, without_keys=True))
    if inputs.unreadable:  # what was not read may name anything
        raise InputError(inputs.unreadable)
    return inputs.machines


def for_cluster(plan: InstallPlan, spec: ClusterSpec, machines: Sequence[MachineDeployment]) -> InstallPlan:
    """``plan`` with what the cluster's settings and MachineDeployments add to it. Raises InputError."""
    settings = load_settings(spec)
    profiles = named_profiles(machines, settings.namespace)
    made = replace(
        plan,
        namespace=settings.namespace,
        profile_namespaces=tuple(sorted({settings.namespace, *(namespace for namespace, _ in profiles)})),
        split=plan.split or spec.worker != spec.management,
        named=named_facts(machines, settings),
        default_profiles=not settings.disable_default_osps,
        applies_machines=spec.source.applies_machines,
        into_git=plan.into_git and not isinstance(spec.target, LiveTarget),
    )
    if made.jobs is None or made.repo is not None:  # there the fleet file has them
        return made
    jobs = replace(made.jobs, arguments=(*made.jobs.arguments, *_overlays(spec)))
    return replace(made, jobs=_with_settings(jobs, spec.settings, settings))


def _overlays(spec: ClusterSpec) -> tuple[str, ...]:
    """Those that come with the program; a job has no other."""
    return tuple(f"--overlay={overlay.display}" for overlay in spec.overlays if overlay.built_in)


def _with_settings(jobs: Jobs, given: Sequence[RawSetting], settings: Settings) -> Jobs:
    files = {f"{flag}.pem": getattr(settings, attribute) for flag, attribute in _BUNDLES.items()}
    ordered = sorted(given, key=lambda setting: setting.name)
    return replace(
        jobs,
        arguments=(*jobs.arguments, *arguments(ordered, FILES)),
        files={name: text for name, text in files.items() if text},
    )
