"""The verbs of the Kubernetes API, with retries, and the API servers of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code, InputError, Problem, input_error
from osm_gitops.kube.answers import (
    RequestInfo,
    is_missing_object,
    misfit,
    refusal,
    status_of,
    uncalled_webhook,
    webhook_refusal,
)
from osm_gitops.kube.connections import Server
from osm_gitops.kube.credentials import credentials_of
from osm_gitops.kube.kinds import (
    ACCESS_REVIEW,
    FIELD_MANAGER,
    KINDS,
    MUTATING_WEBHOOKS,
    SERVICE_ACCOUNT,
    VALIDATING_WEBHOOKS,
    Kind,
)
from osm_gitops.kube.kubeconfig import Context, Entry, parse_inline_kubeconfig, read_kubeconfig
from osm_gitops.kube.transport import (
    PAGE_OF_OBJECTS,
    RETRY_POLICY,
    Answer,
    OversizedError,
    RetryPolicy,
    Transport,
)
from osm_gitops.kube.wire import Call
from osm_gitops.yaml.compact_json import dump_json

PAGE: Final = 500
"""Objects per page of a list."""

_RESTARTS = 5
_PAGES: Final = 4000  # two million objects
_LIST: Final = 4 << 30  # limit in bytes of all pages
_TOKEN: Final = 16 << 10  # of a next page: it becomes part of a URL
_LONGEST_NAME: Final = 253
_NO_API: Final = "Check that the address is that of an API server"
_PARTIAL = ";as={0};g=meta.k8s.io;v=v1"
_METADATA = b'{"kind":"PartialObjectMetadata",'
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
# API servers parse bodies of server-side apply as YAML, where these characters must be escaped.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

WATCH_SILENCE: Final = 150
"""Seconds without an event after which a connection counts as lost: servers send a bookmark every minute."""
BOOKMARK: Final = "BOOKMARK"
DELETED: Final = "DELETED"

T = TypeVar("T")
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a watch is about: one object, or those of a kind, in a namespace or in all, with some ``labels``. ``whole``:
    objects with their content, otherwise only metadata."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    labels: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[T]):
    """The result of a list, and its resourceVersion."""

    kept: list[T]
    version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A change: ``ADDED``, ``MODIFIED`` or ``DELETED`` with the object, or ``BOOKMARK`` with only a version."""

    change: str
    body: Object = field(repr=False)

    @property
    def version(self) -> str:
        return str(self.body["metadata"].get("resourceVersion") or "")


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of a list. ``items`` can be read once."""

    items: Iterator[Object]
    version: str


class Api:
    """One API server, accessed as one user. Thread-safe; requests share connections.

    Refusals and failures are ClusterErrors. Requests are retried if the server is busy or fails, or if the connection
    is lost, so a request may be executed more than once.
    """

    def __init__(
        self, transport: Transport, display: str, authority: bytes = b"", check: Callable[[], None] | None = None
    ) -> None:
        self.display = display
        self.certificate_authority = authority
        """PEM, as Operating System Manager finds it (osm-behaviour.md, "Certificate authority"): the mounted file of a
        pod, or the inline data of a kubeconfig; empty if the kubeconfig names a file, or nothing."""
        self._transport = transport
        self._check = check

    def checked(self, check: Callable[[], None]) -> Api:
        """The same server, user and connections; ``check`` is called before each attempt of a write.

        What it raises ends the request: a retry must not write after another run has taken over.
        """
        return Api(self._transport, self.display, self.certificate_authority, check)

    @property
    def host(self) -> str:
        """The server's address, without userinfo."""
        return self._transport.server.url

    @property
    def requests(self) -> int:
        """The number of requests, including retries."""
        return self._transport.requests

    def hurry(self) -> None:
        """After an interruption: give running requests two seconds, and stop retries."""
        self._transport.hurry()

    def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        self._transport.close()

    def list(
        self,
        kind: Kind,
        keep: Callable[[Object], T | None],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> list[T]:
        """The results of ``keep`` for each object, without ``None``. Only one page of objects is in memory.

        If a page expires, the list starts again: earlier results are dropped, and ``keep`` may see an object twice.
        Without a namespace, all namespaces are read.
        """
        return self.snapshot(kind, keep, namespace, labels=labels, fields=fields, metadata_only=metadata_only).kept

    def snapshot(
        self,
        kind: Kind,
        keep: Callable[[Object], T | None],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> Snapshot[T]:
        """As :meth:`list`, with the version from which :meth:`watch` tells what changed."""
        wanted = RequestInfo("list", kind, namespace)
        query = {name: text for name, text in (("labelSelector", labels), ("fieldSelector", fields)) if text}
        for _ in range(_RESTARTS):
            kept: list[T] = []
            version = ""
            try:
                for page in self._pages(wanted, query, metadata_only=metadata_only):
                    version = version or page.version  # that of the first page; later pages show the same state
                    kept += (made for made in map(keep, page.items) if made is not None)
            except ClusterError as failure:
                if failure.status == 410:
                    continue
                raise
            return Snapshot(kept, version)
        what = f"{wanted}: the list expired {_RESTARTS} times while it was read"
        raise ClusterError(
            [Problem(Code.LIST_EXPIRED, what, where=self.display, fix="The server is very busy: try again later")], 410
        )

    def _pages(self, wanted: RequestInfo, query: Mapping[str, str], *, metadata_only: bool) -> Iterator[_Page]:
        kind, token, size, length = wanted.kind, "", PAGE, 0
        path, accept = kind.collection(wanted.namespace), _accept("List", metadata_only=metadata_only)
        seen = {token}
        while len(seen) <= _PAGES and length <= _LIST:
            page = {**query, "limit": str(size)} | ({"continue": token} if token else {})
            try:
                answer = self._transport.send(Call("GET", path, page, accept=accept, most=PAGE_OF_OBJECTS))
            except OversizedError:
                if size == 1:
                    raise
                size = max(1, size // 8)  # large objects: smaller pages
                continue
            length += len(answer.data)
            listed = self._object(wanted, answer)
            items, metadata = listed.get("items") or [], listed.get("metadata") or {}
            if not isinstance(items, list) or not isinstance(metadata, dict):
                raise self._wrong(wanted, "it is not a list of objects")
            yield _Page((self._checked(wanted, item) for item in items), str(metadata.get("resourceVersion") or ""))
            token = metadata.get("continue") or ""
            if not token:
                return
            if not isinstance(token, str) or len(token) > _TOKEN or token in seen:
                raise self._wrong(wanted, "the token of its next page is not a new one")
            seen.add(token)
        raise self._wrong(wanted, f"it has more than {_PAGES} pages or {_LIST >> 30} GiB")

    def watch(self, subject: Subject, since: str, seconds: int) -> Iterator[WatchEvent]:
        """Changes after version ``since``, for as many ``seconds``. Without a version, begins with what there is.

        Raises ClusterError, also later: with status 410 if the version is too old, and the state must be read again.
        """
        wanted = RequestInfo("watch", subject.kind, subject.namespace, subject.name)
        given = {
            "resourceVersion": since,
            "labelSelector": subject.labels,
            "fieldSelector": f"metadata.name={subject.name}" if subject.name else "",
        }
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        query |= {key: text for key, text in given.items() if text}
        path, accept = subject.kind.collection(subject.namespace), _accept(metadata_only=not subject.whole)
        call = Call("GET", path, query, accept=accept)
        answer, lines = self._transport.stream(call, WATCH_SILENCE, seconds + WATCH_SILENCE)
        if answer.status != 200:
            raise refusal(wanted, answer.status, answer.data, self.display)
        return (self._event(wanted, line) for line in lines)

    def _event(self, wanted: RequestInfo, line: bytes) -> WatchEvent:
        event = self._object(wanted, Answer(200, line))
        change, body = event.get("type"), event.get("object")
        if change == "ERROR" and isinstance(body, dict):
            code = body.get("code")
            raise refusal(wanted, code if isinstance(code, int) else 500, _json(body), self.display)
        if change == BOOKMARK and isinstance(body, dict):  # has no name
            metadata = body.get("metadata")
            version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
            if isinstance(version, str):
                return WatchEvent(change, {"metadata": {"resourceVersion": version}})
        if change not in {"ADDED", "MODIFIED", DELETED}:
            raise self._wrong(wanted, "it is not an event of a watch")
        return WatchEvent(change, self._checked(wanted, body))

    def serves(self, kind: Kind) -> bool:
        """Whether the server has this kind. All authenticated users may ask."""
        answer = self._transport.send(Call("GET", kind.collection().rpartition("/")[0]))
        if answer.status == 404:
            return False
        found = self._object(RequestInfo("discover", kind), answer)
        resources = found.get("resources") or []
        if not isinstance(resources, list) or not all(isinstance(each, dict) for each in resources):
            raise self._wrong(RequestInfo("discover", kind), "it is not a list of resources")
        return any(each.get("name") == kind.plural for each in resources)

    def may(self, verb: str, kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> bool:
        """Whether this user has a right. All authenticated users may ask."""
        asked = {"verb": verb, "group": kind.group, "resource": kind.plural, "namespace": namespace, "name": name}
        body = {
            "apiVersion": ACCESS_REVIEW.api_version,
            "kind": ACCESS_REVIEW.name,
            "spec": {"resourceAttributes": asked | {"subresource": subresource}},
        }
        call = Call("POST", ACCESS_REVIEW.collection(), {}, _json(body))
        wanted = RequestInfo("create", ACCESS_REVIEW)
        status = self._object(wanted, self._transport.send(call, self._check)).get("status") or {}
        if not isinstance(status, dict):
            raise self._wrong(wanted, "status is not a mapping")
        return status.get("allowed") is True

    def get(self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False) -> Object | None:
        """An object; ``None`` only if the server answers that it does not exist."""
        wanted = RequestInfo("get", kind, namespace, name)
        answer = self._transport.send(
            Call("GET", kind.path(namespace, name), accept=_accept(metadata_only=metadata_only))
        )
        if answer.status == 404 and is_missing_object(wanted, status_of(answer.data)):
            return None
        return self._checked(wanted, self._object(wanted, answer))

    def apply(self, body: Mapping[str, Any], *, force: bool = False, manager: str = FIELD_MANAGER) -> Object | None:
        """Create or update by server-side apply. Idempotent. Returns the object's metadata.

        ``None`` if this request created the object, so that nobody else owns a part of it: a run that creates all
        objects of a fleet would parse thousands of answers for nothing. Raises ConflictError with the names of the
        fields' managers.
        """
        wanted = _wanted("patch", body)
        # An apply refuses fields that the schema does not have in any case. Unless told to ignore the rest, the server
        # parses the body once more, a tenth of its CPU, to warn of fields that are there twice, which ours never are.
        query = {"fieldManager": manager, "force": "true" if force else "false", "fieldValidation": "Ignore"}
        call = Call("PATCH", _path(wanted), query, _json(body), _APPLY, _accept(metadata_only=True))
        answer = self._transport.send(call, self._check)
        if answer.status == 201 and answer.data.startswith(_METADATA):
            return None
        return self._checked(wanted, self._object(wanted, answer))

    def create(self, body: Mapping[str, Any], *, metadata_only: bool = False) -> Object:
        """POST; returns the object. Raises ClusterError with status 409 if the object exists.

        It may exist because an earlier attempt succeeded and its answer was lost.
        """
        wanted = _wanted("create", body)
        path = wanted.kind.collection(wanted.namespace)
        accept = _accept(metadata_only=metadata_only)
        return self._ask(wanted, Call("POST", path, {"fieldManager": FIELD_MANAGER}, _json(body), accept=accept))

    def replace(self, body: Mapping[str, Any]) -> Object:
        """PUT. Raises ConflictError if the body's resourceVersion is out of date.

        The cause may be an earlier attempt whose answer was lost.
        """
        wanted = _wanted("update", body)
        return self._ask(wanted, Call("PUT", _path(wanted), {"fieldManager": FIELD_MANAGER}, _json(body)))

    def merge(
        self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any], *, metadata_only: bool = True
    ) -> Object:
        """JSON merge patch, regardless of field managers; returns the object. Idempotent.

        A uid or resourceVersion in the patch's metadata is a precondition. If it is not met, raises ConflictError; for
        a resourceVersion, the cause may be an earlier attempt whose answer was lost.
        """
        wanted = RequestInfo("patch", kind, namespace, name)
        accept = _accept(metadata_only=metadata_only)
        call = Call("PATCH", _path(wanted), {"fieldManager": FIELD_MANAGER}, _json(patch), _MERGE, accept)
        return self._ask(wanted, call)

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str = "", resource_version: str = "") -> bool:
        """Delete an object, and its dependents in the background; returns whether it existed, as far as is known.

        Raises ConflictError if a precondition is not met. An object with finalizers may remain.
        """
        wanted = RequestInfo("delete", kind, namespace, name)
        given = {"uid": uid, "resourceVersion": resource_version}
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        options["preconditions"] = {key: value for key, value in given.items() if value}
        answer = self._transport.send(
            Call("DELETE", _path(wanted), {}, _json(options), accept=_accept(metadata_only=True)), self._check
        )
        if answer.status == 404 and is_missing_object(wanted, status_of(answer.data)):
            return answer.unsure  # then most likely an attempt without an answer deleted it
        self._object(wanted, answer)
        return True

    def token(self, namespace: str, account: str, seconds: int) -> tuple[str, str]:
        """A new token of a ServiceAccount, and its expiry (RFC 3339). Servers may shorten its life."""
        wanted = RequestInfo("create", SERVICE_ACCOUNT, namespace, account, "token")
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        answer = self._object(wanted, self._transport.send(Call("POST", _path(wanted), {}, _json(body)), self._check))
        status = answer.get("status")
        found = [status.get(key) for key in ("token", "expirationTimestamp")] if isinstance(status, dict) else []
        token, until = (each if isinstance(each, str) else "" for each in found or ("", ""))
        if not token or not until:
            raise self._wrong(wanted, "it contains no token with an expiry")
        return token, until

    def _ask(self, wanted: RequestInfo, call: Call) -> Object:
        return self._checked(wanted, self._object(wanted, self._transport.send(call, self._check)))

    def _checked(self, wanted: RequestInfo, body: Any) -> Object:
        """A valid object of the wanted kind. Raises ClusterError otherwise."""
        wrong = misfit(wanted.kind, body)
        if wrong:
            metadata = body.get("metadata") if isinstance(body, dict) else None
            name = metadata.get("name") if isinstance(metadata, dict) else None
            named = f" (of {name[:_LONGEST_NAME]})" if isinstance(name, str) and name else ""
            raise self._wrong(wanted, f"{wrong}{named}")
        body["apiVersion"], body["kind"] = wanted.kind.api_version, wanted.kind.name
        checked: Object = body
        return checked

    def _wrong(self, wanted: RequestInfo, what: str) -> ClusterError:
        text = f"{wanted}: the answer is not what the API defines, {what}"
        return ClusterError([Problem(Code.NOT_AN_API_SERVER, text, where=self.display, fix=_NO_API)])

    def _object(self, wanted: RequestInfo, answer: Answer) -> Object:
        """The object of a successful answer. Raises ClusterError, and WebhookError if a webhook could not be called."""
        if not 200 <= answer.status < 300:
            webhook = uncalled_webhook(answer.status, answer.data)
            if webhook:
                configurations = self._configurations(webhook)
                raise webhook_refusal(wanted, webhook, configurations, answer.data, self.display)
            raise refusal(wanted, answer.status, answer.data, self.display)
        try:
            parsed = parse_json(answer.data)
            why = "" if isinstance(parsed, dict) else "it is a list or a single value"
        except ValueError as fault:
            parsed, why = None, f"it {fault}"
        if why:
            what = f"{wanted}: the answer is not a JSON object: {why}"
            raise ClusterError([Problem(Code.NOT_AN_API_SERVER, what, where=self.display, fix=_NO_API)], answer.status)
        found: Object = parsed
        return found

    def _configurations(self, webhook: str) -> Sequence[tuple[Kind, str]]:
        """The configurations that contain this webhook, as far as this user may list them."""

        def keep(body: Object) -> str | None:
            hooks = body.get("webhooks") or ()
            return body["metadata"]["name"] if any(hook.get("name") == webhook for hook in hooks) else None

        found: list[tuple[Kind, str]] = []
        for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            try:
                found += [(kind, name) for name in self.list(kind, keep)]
            except ClusterError:
                continue  # without the name, the error explains how to find it
        return found


def _wanted(verb: str, body: Mapping[str, Any]) -> RequestInfo:
    kind = KINDS.get(str(body.get("kind")))
    metadata = body["metadata"]
    if kind is None or kind.api_version != body.get("apiVersion"):
        raise LookupError(f"{body.get('kind')} is not among the kinds that are written")
    return RequestInfo(verb, kind, metadata.get("namespace") or "", metadata["name"])


def _path(wanted: RequestInfo) -> str:
    path = wanted.kind.path(wanted.namespace, wanted.name)
    return f"{path}/{wanted.subresource}" if wanted.subresource else path


def _accept(suffix: str = "", *, metadata_only: bool) -> str:
    partial = _PARTIAL.format(f"PartialObjectMetadata{suffix}")
    return f"application/json{partial},application/json" if metadata_only else "application/json"


def _json(body: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8 that is also YAML: characters beyond U+FFFF are not escaped, as YAML has no surrogate pairs."""
    text = dump_json(body)
    if text.isascii() and b"\x7f" not in text:
        return text
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text.decode()).encode()


IN_CLUSTER: Final = "in-cluster"
"""In the display of a server: the own cluster of a pod."""
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder with a pod's ServiceAccount token and authority."""


def connect(access: ContextRef, environment: Mapping[str, str], retries: RetryPolicy | None = None) -> Api:
    """The server that kubectl would use: from kubeconfigs, or in a pod without any its own cluster. Makes no request.

    Raises InputError with all problems of a kubeconfig.
    """
    context = _context(access, environment)
    user = f"context {context.name}" if context.name else IN_CLUSTER
    return _open(context, environment, user, retries)


def connect_inline(
    kubeconfig: bytes, where: str, environment: Mapping[str, str], *, user: str, address: str = ""
) -> Api:
    """The server of the current context of a kubeconfig that is not a file, or the same server at another ``address``.

    ``where`` is its place and ``user`` says who uses it, for messages. Makes no request. Raises InputError.
    """
    context = parse_inline_kubeconfig(kubeconfig, where).lead("", environment)
    if address:
        context = replace(context, cluster=Entry(context.cluster.path, {**context.cluster.body, "server": address}))
    return _open(context, environment, user)


def _open(context: Context, environment: Mapping[str, str], user: str, retries: RetryPolicy | None = None) -> Api:
    server = Server.of(context.cluster, environment)
    display = f"{server.url} ({user})"
    credentials = credentials_of(context, environment)
    own = not context.name or "certificate-authority-data" in context.cluster.body
    authority = server.authority if own else b""
    return Api(Transport(server, credentials, retries or RETRY_POLICY, display), display, authority)


def _context(access: ContextRef, environment: Mapping[str, str]) -> Context:
    config = read_kubeconfig(access, environment)
    problems = [*config.problems, *(config.absences() if access.kubeconfig else ())]
    if problems:
        raise InputError(problems)
    if config.files:
        return config.lead(access.context, environment)
    if environment.get("KUBERNETES_SERVICE_HOST") and not access.context:
        return _in_cluster(environment)
    searched = ", ".join(map(str, config.missing)) or "HOME is not set either"
    raise input_error(
        Code.KUBECONFIG_NOT_FOUND,
        f"there is no kubeconfig ({searched})",
        fix="Name one with --kubeconfig, or set KUBECONFIG",
    )


def _in_cluster(environment: Mapping[str, str]) -> Context:
    """The context of a pod, in the format of a kubeconfig."""
    host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT") or "443"
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    cluster = {"server": address, "certificate-authority": "ca.crt"}
    user = {"tokenFile": "token"}
    path = ACCOUNT / "kubeconfig"
    return Context("", path, Entry(path, cluster), Entry(path, user))


@dataclass(frozen=True, slots=True)
class Clusters:
    """The management cluster with OSCs and profiles, and the worker cluster with Secrets and Machines. They may be the
    same."""

    management: Api
    worker: Api

    def hurry(self) -> None:
        """After an interruption: give running requests two seconds. Thread-safe."""
        for api in (self.management, self.worker):
            api.hurry()

    def checked(self, check: Callable[[], None]) -> Clusters:
        """The same clusters; ``check`` is called before each attempt of a write."""
        management = self.management.checked(check)
        return Clusters(management, management if self.worker is self.management else self.worker.checked(check))
