"""What is to be installed for a cluster of the fleet: the decisions, from which all manifests follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from osm_gitops.config.settings import RawSetting, arguments
from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget, SourceSpec
from osm_gitops.errors import InputError
from osm_gitops.kube.api import connect
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.load import load_inputs, load_settings
from osm_gitops.render.resolve.named_facts import NamedFacts, named_facts, named_profiles
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sources.cluster import read_machines

DEFAULT_HOME = "osm-gitops"
DEFAULT_SCHEDULE = "*/10 * * * *"
DEFAULT_AUTHOR = ("osm-gitops", "osm-gitops@localhost")


class Part(Enum):
    """What can be printed on its own; in the order in which it is applied."""

    CRDS = "crds"
    GETTER = "getter"
    ACCOUNTS = "accounts"
    ADMISSION = "admission"
    JOBS = "jobs"
    INIT = "init"
    UNINSTALL = "uninstall"


WRITER: Final = "osm-gitops"
TOKEN_SUFFIX: Final = "-token"  # noqa: S105 - of the names of Secrets
READER: Final = "osm-gitops-reader"
UNINSTALLER: Final = "osm-gitops-uninstall"
"""Name of the roles with which the writer may give a cluster back."""
INITIALIZER: Final = "osm-gitops-init"
"""Name of the roles with which the reader may write a config repo from a cluster."""
FILES: Final = "/etc/osm-gitops/files"
"""Folder of the files of settings in the containers of jobs."""

INSTALLED: Final = frozenset(Part) - {Part.INIT, Part.UNINSTALL}
"""What runs need. The rights of ``init --from cluster`` and ``uninstall`` are printed only where they are asked for."""


@dataclass(frozen=True, slots=True)
class ConfigRepo:
    """A config repo that runs are made from: ``ref`` may be empty. The Secrets lie in the namespace of the jobs:
    ``token_secret`` has the key ``token``, ``age_secret`` the key ``age.agekey``; ``ssh_secret`` is as Flux has it,
    with ``identity`` and ``known_hosts``. ``author`` is name and mail of the commits."""

    url: str
    ref: str = ""
    token_secret: str = ""
    ssh_secret: str = ""
    age_secret: str = ""
    author: tuple[str, str] = DEFAULT_AUTHOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """How runs are made. ``arguments`` are passed on to all of them; ``files`` are texts by name that arguments may
    name below ``FILES``; ``environment_secrets`` become environment variables."""

    image: str
    schedule: str = DEFAULT_SCHEDULE
    pull_secrets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    environment_secrets: tuple[str, ...] = ()
    worker_kubeconfig_secret: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """Everything that the manifests depend on.

    ``namespace`` is that of configurations, ``profile_namespaces`` are those in which MachineDeployments look for their
    profiles, that one among them; ``home`` is that of our own accounts and jobs. ``split``: the worker cluster is
    another one than the management cluster. ``named`` is what settings and MachineDeployments name, ``more`` are
    Secrets besides, by namespace and name. ``writers`` are users, and ``group:`` names groups, that may change
    configurations besides our own account. With a ``repo`` runs start from it; ``into_git``: they commit to it, and
    others bring that to the clusters. ``default_profiles``: pools may use built-in profiles, which runs then write.
    ``applies_machines``: runs apply the MachineDeployments of the repo.
    """

    namespace: str = "kube-system"
    profile_namespaces: tuple[str, ...] = ("kube-system",)
    home: str = DEFAULT_HOME
    split: bool = False
    named: NamedFacts = field(default_factory=lambda: named_facts((), Settings()))
    more: tuple[tuple[str, str], ...] = ()
    writers: tuple[str, ...] = ()
    repo: ConfigRepo | None = None
    into_git: bool = False
    default_profiles: bool = True
    applies_machines: bool = False
    jobs: Jobs | None = None


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


PART_OF: Final = "app.kubernetes.io/part-of"
PROGRAM: Final = "osm-gitops"
