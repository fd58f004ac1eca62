"""Objects as servers must give them: what the program reads of them has the type that the API defines.

A server that lies, or a gateway in its place, is answered with a sentence. What is checked elsewhere, as in a tree, is
left out: specifications of MachineDeployments and profiles, contents of ConfigMaps and Secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from osm_gitops.kube.kinds import Kind

Json = Any

_LONGEST_NAME: Final = 253
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]")
_NAMES: Final = {str: "a text", int: "a whole number", bool: "true or false", dict: "a mapping"}


@dataclass(frozen=True, slots=True)
class _MapOf:
    """A mapping with any keys and values of one shape."""

    inner: Any


_TEXTS: Final = _MapOf(str)
_FIELDS: Final = "mappings alone, however deep"
_METADATA: Final = {
    **dict.fromkeys(("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generateName"), str),
    "generation": int,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "finalizers": [str],
    "ownerReferences": [
        {**dict.fromkeys(("apiVersion", "kind", "name", "uid"), str), "controller": bool, "blockOwnerDeletion": bool}
    ],
    "managedFields": [
        {**dict.fromkeys(("manager", "operation", "subresource", "apiVersion", "time"), str), "fieldsV1": _FIELDS}
    ],
}
_VALUE_FROM: Final = {
    "secretKeyRef": {"name": str, "key": str, "optional": bool},
    "configMapKeyRef": {"name": str, "key": str, "optional": bool},
    "fieldRef": {"fieldPath": str},
}
_CONTAINER: Final = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": _VALUE_FROM}],
    "envFrom": [{"prefix": str, "secretRef": {"name": str}, "configMapRef": {"name": str}}],
    "volumeMounts": [{"name": str, "mountPath": str, "subPath": str}],
}
_VOLUME: Final = {
    "name": str,
    "secret": {"secretName": str, "items": [{"key": str, "path": str}]},
    "configMap": {"name": str, "items": [{"key": str, "path": str}]},
    "projected": {"sources": [{}]},
}
_POD: Final = {"containers": [_CONTAINER], "initContainers": [_CONTAINER], "volumes": [_VOLUME]}
_WEBHOOKS: Final = {
    "webhooks": [
        {
            "name": str,
            "rules": [{key: [str] for key in ("apiGroups", "apiVersions", "operations", "resources")}],
            "clientConfig": {"url": str, "service": {"name": str, "namespace": str}},
        }
    ]
}
_REST: Final[Mapping[str, Json]] = {
    "Secret": {"type": str, "immutable": bool, "data": _TEXTS},
    "ConfigMap": {"immutable": bool, "data": _TEXTS, "binaryData": _TEXTS},
    "ServiceAccount": {"secrets": [{"name": str}]},
    "Lease": {
        "spec": {
            **dict.fromkeys(("holderIdentity", "acquireTime", "renewTime"), str),
            "leaseDurationSeconds": int,
            "leaseTransitions": int,
        }
    },
    "Deployment": {"spec": {"replicas": int, "template": {"spec": _POD}}, "status": {"readyReplicas": int}},
    # Their definitions let anything be inside, so one that somebody wrote must not stop all others.
    "MachineDeployment": {"spec": dict},
    "MachineSet": {"spec": dict},
    "Machine": {"spec": dict},
    "OperatingSystemProfile": {"spec": dict},
    "CustomOperatingSystemProfile": {"spec": dict},
    "OperatingSystemConfig": {"spec": dict},
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}


def misfit(kind: Kind, body: Json) -> str:
    """Why ``body`` is no object of a kind, as the rest of a sentence; empty where it is one.

    Its metadata then has ``uid`` and ``resourceVersion``, and what is null there and at the top is taken out of it.
    """
    if not isinstance(body, dict):
        return "it is not a mapping"
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return "metadata is not a mapping"
    for key in ("name", "namespace") if kind.namespaced else ("name",):
        name = metadata.get(key)
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or _CONTROL.search(name):
            return f"metadata.{key} is not a name"
    wrong = _misfit(metadata, _METADATA, "metadata") or _misfit(body, _REST.get(kind.name, {}), "")
    if wrong:
        return wrong
    body["metadata"] = {"uid": "", "resourceVersion": ""} | {
        key: value for key, value in metadata.items() if value is not None
    }
    for key in [key for key, value in body.items() if value is None]:
        del body[key]
    return ""


def _misfit(value: Json, shape: Any, path: str) -> str:
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (shape is int and isinstance(value, bool))
        return "" if fits else f"{path} is not {_NAMES[shape]}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is not a list"
        return next(filter(None, (_misfit(each, shape[0], f"{path}[{at}]") for at, each in enumerate(value))), "")
    if not isinstance(value, dict) or (shape is _FIELDS and not _is_fields(value)):
        return f"{path} is not a mapping{' of mappings' if shape is _FIELDS else ''}"
    if shape is _FIELDS:
        return ""
    if isinstance(shape, _MapOf):
        return next(filter(None, (_misfit(each, shape.inner, f"{path}.{key}") for key, each in value.items())), "")
    within = ((key, value[key], inner) for key, inner in shape.items() if value.get(key) is not None)
    return next(filter(None, (_misfit(each, inner, f"{path}.{key}".lstrip(".")) for key, each, inner in within)), "")


def _is_fields(value: Json) -> bool:
    """Whether a value is as field managers' are: mappings of mappings."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, dict):
            return False
        waiting.extend(each.values())
    return True
