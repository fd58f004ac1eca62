"""The manifests of ``install``: accounts with RBAC (``rights.py``), the account whose token booting machines use
(osm-behaviour.md, "Getter token"), ValidatingAdmissionPolicies, and what is left out because the cluster has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from osm_gitops.commands.install.install_plan import (
    INITIALIZER,
    INSTALLED,
    PART_OF,
    PROFILE_WRITER,
    PROGRAM,
    READER,
    SWITCHER,
    TOKEN_SUFFIX,
    UNINSTALLER,
    WRITER,
    InstallPlan,
    Part,
)
from osm_gitops.commands.install.jobs import jobs
from osm_gitops.commands.install.rights import (
    Right,
    leaves_results,
    management_inits,
    management_reads,
    management_refreshes,
    management_status,
    management_uninstalls,
    management_watched_refreshes,
    management_watches,
    management_writes,
    seed_profiles,
    seed_reads,
    seed_switches,
    worker_reads,
    worker_refreshes,
    worker_status,
    worker_uninstalls,
    worker_watched_refreshes,
    worker_watches,
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
    """The manifests for one of two clusters, in the order in which they are applied. Without a separate worker cluster
    ``side`` is the management cluster, which gets all. A KKP seed needs only accounts and jobs.

    None has the label ``app.kubernetes.io/managed-by: osm-gitops``, which marks what a run may prune.
    """
    table = ON_SEED if plan.on_seed else _BOTH
    if plan.split:
        table = _MANAGEMENT if side is Side.MANAGEMENT else _WORKER
    return tuple(_labelled(body) for part in Part if part in parts and part in table for body in table[part](plan))


def _labelled(body: dict[str, Json]) -> dict[str, Json]:
    metadata = body["metadata"]
    labels = {PART_OF: PROGRAM} | metadata.get("labels", {})
    return body | {"metadata": metadata | {"labels": labels}}


def _accounts(plan: InstallPlan, writer: Rights, reader: Rights, *, lasting: bool = False) -> Bodies:
    """``lasting``: with tokens for kubeconfigs that are used elsewhere."""
    bodies = [_home(plan)]
    for account, rights in ((WRITER, writer), (READER, reader)):
        bodies.append(service_account(plan.home, account))
        if lasting:
            bodies.append(lasting_token(plan.home, account))
        bodies += roles(plan, account, rights)
    return tuple(bodies)


def _home(plan: InstallPlan) -> dict[str, Json]:
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn", "audit")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plan.home, "labels": labels}}


def _accounts_on_seed(plan: InstallPlan) -> Bodies:
    """One account: whoever reads a user cluster has the rights of its admin there."""
    rights = (*seed_reads(), *leaves_results(plan, "apply", "refresh"))
    return _home(plan), service_account(plan.home, WRITER), *roles(plan, WRITER, rights)


def _management_rights(plan: InstallPlan) -> tuple[Rights, Rights]:
    """Rights of the writer and of the reader."""
    reads = management_reads(plan)
    writer = management_refreshes(plan) if plan.into_git else (*reads, *management_writes(plan))
    watching = (management_watches(plan), management_watched_refreshes(plan)) if plan.watches else ((), ())
    reader = (*reads, *management_status(plan))
    if plan.into_git:  # who applies to git is the reader
        reader, writer = (*reader, *leaves_results(plan, "apply")), (*writer, *leaves_results(plan, "refresh"))
    else:
        writer = (*writer, *leaves_results(plan, "apply"))
    return _with_watches(plan, writer, reader, *watching)


def _worker_rights(plan: InstallPlan) -> tuple[Rights, Rights]:
    """Rights of the writer and of the reader."""
    reads = worker_reads(plan)
    writer = worker_refreshes(plan) if plan.into_git else (*reads, *worker_writes(plan))
    watching = (worker_watches(plan), worker_watched_refreshes(plan)) if plan.watches else ((), ())
    return _with_watches(plan, writer, (*reads, *worker_status(plan)), *watching)


def _with_watches(
    plan: InstallPlan, writer: Rights, reader: Rights, applies: Rights, refreshes: Rights
) -> tuple[Rights, Rights]:
    """The rights of writer and reader with those to watch: who applies to git is the reader."""
    if not plan.into_git:
        return (*writer, *applies), reader
    return (*writer, *refreshes), (*reader, *applies)


def _accounts_of_both(plan: InstallPlan) -> Bodies:
    (writer, reader), (more, others) = _management_rights(plan), _worker_rights(plan)
    return _accounts(plan, (*writer, *more), (*reader, *others))


_RBAC: Final = "rbac.authorization.k8s.io"


def user_name(plan: InstallPlan, account: str) -> str:
    """The user name that API servers give to an account."""
    return f"system:serviceaccount:{plan.home}:{account}"


def service_account(namespace: str, account: str) -> dict[str, Json]:
    """An account whose token is mounted only into pods that ask for it."""
    metadata = {"name": account, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "automountServiceAccountToken": False}


def lasting_token(namespace: str, account: str) -> dict[str, Json]:
    """A Secret that the cluster fills with a token of an account, for a kubeconfig outside of the cluster."""
    annotations = {"kubernetes.io/service-account.name": account}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": account + TOKEN_SUFFIX, "namespace": namespace, "annotations": annotations},
        "type": "kubernetes.io/service-account-token",
    }


def roles(plan: InstallPlan, account: str, rights: Sequence[Right], name: str = "") -> tuple[dict[str, Json], ...]:
    """A role and its binding for each namespace in which the account has rights, the ones for the whole cluster first.

    Without a ``name`` they are named as the account."""
    bodies: list[dict[str, Json]] = []
    for namespace in sorted({right.namespace for right in rights}):
        # The tables overlap if the management cluster is the worker cluster.
        rules = [_role_rule(right) for right in dict.fromkeys(rights) if right.namespace == namespace]
        bodies += role(plan.home, account, namespace, rules, name)
    return tuple(bodies)


def role(home: str, account: str, namespace: str, rules: Sequence[Json], name: str = "") -> tuple[dict[str, Json], ...]:
    """The role of an account of namespace ``home`` in ``namespace`` (empty: the whole cluster), and its binding."""
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
    """Namespace, account, its token, and the right to get Secrets there, but not to list them."""
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
    "only osm-gitops may change the spec of an OperatingSystemConfig: change the MachineDeployment, its profile or "
    "the settings. To allow Flux, Argo CD or a person to apply OperatingSystemConfigs, name them in addition to "
    "the current ones: osm-gitops install --part admission --writer"
)
"""The message of the policy; the user name follows, or its syntax."""

APPLIERS: Final[Mapping[str, str]] = {
    "Flux": "system:serviceaccount:flux-system:kustomize-controller",
    "Argo CD": "system:serviceaccount:argocd:argocd-application-controller",
}
"""User names of the tools that apply objects from git, as their own installers set them."""


def configuration_policy(plan: InstallPlan) -> tuple[dict[str, Json], ...]:
    """Only the writer and ``plan.writers`` may change the spec of a configuration.

    OSM's webhook refuses every change. Creating and deleting is left to RBAC, so OSM, which replaces
    configurations, keeps working.
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
    """The writer may write only bootstrap tokens in kube-system, and Secrets of type Opaque elsewhere.

    RBAC cannot express this: it selects neither by type nor by prefix of a name.
    """
    ours = encode(user_name(plan, WRITER))
    return _policy(
        SECRET_POLICY,
        _webhook_rule(SECRET, "CREATE", "UPDATE", "DELETE"),
        [_allowed_secret(state) for state in ("object", "oldObject")],
        [{"name": "osm-gitops", "expression": f"request.userInfo.username == {ours}"}],
    )


