"""Rights for users of the tests' clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.apiserver.cluster import Cluster

_API = "rbac.authorization.k8s.io"
Rule = Mapping[str, Any]


def rule(verbs: str, resource: str, names: Sequence[str] = ()) -> Rule:
    """Verbs (with blanks between them) on a resource, written as ``plural`` or ``plural.group``."""
    plural, _, group = resource.partition(".")
    named = {"resourceNames": list(names)} if names else {}
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": [plural], **named}


def allow(cluster: Cluster, user: str, rules: Sequence[Rule], namespace: str = "") -> None:
    """Give a user rights in one namespace, or in all; those of before stay."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"generateName": f"{user}-", **({"namespace": namespace} if namespace else {})}
    role = cluster.client().create(
        {"apiVersion": f"{_API}/v1", "kind": kind, "metadata": metadata, "rules": [dict(each) for each in rules]}
    )
    cluster.client().create(
        {
            "apiVersion": f"{_API}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "subjects": [{"kind": "User", "name": user, "apiGroup": _API}],
            "roleRef": {"kind": kind, "name": role["metadata"]["name"], "apiGroup": _API},
        }
    )
