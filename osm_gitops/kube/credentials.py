"""The credentials of requests: tokens, files, credential plugins, and auth-providers of the kubernetes client.

The kubernetes client runs a plugin before each request if its token expires within five minutes, without a timeout, and
logs its failures. Here a plugin runs when its credential has expired or was refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.bounded.json_values import parse_json
from osm_gitops.bounded.programs import Limits, ProgramLimitError, run_program
from osm_gitops.children import for_plugin
from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.kube.kubeconfig import Context, Entry, plugin_command

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
LIMITS: Final = Limits(seconds=120, most=SMALL)
"""For plugins, which may wait for a login in a browser."""
_EXTENSION = "client.authentication.k8s.io/exec"
_CLUSTER = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")


@dataclass(frozen=True, slots=True)
class Issued:
    """A token, or a certificate and its key (PEM), and their expiry."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program with its arguments and environment. Errors show neither, since both may contain credentials."""

    where: Path
    version: str
    command: Sequence[str] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, context: Context, environment: Mapping[str, str]) -> Plugin:
        """The plugin of a context's user. Raises InputError if its entry is invalid."""
        body, path = context.user.body["exec"], context.user.path
        version = str(body.get("apiVersion")) if isinstance(body, Mapping) else ""
        command = plugin_command(context.user)
        if version not in _VERSIONS or not command:
            raise input_error(
                Code.CREDENTIAL_PLUGIN, f"exec needs a command, and one of {', '.join(_VERSIONS)}", where=str(path)
            )
        if body.get("interactiveMode") == "Always":
            what = "the credential plugin needs a terminal, which is not available (interactiveMode: Always)"
            raise input_error(Code.CREDENTIAL_PLUGIN, what, where=str(path), fix="Use a plugin that is not interactive")
        given = {str(item.get("name")): str(item.get("value")) for item in body.get("env") or []}
        info = {"apiVersion": version, "kind": "ExecCredential", "spec": _spec(context, body)}
        known = {**for_plugin(environment), **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        return cls(path, version, (command, *map(str, body.get("args") or [])), known)

    def issue(self) -> Issued:
        """Run the plugin. Raises InputError."""
        try:
            ran = run_program(self.command, self.environment, LIMITS)
        except ProgramLimitError as limit:
            raise self._failed(str(limit)) from None
        except OSError as fault:
            raise self._failed(f"cannot be run: {fault.strerror}") from None
        except ValueError:
            raise self._failed("cannot be run: its arguments or its environment contain a NUL character") from None
        if ran.status:
            raise self._failed(f"failed with exit status {ran.status}")
        return self._read(ran.out)

    def _read(self, out: bytes) -> Issued:
        try:
            answer = parse_json(out)
            status = answer["status"] if answer["apiVersion"] == self.version else {}
            until = status.get("expirationTimestamp")
            issued = Issued(
                str(status.get("token") or ""),
                str(status.get("clientCertificateData") or "").encode(),
                str(status.get("clientKeyData") or "").encode(),
                datetime.fromisoformat(until).astimezone(UTC) if until else None,
            )
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise self._failed("printed no ExecCredential") from None
        if not issued.token and not (issued.certificate and issued.key):
            raise self._failed(f"printed neither a token nor a certificate with its key, in {self.version}")
        return issued

    def _failed(self, what: str) -> InputError:
        name = Path(self.command[0]).name
        return input_error(
            Code.CREDENTIAL_PLUGIN,
            f"the credential plugin {name} {what}",
            where=str(self.where),
            fix="Run it by hand to see its message",
        )


def _spec(context: Context, body: Mapping[str, Any]) -> Mapping[str, Any]:
    spec: dict[str, Any] = {"interactive": False}
    if body.get("provideClusterInfo"):
        cluster = context.cluster
        passed = {key: cluster.body[key] for key in _CLUSTER if key in cluster.body}
        path = cluster.file("certificate-authority")
        if path and "certificate-authority-data" not in passed:
            try:
                passed["certificate-authority-data"] = encode_base64(read_file(path, SMALL))
            except OSError as fault:
                what = f"the file of certificate-authority cannot be read: {fault.strerror}"
                raise input_error(Code.CREDENTIAL_PLUGIN, what, where=str(cluster.path)) from None
        for extension in cluster.body.get("extensions") or []:
            if extension.get("name") == _EXTENSION:
                passed["config"] = extension.get("extension")
        spec["cluster"] = passed
    return spec


# Token files are read again after this time, as in client-go: kubelets rotate the token.
_FILE_LIFE = timedelta(minutes=1)
_ISSUER_AUTHORITIES = ("idp-certificate-authority", "idp-certificate-authority-data")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Identity:
    """Headers of each request, and a client certificate with its key (PEM) if there is one."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class Credentials:
    """An identity, created on first use, and again when it expires or is refused. Thread-safe."""

    def __init__(self, make: Callable[[], tuple[Identity, datetime | None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._identity: Identity | None = None
        self._until: datetime | None = None

    def get(self) -> Identity:
        """The current identity. Raises InputError if it cannot be created."""
        with self._lock:
            expired = self._until is not None and self._until <= datetime.now(UTC)
            if self._identity is None or expired:
                self._identity, self._until = self._make()
            return self._identity

    def renew(self, refused: Identity) -> bool:
        """After a 401: returns whether there is a new identity. Only one of several threads creates it."""
        with self._lock:
            if self._identity is refused:
                self._identity, self._until = self._make()
            return self._identity != refused


def credentials_of(context: Context, environment: Mapping[str, str]) -> Credentials:
    """Credentials by kubectl's rules. Files are read and programs run on first use."""
    user = context.user
    plugin = Plugin.of(context, environment) if user.body.get("exec") else None

    def make() -> tuple[Identity, datetime | None]:
        token, until = _token(user)
        issued = plugin.issue() if plugin and not token else Issued(token, until=until)
        headers = tuple(_sendable(each, user) for each in (*_authorization(issued, user), *_impersonation(user)))
        if issued.certificate:
            return Identity(headers, issued.certificate, issued.key), issued.until
        return Identity(headers, content(user, "client-certificate"), content(user, "client-key")), issued.until

    return Credentials(make)


def content(entry: Entry, key: str) -> bytes:
    """The inline data under ``KEY-data``, else the content of the file under ``KEY``. Raises InputError."""
    data = entry.text(f"{key}-data")
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except binascii.Error:
            raise input_error(
                Code.CREDENTIALS_UNUSABLE, "it is not base64", where=str(entry.path), field=f"{key}-data"
            ) from None
    path = entry.file(key)
    return _bytes(path, entry, key) if path else b""


def _bytes(path: Path, entry: Entry, key: str) -> bytes:
    try:
        return read_file(path, SMALL)
    except OSError as fault:
        # The path is not shown: by mistake it may be the key itself.
        raise input_error(
            Code.CREDENTIALS_UNUSABLE, f"the file of {key} cannot be read: {fault.strerror}", where=str(entry.path)
        ) from None


def _token(user: Entry) -> tuple[str, datetime | None]:
    """A token from a file, the kubeconfig, or an auth-provider of the kubernetes client."""
    path = user.file("tokenFile")
    if path:
        text = _bytes(path, user, "tokenFile").decode("utf-8", "surrogateescape").strip()
        return text, datetime.now(UTC) + _FILE_LIFE
    if user.text("token"):
        return user.text("token"), None
    if user.body.get("auth-provider"):
        return _provided(user), None
    return "", None


def _provided(user: Entry) -> str:
    """A token of an ``auth-provider`` such as oidc. A refreshed token is not written back."""
    from kubernetes import client, config  # noqa: PLC0415 - slow

    text = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {}}],
        "users": [{"name": "it", "user": {"auth-provider": _verified(user.body["auth-provider"])}}],
    }
    settings = client.Configuration(proxy="", no_proxy="")
    load: Any = config.load_kube_config_from_dict  # has no types
    try:
        load(text, client_configuration=settings, persist_config=False)
        header = settings.api_key.get("BearerToken")
    except Exception:  # noqa: BLE001 - errors of providers have no common base class, and may contain tokens
        header = None
    if not header:
        raise input_error(
            Code.CREDENTIALS_UNUSABLE,
            "its auth-provider returned no token",
            where=str(user.path),
            fix="Log in again, or use a credential plugin (users[].user.exec)",
        )
    return str(header).removeprefix("Bearer ")