def _allowed_secret(state: str) -> dict[str, Json]:
    token = f"{state}.type == 'bootstrap.kubernetes.io/token' && {state}.metadata.name.startsWith('bootstrap-token-')"
    return {
        "expression": f"{state} == null || (request.namespace == 'kube-system' ? {token} : {state}.type == 'Opaque')",
        "message": "osm-gitops may write only bootstrap tokens in kube-system, and Secrets of type Opaque elsewhere",
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
    return tuple(
        {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec}
        for kind, spec in (("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", binding))
    )


def _webhook_rule(kind: Kind, *operations: str) -> dict[str, Json]:
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "resources": [kind.plural],
        "operations": list(operations),
    }


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join(map(encode, values)) + "]"


_MANAGEMENT: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.CRDS: lambda _: definitions(),
    Part.ACCOUNTS: lambda plan: _accounts(plan, *_management_rights(plan)),
    Part.ADMISSION: configuration_policy,
    Part.JOBS: lambda plan: jobs(plan, plan.jobs) if plan.jobs is not None else (),
    Part.INIT: lambda plan: roles(plan, READER, management_inits(plan), INITIALIZER),
    Part.UNINSTALL: lambda plan: roles(plan, WRITER, management_uninstalls(plan), UNINSTALLER),
}
_WORKER: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.GETTER: lambda _: getter(),
    Part.ACCOUNTS: lambda plan: _accounts(plan, *_worker_rights(plan), lasting=True),
    Part.ADMISSION: secret_policy,
    Part.UNINSTALL: lambda plan: roles(plan, WRITER, worker_uninstalls(plan), UNINSTALLER),
}
_BOTH: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    **_MANAGEMENT,
    **_WORKER,
    Part.ACCOUNTS: _accounts_of_both,
    Part.ADMISSION: lambda plan: (*configuration_policy(plan), *secret_policy(plan)),
    Part.UNINSTALL: lambda plan: roles(
        plan, WRITER, (*management_uninstalls(plan), *worker_uninstalls(plan)), UNINSTALLER
    ),
}
ON_SEED: Final[Mapping[Part, Callable[[InstallPlan], Bodies]]] = {
    Part.ACCOUNTS: _accounts_on_seed,
    Part.JOBS: _MANAGEMENT[Part.JOBS],
    Part.SWITCH: lambda plan: roles(plan, WRITER, seed_switches(), SWITCHER),
    Part.PROFILES: lambda plan: roles(plan, WRITER, seed_profiles(), PROFILE_WRITER),
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
    """The manifests to print; ``present`` exist and ``install`` did not make them, ``unknown`` may not be read by this
    user and are printed."""

    bodies: Sequence[dict[str, Json]]
    present: tuple[ObjectRef, ...] = ()
    unknown: tuple[ObjectRef, ...] = ()


def without_present(api: Api, bodies: Sequence[dict[str, Json]]) -> Missing:
    """``bodies`` without the shared ones that another installation has applied: applying them would conflict with it,
    or be reverted by it. Raises ClusterError."""
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
