"""What nodes ask for: lists for people, JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from osm_gitops.downloads.listing import Downloads, Listed, ListedUnresolved, PoolName
from osm_gitops.downloads.need import Kind, Need, Spot
from osm_gitops.model.objects import Json
from osm_gitops.report.json_words import problem_json
from osm_gitops.report.mask import Masker
from osm_gitops.report.outline import many
from osm_gitops.report.tables import section, table
from osm_gitops.report.visible import visible

FORMAT_VERSION: Final = "1.0"
_NAMED: Final = 3
_TITLES: Final = {
    Kind.API: "API server",
    Kind.PROXY: "Proxy",
    Kind.URL: "URLs",
    Kind.REPOSITORY: "Package repositories",
    Kind.PACKAGE: "Packages",
    Kind.IMAGE: "Images",
    Kind.REGISTRY: "Registries that are configured",
    Kind.MENTIONED: "URLs that stand in files, and nobody knows whether they are asked for",
}


def downloads_text(downloads: Downloads, masker: Masker) -> str:
    """For people; may change."""
    return "".join(f"{visible(masker.text(line))}\n" for line in _lines(downloads))


def downloads_json(downloads: Downloads, masker: Masker) -> str:
    """``formatVersion`` and the list; the meaning of a key changes only with the first number."""
    return masker.text(json.dumps(_document(downloads), indent=2, ensure_ascii=False)) + "\n"


def hosts_of(downloads: Downloads) -> dict[str, list[Listed]]:
    """What is asked of each host, by its name; what is only mentioned does not count."""
    hosts: dict[str, list[Listed]] = {}
    for each in downloads.needs:
        if each.need.host and each.need.kind is not Kind.MENTIONED:
            hosts.setdefault(each.need.host, []).append(each)
    return dict(sorted(hosts.items()))


# --- text ---


def _lines(downloads: Downloads) -> Iterator[str]:
    yield f"What nodes of {_pools(downloads)} ask for while they boot"
    yield from section("Hosts", table((host, _kinds(needs)) for host, needs in hosts_of(downloads).items()))
    for kind, title in _TITLES.items():
        found = [each for each in downloads.needs if each.need.kind is kind]
        yield from section(title, table(_row(each, downloads) for each in found))
    yield from section("Could not be told", (_unresolved(each, downloads) for each in downloads.unresolved))
    failed = (f"{pool}: {problem}" for pool, problems in downloads.failed.items() for problem in problems)
    yield from section("Not looked at, as it cannot be rendered", failed)


def _pools(downloads: Downloads) -> str:
    if len(downloads.pools) == 1:
        pool = downloads.pools[0]
        return f"{pool.pool} in cluster {pool.cluster}"
    return f"{many(len(downloads.pools), 'pool')} of {many(len({pool.cluster for pool in downloads.pools}), 'cluster')}"


def _kinds(needs: Sequence[Listed]) -> str:
    counted = Counter(each.need.kind for each in needs)
    return ", ".join(f"{number} {kind.value}" for kind, number in counted.items())


def _row(each: Listed, downloads: Downloads) -> tuple[str, ...]:
    found = each.need
    first = next(iter(found.spots), None)
    more = f" and {len(found.spots) - 1} more" if len(found.spots) > 1 else ""
    note = "; ".join(part for part in (found.note, _part(found)) if part)
    named = f"{found.name}  ({note})" if note else found.name
    by = (found.by,) if found.kind in {Kind.PACKAGE, Kind.REPOSITORY} else ()
    place = f"{_place(first)}{more}" if first else ""
    pools = (_users(each.pools, downloads),) if len(downloads.pools) > 1 else ()
    return (*by, named, ",".join(found.architectures), *pools, place)


def _part(found: Need) -> str:
    return f"not known: {', '.join(found.unresolved)}" if found.unresolved else ""


def _place(spot: Spot) -> str:
    return f"{spot} ({spot.source})" if spot.source else str(spot)


def _users(pools: Sequence[PoolName], downloads: Downloads) -> str:
    if len(pools) == len(downloads.pools):
        return "all pools"
    names = ", ".join(map(str, pools[:_NAMED]))
    return f"{names} and {len(pools) - _NAMED} more" if len(pools) > _NAMED else names


def _unresolved(each: ListedUnresolved, downloads: Downloads) -> str:
    users = f" [{_users(each.pools, downloads)}]" if len(downloads.pools) > 1 else ""
    return f"- {_place(each.unresolved.spot)}: {each.unresolved.why}{users}"


# --- JSON ---


def _document(downloads: Downloads) -> dict[str, Json]:
    return {
        "formatVersion": FORMAT_VERSION,
        "pools": [_pool(pool) for pool in downloads.pools],
        "hosts": list(hosts_of(downloads)),
        "needs": [_need(each) for each in downloads.needs],
        "unresolved": [
            {"why": each.unresolved.why, **_spot(each.unresolved.spot), "pools": [_pool(pool) for pool in each.pools]}
            for each in downloads.unresolved
        ],
        "failed": [
            {"pool": _pool(pool), "problems": [problem_json(problem) for problem in problems]}
            for pool, problems in downloads.failed.items()
        ],
        "problems": [problem_json(problem) for problem in downloads.problems],
    }


def _need(each: Listed) -> dict[str, Json]:
    found = each.need
    return {
        "kind": found.kind.value,
        "name": found.name,
        "host": found.host,
        "by": found.by,
        "architectures": list(found.architectures),
        "unresolved": list(found.unresolved),
        "note": found.note,
        "places": [_spot(spot) for spot in found.spots],
        "pools": [_pool(pool) for pool in each.pools],
    }


def _spot(spot: Spot) -> dict[str, Json]:
    return {"half": spot.half, "path": spot.path, "line": spot.line, "source": spot.source}


def _pool(pool: PoolName) -> dict[str, Json]:
    return {"cluster": pool.cluster, "namespace": pool.pool.namespace, "name": pool.pool.name}
