"""Our ServiceAccounts and what they may do: RBAC, made from the tables of ``rights.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from osm_gitops.commands.install.install_plan import InstallPlan
from osm_gitops.commands.install.rights import Right
from osm_gitops.model.objects import Json

WRITER: Final = "osm-gitops"
TOKEN_SUFFIX: Final = "-token"  # noqa: S105 - of the names of Secrets
READER: Final = "osm-gitops-reader"
UNINSTALLER: Final = "osm-gitops-uninstall"
"""Name of the roles with which the writer may give a cluster back."""
INITIALIZER: Final = "osm-gitops-init"
"""Name of the roles with which the reader may write a config repo from a cluster."""
_RBAC: Final = "rbac.authorization.k8s.io"


def user_name(plan: InstallPlan, account: str) -> str:
    """The user as whom an account's pods come to an API server."""
    return f"system:serviceaccount:{plan.home}:{account}"


def service_account(namespace: str, account: str) -> dict[str, Json]:
    """An account whose token no pod gets unless it asks for it."""
    metadata = {"name": account, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "automountServiceAccountToken": False}


def lasting_token(namespace: str, account: str) -> dict[str, Json]:
    """A Secret that the cluster fills with a token of an account, for a kubeconfig that is used elsewhere."""
    annotations = {"kubernetes.io/service-account.name": account}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": account + TOKEN_SUFFIX, "namespace": namespace, "annotations": annotations},
        "type": "kubernetes.io/service-account-token",
    }


def roles(plan: InstallPlan, account: str, rights: Sequence[Right], name: str = "") -> tuple[dict[str, Json], ...]:
    """A role and its binding for every namespace in which the account has rights, those of the whole cluster first.

    They have the account's name where they have no ``name`` of their own."""
    bodies: list[dict[str, Json]] = []
    for namespace in sorted({right.namespace for right in rights}):
        # The tables overlap where one cluster is both.
        rules = [_rule(right) for right in dict.fromkeys(rights) if right.namespace == namespace]
        bodies += role(plan.home, account, namespace, rules, name)
    return tuple(bodies)


def role(home: str, account: str, namespace: str, rules: Sequence[Json], name: str = "") -> tuple[dict[str, Json], ...]:
    """What an account in namespace ``home`` may do in ``namespace`` (empty: in the whole cluster), and the binding."""
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name or account} | ({"namespace": namespace} if namespace else {})
    return (
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name or account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
        },
    )


def _rule(right: Right) -> dict[str, Json]:
    resource = f"{right.kind.plural}/{right.subresource}" if right.subresource else right.kind.plural
    rule: dict[str, Json] = {"apiGroups": [right.kind.group], "resources": [resource], "verbs": right.verbs.split()}
    return rule | ({"resourceNames": list(right.names)} if right.names else {})
