"""Checks of MachineDeployments: values that OSM accepts and renders, and with which no node would join as intended.

They are reported at the field of the MachineDeployment, since the profile that prints them is right.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final

from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import parse_version
from osm_gitops.lint.rules.boot_file import MOST_REMARKS, closest_match
from osm_gitops.lint.rules.cloud_config import SSH_KEY, key_fault
from osm_gitops.lint.rules.cloud_specs import FieldRemark, cloud_spec_remarks
from osm_gitops.lint.rules.machine_shape import shape_remarks
from osm_gitops.lint.rules.network import network_remarks
from osm_gitops.lint.rules.os_specs import os_spec_remarks
from osm_gitops.lint.rules.pool_annotations import annotation_remarks
from osm_gitops.lint.rules.settings import TAINT
from osm_gitops.lint.rules.values import EFFECTS, label_value_fault
from osm_gitops.lint.rules.values import key_fault as label_key_fault
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD, MachineDeployment, ProviderConfig
from osm_gitops.model.objects import value_at
from osm_gitops.render.resolve.machine_spec import KUBELET_FIELD, readable_provider_config

VERSION: Final = Rule("kubelet-version", Severity.WARNING, "there is probably no release of a kubelet's version")
SKEW: Final = Rule("kubelet-skew", Severity.WARNING, "pools of a cluster are too many Kubernetes minors apart")
LABEL: Final = Rule("pool-label", Severity.ERROR, "API servers refuse a label, or the selector does not match")
RULES: Final = (VERSION, SKEW, LABEL)

_RELEASES: Final[Mapping[str, int]] = read_table("kubelet.toml")["releases"]
_NEWEST_RELEASE: Final = max(int(minor) for minor in _RELEASES)
_MOST_APART: Final = 3


def pool_findings(machine: MachineDeployment, gates: Mapping[str, bool], sealed: Collection[str]) -> Iterator[Finding]:
    """What is wrong with a MachineDeployment that can be rendered.

    ``gates`` are the feature gates of its kubelet; ``sealed`` are texts that were encrypted, which are not looked at.
    """
    config = readable_provider_config(machine.provider_spec)
    remarks = chain(
        annotation_remarks(machine, gates, sealed),
        _version(machine),
        _ssh_keys(config, sealed),
        os_spec_remarks(config, sealed),
        cloud_spec_remarks(config, sealed),
        network_remarks(config, value_at(machine.manifest.body, ("spec", "replicas")), sealed),
        shape_remarks(machine.manifest.body),
        _labels(machine, sealed),
        _taints(machine, sealed),
    )
    for remark in islice(remarks, MOST_REMARKS):
        where = machine.manifest.line_of(remark.field)
        yield Finding(remark.rule, remark.message, where, str(machine.ref), remark.field, remark.fix)


# --- the kubelet's version ---


def _version(machine: MachineDeployment) -> Iterator[FieldRemark]:
    try:
        version = parse_version(machine.kubelet)
    except GoError:  # reported when the pool is resolved
        return
    shown = f"{version.major}.{version.minor}"
    if version.major != 1 or version.minor > _NEWEST_RELEASE:
        message = f"no release of Kubernetes {shown} is known; the newest is of 1.{_NEWEST_RELEASE}"
        yield FieldRemark(VERSION, KUBELET_FIELD, message, "Write a released version, or upgrade osm-gitops")
        return
    last = _RELEASES.get(str(version.minor))
    if version.prerelease or version.metadata:
        message = f"{machine.kubelet} is not a release of Kubernetes"
        yield FieldRemark(VERSION, KUBELET_FIELD, message, f"Write a version such as {shown}.{last or 0}")
    elif last is None:
        message = f"Kubernetes {shown} is no longer maintained, nor are its packages"
        yield FieldRemark(VERSION, KUBELET_FIELD, message, "Use a supported version")
    elif version.patch > last + (0 if version.minor < _OLDEST_MAINTAINED else _PATCHES_TO_COME):
        message = f"no release {shown}.{version.patch} is known; Kubernetes {shown} is at {shown}.{last}"
        yield FieldRemark(VERSION, KUBELET_FIELD, message, f"Write {shown}.{last}, or another release")


_OLDEST_MAINTAINED: Final = 33
_PATCHES_TO_COME: Final = 12
"""Patch releases that a maintained minor may have had since this table: one a month, for a year."""


def skew_findings(machines: Sequence[MachineDeployment]) -> Iterator[Finding]:
    """Pools of one cluster whose kubelets no API server supports together: kubelets are at most three minors older."""
    by_minor: dict[int, list[MachineDeployment]] = {}
    for machine in machines:
        try:
            version = parse_version(machine.kubelet)
        except GoError:
            continue
        if version.major == 1 and version.minor <= _NEWEST_RELEASE:
            by_minor.setdefault(version.minor, []).append(machine)
    newest = max(by_minor, default=0)
    for minor in sorted(by_minor):
        if newest - minor <= _MOST_APART:
            break
        for machine in by_minor[minor]:
            other = by_minor[newest][0]
            message = f"its kubelet 1.{minor} is more than {_MOST_APART} minors older than 1.{newest} of {other.ref}"
            where = machine.manifest.line_of(KUBELET_FIELD)
            yield Finding(SKEW, message, where, str(machine.ref), KUBELET_FIELD, "Upgrade the older pool first")


# --- SSH keys, labels, taints ---


def _ssh_keys(config: ProviderConfig, sealed: Collection[str]) -> Iterator[FieldRemark]:
    for index, key in enumerate(config.ssh_keys):
        text = key.strip()
        if text and key not in sealed and (fault := key_fault(text) or _body_fault(text)):
            field = f"{PROVIDER_CONFIG_FIELD}.sshPublicKeys[{index}]"
            fix = "Write the line of a .pub file: its type, the key, and a comment"
            yield FieldRemark(SSH_KEY, field, f"the SSH key {index + 1} {fault}", fix)


_KEY_BODY: Final = re.compile(r"(?:^|\s)((?:ssh-|ecdsa-|sk-)\S+)[ \t]+(\S+)")

_SHORTEST_KEY: Final = 51  # bytes of one of ed25519, which are the shortest


def _body_fault(text: str) -> str:
    """What else is wrong with a line that has the type of a key."""
    if "\n" in text or "\r" in text:
        return "has a line break"
    if "'" in text:
        return "has a single quote, which ends the text in user-data"
    match = _KEY_BODY.search(text)
    if match is None:
        return "is not the type, the key and a comment"
    # The key begins with the length and the name of its type; a certificate's has another one.
    name, body = match.groups()
    start = encode_base64(len(name).to_bytes(4) + name.encode())[: (4 + len(name)) // 3 * 4]
    if not re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", body):
        return "has characters that a key does not have"
    if not (body.startswith(start) or start.startswith(body)):
        return f"is not a key of the type {name}"
    return "" if _is_whole(body) else "is too short to be a whole key"


def _is_whole(body: str) -> bool:
    """Whether a key has all of its parts, each with its length before it."""
    try:
        parts = b64decode(body, validate=True)
    except ValueError:  # the end of the last four letters is missing
        return False
    at = 0
    while at < len(parts):
        at += 4 + int.from_bytes(parts[at : at + 4])
    return at == len(parts) >= _SHORTEST_KEY


_LABELED: Final = (
    ("spec", "selector", "matchLabels"),
    ("spec", "template", "metadata", "labels"),
    ("spec", "template", "spec", "metadata", "labels"),
)


def _labels(machine: MachineDeployment, sealed: Collection[str]) -> Iterator[FieldRemark]:
    body = machine.manifest.body
    for path in _LABELED:
        labels = value_at(body, path)
        at = ".".join(path)
        for key, value in labels.items() if isinstance(labels, Mapping) else ():
            if isinstance(value, str) and value in sealed:
                continue
            fault = label_key_fault(str(key))
            if not isinstance(value, str):
                fault = fault or "must have a text in quotes"
            fault = fault or label_value_fault(value)
            if fault:
                yield FieldRemark(LABEL, f"{at}.{key}", f"the label {key} {fault}", "Correct it")
    wanted, given = value_at(body, _LABELED[0]), value_at(body, _LABELED[1])
    if isinstance(wanted, Mapping) and wanted:
        labels = given if isinstance(given, Mapping) else {}
        for key, value in wanted.items():
            if labels.get(key) != value and not {str(value), str(labels.get(key))} & {*sealed}:
                message = f"the selector wants the label {key}={value}, which the template does not have"
                fix = "Give spec.template.metadata.labels and spec.selector.matchLabels the same labels"
                yield FieldRemark(LABEL, f"spec.selector.matchLabels.{key}", message, fix)


def _taints(machine: MachineDeployment, sealed: Collection[str]) -> Iterator[FieldRemark]:
    at = "spec.template.spec.taints"
    taints = value_at(machine.manifest.body, at.split("."))
    for index, taint in enumerate(taints if isinstance(taints, list) else ()):
        if not isinstance(taint, Mapping):
            yield FieldRemark(TAINT, f"{at}[{index}]", "a taint is an object with key, value and effect", "Correct it")
            continue
        if any(isinstance(each, str) and each in sealed for each in taint.values()):
            continue
        for name in taint:
            if name not in ("key", "value", "effect", "timeAdded"):
                near = closest_match(str(name), ("key", "value", "effect"))
                fix = f"Write {near}" if near else "Remove it"
                yield FieldRemark(TAINT, f"{at}[{index}].{name}", f"a taint does not have a field {name}", fix)
        if taint.get("effect") not in EFFECTS:
            message = f"the effect of a taint must be {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}"
            yield FieldRemark(TAINT, f"{at}[{index}].effect", message, "Correct it")
        key, value = taint.get("key", ""), taint.get("value") or ""
        if fault := label_key_fault(key if isinstance(key, str) else ""):
            yield FieldRemark(TAINT, f"{at}[{index}].key", f"the key of a taint {fault}", "Correct it")
        if not isinstance(value, str) or label_value_fault(value):
            message = "the value of a taint is not that of a label"
            yield FieldRemark(TAINT, f"{at}[{index}].value", message, "Correct it")
