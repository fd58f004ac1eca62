"""containerd's ``hosts.toml`` files, one per registry (osm-behaviour.md, "containerd hosts.toml")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from osm_gitops.gocompat import toml
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import encode_query, parse_query, parse_url, query_unescape, query_values
from osm_gitops.gocompat.numbers import parse_bool
from osm_gitops.model.profile import File
from osm_gitops.model.settings import Settings

_DOCKER_HUB = "docker.io"
_DOCKER_HUB_SERVER = "https://registry-1.docker.io"
_PERMISSIONS = 600
# An endpoint's options for us ride in this query parameter, which containerd does not get to see.
_OPTIONS = "kubermatic"


def hosts_files(settings: Settings) -> tuple[File, ...]:
    """The files for Docker Hub, every mirrored and every insecure registry, sorted by path."""
    registries = {_DOCKER_HUB: (_DOCKER_HUB_SERVER,), **settings.registry_mirrors}
    insecure = frozenset(settings.insecure_registries)
    texts: dict[str, str] = {}
    # Registries that differ in their path share a directory: the last one in order has it.
    for registry in sorted({*registries, *insecure}, key=str.encode):
        endpoints = registries.get(registry, ())
        if endpoints or registry in insecure:
            directory, server = _place(registry)
            texts[f"/etc/containerd/certs.d/{directory}/hosts.toml"] = _hosts_toml(
                server, endpoints, insecure=registry in insecure
            )
    return tuple(File(path, texts[path], _PERMISSIONS) for path in sorted(texts, key=str.encode))


def _place(registry: str) -> tuple[str, str]:
    """A registry's directory and the server to fall back to, which is empty for the wildcard."""
    host = registry.partition("/")[0]
    if host == _DOCKER_HUB:
        return host, _DOCKER_HUB_SERVER
    if host in ("*", "_default"):
        return "_default", ""
    return host, registry


def _hosts_toml(server: str, endpoints: Iterable[str], *, insecure: bool) -> str:
    hosts = dict(map(_endpoint, endpoints)) or {server: False}
    parts = [f"server = {toml.string(server)}\n\n"] if server else []
    for url in sorted(hosts, key=str.encode):
        parts.extend(_host_lines(url, insecure=insecure, override_path=hosts[url]))
    return "".join(parts)


def _host_lines(url: str, *, insecure: bool, override_path: bool) -> Iterator[str]:
    yield f'[host.{toml.key(url)}]\ncapabilities = ["pull", "resolve"]\n'
    if insecure:
        yield "skip_verify = true\n"
    if override_path:
        yield "override_path = true\n"


def _endpoint(text: str) -> tuple[str, bool]:
    """An endpoint's URL without our options, and whether it overrides the path."""
    try:
        url = parse_url(text)
    except GoError:
        return text, False  # containerd gets what cannot be parsed as it is
    query = dict(query_values(url.raw_query))
    if _OPTIONS not in query:
        return text, False
    options = query.pop(_OPTIONS)
    return replace(url, raw_query=encode_query(query)).string(), _overrides_path(options[0])


def _overrides_path(options: str) -> bool:
    try:
        parsed = dict(parse_query(query_unescape(options)))
        return parse_bool(parsed.get("override_path", [""])[0])
    except GoError:
        return False  # as in OSM: an unreadable option is not set