def _verified(provider: Any) -> Any:
    """An oidc provider with an authority, as kubectl verifies it: the system's if the kubeconfig names none.

    Without an authority, the kubernetes client accepts any certificate, and sends it the refresh token.
    """
    config = provider.get("config") if isinstance(provider, Mapping) else None
    if not isinstance(config, Mapping) or any(config.get(key) for key in _ISSUER_AUTHORITIES):
        return provider
    import certifi  # noqa: PLC0415 - only here

    authorities = ssl.get_default_verify_paths().cafile or certifi.where()
    kept = {key: value for key, value in config.items() if key not in _ISSUER_AUTHORITIES}
    return {**provider, "config": {**kept, _ISSUER_AUTHORITIES[0]: authorities}}


def _sendable(header: tuple[str, str], user: Entry) -> tuple[str, str]:
    """A header with its value as UTF-8, as in Go. Raises InputError, which does not repeat the value."""
    name, value = header
    if _CONTROL.search(value):
        what = f"the value of the header {name} contains a line break or another control character"
        raise input_error(
            Code.CREDENTIALS_UNUSABLE, what, where=str(user.path), fix="Correct the credentials, or log in again"
        )
    return name, value.encode("utf-8", "surrogateescape").decode("latin-1")


def _authorization(issued: Issued, user: Entry) -> Iterator[tuple[str, str]]:
    if issued.token:
        yield "Authorization", f"Bearer {issued.token}"
    elif user.text("username"):
        pair = f"{user.text('username')}:{user.text('password')}".encode()
        yield "Authorization", f"Basic {encode_base64(pair)}"


def _impersonation(user: Entry) -> Iterator[tuple[str, str]]:
    """Headers for ``as`` and related keys. Groups and extras may repeat a header."""
    for key, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.text(key):
            yield header, user.text(key)
    yield from (("Impersonate-Group", group) for group in user.body.get("as-groups") or [])
    for key, values in (user.body.get("as-user-extra") or {}).items():
        yield from ((f"Impersonate-Extra-{quote(str(key))}", value) for value in values or [])
