"""CustomResourceDefinitions of the kinds of others, as small as a lane can do with."""

from __future__ import annotations

from typing import Any

from osm_gitops.commands.boot.lane.control_plane import Object

_ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(group: str, kind: str, spec: Object = _ANYTHING, **version: Any) -> Object:
    """A namespaced kind with one version, v1alpha1."""
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": _ANYTHING}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # Without this word the API server takes no kind of a group below k8s.io.
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema, **version}],
        },
    }
