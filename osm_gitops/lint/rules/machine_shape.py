"""Checks of the shape of a MachineDeployment (cluster.k8s.io/v1alpha1) around what OSM reads of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from osm_gitops.lint.rules.boot_file import closest_match
from osm_gitops.lint.rules.cloud_specs import FieldRemark
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.model.objects import Json
from osm_gitops.render.resolve.json_fields import type_name

KEY: Final = Rule("pool-key", Severity.WARNING, "API servers drop a key of a MachineDeployment that they do not know")
TYPE: Final = Rule("pool-type", Severity.ERROR, "machine-controller refuses a value of a MachineDeployment")
RULES: Final = (KEY, TYPE)

_AMOUNT: Final = "amount"
_SHAPE: Final[Mapping[str, Any]] = {
    "replicas": int,
    "selector": {"matchLabels": dict, "matchExpressions": list},
    "template": {
        "metadata": dict,
        "spec": {
            "metadata": dict,
            "taints": list,
            "providerSpec": {"value": None, "valueFrom": dict},
            "versions": {"kubelet": None, "controlPlane": str},
            "configSource": dict,
            "providerID": str,
        },
    },
    "strategy": {"type": str, "rollingUpdate": {"maxSurge": _AMOUNT, "maxUnavailable": _AMOUNT}},
    "minReadySeconds": int,
    "revisionHistoryLimit": int,
    "paused": bool,
    "progressDeadlineSeconds": int,
}
"""The keys of ``spec`` with the types of their values; an object has these keys. ``None``: others check it."""
_WORDS: Final = {
    int: "a whole number from 0 on",
    bool: "true or false",
    str: "a text",
    dict: "an object",
    list: "a list",
}


def shape_remarks(body: Mapping[str, Json]) -> Iterator[FieldRemark]:
    """Unknown keys, wrong types, and updates that cannot begin."""
    yield from _members(body.get("spec"), "spec", _SHAPE)
    spec = body.get("spec")
    strategy = spec.get("strategy") if isinstance(spec, Mapping) else None
    if isinstance(strategy, Mapping):
        yield from _strategy(strategy)


def _members(value: Json, at: str, shape: Mapping[str, Any]) -> Iterator[FieldRemark]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield FieldRemark(TYPE, at, f"must be an object, not {type_name(value)}", "Correct it")
        return
    for key, member in value.items():
        field = f"{at}.{key}"
        if key not in shape:
            near = closest_match(str(key), shape)
            message = f"a MachineDeployment does not have the key {field}"
            yield FieldRemark(KEY, field, message, f"Write {near}" if near else "Remove it")
        elif isinstance(shape[key], Mapping):
            yield from _members(member, field, shape[key])
        elif shape[key] is not None and member is not None:
            yield from _value(member, field, shape[key])


def _value(value: Json, field: str, wanted: Any) -> Iterator[FieldRemark]:
    name = field.rpartition(".")[2]
    if wanted == _AMOUNT:
        is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not is_number and not re.fullmatch(r"[0-9]+%", str(value)):
            message = f"{name} must be a number or a percentage, not {value}"
            yield FieldRemark(TYPE, field, message, "Write 1 or 25%")
    elif not isinstance(value, wanted) or (wanted is int and (isinstance(value, bool) or value < 0)):
        what = type_name(value) if not isinstance(value, int) or isinstance(value, bool) else str(value)
        yield FieldRemark(TYPE, field, f"{name} must be {_WORDS[wanted]}, not {what}", "Correct it")


def _strategy(strategy: Mapping[str, Json]) -> Iterator[FieldRemark]:
    kind, at = strategy.get("type", "RollingUpdate"), "spec.strategy"
    if isinstance(kind, str) and kind not in ("RollingUpdate", "OnDelete", ""):
        near = closest_match(kind, ("RollingUpdate", "OnDelete"))
        fix = f"Write {near or 'RollingUpdate'}"
        yield FieldRemark(TYPE, f"{at}.type", f"{kind} is not a strategy of machine-controller", fix)
    update = strategy.get("rollingUpdate")
    if isinstance(update, Mapping) and {str(update.get(key)) for key in ("maxSurge", "maxUnavailable")} <= {"0", "0%"}:
        message = "an update cannot begin if maxSurge and maxUnavailable are 0"
        yield FieldRemark(TYPE, f"{at}.rollingUpdate", message, "Set maxSurge: 1")
