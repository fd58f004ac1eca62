"""An installation on API servers of the tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress

from osm_gitops.commands.install.install_plan import INSTALLED, InstallPlan, Jobs, Part
from osm_gitops.commands.install.manifests import manifests
from osm_gitops.model.desired import Side
from tests.apiserver.client import Client, Object, Refused, path_of
from tests.apiserver.cluster import Cluster

PLAN = InstallPlan(namespace="kube-system", jobs=Jobs(image="registry.example.com/osm-gitops:1"))
_ATTEMPTS = 2000


def install(
    cluster: Cluster, plan: InstallPlan = PLAN, side: Side = Side.MANAGEMENT, without: Collection[Part] = ()
) -> list[Object]:
    """Apply what is printed, in its order, all but the definitions, which the servers of the tests have."""
    bodies = manifests(plan, side, INSTALLED - {Part.CRDS, *without})
    return [cluster.client().apply(body, "installer") for body in bodies]


def allow(cluster: Cluster, user: str, resource: str, *verbs: str, group: str = "") -> None:
    """Let a user do something everywhere."""
    name = f"test-{resource}"
    rules = [{"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}]
    api = "rbac.authorization.k8s.io"
    metadata = {"name": name}
    role = {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{api}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
    }
    for body in (role, binding):
        cluster.client().apply(body)


def until_refused(client: Client, body: Object, wanted: str) -> str:
    """Try a dry run of an apply until a policy refuses it, which takes the server a moment; the refusal."""
    path = f"{path_of(body)}?fieldManager=tests&force=true&dryRun=All"
    for _ in range(_ATTEMPTS):
        try:
            client.text(path, "PATCH", body, Content_Type="application/apply-patch+yaml")
        except Refused as refused:
            if wanted in str(refused):
                return str(refused)
    raise AssertionError(f"nobody refuses {path} with {wanted!r}")


def until_allowed(client: Client, bodies: Iterable[Object]) -> None:
    """Try dry runs of applies until they are allowed: what roles say reaches the server's judge in a moment."""
    for body in bodies:
        path = f"{path_of(body)}?fieldManager=tests&force=true&dryRun=All"
        for _ in range(_ATTEMPTS):
            with suppress(Refused):
                client.text(path, "PATCH", body, Content_Type="application/apply-patch+yaml")
                break
        else:
            raise AssertionError(f"{path} stays forbidden")


def until_allowed_to_list(client: Client, collection: str) -> None:
    """Until the server's judge knows that this user may list."""
    for _ in range(_ATTEMPTS):
        with suppress(Refused):
            client.get(collection)
            return
    raise AssertionError(f"{collection} stays forbidden")
