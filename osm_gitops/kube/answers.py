"""Answers of API servers: refusals as problems, and validation of objects.

Messages about objects that may contain secrets are not quoted. Of objects, the types of all fields that the program
reads are checked, so that a faulty server or gateway gives an error message. Checked elsewhere, as for a tree, are
specifications of MachineDeployments and profiles, and contents of ConfigMaps and Secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import ClusterError, Code, ConflictError, Problem, WebhookError
from osm_gitops.kube.kinds import CONFIG, CONFIG_MAP, MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET, SECRET, Kind

# Secrets, boot configuration, and objects that may contain inline cloud credentials.
_CONFIDENTIAL = frozenset({SECRET, CONFIG, CONFIG_MAP, MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE})
# The field and its expected type, without its value.
_MISFIT = re.compile(r"failed to create typed patch object \(.*?\): (\S+): (expected \w+|field not declared in schema)")
_LONGEST = 300
_RIGHT = re.compile(r'User "([^"\n]{1,200})" cannot ([a-z]{1,20}) ')
_MANAGER = re.compile(r'conflict with "([^"\n]{1,200})"')
_GUARD = re.compile(r"(ValidatingAdmissionPolicy|admission webhook) ['\"]([A-Za-z0-9.\-:/]{1,200})['\"]")
CONFIGURATION_POLICY = "osm-gitops-configurations"
"""Admission policies that ``install`` prints: their refusals get specific advice."""
SECRET_POLICY = "osm-gitops-secrets"  # noqa: S105 - a name
_WRITER = re.compile(r"--writer '([^'\n]{1,200})'")
_UNCALLED = re.compile(r'failed calling webhook "([A-Za-z0-9.\-]{1,253})"')
# Reasons that may be quoted. Others may contain secrets.
_UNCALLED_WHY = re.compile(
    r'no endpoints available for service "[a-z0-9.\-]{1,253}"|service "[a-z0-9.\-]{1,253}" not found|'
    r"connection refused|context deadline exceeded|i/o timeout|no route to host|no such host|x509: [a-z ]{1,80}"
)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """A request for error messages: RBAC verb, kind and place. ``name`` is empty for all objects."""

    verb: str
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{f' {self.name}' if self.name else ''}{place}"

    @property
    def resource(self) -> str:
        name = f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural
        return f"{name}.{self.kind.group}" if self.kind.group else name


def status_of(data: bytes) -> Mapping[str, Any]:
    """The Status object of an answer, or an empty mapping."""
    try:
        parsed = parse_json(data)
    except ValueError:
        return {}
    if not isinstance(parsed, dict) or parsed.get("kind") != "Status":
        return {}
    details = parsed.get("details")
    details = details if isinstance(details, dict) else {}
    causes = details.get("causes")
    listed = [each for each in causes if isinstance(each, dict)] if isinstance(causes, list) else []
    return parsed | {"details": details | {"causes": listed}}


def is_missing_object(wanted: RequestInfo, status: Mapping[str, Any]) -> bool:
    """Whether a 404 means that this object does not exist, rather than its kind or namespace."""
    details = status.get("details") or {}
    return details.get("name") == wanted.name and details.get("kind") == wanted.kind.plural


def uncalled_webhook(code: int, data: bytes) -> str:
    """The name of the webhook that the API server could not call; empty for other answers."""
    found = _UNCALLED.search(str(status_of(data).get("message") or "")) if code == 500 else None
    return found.group(1) if found else ""


def webhook_refusal(
    wanted: RequestInfo, webhook: str, configurations: Sequence[tuple[Kind, str]], data: bytes, where: str
) -> WebhookError:
    """The error of a write that failed since a webhook could not be called. ``configurations`` (kind and name) may
    contain the webhook, as far as they could be read."""
    names = [f"{kind.name} {name}" for kind, name in configurations]
    named = f"{webhook} of {' or '.join(names)}" if names else webhook
    cause = _UNCALLED_WHY.search(str(status_of(data).get("message") or ""))
    why = f": {cause.group(0)}" if cause else ""
    deletions = " or ".join(f"kubectl delete {kind.name.lower()} {name}" for kind, name in configurations)
    find = "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o yaml"
    ends = deletions or f"find its configuration with {find}, and delete it"
    fix = f"Start its pods; if it was uninstalled, {ends}"
    what = f"{wanted}: the API server cannot call webhook {named} (500{why})"
    return WebhookError([Problem(Code.WEBHOOK_UNREACHABLE, what, where=where, fix=fix)], named)


def refusal(wanted: RequestInfo, code: int, data: bytes, where: str) -> ClusterError:
    """The error for an answer."""
    status = status_of(data)
    what, fix = _explain(wanted, code, status)
    problem = Problem(Code.REQUEST_REFUSED, f"{wanted}: {what}", where=where, fix=fix)
    if code == 409 and wanted.verb != "create":
        return ConflictError([problem], tuple(dict.fromkeys(_managers(status))))
    return ClusterError([problem], code)


def _explain(wanted: RequestInfo, code: int, status: Mapping[str, Any]) -> tuple[str, str]:
    message = str(status.get("message") or "")
    if code == 401:
        return "the credentials are refused (401)", "Log in again, or name another context or kubeconfig"
    if code == 403:
        return _forbidden(wanted, status, message)
    if code == 404:
        return _not_found(wanted, status)
    if code == 409:
        return _conflict(wanted, status)
    if 300 <= code < 400:
        return f"it answered with a redirection ({code})", "Check the server's address in the kubeconfig"
    misfit = _MISFIT.match(message)
    if misfit:
        return f"the object does not fit its definition: {misfit.group(1)} {misfit.group(2)}", ""
    if code in {400, 422}:
        return _refused(wanted, code, status, message)
    if code == 413:
        return "the object is too big for the server (413)", ""
    if code == 429:
        return "the server is too busy (429)", "Try again later, or lower --concurrency"
    return f"the server failed ({code}){_cited(wanted, message)}", "Look into the log of the API server"


def _refused(wanted: RequestInfo, code: int, status: Mapping[str, Any], message: str) -> tuple[str, str]:
    if not status:  # not an answer of an API server
        return f"it is not understood ({code})", "Check the server's address in the kubeconfig: https, and its port"
    return f"the object is refused ({code}){_causes(wanted, status) or _cited(wanted, message)}", ""


def _forbidden(wanted: RequestInfo, status: Mapping[str, Any], message: str) -> tuple[str, str]:
    missing = _RIGHT.search(message)
    if missing:
        user, verb = missing.groups()  # server-side apply may also need to create
        if user == "system:anonymous":
            return "anonymous access is forbidden (403)", "Log in, or name another context"
        place = f"namespace {wanted.namespace}" if wanted.namespace else "all namespaces"
        scope = place if wanted.kind.namespaced else "the cluster"
        right = f"the verb {verb} on {wanted.resource} in {scope}"
        return "it is forbidden (403)", f"Grant {user} {right}, as the roles of osm-gitops install do"
    if any(cause.get("reason") == "NamespaceTerminating" for cause in _of(status)):
        return f"namespace {wanted.namespace} is being deleted (403)", "Wait until it is deleted, then create it again"
    guard = _GUARD.search(message)
    if guard is None:
        return (
            f"it is forbidden (403){_cited(wanted, message)}",
            "Ask the administrators of the cluster",
        )
    kind, name = guard.groups()
    by = f"ValidatingAdmissionPolicy {name}" if kind.startswith("V") else f"webhook {name}"
    return f"it is forbidden by {by} (403){_cited(wanted, message)}", _way_past(by, message)


def _way_past(rule: str, message: str) -> str:
    """The next step after a refusal by an admission rule."""
    if rule == f"ValidatingAdmissionPolicy {CONFIGURATION_POLICY}":
        user = _WRITER.search(message)
        writer = f"'{user.group(1)}'" if user else "USER|group:NAME"
        printed = f"osm-gitops install --part admission --writer {writer}"
        return f"Add this user to the writers: {printed}, with the existing writers, and apply the result"
    if rule == f"ValidatingAdmissionPolicy {SECRET_POLICY}":
        return "This policy is from osm-gitops install: the existing Secret has a type that runs may not write"
    return f"Ask the administrator of {rule}"


def _not_found(wanted: RequestInfo, status: Mapping[str, Any]) -> tuple[str, str]:
    details = status.get("details") or {}
    if details.get("kind") == "namespaces" and wanted.namespace:
        what = f"namespace {wanted.namespace} does not exist (404)"
        return what, f"Create it: kubectl create namespace {wanted.namespace}"
    if is_missing_object(wanted, status):
        return "it does not exist (404)", ""
    # The path does not exist: the kind is not served.
    what = f"the server does not know {wanted.kind.name} of {wanted.kind.api_version} (404)"
    return what, "Check that this is the right cluster; osm-gitops install prints the definitions that it needs"


def _conflict(wanted: RequestInfo, status: Mapping[str, Any]) -> tuple[str, str]:
    managers = ", ".join(dict.fromkeys(_managers(status)))
    if managers:
        fields = ", ".join(dict.fromkeys(_fields(status)))
        how = "Find out why they write it, or take the fields over with --force-conflicts"
        return f"{managers} owns fields that are to change: {fields}", how
    if wanted.verb == "create":
        return "it exists already (409)", ""
    return "it was changed or replaced meanwhile (409)", "Run again"


def _managers(status: Mapping[str, Any]) -> Iterator[str]:
    for cause in _of(status):
        found = _MANAGER.search(str(cause.get("message") or ""))
        if found and cause.get("reason") == "FieldManagerConflict":
            yield found.group(1)


def _of(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    causes: list[Mapping[str, Any]] = (status.get("details") or {}).get("causes") or []
    return causes


def _fields(status: Mapping[str, Any]) -> Iterator[str]:
    return (str(cause["field"]) for cause in _of(status) if cause.get("field"))


def _causes(wanted: RequestInfo, status: Mapping[str, Any]) -> str:
    """The invalid fields, without values that may be secret."""
    if wanted.kind not in _CONFIDENTIAL:
        return ""
    causes = (f"{cause['field']} ({cause.get('reason') or 'invalid'})" for cause in _of(status) if cause.get("field"))
    listed = ", ".join(dict.fromkeys(causes))
    return f": {listed[:_LONGEST]}" if listed else ""


def _cited(wanted: RequestInfo, message: str) -> str:
    if wanted.kind in _CONFIDENTIAL or not message:
        return ""
    text = " ".join(message.split())
    return f": {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}"


Json = Any

_LONGEST_NAME: Final = 253
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]")
_NAMES: Final = {str: "a text", int: "a whole number", bool: "true or false", dict: "a mapping"}


@dataclass(frozen=True, slots=True)
class _MapOf:
    """A mapping with any keys, whose values have one type."""

    inner: Any


_TEXTS: Final = _MapOf(str)
_FIELDS: Final = "mappings alone, however deep"
_METADATA: Final = {
    **dict.fromkeys(("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generateName"), str),
    "generation": int,
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "finalizers": [str],
    "ownerReferences": [
        {**dict.fromkeys(("apiVersion", "kind", "name", "uid"), str), "controller": bool, "blockOwnerDeletion": bool}
    ],
    "managedFields": [
        {**dict.fromkeys(("manager", "operation", "subresource", "apiVersion", "time"), str), "fieldsV1": _FIELDS}
    ],
}
_VALUE_FROM: Final = {
    "secretKeyRef": {"name": str, "key": str, "optional": bool},
    "configMapKeyRef": {"name": str, "key": str, "optional": bool},
    "fieldRef": {"fieldPath": str},
}
_CONTAINER: Final = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str, "valueFrom": _VALUE_FROM}],
    "envFrom": [{"prefix": str, "secretRef": {"name": str}, "configMapRef": {"name": str}}],
    "volumeMounts": [{"name": str, "mountPath": str, "subPath": str}],
}
_VOLUME: Final = {
    "name": str,
    "secret": {"secretName": str, "items": [{"key": str, "path": str}]},
    "configMap": {"name": str, "items": [{"key": str, "path": str}]},
    "projected": {"sources": [{}]},
}
_POD: Final = {"containers": [_CONTAINER], "initContainers": [_CONTAINER], "volumes": [_VOLUME]}
_WEBHOOKS: Final = {
    "webhooks": [
        {
            "name": str,
            "rules": [{key: [str] for key in ("apiGroups", "apiVersions", "operations", "resources")}],
            "clientConfig": {"url": str, "service": {"name": str, "namespace": str}},
        }
    ]
}
_REST: Final[Mapping[str, Json]] = {
    "Secret": {"type": str, "immutable": bool, "data": _TEXTS},
    "ConfigMap": {"immutable": bool, "data": _TEXTS, "binaryData": _TEXTS},
    "ServiceAccount": {"secrets": [{"name": str}]},
    "Lease": {
        "spec": {
            **dict.fromkeys(("holderIdentity", "acquireTime", "renewTime"), str),
            "leaseDurationSeconds": int,
            "leaseTransitions": int,
        }
    },
    "Deployment": {
        "spec": {"replicas": int, "template": {"spec": _POD}},
        "status": {"replicas": int, "readyReplicas": int},
    },
    # Their definitions allow any content: one invalid object must not stop all others.
    "MachineDeployment": {"spec": dict},
    "MachineSet": {"spec": dict},
    "Machine": {"spec": dict},
    "OperatingSystemProfile": {"spec": dict},
    "CustomOperatingSystemProfile": {"spec": dict},
    "OperatingSystemConfig": {"spec": dict},
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}


def misfit(kind: Kind, body: Json) -> str:
    """Why ``body`` is not a valid object of a kind, as part of a sentence; empty if it is valid.

    A valid object has ``uid`` and ``resourceVersion``; null values of its metadata and top level are removed.
    """
    if not isinstance(body, dict):
        return "it is not a mapping"
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return "metadata is not a mapping"
    for key in ("name", "namespace") if kind.namespaced else ("name",):
        name = metadata.get(key)
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or _CONTROL.search(name):
            return f"metadata.{key} is not a name"
    wrong = _misfit(metadata, _METADATA, "metadata") or _misfit(body, _REST.get(kind.name, {}), "")
    if wrong:
        return wrong
    body["metadata"] = {"uid": "", "resourceVersion": ""} | {
        key: value for key, value in metadata.items() if value is not None
    }
    for key in [key for key, value in body.items() if value is None]:
        del body[key]
    return ""


def _misfit(value: Json, shape: Any, path: str) -> str:
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (shape is int and isinstance(value, bool))
        return "" if fits else f"{path} is not {_NAMES[shape]}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is not a list"
        return next(filter(None, (_misfit(each, shape[0], f"{path}[{at}]") for at, each in enumerate(value))), "")
    if not isinstance(value, dict) or (shape is _FIELDS and not _is_fields(value)):
        return f"{path} is not a mapping{' of mappings' if shape is _FIELDS else ''}"
    if shape is _FIELDS:
        return ""
    if isinstance(shape, _MapOf):
        within = dict.fromkeys(value, shape.inner)
    else:
        within = {key: inner for key, inner in shape.items() if value.get(key) is not None}
    for key, inner in within.items():
        if type(value[key]) is inner:
            continue  # as almost all are
        wrong = _misfit(value[key], inner, f"{path}.{key}".lstrip("."))
        if wrong:
            return wrong
    return ""


def _is_fields(value: Json) -> bool:
    """Whether a value has the format of managed fields: mappings of mappings."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, dict):
            return False
        waiting.extend(each.values())
    return True
