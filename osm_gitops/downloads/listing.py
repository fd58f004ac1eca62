"""What the nodes of many pools ask for: each thing once, with the pools that need it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from osm_gitops.downloads.need import Need, Needs, Unresolved, joined
from osm_gitops.errors import Problem
from osm_gitops.model.objects import ObjectRef


@dataclass(frozen=True, slots=True, order=True)
class PoolName:
    """A pool of a cluster."""

    cluster: str
    pool: ObjectRef

    def __str__(self) -> str:
        return f"{self.cluster}: {self.pool.namespaced_name}"


@dataclass(frozen=True, slots=True)
class Listed:
    """A thing, and the pools whose nodes ask for it."""

    need: Need
    pools: tuple[PoolName, ...]


@dataclass(frozen=True, slots=True)
class ListedUnresolved:
    """What could not be told, and of which pools."""

    unresolved: Unresolved
    pools: tuple[PoolName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloads:
    """The list. ``failed`` are pools that cannot be rendered, so that what they need is not known; ``problems`` are of
    whole sources."""

    pools: tuple[PoolName, ...]
    needs: tuple[Listed, ...]
    unresolved: tuple[ListedUnresolved, ...]
    failed: Mapping[PoolName, tuple[Problem, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)


def listed(found: Iterable[tuple[PoolName, Needs]]) -> tuple[tuple[Listed, ...], tuple[ListedUnresolved, ...]]:
    """Put together what pools need."""
    alike: dict[int, tuple[Needs, list[PoolName]]] = {}
    for pool, needs in found:
        # Pools that boot alike share one object.
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
