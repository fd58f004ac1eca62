"""Settings and MachineDeployments with values that nodes cannot use, and the same without these values.

What a bad value does to a rendered file is not a mistake of the profile. So such a value is reported where it is given,
and the files are checked without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.config.settings import RawSetting, normal
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import parse_version
from osm_gitops.lint.rules.boot_file import Remark, first_remarks
from osm_gitops.lint.rules.pools import pool_findings
from osm_gitops.lint.rules.problems import place_of_setting
from osm_gitops.lint.rules.settings import GivenSetting, missing_no_proxy, refused_gates, setting_remarks
from osm_gitops.model.finding import Finding
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD, MachineDeployment
from osm_gitops.model.objects import Json
from osm_gitops.model.settings import Settings

_ATTRIBUTES: Final = {
    "node-http-proxy": "http_proxy",
    "node-no-proxy": "no_proxy",
    "node-insecure-registries": "insecure_registries",
    "node-registry-mirrors": "registry_mirrors",
    "node-containerd-registry-mirrors": "registry_mirrors",
}
_UNRENDERED: Final = frozenset(
    {"namespace", "node-registry-credentials-secret", "bootstrap-token-service-account-name"}
)
"""Settings that name objects: without them other objects would be read."""


def without_bad_settings(
    settings: Settings, given: Iterable[RawSetting], minors: Collection[int]
) -> tuple[Settings, tuple[Finding, ...]]:
    """The settings with defaults instead of values that nodes cannot use, and the findings on these.

    ``minors`` are the Kubernetes minors of the cluster's pools.
    """
    findings: list[Finding] = []
    changes: dict[str, Any] = {}
    for raw in given:
        setting = _given(raw, settings)
        found = [_placed(setting, remark) for remark in first_remarks(setting_remarks(setting, minors))]
        if raw.name == "node-no-proxy" and settings.http_proxy:
            found += [_placed(setting, remark) for remark in missing_no_proxy(setting)]
        findings += found
        if not found or raw.name in _UNRENDERED:
            continue
        if raw.name == "node-kubelet-feature-gates":
            refused = refused_gates(settings.feature_gates, minors)
            changes["feature_gates"] = {
                gate: value for gate, value in settings.feature_gates.items() if gate not in refused
            }
        else:
            attribute = _ATTRIBUTES.get(raw.name, raw.name.replace("-", "_"))
            changes[attribute] = getattr(_DEFAULTS, attribute)
    return replace(settings, **changes) if changes else settings, tuple(findings)


_DEFAULTS: Final = Settings()


def _given(raw: RawSetting, settings: Settings) -> GivenSetting:
    value = normal(raw)
    texts = tuple(value) if isinstance(value, list) else () if isinstance(value, bool) else (value,)
    is_file = SETTINGS_BY_FLAG[raw.name].kind is Kind.FILE
    content = getattr(settings, raw.name.replace("-", "_")) if is_file else ""
    return GivenSetting(raw.name, texts, raw.where, content)


def _placed(setting: GivenSetting, remark: Remark) -> Finding:
    where, key = place_of_setting(setting.where)
    about = f"setting {SETTINGS_BY_FLAG[setting.flag].key}"
    return Finding(remark.rule, remark.message, where, about, key, remark.fix)


# Options that are refused because of each other.
_PAIRS: Final = (
    ("ImageGCLowThresholdPercent", "ImageGCHighThresholdPercent"),
    ("ImageGCHighThresholdPercent", "ImageGCLowThresholdPercent"),
    ("ImageMinimumGCAge", "ImageMaximumGCAge"),
    ("ImageMaximumGCAge", "ImageMinimumGCAge"),
)


def without_bad_values(
    machine: MachineDeployment, gates: Mapping[str, bool], sealed: Collection[str]
) -> tuple[MachineDeployment, tuple[Finding, ...]]:
    """The MachineDeployment without annotations, SSH keys and a network that nodes cannot use, and all findings on it.

    ``gates`` are the feature gates of its kubelet, ``sealed`` texts that were encrypted.
    """
    findings = tuple(pool_findings(machine, gates, sealed))
    fields = {finding.field for finding in findings}
    if not fields:
        return machine, findings
    annotations, spec = machine.annotations, machine.provider_spec
    if annotations is not None:
        fields |= {field.replace(one, other) for one, other in _PAIRS for field in fields if field.endswith(f"/{one}")}
        annotations = {key: text for key, text in annotations.items() if f"metadata.annotations.{key}" not in fields}
    if isinstance(spec, Mapping):
        spec = {key: _without(key, value, fields) for key, value in spec.items()}
    return replace(machine, annotations=annotations, provider_spec=spec), findings


def _without(key: str, value: Json, fields: Collection[str]) -> Json:
    field = f"{PROVIDER_CONFIG_FIELD}.{key}"
    if key.lower() == "network" and any(each.startswith(field) for each in fields):
        return None
    if key.lower() == "sshpublickeys" and isinstance(value, list):
        keys = f"{PROVIDER_CONFIG_FIELD}.sshPublicKeys"
        return [text for index, text in enumerate(value) if f"{keys}[{index}]" not in fields]
    return value


def minors_of(machines: Iterable[MachineDeployment]) -> frozenset[int]:
    """The Kubernetes minors of pools whose version is 1.x."""
    found = set()
    for machine in machines:
        try:
            version = parse_version(machine.kubelet)
        except GoError:  # reported when the pool is resolved
            continue
        if version.major == 1:
            found.add(version.minor)
    return frozenset(found)
