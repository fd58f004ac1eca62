"""Connections to one server: TLS, proxies, keep-alive."""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from osm_gitops.errors import Code, InputError, input_error
from osm_gitops.kube.credentials import Identity, content
from osm_gitops.kube.exchange import bound
from osm_gitops.kube.kubeconfig import Entry

if TYPE_CHECKING:
    from urllib3 import PoolManager

# Connections are made when they are needed and kept; a request that finds all of them busy waits for one.
_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Server:
    """A server as a kubeconfig describes it. ``proxy`` is empty for none; ``authority`` is PEM, empty for the system's.

    ``url`` has no userinfo.
    """

    url: str
    authority: bytes = field(repr=False)
    name: str
    insecure: bool
    proxy: str = field(repr=False)
    no_proxy: str

    @classmethod
    def of(cls, cluster: Entry, environment: Mapping[str, str]) -> Server:
        """Raises InputError where there is no address or the authority's file cannot be read."""
        url = _address(cluster)
        given = cluster.text("proxy-url")
        from_environment, no_proxy = ("", "") if given else proxy_for(url, environment)
        return cls(
            url,
            content(cluster, "certificate-authority"),
            cluster.text("tls-server-name"),
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
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        what = "the server is no address such as https://10.0.0.1:6443"
        raise input_error(Code.SERVER_ADDRESS, what, where=str(cluster.path), field="clusters[].cluster.server")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def proxy_for(url: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """What the environment says, as Go reads it: never a proxy for this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return "", ""
    names = (f"{parts.scheme}_proxy".upper(), f"{parts.scheme}_proxy")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    return proxy, environment.get("NO_PROXY") or environment.get("no_proxy") or ""


def open_pool(server: Server) -> PoolManager:
    """Connections that are verified by the server's authority. Raises InputError."""
    import urllib3  # noqa: PLC0415 - slow

    # They would be printed: of no verification, which the user asked for, and of a SOCKS proxy that will be refused.
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    urllib3.disable_warnings(urllib3.exceptions.DependencyWarning)
    # The kubernetes client takes as long to load as a thousand pools to plan; it is for its rules on proxies.
    pool = _proxied_pool(server) if server.proxy else urllib3.PoolManager(maxsize=_CONNECTIONS)
    bound(pool)
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

    # Without a proxy of ours it would look for one in the environment of the process.
    settings = Configuration(host=server.url, proxy=server.proxy, no_proxy=server.no_proxy)
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
            Code.PROXY_UNUSABLE, "the proxy's address is none", fix="Correct proxy-url or HTTPS_PROXY"
        ) from None
    return pool


def _trust(server: Server) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Authorities of clusters are trusted as Go trusts them: without a root above, and without all extensions.
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
                Code.SERVER_CA_INVALID, "certificate-authority is no PEM certificate", about=server.url
            ) from None
    else:
        context.load_default_certs()
    return context


def _certificates(text: bytes) -> str:
    """The certificates alone, as files of authorities also hold comments in any encoding."""
    blocks = re.findall(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL)
    return "\n".join(block.decode("latin-1") for block in blocks)


def present(pool: PoolManager, identity: Identity, where: str) -> None:
    """Show the identity's certificate on new connections. Raises InputError."""
    context = pool.connection_pool_kw.get("ssl_context")
    if not identity.certificate or context is None:
        return
    # Python takes them from files alone: these are gone before the first request, whatever happens to the run.
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder, "certificate"), Path(folder, "key")
        certificate.write_bytes(identity.certificate)
        key.touch(mode=0o600)
        key.write_bytes(identity.key)
        try:
            context.load_cert_chain(certificate, key, password="")  # else it would ask the terminal
        except (ssl.SSLError, ValueError):
            raise _unusable(where) from None


def _unusable(where: str) -> InputError:
    what = "the client certificate and its key are no PEM, do not belong together, or the key has a password"
    return input_error(Code.CREDENTIALS_UNUSABLE, what, where=where)
