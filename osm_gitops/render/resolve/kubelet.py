"""Kubelet options from a MachineDeployment's annotations (osm-behaviour.md, "Kubelet annotations")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gocompat.duration import format_duration, parse_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import parse_int
from osm_gitops.gocompat.text import in_byte_order
from osm_gitops.model.machine import KUBELET_CONFIG_PREFIX, AnnotationUse, KubeletOptions, MachineDeployment
from osm_gitops.model.objects import Json


def kubelet_options(annotations: Mapping[str, str] | None) -> tuple[KubeletOptions, tuple[Problem, ...]]:
    """The options, and warnings about OSM's handling of them (osm-behaviour.md, "Quirks", quirks 1 and 4).

    Raises InputError with every annotation that cannot be parsed.
    """
    chosen, warnings = _choose(annotations or {})
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for name, annotation in chosen.items():
        attribute, parse, fix = _OPTIONS[name]
        text = (annotations or {})[annotation]
        try:
            values[attribute] = parse(text)
        except GoError as fault:
            problems.append(
                Problem(
                    Code.KUBELET_ANNOTATION_INVALID,
                    f"{name} cannot be read: {fault}",
                    field=_field(annotation),
                    fix=fix,
                )
            )
        if name in _DURATIONS and attribute in values:
            warnings.append(_duration_warning(name, annotation, values[attribute]))
    if problems:
        raise InputError(problems)
    return KubeletOptions(**values), tuple(warnings)


def _choose(annotations: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    """The annotation that sets each option, in byte order, and a warning if several do.

    OSM only checks that an annotation's name starts with the prefix, so ``…ioX/MaxPods`` counts too, and picks one by
    chance; the exact name wins here, else the last in byte order.
    """
    exact = {name: annotation for annotation, name in _EXACT.items() if annotation in annotations}
    others = [each for each in annotations if each.startswith(KUBELET_CONFIG_PREFIX) and each not in _EXACT]
    if not others:  # as nearly always
        return exact, []
    chosen: dict[str, str] = {}
    warnings: list[Problem] = []
    for annotation in in_byte_order([*exact.values(), *others]):
        _, slash, name = annotation.partition("/")
        if not slash or name not in _OPTIONS:
            continue
        earlier = chosen.get(name)
        if earlier is None or not _is_exact(earlier):
            chosen[name] = annotation
        if earlier is not None:
            what = f"{earlier} and {annotation} both set {name}; {chosen[name]} is used, OSM uses a random one"
            warnings.append(
                Problem(Code.KUBELET_ANNOTATION_AMBIGUOUS, what, field=_field(annotation), fix="Remove one of them")
            )
    return chosen, warnings


def annotation_uses(machine: MachineDeployment) -> tuple[AnnotationUse, ...]:
    """The annotations that set an option of the kubelet, and those that look so and are ignored (osm-behaviour.md,
    "Kubelet annotations")."""
    annotations = machine.annotations or {}
    chosen, _ = _choose(annotations)
    used = [AnnotationUse(annotation, annotations[annotation], name) for name, annotation in sorted(chosen.items())]
    ignored = (
        AnnotationUse(annotation, annotations[annotation], why=_why_ignored(annotation, chosen))
        for annotation in in_byte_order(annotations)
        if _LOOKS_SO.search(annotation) and annotation not in chosen.values()
    )
    return (*used, *ignored, *_of_machines(machine.template))


def _why_ignored(annotation: str, chosen: Mapping[str, str]) -> str:
    prefix, slash, name = annotation.partition("/")
    if not slash or not prefix.startswith(KUBELET_CONFIG_PREFIX):
        return f"only annotations that begin with {KUBELET_CONFIG_PREFIX}/ count{_FEATURE_GATES.get(name, '')}"
    return f"{chosen[name]} sets {name}" if name in chosen else f"the options are {', '.join(_OPTIONS)}"


def _of_machines(template: Json) -> Iterator[AnnotationUse]:
    """Annotations of the Machines' template, which OSM ignores (OSM#534)."""
    for field, owner in (("spec.template", template), ("spec.template.spec", _inside(template, "spec"))):
        annotations = _inside(_inside(owner, "metadata"), "annotations")
        for annotation in sorted(annotations, key=str):
            if _LOOKS_SO.search(str(annotation)):
                why = f"it is in {field}.metadata.annotations: only those of the MachineDeployment itself are read"
                yield AnnotationUse(str(annotation), str(annotations[annotation]), why=why)


def _inside(parent: Json, key: str) -> Mapping[str, Json]:
    found = parent.get(key) if isinstance(parent, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _is_exact(annotation: str) -> bool:
    return annotation.startswith(f"{KUBELET_CONFIG_PREFIX}/")


def _field(annotation: str) -> str:
    return f"metadata.annotations.{annotation}"


def _duration_warning(name: str, annotation: str, nanoseconds: int) -> Problem:
    shown = format_duration(nanoseconds)
    return Problem(
        Code.KUBELET_DURATION_PRINTED,
        f"a profile that prints {name} as it is writes &Duration{{Duration:{shown},}}, which a kubelet cannot read",
        field=_field(annotation),
        fix="The default profiles of OSM do so; remove the annotation, or print .Duration in a profile of your own",
    )


def _pairs(delimiter: str) -> Callable[[str], dict[str, str]]:
    def parse(text: str) -> dict[str, str]:
        parts = [item.partition(delimiter) for item in text.split(",")]
        return {key: value for key, found, value in parts if found}

    return parse


def _int32(text: str) -> int:
    return parse_int(text, 10, 32)


_LOOKS_SO: Final = re.compile("kubelet", re.IGNORECASE)
_FEATURE_GATES: Final = dict.fromkeys(
    ("FeatureGates", "featureGates"), "; feature gates are a setting, --node-kubelet-feature-gates"
)
_NUMBER_FIX: Final = "Write a whole number, such as 110"
_DURATION_FIX: Final = "Write a duration with its unit, such as 2m or 1h30m"
_DURATIONS: Final = frozenset({"ImageMinimumGCAge", "ImageMaximumGCAge"})

# Name in the annotation: (attribute of KubeletOptions, parser, what to write instead).
_OPTIONS: Final[Mapping[str, tuple[str, Callable[[str], Any], str]]] = {
    "KubeReserved": ("kube_reserved", _pairs("="), ""),
    "SystemReserved": ("system_reserved", _pairs("="), ""),
    "EvictionHard": ("eviction_hard", _pairs("<"), ""),
    "MaxPods": ("max_pods", _int32, _NUMBER_FIX),
    "ContainerLogMaxSize": ("container_log_max_size", str, ""),
    "ContainerLogMaxFiles": ("container_log_max_files", str, ""),
    "ImageGCHighThresholdPercent": ("image_gc_high_threshold_percent", _int32, _NUMBER_FIX),
    "ImageGCLowThresholdPercent": ("image_gc_low_threshold_percent", _int32, _NUMBER_FIX),
    "ImageMinimumGCAge": ("image_minimum_gc_age", parse_duration, _DURATION_FIX),
    "ImageMaximumGCAge": ("image_maximum_gc_age", parse_duration, _DURATION_FIX),
}
_EXACT: Final = {f"{KUBELET_CONFIG_PREFIX}/{name}": name for name in sorted(_OPTIONS)}
"""The options by the names of their annotations, in byte order."""
