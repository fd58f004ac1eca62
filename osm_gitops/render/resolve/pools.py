"""One pool resolved: its profile, its decoded provider config, its facts (osm-behaviour.md, "Profile selection" and
"Template data").

Every refusal that concerns a MachineDeployment and its inputs is raised here, all of one pool at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.gojson import annotations_hash
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import (
    PROFILE_ANNOTATION,
    PROFILE_NAMESPACE_ANNOTATION,
    REVISION_ANNOTATION,
    KubeletOptions,
    MachineDeployment,
    Network,
    OsSpec,
    ProviderConfig,
)
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.render.resolve.cloudconfig import CloudConfig, cloud_config
from osm_gitops.render.resolve.cluster_info import ClusterFacts, ErrorCollector
from osm_gitops.render.resolve.kubelet import kubelet_options
from osm_gitops.render.resolve.machine_spec import (
    decode_os_spec,
    decode_provider_config,
    dist_upgrade,
    kube_version,
    provisioning_utility,
    readable_provider_config,
)

_DEFAULTED_SYSTEMS = frozenset({"ubuntu", "flatcar", "amzn2", "rockylinux", "rhel"})
IN_TREE_PROVIDERS: Final = frozenset({"aws", "azure", "gce", "vsphere"})
"""Those for which kubelets had cloud providers of their own (osm-behaviour.md, "Cloud provider")."""
_SORTED_JSON: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class ResolvedPool:
    """A MachineDeployment with everything that its rendering depends on.

    ``token`` is the bootstrap token in the source, if any; ``revision`` is ``None`` where the MachineDeployment does
    not carry the annotation.
    """

    machine: MachineDeployment
    profile: OperatingSystemProfile
    provider_config: ProviderConfig
    os_spec: OsSpec
    utility: str
    dist_upgrade: bool
    kubelet: KubeletOptions
    kube_version: str
    cloud_config: str
    in_tree_provider: bool
    token: str | None
    revision: str | None
    annotations_hash: str
    template_digest: str
    warnings: tuple[Problem, ...] = ()


def resolve_pool(machine: MachineDeployment, inputs: Inputs, cluster: ClusterFacts) -> ResolvedPool:
    """Resolve one pool. Raises InputError with all of its problems, each with its place."""
    faults = ErrorCollector()
    strict = faults.run(decode_provider_config, machine.provider_spec)
    config = strict or readable_provider_config(machine.provider_spec)
    kubelet = faults.run(kubelet_options, machine.annotations)
    version = faults.run(kube_version, machine.kubelet)
    token = faults.run(cluster.tokens.token, machine)
    resolved = None
    if strict is not None or (config.os and config.provider):
        resolved = _with_config(machine, config, inputs, cluster, faults)
    if faults.problems or resolved is None or kubelet is None or version is None:
        raise InputError(_placed(machine, faults.problems))
    profile, os_spec, clouds, upgrade = resolved
    options, kubelet_warnings = kubelet
    return ResolvedPool(
        machine=machine,
        profile=profile,
        provider_config=config,
        os_spec=os_spec,
        utility=provisioning_utility(config.os, os_spec),
        dist_upgrade=upgrade,
        kubelet=options,
        kube_version=version,
        cloud_config=clouds.text,
        in_tree_provider=config.provider in IN_TREE_PROVIDERS and not cluster.settings.external_cloud_provider,
        token=token,
        revision=(machine.annotations or {}).get(REVISION_ANNOTATION),
        annotations_hash=annotations_hash(_annotations(machine, config)),
        template_digest=template_digest(machine.template),
        warnings=tuple(_placed(machine, (*kubelet_warnings, *clouds.warnings))),
    )


def _with_config(
    machine: MachineDeployment, config: ProviderConfig, inputs: Inputs, cluster: ClusterFacts, faults: ErrorCollector
) -> tuple[OperatingSystemProfile, OsSpec, CloudConfig, bool] | None:
    """What needs the decoded provider config: profile, OS spec and cloud-config."""
    profile = faults.run(_profile, machine, config, inputs, cluster.settings.namespace)
    os_spec = faults.run(decode_os_spec, config.os, config.os_spec)
    upgrade = faults.run(dist_upgrade, config.os_spec)
    clouds = faults.run(cloud_config, config, machine.kubelet, cluster.settings, cluster.facts)
    if config.network is not None:
        faults.run(_check_static_network, config.network, config.os)
    if profile is not None and os_spec is not None:
        faults.run(_check_match, profile, config, os_spec)
    if profile is None or os_spec is None or clouds is None or upgrade is None:
        return None
    return profile, os_spec, clouds, upgrade


def template_digest(template: Json) -> str:
    """Digest of a MachineDeployment's ``spec.template`` (design.md, "Revision stamps"): SHA-256 of its JSON
    with sorted keys.

    Empty values do not count: controllers write ``metadata: {}`` for absent metadata, webhooks
    ``distUpgradeOnBoot: false``, and machines boot alike with and without.
    """
    return hashlib.sha256(_SORTED_JSON(without_empty(template)).encode()).hexdigest()


def without_empty(value: Json) -> Json:
    """A value without nested keys whose value is null, false, zero or empty."""
    if isinstance(value, dict):
        return {
            key: kept
            for key, each in value.items()
            if (kept := each if each.__class__ is str else without_empty(each))  # as most are
        }
    return [without_empty(each) for each in value] if isinstance(value, list | tuple) else value


def profile_ref(machine: MachineDeployment, config: ProviderConfig, namespace: str) -> tuple[str, str]:
    """``(namespace, name)`` of the pool's profile, defaulted as OSM's webhook would (osm-behaviour.md, "Webhooks").

    Raises InputError if the webhook has no default for the operating system.
    """
    name = machine.annotation(PROFILE_ANNOTATION)
    return machine.annotation(PROFILE_NAMESPACE_ANNOTATION) or namespace, name or _default_profile(machine, config)


def wanted_profile(machine: MachineDeployment, namespace: str) -> tuple[str, str] | None:
    """:func:`profile_ref` of a pool that may be partly unreadable; ``None`` if there is no default for it."""
    named = machine.annotation(PROFILE_ANNOTATION)
    try:
        # Most pools name theirs, and need not be decoded.
        config = ProviderConfig() if named else readable_provider_config(machine.provider_spec)
        return profile_ref(machine, config, namespace)
    except InputError:
        return None


def _default_profile(machine: MachineDeployment, config: ProviderConfig) -> str:
    if machine.default_profile:
        return machine.default_profile
    if config.provider == "anexia" and config.os == "flatcar" and _explicit_utility(config.os_spec) == "cloud-init":
        return "osp-flatcar-cloud-init"
    if config.os in _DEFAULTED_SYSTEMS:
        return f"osp-{config.os}"
    raise input_error(
        Code.PROFILE_NOT_NAMED,
        f'there is no default profile for operating system "{config.os}"',
        field="metadata.annotations",
        fix=f"Name one in annotation {PROFILE_ANNOTATION}",
    )


def _explicit_utility(os_spec: Json) -> str:
    try:
        return decode_os_spec("flatcar", os_spec).provisioning_utility
    except InputError:  # reported with the OS spec itself
        return ""


def _annotations(machine: MachineDeployment, config: ProviderConfig) -> Mapping[str, str] | None:
    """The annotations as they would be stored: with the profile that the webhook defaults."""
    if machine.annotation(PROFILE_ANNOTATION):
        return machine.annotations
    return {**(machine.annotations or {}), PROFILE_ANNOTATION: _default_profile(machine, config)}


def _profile(
    machine: MachineDeployment, config: ProviderConfig, inputs: Inputs, namespace: str
) -> OperatingSystemProfile:
    namespace, name = profile_ref(machine, config, namespace)
    profile = inputs.profiles.get((namespace, name))
    if profile is not None:
        return profile
    ref = ObjectRef("OperatingSystemProfile", namespace, name)
    field = f"metadata.annotations.{PROFILE_ANNOTATION}"
    if ref in inputs.broken:
        raise input_error(
            Code.PROFILE_BROKEN,
            f"{ref} cannot be used because of its own problems, which are listed with it",
            field=field,
        )
    names = sorted(inputs.unread.union(inputs.profiles))
    there = ", ".join(f"{space}/{known}" for space, known in names) or "none"
    if ref in inputs.left_out:
        what = f"{ref} is not among the profiles that this cluster gets ({inputs.left_out[ref]})"
        raise input_error(
            Code.PROFILE_LEFT_OUT, what, field=field, fix=f"Add it to profiles there, or name one of: {there}"
        )
    raise input_error(
        Code.PROFILE_NOT_FOUND,
        f'OperatingSystemProfile "{name}" not found in namespace {namespace}',
        field=field,
        fix=f"Add it to the source, or name one that is there: {there}",
    )


def _check_match(profile: OperatingSystemProfile, config: ProviderConfig, os_spec: OsSpec) -> None:
    """osm-behaviour.md, "Profile selection": operating system, cloud provider and utility must fit the profile."""
    utility = provisioning_utility(config.os, os_spec)
    if (
        profile.os_name == config.os
        and config.provider in profile.providers
        and profile.provisioning_utility in ("", utility)
    ):
        return
    problems = []
    at = "spec.template.spec.providerSpec.value"
    named = f'OperatingSystemProfile "{profile.name}"'
    if profile.os_name != config.os:
        problems.append(
            Problem(
                Code.PROFILE_DOES_NOT_FIT,
                f'{named} does not support operating system "{config.os}"',
                field=f"{at}.operatingSystem",
                fix=f"It is for {profile.os_name}",
            )
        )
    if config.provider not in profile.providers:
        problems.append(
            Problem(
                Code.PROFILE_DOES_NOT_FIT,
                f'{named} does not support cloud provider "{config.provider}"',
                field=f"{at}.cloudProvider",
                fix=f"It supports {', '.join(profile.providers)}",
            )
        )
    if profile.provisioning_utility and profile.provisioning_utility != utility:
        problems.append(
            Problem(
                Code.PROFILE_DOES_NOT_FIT,
                f'{named} is for provisioning utility "{profile.provisioning_utility}", the pool wants "{utility}"',
                field=f"{at}.operatingSystemSpec.provisioningUtility",
                fix="Set spec.provisioningUtility of the profile, or provisioningUtility of the pool",
            )
        )
    raise InputError(problems)


def _check_static_network(network: Network, os: str) -> None:
    if network.is_static and os != "flatcar":
        raise input_error(
            Code.STATIC_NETWORK_UNSUPPORTED,
            f"static IP config is not supported with: {os}",
            field="spec.template.spec.providerSpec.value.network",
            fix="Only flatcar supports cidr, gateway and dns.servers; remove them or use ipFamily alone",
        )


def _placed(machine: MachineDeployment, problems: Iterable[Problem]) -> list[Problem]:
    return [problem.at(where=machine.manifest.line_of(problem.field), about=str(machine.ref)) for problem in problems]
