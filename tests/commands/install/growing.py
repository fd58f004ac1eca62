"""An account that begins with no right at all, and is given one whenever it is refused: what it has in the end is what
it needs, and each of these was seen to be missed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from osm_gitops.commands.install.rights import Right
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster

_RBAC = "rbac.authorization.k8s.io"
_REFUSAL = re.compile(
    r'(?P<resource>\S+) (?:"(?P<name>[^"]*)" )?is forbidden: User "[^"]+" cannot (?P<verb>\w+) resource '
    r'"(?P<path>[^"]+)" in API group "(?P<group>[^"]*)" '
    r'(?:in the namespace "(?P<namespace>[^"]+)"|at the cluster scope)'
)
_ATTEMPTS = 2000


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One verb on one resource: everywhere, in a namespace, or for one name in it."""

    namespace: str
    group: str
    resource: str
    verb: str
    name: str = ""


def grants(rights: Iterable[Right]) -> set[Grant]:
    """What a table of rights comes to."""
    return {
        Grant(
            right.namespace,
            right.kind.group,
            f"{right.kind.plural}/{right.subresource}".rstrip("/"),
            verb,
            name,
        )
        for right in rights
        for verb in right.verbs.split()
        for name in right.names or ("",)
    }


def granted(bodies: Iterable[Object], account: str) -> set[Grant]:
    """What roles among manifests give to an account by their bindings."""
    listed = list(bodies)
    bound = {
        (each["roleRef"]["kind"], each["roleRef"]["name"], each["metadata"].get("namespace", ""))
        for each in listed
        if each["kind"].endswith("RoleBinding") and any(who["name"] == account for who in each["subjects"])
    }
    return {
        Grant(each["metadata"].get("namespace", ""), group, resource, verb, name)
        for each in listed
        if (each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", "")) in bound
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", ("",))
    }


def until_granted(cluster: Cluster, user: str, grants: Iterable[Grant]) -> None:
    """Wait until the server knows that a user has all of these."""
    client = cluster.client(user)
    for grant in grants:
        resource, _, subresource = grant.resource.partition("/")
        attributes = {"group": grant.group, "resource": resource, "verb": grant.verb, "name": grant.name}
        attributes |= {"namespace": grant.namespace, "subresource": subresource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {},
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        allowed = (json.loads(client.text(path, "POST", review))["status"]["allowed"] for _ in range(_ATTEMPTS))
        assert any(allowed), grant


@dataclass(slots=True)
class Growing:
    """The rights of one ServiceAccount in one cluster. ``expected`` are those that it should have in the end: which
    of them are for the whole cluster, and which for one name, only they tell."""

    cluster: Cluster
    namespace: str
    account: str
    expected: Collection[Grant]
    dispensable: Collection[Grant] = ()
    """What is asked for first, where less will do as well."""
    given: set[Grant] = field(default_factory=set)
    _read: int = 0

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.account}"

    def refused(self) -> set[Grant]:
        """What was refused since the last look."""
        lines = self.cluster.audit.read_text("utf-8").splitlines()
        events = [json.loads(line) for line in lines[self._read :]]
        self._read = len(lines)
        found = set()
        for event in events:
            said = event["responseStatus"]
            match = _REFUSAL.match(said.get("message", "")) if said["code"] == 403 else None
            if match and event["user"]["username"] == self.user:
                found.add(self._known(match, event["objectRef"].get("name", "")))
        return found.difference(self.dispensable)

    def _known(self, match: re.Match[str], name: str) -> Grant:
        wanted = Grant(match["namespace"] or "", match["group"], match["path"], match["verb"], name)
        for namespace in (wanted.namespace, ""):
            for each in (name, ""):
                grant = Grant(namespace, wanted.group, wanted.resource, wanted.verb, each)
                if grant in self.expected:
                    return grant
        return wanted

    def give(self, grants: Iterable[Grant]) -> None:
        """Allow more, and wait until the server knows."""
        more = set(grants)
        self.given |= more
        for namespace in {grant.namespace for grant in more}:
            self._write(namespace)
        until_granted(self.cluster, self.user, more)

    def _write(self, namespace: str) -> None:
        kind = "Role" if namespace else "ClusterRole"
        metadata: Object = {"name": "growing"} | ({"namespace": namespace} if namespace else {})
        rules = [
            {"apiGroups": [each.group], "resources": [each.resource], "verbs": [each.verb]}
            | ({"resourceNames": [each.name]} if each.name else {})
            for each in sorted(self.given)
            if each.namespace == namespace
        ]
        self.cluster.client().apply({"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules})
        self.cluster.client().apply(
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": "growing"},
                "subjects": [{"kind": "ServiceAccount", "name": self.account, "namespace": self.namespace}],
            }
        )


def grow(accounts: Collection[Growing], run: Callable[[], tuple[bool, str]]) -> str:
    """Run again with what was refused allowed, until it is well: what was said on the way. ``run`` tells whether it
    was.

    Of every refusal something must be said, and of everything that is not well a refusal must be the reason.
    """
    for account in accounts:
        account.refused()  # of others before
    told = ""
    for _ in range(100):
        well, said = run()
        told += said
        missing = [(account, account.refused()) for account in accounts]
        if not any(grants for _, grants in missing):
            assert well, told
            return told
        assert not well or "forbidden" in said, f"nobody was told of {missing}: {said}"
        for account, found in missing:
            account.give(found)
    raise AssertionError("there is no end of refusals")
