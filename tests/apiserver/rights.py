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
    """Give a user rights in one namespace, or in all; those of before stay. Returns when the server knows of them."""
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
    for each in rules:
        _wait(cluster, user, each, namespace)


def _wait(cluster: Cluster, user: str, rule: Rule, namespace: str) -> None:
    """The server's view of its own roles follows what is written within milliseconds, not at once."""
    asked = {
        "namespace": namespace,
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": rule["resources"][0],
        "name": next(iter(rule.get("resourceNames", ())), ""),
    }
    spec = {"user": user, "resourceAttributes": asked}
    question = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}, "spec": spec}
    client = cluster.client()
    for _ in range(1000):
        if client.create(question)["status"]["allowed"]:
            return
    message = f"{user} stays without {asked}"
    raise AssertionError(message)
