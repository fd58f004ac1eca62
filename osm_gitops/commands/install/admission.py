"""What API servers refuse, whatever rights somebody has: ValidatingAdmissionPolicies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from osm_gitops.commands.install.accounts import WRITER, user_name
from osm_gitops.commands.install.install_plan import InstallPlan
from osm_gitops.gocompat.gojson import encode
from osm_gitops.kube.failures import CONFIGURATION_POLICY, SECRET_POLICY
from osm_gitops.kube.kinds import CONFIG, SECRET, Kind
from osm_gitops.model.objects import Json

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
        _rule(CONFIG, "UPDATE"),
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
        _rule(SECRET, "CREATE", "UPDATE", "DELETE"),
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


def _rule(kind: Kind, *operations: str) -> dict[str, Json]:
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
