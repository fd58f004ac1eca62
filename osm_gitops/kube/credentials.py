"""As whom requests are made: tokens, files, programs that issue either, and what the kubernetes client knows beyond."""

from __future__ import annotations

import base64
import binascii
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.errors import Code, input_error
from osm_gitops.kube.kubeconfig import Context, Entry
from osm_gitops.kube.plugin import Issued, Plugin

# How long a token from a file is taken for the one that is in it: kubelets write new ones, as client-go expects.
_FILE_LIFE = timedelta(minutes=1)
_ISSUER_AUTHORITIES = ("idp-certificate-authority", "idp-certificate-authority-data")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Identity:
    """Headers of every request, and a client certificate with its key (PEM) where there is one."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class Credentials:
    """An identity that is made when it is first needed, and again when it expires or is refused. Thread-safe."""

    def __init__(self, make: Callable[[], tuple[Identity, datetime | None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._identity: Identity | None = None
        self._until: datetime | None = None

    def get(self) -> Identity:
        """Raises InputError where the identity cannot be had."""
        with self._lock:
            expired = self._until is not None and self._until <= datetime.now(UTC)
            if self._identity is None or expired:
                self._identity, self._until = self._make()
            return self._identity

    def renew(self, refused: Identity) -> bool:
        """After a 401: whether there is another identity now. Of many threads that were refused one asks for it."""
        with self._lock:
            if self._identity is refused:
                self._identity, self._until = self._make()
            return self._identity != refused


def credentials_of(context: Context, environment: Mapping[str, str]) -> Credentials:
    """The ways to authenticate that kubectl knows; files and programs are read when they are needed."""
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
    """What an entry holds itself under ``KEY-data``, else what is in the file under KEY. Raises InputError."""
    data = entry.text(f"{key}-data")
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except binascii.Error:
            raise input_error(
                Code.CREDENTIALS_UNUSABLE, "it is no base64", where=str(entry.path), field=f"{key}-data"
            ) from None
    path = entry.file(key)
    return _bytes(path, entry, key) if path else b""


def _bytes(path: Path, entry: Entry, key: str) -> bytes:
    try:
        return read_file(path, SMALL)
    except OSError as fault:
        # The path is not told: it may be a key that was put in its place.
        raise input_error(
            Code.CREDENTIALS_UNUSABLE, f"the file of {key} cannot be read: {fault.strerror}", where=str(entry.path)
        ) from None


def _token(user: Entry) -> tuple[str, datetime | None]:
    """Of a file, of the kubeconfig itself, or of a provider that the kubernetes client knows."""
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
    """A token by way of ``auth-provider``, such as oidc; a refreshed one is not written back."""
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
    except Exception:  # noqa: BLE001 - what providers and their libraries raise has no common base, and may hold tokens
        header = None
    if not header:
        raise input_error(
            Code.CREDENTIALS_UNUSABLE,
            "its auth-provider gives no token",
            where=str(user.path),
            fix="Log in anew, or use a credential plugin (users[].user.exec)",
        )
    return str(header).removeprefix("Bearer ")


def _verified(provider: Any) -> Any:
    """An oidc provider with an authority, as kubectl verifies it: by the system's where the kubeconfig names none.

    Without one the kubernetes client takes any certificate, and sends the refresh token wherever the answer says.
    """
    config = provider.get("config") if isinstance(provider, Mapping) else None
    if not isinstance(config, Mapping) or any(config.get(key) for key in _ISSUER_AUTHORITIES):
        return provider
    import certifi  # noqa: PLC0415 - only here

    authorities = ssl.get_default_verify_paths().cafile or certifi.where()
    kept = {key: value for key, value in config.items() if key not in _ISSUER_AUTHORITIES}
    return {**provider, "config": {**kept, _ISSUER_AUTHORITIES[0]: authorities}}


def _sendable(header: tuple[str, str], user: Entry) -> tuple[str, str]:
    """A header whose value is sent as UTF-8, as Go does. Raises InputError, which does not repeat it."""
    name, value = header
    if _CONTROL.search(value):
        what = f"what goes into the header {name} holds a line break or another control character"
        raise input_error(
            Code.CREDENTIALS_UNUSABLE, what, where=str(user.path), fix="Correct the credentials, or log in anew"
        )
    return name, value.encode("utf-8", "surrogateescape").decode("latin-1")


def _authorization(issued: Issued, user: Entry) -> Iterator[tuple[str, str]]:
    if issued.token:
        yield "Authorization", f"Bearer {issued.token}"
    elif user.text("username"):
        pair = f"{user.text('username')}:{user.text('password')}".encode()
        yield "Authorization", f"Basic {base64.b64encode(pair).decode()}"


def _impersonation(user: Entry) -> Iterator[tuple[str, str]]:
    """Headers for ``as`` and what goes with it; of groups and extras there may be several of one name."""
    for key, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.text(key):
            yield header, user.text(key)
    yield from (("Impersonate-Group", group) for group in user.body.get("as-groups") or [])
    for key, values in (user.body.get("as-user-extra") or {}).items():
        yield from ((f"Impersonate-Extra-{quote(str(key))}", value) for value in values or [])
