"""The account with whose token booting machines fetch their configuration (contract §2, users 2.1)."""

from __future__ import annotations

from typing import Final

from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json
from osm_gitops.resolve.bootstrap_token import GETTER_SECRET

_ACCOUNT: Final = "cloud-init-getter"
_RBAC: Final = "rbac.authorization.k8s.io"


def getter() -> tuple[dict[str, Json], ...]:
    """Namespace, account, its lasting token, and the right to get Secrets there: machines list nothing."""
    metadata = {"name": _ACCOUNT, "namespace": CLOUD_INIT_NAMESPACE}
    namespace, name = GETTER_SECRET
    token = {"name": name, "namespace": namespace}
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CLOUD_INIT_NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "automountServiceAccountToken": False},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": token | {"annotations": {"kubernetes.io/service-account.name": _ACCOUNT}},
            "type": "kubernetes.io/service-account-token",
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": _ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": CLOUD_INIT_NAMESPACE}],
        },
    )
