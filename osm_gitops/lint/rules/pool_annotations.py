"""Checks of the annotations of a MachineDeployment that set options of its kubelet: those that OSM ignores, and values
with which the kubelet does not start."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from osm_gitops.errors import InputError
from osm_gitops.gocompat.duration import format_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import parse_version
from osm_gitops.lint.rules.boot_file import closest_match
from osm_gitops.lint.rules.cloud_specs import FieldRemark
from osm_gitops.lint.rules.kubelet import AMOUNT, FEATURE_GATE, kubelet_remarks
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.model.machine import (
    KUBELET_CONFIG_PREFIX,
    PROFILE_ANNOTATION,
    PROFILE_NAMESPACE_ANNOTATION,
    MachineDeployment,
)
from osm_gitops.render.resolve.kubelet import annotation_uses, kubelet_options

ANNOTATION: Final = Rule("pool-annotation", Severity.WARNING, "OSM ignores an annotation, or a part of it")
RULES: Final = (ANNOTATION,)

_OTHER_PREFIXES: Final = re.compile(r"v\d+\.kubelet-(?:flags|featuregates)\.|kubelet-?config", re.IGNORECASE)
_ALIKE: Final = 0.8
_LONGEST: Final = 100  # comparing is slow
_CONFIG_FIELDS: Final = {
    "KubeReserved": ("kube_reserved", "kubeReserved"),
    "SystemReserved": ("system_reserved", "systemReserved"),
    "EvictionHard": ("eviction_hard", "evictionHard"),
    "MaxPods": ("max_pods", "maxPods"),
    "ContainerLogMaxSize": ("container_log_max_size", "containerLogMaxSize"),
    "ContainerLogMaxFiles": ("container_log_max_files", "containerLogMaxFiles"),
    "ImageGCHighThresholdPercent": ("image_gc_high_threshold_percent", "imageGCHighThresholdPercent"),
    "ImageGCLowThresholdPercent": ("image_gc_low_threshold_percent", "imageGCLowThresholdPercent"),
    "ImageMinimumGCAge": ("image_minimum_gc_age", "imageMinimumGCAge"),
    "ImageMaximumGCAge": ("image_maximum_gc_age", "imageMaximumGCAge"),
}
_DELIMITERS: Final = {"KubeReserved": "=", "SystemReserved": "=", "EvictionHard": "<"}


def annotation_remarks(
    machine: MachineDeployment, gates: Mapping[str, bool], sealed: Collection[str]
) -> Iterator[FieldRemark]:
    """What is wrong with the annotations of a MachineDeployment.

    ``gates`` are the feature gates of its kubelet, ``sealed`` texts that were encrypted, which are not looked at.
    """
    used = {}
    for use in annotation_uses(machine):
        field = f"metadata.annotations.{use.annotation}"
        if use.option:
            used[use.option] = use.annotation
        elif use.annotation in (machine.annotations or {}):
            if _is_meant(use.annotation):
                message = f"OSM ignores the annotation {use.annotation}: {use.why}"
                yield FieldRemark(ANNOTATION, field, message, _fix(use.annotation))
        elif use.annotation.startswith(KUBELET_CONFIG_PREFIX):
            message = f"OSM ignores the annotation {use.annotation}: {use.why}"
            fix = "Put it into metadata.annotations of the MachineDeployment"
            yield FieldRemark(ANNOTATION, "spec.template", message, fix)
    yield from _profile_annotations(machine)
    used = {name: each for name, each in used.items() if (machine.annotations or {})[each] not in sealed}
    yield from _dropped_items(machine, used)
    yield from _kubelet_values(machine, used, gates)


def _profile_annotations(machine: MachineDeployment) -> Iterator[FieldRemark]:
    """Misspelt names of the annotations that choose the profile: the default one is used then."""
    known = (PROFILE_ANNOTATION, PROFILE_NAMESPACE_ANNOTATION)
    for annotation in machine.annotations or {}:
        if annotation not in known and not annotation.startswith("ignore.") and (near := _near(annotation, known)):
            message = f"OSM does not know the annotation {annotation}, which looks like {near}"
            yield FieldRemark(ANNOTATION, f"metadata.annotations.{annotation}", message, f"Write {near}")


def _near(annotation: str, known: Collection[str]) -> str:
    if len(annotation) > _LONGEST:
        return ""
    ratios = {each: SequenceMatcher(None, annotation.lower(), each).ratio() for each in known}
    near = max(known, key=lambda each: ratios[each])
    return near if ratios[near] >= _ALIKE else ""


def _is_meant(annotation: str) -> bool:
    """Whether an ignored annotation was meant for the kubelet. One of several that set an option is told elsewhere."""
    prefix, _, name = annotation.partition("/")
    if prefix.startswith(KUBELET_CONFIG_PREFIX) and name in _CONFIG_FIELDS:
        return False
    if _OTHER_PREFIXES.search(prefix) or (name in _CONFIG_FIELDS and "kube" in prefix):
        return True
    return len(prefix) <= _LONGEST and SequenceMatcher(None, prefix.lower(), KUBELET_CONFIG_PREFIX).ratio() >= _ALIKE


def _fix(annotation: str) -> str:
    name = annotation.partition("/")[2]
    known = name if name in _CONFIG_FIELDS else closest_match(name, _CONFIG_FIELDS)
    return f"Write {KUBELET_CONFIG_PREFIX}/{known}" if known else "Remove it, or set it in a profile of your own"


def _dropped_items(machine: MachineDeployment, used: Mapping[str, str]) -> Iterator[FieldRemark]:
    for name, delimiter in _DELIMITERS.items():
        if name not in used:
            continue
        items = (machine.annotations or {})[used[name]].split(",")
        field = f"metadata.annotations.{used[name]}"
        for item in items:
            if delimiter not in item:
                message = f'OSM drops "{item}" of {name}, because it has no {delimiter}'
                fix = f"Write items such as {_EXAMPLES[name]}, separated by commas"
                yield FieldRemark(ANNOTATION, field, message, fix)
        keys = Counter(item.partition(delimiter)[0] for item in items if delimiter in item)
        for key in (each for each, count in keys.items() if count > 1):
            message = f"{name} has {key} more than once, and the last one counts"
            yield FieldRemark(ANNOTATION, field, message, "Keep one of them")


_EXAMPLES: Final = {"KubeReserved": "cpu=200m", "SystemReserved": "cpu=200m", "EvictionHard": "memory.available<100Mi"}


def _kubelet_values(
    machine: MachineDeployment, used: Mapping[str, str], gates: Mapping[str, bool]
) -> Iterator[FieldRemark]:
    """The options as a configuration, one on each line, as the kubelet of the pool reads it."""
    try:
        options, _ = kubelet_options(machine.annotations)
        minor = parse_version(machine.kubelet).minor
    except (InputError, GoError):  # reported when the pool is resolved
        return
    names = [name for name in _CONFIG_FIELDS if name in used]
    lines = ["apiVersion: kubelet.config.k8s.io/v1beta1", "kind: KubeletConfiguration"]
    lines.append(f"featureGates: {json.dumps(dict(gates))}")
    for name in names:
        attribute, field = _CONFIG_FIELDS[name]
        lines.append(f"{field}: {_as_yaml(name, getattr(options, attribute))}")
    if "MaxPods" in used and (options.max_pods == 0 or (options.max_pods or 0) > _MOST_PODS):
        message = f"MaxPods is {options.max_pods}: 0 means the default, and no node runs more than {_MOST_PODS:,} pods"
        yield FieldRemark(AMOUNT, f"metadata.annotations.{used['MaxPods']}", message, "Write a number such as 110")
    for remark in kubelet_remarks("\n".join(lines) + "\n", minor):
        at = remark.line - _HEAD - 1
        if remark.rule is FEATURE_GATE and at < 0:
            continue
        # The other one of a pair of options has no line where it has its default.
        name = names[at] if 0 <= at < len(names) else next((each for each in names if "GC" in each), "")
        if name:
            field = f"metadata.annotations.{used[name]}"
            yield FieldRemark(remark.rule, field, f"{name}: {remark.message}", remark.fix)


_HEAD: Final = 3
_MOST_PODS: Final = 1024


def _as_yaml(name: str, value: Any) -> str:
    if name in ("ImageMinimumGCAge", "ImageMaximumGCAge"):
        return json.dumps(format_duration(value))
    if name == "ContainerLogMaxFiles" and re.fullmatch(r"-?[0-9]+", value):
        return str(int(value))
    return json.dumps(value)
