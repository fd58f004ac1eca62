"""Connections to one server: TLS, proxies and keep-alive."""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.kube.credentials import Identity, content
from osm_gitops.kube.kubeconfig import Entry
from osm_gitops.kube.wire import Call, Exchange, Reply, Socket, bounded, exchanging

if TYPE_CHECKING:
    from urllib3 import PoolManager


_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Server:
    """A server of a kubeconfig. ``proxy`` may be empty; ``authority`` is PEM, empty for the system's. ``url`` has no
    userinfo."""

    url: str
    authority: bytes = field(repr=False)
    name: str
    insecure: bool
    proxy: str = field(repr=False)
    no_proxy: str

    @classmethod
    def of(cls, cluster: Entry, environment: Mapping[str, str]) -> Server:
        """Raises InputError for an invalid address or an unreadable authority file."""
        url = _address(cluster)
        given = cluster.text("proxy-url")
        from_environment, no_proxy = ("", "") if given else proxy_for(url, environment)
        return cls(
            url,
            content(cluster, "certificate-authority"),
            _name(cluster),
            cluster.body.get("insecure-skip-tls-verify") is True,
            given or from_environment,
            no_proxy,
        )


def _address(cluster: Entry) -> str:
    text = cluster.text("server").rstrip("/")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    strange = parts.query or parts.fragment or re.search("[^!-~]", parts.path)
    if parts.scheme not in {"http", "https"} or not parts.hostname or strange:
        what = "the server is not an address such as https://10.0.0.1:6443"
        raise input_error(Code.SERVER_ADDRESS, what, where=str(cluster.path), field="clusters[].cluster.server")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def proxy_for(url: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """The proxy from the environment, as Go reads it: never for the local host."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return "", ""
    names = (f"{parts.scheme}_proxy".upper(), f"{parts.scheme}_proxy")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    return proxy, environment.get("NO_PROXY") or environment.get("no_proxy") or ""


def _name(cluster: Entry) -> str:
    name = cluster.text("tls-server-name")
    try:
        name.encode("idna")  # as Python's TLS does
    except UnicodeError:
        field = "clusters[].cluster.tls-server-name"
        what = "is not a name such as api.example.com"
        raise input_error(Code.SERVER_ADDRESS, what, where=str(cluster.path), field=field) from None
    return name


class ServerConnections:
    """Connections to one server, opened on demand and kept. A request waits if all are busy. Raises InputError for
    settings that no connection can be opened with."""

    def __init__(self, server: Server) -> None:
        import urllib3  # noqa: PLC0415 - slow

        self._manager = _open_manager(server)
        self._url = server.url
        parts = urlsplit(server.url)
        self._prefix = urlunsplit(("", "", parts.path, parts.query, ""))
        self._more: Mapping[str, str] = {}
        if isinstance(self._manager, urllib3.ProxyManager) and parts.scheme == "http":
            # Such a proxy makes the requests itself.
            self._prefix, self._more = server.url, self._manager.proxy_headers
        self._pool: Any = None

    def open(self, call: Call, headers: Iterable[tuple[str, str]], exchange: Exchange, connect: float) -> Reply:
        """Send a request, and read the head of its answer. A new connection may take ``connect`` seconds."""
        pool = self._pool  # another thread may close it
        if pool is None:
            # Asked once: the manager would parse the address for each request.
            pool = self._pool = self._manager.connection_from_url(self._url)
        query = f"?{urlencode(call.query)}" if call.query else ""
        target = f"{self._prefix}{call.path}{query}" or "/"
        request = call.request(target, [("Host", self._host), *headers, *self._more.items()])
        with exchanging(exchange):
            reply: Reply = pool.ask(request, connect)
            return reply

    @cached_property
    def _host(self) -> str:
        """The Host header: without a default port, a zone or the dot of a full name."""
        from urllib3.util import parse_url  # noqa: PLC0415 - slow

        parts = parse_url(self._url)
        host = re.sub(r"%[^]]*", "", parts.host or "").rstrip(".")
        default = {"http": 80, "https": 443}[urlsplit(self._url).scheme]
        return host if parts.port in {None, default} else f"{host}:{parts.port}"

    def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        self._pool = None
        self._manager.clear()

    def present(self, identity: Identity, where: str) -> None:
        """Use the identity's certificate for new connections. Raises InputError."""
        context = self._manager.connection_pool_kw.get("ssl_context")
        if not identity.certificate or context is None:
            return
        # Python reads them only from files. These are deleted before the first request.
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "certificate"), Path(folder, "key")
            certificate.write_bytes(identity.certificate)
            key.touch(mode=0o600)
            key.write_bytes(identity.key)
            try:
                context.load_cert_chain(certificate, key, password="")  # otherwise Python asks on the terminal
            except (ssl.SSLError, ValueError):
                raise _unusable(where) from None


