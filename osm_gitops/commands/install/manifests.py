"""All that is installed, in the order in which it is applied: ServiceAccounts with their RBAC (from ``rights.py``), the
account with whose token booting machines fetch their configuration (osm-behaviour.md, "Getter token"), and
ValidatingAdmissionPolicies. What a cluster has already, from KubeOne, KKP or OSM's own manifests, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from osm_gitops.commands.install.install_plan import (
    INITIALIZER,
    INSTALLED,
    PART_OF,
    PROGRAM,
    READER,
    TOKEN_SUFFIX,
    UNINSTALLER,
    WRITER,
    InstallPlan,
    Part,
)
from osm_gitops.commands.install.jobs import jobs
from osm_gitops.commands.install.rights import (
    Right,
    management_inits,
    management_reads,
    management_refreshes,
    management_status,
    management_uninstalls,
    management_writes,
    worker_reads,
    worker_refreshes,
    worker_status,
    worker_uninstalls,
    worker_writes,
)
from osm_gitops.commands.install.schemas import definitions
from osm_gitops.errors import ClusterError
from osm_gitops.gocompat.gojson import encode
from osm_gitops.kube.answers import CONFIGURATION_POLICY, SECRET_POLICY
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import CONFIG, NAMESPACE, SECRET, SERVICE_ACCOUNT, Kind
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET

Bodies = tuple[dict[str, Json], ...]
Rights = tuple[Right, ...]


def manifests(plan: InstallPlan, side: Side, parts: frozenset[Part] = INSTALLED) -> Bodies:
    """What one of the two clusters gets; where they are one, ``side`` is the management cluster and it gets all.

    None carries the label ``app.kubernetes.io/managed-by: osm-gitops``: it marks what a run may prune.
    """
    made = _MANAGEMENT if side is Side.MANAGEMENT else _WORKER
    if not plan.split:
        made = _BOTH
    return tuple(_labelled(body) for part in Part if part in parts and part in made for body in made[part](plan))


def _labelled(body: dict[str, Json]) -> dict[str, Json]:
    metadata = body["metadata"]
    labels = {PART_OF: PROGRAM} | metadata.get("labels", {})
    return body | {"metadata": metadata | {"labels": labels}}


def _home(plan: InstallPlan) -> dict[str, Json]:
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plan.home, "labels": labels}}


def _definitions(_: InstallPlan) -> Bodies:
    return definitions()


def _getter(_: InstallPlan) -> Bodies:
    return getter()


def _management_accounts(plan: InstallPlan) -> Bodies:
    return _accounts(plan, _writer_here(plan), _reader_here(plan))


def _worker_accounts(plan: InstallPlan) -> Bodies:
    return _accounts(plan, _writer_there(plan), _reader_there(plan), lasting=True)


def _all_accounts(plan: InstallPlan) -> Bodies:
    writer = (*_writer_here(plan), *_writer_there(plan))
    return _accounts(plan, writer, (*_reader_here(plan), *_reader_there(plan)))


def _accounts(plan: InstallPlan, writer: Rights, reader: Rights, *, lasting: bool = False) -> Bodies:
    """``lasting``: with tokens for kubeconfigs that are used elsewhere."""
    bodies = [_home(plan)]
    for account, rights in ((WRITER, writer), (READER, reader)):
        bodies.append(service_account(plan.home, account))
        if lasting:
            bodies.append(lasting_token(plan.home, account))
        bodies += roles(plan, account, rights)
    return tuple(bodies)


def _init(plan: InstallPlan) -> Bodies:
    return roles(plan, READER, management_inits(plan), INITIALIZER)


def _management_uninstall(plan: InstallPlan) -> Bodies:
    return roles(plan, WRITER, management_uninstalls(plan), UNINSTALLER)


def _worker_uninstall(plan: InstallPlan) -> Bodies:
    return roles(plan, WRITER, worker_uninstalls(plan), UNINSTALLER)


def _whole_uninstall(plan: InstallPlan) -> Bodies:
    return roles(plan, WRITER, (*management_uninstalls(plan), *worker_uninstalls(plan)), UNINSTALLER)


def _writer_here(plan: InstallPlan) -> Rights:
    if plan.into_git:
        return management_refreshes(plan)
    return (*management_reads(plan), *management_writes(plan))


def _writer_there(plan: InstallPlan) -> Rights:
    return worker_refreshes(plan) if plan.into_git else (*worker_reads(plan), *worker_writes(plan))


def _reader_here(plan: InstallPlan) -> Rights:
    return (*management_reads(plan), *management_status(plan))


def _reader_there(plan: InstallPlan) -> Rights:
    return (*worker_reads(plan), *worker_status(plan))


def _both_policies(plan: InstallPlan) -> Bodies:
    return (*configuration_policy(plan), *secret_policy(plan))


def _jobs(plan: InstallPlan) -> Bodies:
    return jobs(plan, plan.jobs) if plan.jobs is not None else ()


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
        rules = [_role_rule(right) for right in dict.fromkeys(rights) if right.namespace == namespace]
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


def _role_rule(right: Right) -> dict[str, Json]:
    resource = f"{right.kind.plural}/{right.subresource}" if right.subresource else right.kind.plural
    rule: dict[str, Json] = {"apiGroups": [right.kind.group], "resources": [resource], "verbs": right.verbs.split()}
    return rule | ({"resourceNames": list(right.names)} if right.names else {})


def getter() -> tuple[dict[str, Json], ...]:
    """Namespace, account, its lasting token, and the right to get Secrets there: machines list nothing."""
    namespace, token = GETTER_SECRET
    account = token.removesuffix(TOKEN_SUFFIX)
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        service_account(namespace, account),
        lasting_token(namespace, account),
        *role(namespace, account, namespace, rules),
    )


_GROUP: Final = "group:"
_API: Final = "admissionregistration.k8s.io/v1"


_REFUSAL: Final = (
    "the spec of an OperatingSystemConfig is changed by osm-gitops only: change the MachineDeployment, its profile or "
    "the settings. Who applies OperatingSystemConfigs, such as Flux, Argo CD or a person, has to be named, beside "
    "those that are named already: osm-gitops install --part admission --writer"
)
"""What the policy says; the user follows, or how one is written."""

APPLIERS: Final[Mapping[str, str]] = {
    "Flux": "system:serviceaccount:flux-system:kustomize-controller",
    "Argo CD": "system:serviceaccount:argocd:argocd-application-controller",
}
"""Who brings objects from git to clusters, by the user names that their own installers give them."""


def configuration_policy(plan: InstallPlan) -> tuple[dict[str, Json], ...]:
    """Specs of configurations are changed by those who apply them, and by nobody else.

    OSM's webhook lets nobody change them. Creating and deleting is a matter of rights alone, so OSM,
    which replaces what it changes, goes on working.
    """
    users = [user_name(plan, WRITER), *(name for name in plan.writers if not name.startswith(_GROUP))]
    groups = [name.removeprefix(_GROUP) for name in plan.writers if name.startswith(_GROUP)]
    allowed = f"request.userInfo.username in {_texts(users)}"
    if groups:
        allowed += f" || request.userInfo.groups.exists(group, group in {_texts(groups)})"
    return _policy(
        CONFIGURATION_POLICY,
        _webhook_rule(CONFIG, "UPDATE"),
        [
            {
                "expression": f"{allowed} || object.spec == oldObject.spec",
                "message": f"{_REFUSAL} USER|group:NAME",
                "messageExpression": f'{encode(_REFUSAL)} + " \'" + request.userInfo.username + "\'"',
                "reason": "Forbidden",
            }
        ],
    )


def secret_policy(plan: InstallPlan) -> tuple[dict[str, Json], ...]:
    """Our own account writes bootstrap tokens in kube-system, and elsewhere Secrets without a meaning of their own.

    RBAC cannot say so: it knows neither types nor the beginnings of names.
    """
    ours = encode(user_name(plan, WRITER))
    return _policy(
        SECRET_POLICY,
        _webhook_rule(SECRET, "CREATE", "UPDATE", "DELETE"),
        [_of_ours(state) for state in ("object", "oldObject")],
        [{"name": "osm-gitops", "expression": f"request.userInfo.username == {ours}"}],
    )


def _of_ours(state: str) -> dict[str, Json]:
    token = f"{state}.type == 'bootstrap.kubernetes.io/token' && {state}.metadata.name.startsWith('bootstrap-token-')"
    return {
        "expression": f"{state} == null || (request.namespace == 'kube-system' ? {token} : {state}.type == 'Opaque')",
        "message": "osm-gitops writes bootstrap tokens in kube-system, and elsewhere Secrets of type Opaque only",
        "reason": "Forbidden",
    }


def _policy(
    name: str, rule: dict[str, Json], validations: Sequence[Json], conditions: Sequence[Json] = ()
) -> tuple[dict[str, Json], ...]:
    spec: dict[str, Json] = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": list(validations),
    }
    if conditions:
        spec["matchConditions"] = list(conditions)
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return (
        _body("ValidatingAdmissionPolicy", name, spec),
        _body("ValidatingAdmissionPolicyBinding", name, binding),
    )


def _webhook_rule(kind: Kind, *operations: str) -> dict[str, Json]:
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "resources": [kind.plural],
        "operations": list(operations),
    }


def _body(kind: str, name: str, spec: Json) -> dict[str, Json]:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join(map(encode, values)) + "]"


_MANAGEMENT: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.CRDS: _definitions,
    Part.ACCOUNTS: _management_accounts,
    Part.ADMISSION: configuration_policy,
    Part.JOBS: _jobs,
    Part.INIT: _init,
    Part.UNINSTALL: _management_uninstall,
}
_WORKER: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.GETTER: _getter,
    Part.ACCOUNTS: _worker_accounts,
    Part.ADMISSION: secret_policy,
    Part.UNINSTALL: _worker_uninstall,
}
_BOTH: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.CRDS: _definitions,
    Part.GETTER: _getter,
    Part.ACCOUNTS: _all_accounts,
    Part.ADMISSION: _both_policies,
    Part.JOBS: _jobs,
    Part.INIT: _init,
    Part.UNINSTALL: _whole_uninstall,
}


_FORBIDDEN: Final = 403
_KINDS: Final = {
    kind.name: kind
    for kind in (
        *(NAMESPACE, SECRET, SERVICE_ACCOUNT),
        Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False),
        Kind(_RBAC, "v1", "Role", "roles"),
        Kind(_RBAC, "v1", "RoleBinding", "rolebindings"),
    )
}


@dataclass(frozen=True, slots=True)
class Missing:
    """Of the manifests those to print; ``present`` are there and were not made by ``install``, ``unknown`` may not be
    read by this user, and are printed."""

    bodies: Sequence[dict[str, Json]]
    present: tuple[ObjectRef, ...] = ()
    unknown: tuple[ObjectRef, ...] = ()


def without_present(api: Api, bodies: Sequence[dict[str, Json]]) -> Missing:
    """``bodies`` without the shared ones that somebody else has brought: to apply them would conflict with whoever
    applies those, or would be undone by them. Raises ClusterError."""
    shared = {_ref(body) for body in (*definitions(), *getter())}
    kept, present, unknown = [], [], []
    for body in bodies:
        ref = _ref(body)
        try:
            found = api.get(_KINDS[ref.kind], ref.namespace, ref.name, metadata_only=True) if ref in shared else None
        except ClusterError as failure:
            if failure.status != _FORBIDDEN:
                raise
            unknown.append(ref)
            found = None
        if found is not None and (found["metadata"].get("labels") or {}).get(PART_OF) != PROGRAM:
            present.append(ref)
        else:
            kept.append(body)
    return Missing(kept, tuple(present), tuple(unknown))


def _ref(body: dict[str, Json]) -> ObjectRef:
    metadata = body["metadata"]
    return ObjectRef(body["kind"], metadata.get("namespace", ""), metadata["name"])
