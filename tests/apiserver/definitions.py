"""CustomResourceDefinitions, as small as the tests can do with: names, defaults, and the status where there is one."""

from __future__ import annotations

from typing import Any

from tests.apiserver.client import Object

_ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_FILES: Object = {
    "type": "array",
    "items": _ANYTHING | {"properties": {"permissions": {"type": "integer", "format": "int32", "default": 644}}},
}
_HALF: Object = _ANYTHING | {"properties": {"files": _FILES}}
# The defaults of contract §1.2 and §1.3: a reader meets objects that have them.
_OPERATING_SYSTEM: Object = _ANYTHING | {
    "properties": {
        "bootstrapConfig": _HALF,
        "provisioningConfig": _HALF,
        "provisioningUtility": {"type": "string", "default": "cloud-init"},
    }
}


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


DEFINITIONS = (
    *(
        definition("operatingsystemmanager.k8c.io", kind, _OPERATING_SYSTEM)
        for kind in ("OperatingSystemProfile", "OperatingSystemConfig")
    ),
    *(
        definition("cluster.k8s.io", kind, subresources={"status": {}})
        for kind in ("MachineDeployment", "MachineSet", "Machine")
    ),
)


def is_established(found: Object | None) -> bool:
    """Whether the server serves the kind of this definition."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()  # null at first
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
