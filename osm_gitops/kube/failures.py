"""Answers that are refusals, as sentences. Of what a server says about objects that hold secrets nothing is cited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import ClusterError, Code, ConflictError, Problem, WebhookError
from osm_gitops.kube.kinds import CONFIG, CONFIG_MAP, MACHINE, MACHINE_DEPLOYMENT, MACHINE_SET, SECRET, Kind

# Secrets and boot configuration, and what may name credentials of a cloud inline.
_CONFIDENTIAL = frozenset({SECRET, CONFIG, CONFIG_MAP, MACHINE_DEPLOYMENT, MACHINE_SET, MACHINE})
# The field and what it should be, without what it is.
_MISFIT = re.compile(r"failed to create typed patch object \(.*?\): (\S+): (expected \w+|field not declared in schema)")
_LONGEST = 300
_RIGHT = re.compile(r'User "([^"\n]{1,200})" cannot ([a-z]{1,20}) ')
_MANAGER = re.compile(r'conflict with "([^"\n]{1,200})"')
_GUARD = re.compile(r"(ValidatingAdmissionPolicy|admission webhook) ['\"]([A-Za-z0-9.\-:/]{1,200})['\"]")
CONFIGURATION_POLICY = "osm-gitops-configurations"
"""The policies that ``install`` prints, by name: of their refusals more is known than of others."""
SECRET_POLICY = "osm-gitops-secrets"  # noqa: S105 - a name
_WRITER = re.compile(r"--writer '([^'\n]{1,200})'")
_UNCALLED = re.compile(r'failed calling webhook "([A-Za-z0-9.\-]{1,253})"')
# Why a webhook cannot be called, as far as it may be cited: what it answered may hold anything.
_UNCALLED_WHY = re.compile(
    r'no endpoints available for service "[a-z0-9.\-]{1,253}"|service "[a-z0-9.\-]{1,253}" not found|'
    r"connection refused|context deadline exceeded|i/o timeout|no route to host|no such host|x509: [a-z ]{1,80}"
)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What was asked for: a verb of RBAC, a kind, and where; ``name`` is empty for all objects."""

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
    """The Status that an answer holds; empty where it holds none."""
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
    """Whether a 404 says that this object is not there, rather than its kind or its namespace."""
    details = status.get("details") or {}
    return details.get("name") == wanted.name and details.get("kind") == wanted.kind.plural


def uncalled_webhook(code: int, data: bytes) -> str:
    """The webhook that the API server could not call, by its name; empty for any other answer."""
    found = _UNCALLED.search(str(status_of(data).get("message") or "")) if code == 500 else None
    return found.group(1) if found else ""


def webhook_refusal(
    wanted: RequestInfo, webhook: str, configurations: Sequence[tuple[Kind, str]], data: bytes, where: str
) -> WebhookError:
    """The error of a write that a webhook should have judged. ``configurations`` (kind and name) are those that it may
    belong to, as far as they could be read."""
    names = [f"{kind.name} {name}" for kind, name in configurations]
    named = f"{webhook} of {' or '.join(names)}" if names else webhook
    cause = _UNCALLED_WHY.search(str(status_of(data).get("message") or ""))
    why = f": {cause.group(0)}" if cause else ""
    deletions = " or ".join(f"kubectl delete {kind.name.lower()} {name}" for kind, name in configurations)
    find = "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o yaml"
    ends = deletions or f"find its configuration with {find}, and delete it"
    fix = f"Start its pods; if its program is gone, {ends}"
    what = f"{wanted}: the API server cannot call webhook {named} (500{why})"
    return WebhookError([Problem(Code.WEBHOOK_UNREACHABLE, what, where=where, fix=fix)], named)


def refusal(wanted: RequestInfo, code: int, data: bytes, where: str) -> ClusterError:
    """The error that an answer is."""
    status = status_of(data)
    what, fix = _explain(wanted, code, status)
    problem = Problem(Code.REQUEST_REFUSED, f"{wanted}: {what}", where=where, fix=fix)
    if code == 409 and wanted.verb != "create":
        return ConflictError([problem], tuple(dict.fromkeys(_managers(status))))
    return ClusterError([problem], code)


def _explain(wanted: RequestInfo, code: int, status: Mapping[str, Any]) -> tuple[str, str]:
    message = str(status.get("message") or "")
    if code == 401:
        return "the credentials are refused (401)", "Log in anew, or name another context or kubeconfig"
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
    if not status:  # nobody who speaks for an API server
        return f"it is not understood ({code})", "Check the server's address in the kubeconfig: https, and its port"
    return f"the object is refused ({code}){_causes(wanted, status) or _cited(wanted, message)}", ""


def _forbidden(wanted: RequestInfo, status: Mapping[str, Any], message: str) -> tuple[str, str]:
    missing = _RIGHT.search(message)
    if missing:
        user, verb = missing.groups()  # server-side apply may also need to create
        if user == "system:anonymous":
            return "it is forbidden to whoever shows no credentials (403)", "Log in, or name another context"
        place = f"namespace {wanted.namespace}" if wanted.namespace else "all namespaces"
        scope = place if wanted.kind.namespaced else "the cluster"
        right = f"the verb {verb} on {wanted.resource} in {scope}"
        return "it is forbidden (403)", f"Give {user} {right}, as the roles of osm-gitops install do"
    if any(cause.get("reason") == "NamespaceTerminating" for cause in _of(status)):
        return f"namespace {wanted.namespace} is being deleted (403)", "Wait until it is gone and create it anew"
    guard = _GUARD.search(message)
    if guard is None:
        return f"it is forbidden (403){_cited(wanted, message)}", "Ask who keeps the admission rules of the cluster"
    kind, name = guard.groups()
    by = f"ValidatingAdmissionPolicy {name}" if kind.startswith("V") else f"webhook {name}"
    return f"it is forbidden by {by} (403){_cited(wanted, message)}", _way_past(by, message)


def _way_past(rule: str, message: str) -> str:
    """What to do about an admission rule."""
    if rule == f"ValidatingAdmissionPolicy {CONFIGURATION_POLICY}":
        user = _WRITER.search(message)
        writer = f"'{user.group(1)}'" if user else "USER|group:NAME"
        printed = f"osm-gitops install --part admission --writer {writer}"
        return f"Name this user as a writer, beside those that are named already: {printed}, and apply that"
    if rule == f"ValidatingAdmissionPolicy {SECRET_POLICY}":
        return "It is printed by osm-gitops install: the Secret that is there is of another type than runs may write"
    return f"Ask who keeps {rule}"


def _not_found(wanted: RequestInfo, status: Mapping[str, Any]) -> tuple[str, str]:
    details = status.get("details") or {}
    if details.get("kind") == "namespaces" and wanted.namespace:
        what = f"there is no namespace {wanted.namespace} (404)"
        return what, f"Create it: kubectl create namespace {wanted.namespace}"
    if is_missing_object(wanted, status):
        return "it is not there (404)", ""
    # There is no such path: the kind is not served.
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
    return "it was changed or replaced in the meantime (409)", "Run again"


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
    """Which fields are wrong, and how; never with their values where these may be secret."""
    if wanted.kind not in _CONFIDENTIAL:
        return ""
    told = (f"{cause['field']} ({cause.get('reason') or 'invalid'})" for cause in _of(status) if cause.get("field"))
    listed = ", ".join(dict.fromkeys(told))
    return f": {listed[:_LONGEST]}" if listed else ""


def _cited(wanted: RequestInfo, message: str) -> str:
    if wanted.kind in _CONFIDENTIAL or not message:
        return ""
    text = " ".join(message.split())
    return f": {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}"
