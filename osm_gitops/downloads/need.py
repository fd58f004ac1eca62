"""Records for what a node asks for, and for what the nodes of many pools ask for, each item once with its pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

from osm_gitops.errors import Problem
from osm_gitops.model.objects import ObjectRef
from osm_gitops.shell.state import is_known, shown, unknown_parts

ARCHITECTURES: Final = ("amd64", "arm64")


class Kind(Enum):
    """Kinds of items, in the order of reports."""

    API = "api"
    PROXY = "proxy"
    URL = "url"
    REPOSITORY = "repository"
    PACKAGE = "package"
    IMAGE = "image"
    REGISTRY = "registry"
    MENTIONED = "mentioned"


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A line of a rendered file, and its place in the source, or an empty text."""

    half: str
    path: str
    line: int
    source: str = ""

    def __str__(self) -> str:
        return f"{self.half} {self.path}:{self.line}" if self.line else f"{self.half} {self.path}".strip()


@dataclass(frozen=True, slots=True)
class Need:
    """One item that a node asks for; ``name`` is the URL, package or image as text for people.

    ``by`` is the command or file format that asks. ``unresolved`` are the unknown parts of the name, as in the shell;
    ``note`` is a remark.
    """

    kind: Kind
    name: str
    by: str
    architectures: tuple[str, ...] = ()
    spots: tuple[Spot, ...] = ()
    unresolved: tuple[str, ...] = ()
    note: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for the same item; packages of different package managers are different items."""
        return (self.kind, self.name, self.by if self.kind in {Kind.PACKAGE, Kind.REPOSITORY} else "")

    @property
    def host(self) -> str:
        """The host to connect to, with its port if one is named, or an empty text."""
        if self.kind is Kind.PACKAGE:
            return ""
        if self.kind is Kind.IMAGE:
            return registry_of(self.name)
        address = self.name if "://" in self.name else f"//{self.name}"
        try:
            found = urlsplit(address)
            host = found.netloc.rpartition("@")[2]
        except ValueError:
            return ""
        return "" if not host or set("$ <") & set(host) else host


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why it is not known what a place asks for."""

    why: str
    spot: Spot


@dataclass(frozen=True, slots=True)
class Needs:
    """Everything that a node asks for, and the places where it is not known."""

    needs: tuple[Need, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()


def need(kind: Kind, text: str, by: str, note: str = "") -> Need:
    """A need whose name may have unknown parts."""
    return Need(kind, shown(text), by, unresolved=unknown_parts(text) if not is_known(text) else (), note=note)


def joined(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Each item once, with all architectures and places."""
    alike: dict[tuple[object, ...], list[Need]] = {}
    for each in needs:
        alike.setdefault(each.key, []).append(each)
    found = [
        replace(
            same[0],
            architectures=tuple(arch for arch in ARCHITECTURES if any(arch in each.architectures for each in same)),
            spots=tuple(dict.fromkeys(spot for each in same for spot in each.spots)),
            unresolved=tuple(dict.fromkeys(part for each in same for part in each.unresolved)),
        )
        if len(same) > 1
        else same[0]
        for same in alike.values()
    ]
    order = list(Kind)
    return tuple(sorted(found, key=lambda each: (order.index(each.kind), each.by, each.name)))


def registry_of(image: str) -> str:
    """The registry of an image's name, as containerd reads it."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"


@dataclass(frozen=True, slots=True, order=True)
class PoolName:
    """A pool of a cluster."""

    cluster: str
    pool: ObjectRef

    def __str__(self) -> str:
        return f"{self.cluster}: {self.pool.namespaced_name}"


@dataclass(frozen=True, slots=True)
class Listed:
    """An item, and the pools whose nodes ask for it."""

    need: Need
    pools: tuple[PoolName, ...]


@dataclass(frozen=True, slots=True)
class ListedUnresolved:
    """A place where it is not known what is asked for, and its pools."""

    unresolved: Unresolved
    pools: tuple[PoolName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloads:
    """The result for all pools. ``failed`` are pools that cannot be rendered; ``problems`` are those of whole
    sources."""

    pools: tuple[PoolName, ...]
    needs: tuple[Listed, ...]
    unresolved: tuple[ListedUnresolved, ...]
    failed: Mapping[PoolName, tuple[Problem, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)


def listed(found: Iterable[tuple[PoolName, Needs]]) -> tuple[tuple[Listed, ...], tuple[ListedUnresolved, ...]]:
    """Merge the needs of pools."""
    alike: dict[int, tuple[Needs, list[PoolName]]] = {}
    for pool, needs in found:
        # Pools with equal boot files share one object.
        alike.setdefault(id(needs), (needs, []))[1].append(pool)
    pools: dict[tuple[object, ...], list[PoolName]] = {}
    lost: dict[Unresolved, list[PoolName]] = {}
    everything: list[Need] = []
    for needs, users in alike.values():
        everything += needs.needs
        for each in needs.needs:
            pools.setdefault(each.key, []).extend(users)
        for unresolved in needs.unresolved:
            lost.setdefault(unresolved, []).extend(users)
    together = tuple(Listed(each, tuple(sorted(pools[each.key]))) for each in joined(everything))
    rest = sorted(lost.items(), key=lambda item: (item[0].spot, item[0].why))
    return together, tuple(ListedUnresolved(each, tuple(sorted(users))) for each, users in rest)