def _open_manager(server: Server) -> PoolManager:
    import urllib3  # noqa: PLC0415 - slow

    # urllib3 would print warnings: about disabled verification, which the user chose, and about SOCKS proxies.
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    urllib3.disable_warnings(urllib3.exceptions.DependencyWarning)
    # Imported only for proxies: loading the kubernetes client takes as long as planning a thousand pools.
    pool = _proxied_pool(server) if server.proxy else urllib3.PoolManager(maxsize=_CONNECTIONS)
    pool.pool_classes_by_scheme = {scheme: bounded(each) for scheme, each in pool.pool_classes_by_scheme.items()}
    pool.connection_pool_kw |= {"block": True}
    if server.url.startswith("https"):
        pool.connection_pool_kw["ssl_context"] = _trust(server)
        if server.name:
            pool.connection_pool_kw["server_hostname"] = server.name
    return pool


def _proxied_pool(server: Server) -> PoolManager:
    import urllib3  # noqa: PLC0415 - slow
    from kubernetes.client import Configuration  # noqa: PLC0415 - slow
    from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415 - slow

    # Without a proxy it would search for one in the environment of the process.
    # A host that ends with a dot has the same name without it, and no entry of NO_PROXY has one.
    host = re.sub(r"\.(?=[:/]|$)", "", server.url)
    settings = Configuration(host=host, proxy=server.proxy, no_proxy=server.no_proxy)
    settings.verify_ssl = not server.insecure
    settings.connection_pool_maxsize = _CONNECTIONS
    try:
        userinfo = urlsplit(server.proxy).netloc.rpartition("@")[0]
        if userinfo:
            settings.proxy_headers = urllib3.make_headers(proxy_basic_auth=userinfo)
        pool: PoolManager = RESTClientObject(settings).pool_manager
    except ImportError:
        raise input_error(
            Code.PROXY_UNUSABLE, "a SOCKS proxy needs the package PySocks", fix="Install it, or name an HTTP proxy"
        ) from None
    except (urllib3.exceptions.HTTPError, ValueError):
        raise input_error(
            Code.PROXY_UNUSABLE, "the proxy's address is invalid", fix="Correct proxy-url or HTTPS_PROXY"
        ) from None
    return pool


def _trust(server: Server) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = Socket
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As in Go, authorities need neither be roots nor have all extensions.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if server.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif server.authority:
        try:
            context.load_verify_locations(cadata=_certificates(server.authority))
        except (ssl.SSLError, ValueError):
            raise input_error(
                Code.SERVER_CA_INVALID, "certificate-authority is not a PEM certificate", about=server.url
            ) from None
    else:
        context.load_default_certs()
    return context


def _certificates(text: bytes) -> str:
    """Only the certificates: such files may contain comments in any encoding."""
    blocks = re.findall(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL)
    return "\n".join(block.decode("latin-1") for block in blocks)


def _unusable(where: str) -> InputError:
    what = "the client certificate or its key is not PEM, they do not match, or the key has a password"
    return input_error(Code.CREDENTIALS_UNUSABLE, what, where=where)
