"""What configuration files refer to: package repositories, registries, images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from osm_gitops.downloads.commands import subscription_service
from osm_gitops.downloads.need import Kind, Need, need
from osm_gitops.gocompat.toml import TomlError, read_toml
from osm_gitops.model.profile import Modules
from osm_gitops.shell.state import shown

Found = tuple[int, Need]
"""A line number, and what the line refers to."""

_DEB: Final = re.compile(r"^\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(.*)$")
_URIS: Final = re.compile(r"^URIs:\s*(.+)$")
_YUM: Final = re.compile(r"^\s*(baseurl|mirrorlist|metalink|gpgkey)\s*=\s*(.+)$")
_TOML_URL: Final = re.compile(r"""["'](https?://[^"']+)["']""")
_PAUSE: Final = re.compile(r"""^\s*(?:sandbox_image|sandbox)\s*=\s*["']([^"']+)["']""")
_IMAGE: Final = re.compile(r"""^\s*-?\s*image:\s*["']?([^"'\s#]+)""")
_MENTIONED: Final = re.compile(r"https?://[^\s\"'<>\\)\]}]+")
_SILENT: Final = re.compile(r"^\s*(?:#|//|Documentation=|;)")


def asked_in(path: str, text: str) -> Iterator[Found]:
    """What a file with this path refers to, with line numbers from 1."""
    reader = next((read for pattern, read in _READERS if pattern.search(path)), None)
    if reader is not None:
        yield from reader(text)


def is_containerd_config(path: str) -> bool:
    """Whether a file is containerd's own configuration."""
    return _CONTAINERD.search(path) is not None


def names_sandbox(text: str) -> bool:
    """Whether containerd's configuration names the image of pod sandboxes."""
    return any(_PAUSE.match(line) for line in text.splitlines())


def mentioned(text: str) -> Iterator[tuple[int, str]]:
    """URLs in a text outside of comments."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not _SILENT.match(line):
            yield from ((number, match[0].rstrip(".,;:")) for match in _MENTIONED.finditer(line))


def asked_by_modules(modules: Modules) -> Iterator[tuple[str, Need]]:
    """What cloud-init's modules refer to, with the module."""
    for properties in modules.yum_repos.values():
        for key in ("baseurl", "mirrorlist", "metalink"):
            if properties.get(key):
                yield "yum_repos", need(Kind.REPOSITORY, properties[key], "yum")
        if "://" in properties.get("gpgkey", ""):
            yield "yum_repos", need(Kind.URL, properties["gpgkey"], "yum")
    if modules.rh_subscription:
        server = modules.rh_subscription.get("server-hostname", "")
        if server:
            yield "rh_subscription", need(Kind.URL, f"https://{server}", "subscription-manager")
            yield "rh_subscription", need(Kind.REPOSITORY, modules.rh_subscription.get("rhsm-baseurl", ""), "yum")
        else:
            yield "rh_subscription", subscription_service()
            note = "unless the image configures another one"
            yield "rh_subscription", need(Kind.REPOSITORY, "https://cdn.redhat.com", "yum", note)


def _apt(text: str) -> Iterator[Found]:
    for number, line in enumerate(text.splitlines(), start=1):
        match = _DEB.match(line)
        if match:
            yield number, need(Kind.REPOSITORY, f"{match[1]} {match[2].strip()}", "apt")
        uris = _URIS.match(line)
        for uri in uris[1].split() if uris else ():
            yield number, need(Kind.REPOSITORY, uri, "apt")


def _yum(text: str) -> Iterator[Found]:
    for number, line in enumerate(text.splitlines(), start=1):
        match = _YUM.match(line)
        for url in match[2].split() if match else ():
            if match and "://" in shown(url) and not url.startswith("file:"):
                yield number, need(Kind.URL if match[1] == "gpgkey" else Kind.REPOSITORY, url, "yum")


def _hosts_toml(text: str) -> Iterator[Found]:
    for number, line in enumerate(text.splitlines(), start=1):
        for match in _TOML_URL.finditer(line):
            yield number, need(Kind.REGISTRY, match[1], "containerd")


def _containerd(text: str) -> Iterator[Found]:
    endpoints = set(_endpoints(text))
    for number, line in enumerate(text.splitlines(), start=1):
        pause = _PAUSE.match(line)
        if pause:
            yield number, need(Kind.IMAGE, pause[1], "containerd", "for the sandbox of every pod")
        for match in _TOML_URL.finditer(line):
            if match[1] in endpoints:
                yield number, need(Kind.REGISTRY, match[1], "containerd")


def _endpoints(text: str) -> Iterator[str]:
    """The endpoints of mirrors in the older form of containerd's configuration."""
    try:
        waiting: list[Any] = [read_toml(text)]
    except TomlError:
        return
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            endpoint = each.get("endpoint")
            yield from (str(url) for url in endpoint if isinstance(endpoint, list)) if endpoint else ()
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _manifest(text: str) -> Iterator[Found]:
    for number, line in enumerate(text.splitlines(), start=1):
        match = _IMAGE.match(line)
        if match:
            yield number, need(Kind.IMAGE, match[1], "kubelet", "of a static pod")


_CONTAINERD: Final = re.compile(r"/containerd/(?:conf\.d/)?[^/]+\.toml$")
_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[str], Iterator[Found]]], ...]] = (
    (re.compile(r"/apt/sources\.list(?:\.d/[^/]+)?$"), _apt),
    (re.compile(r"/yum\.repos\.d/[^/]+$"), _yum),
    (re.compile(r"/hosts\.toml$"), _hosts_toml),
    (_CONTAINERD, _containerd),
    (re.compile(r"/kubernetes/manifests/[^/]+$"), _manifest),
)
