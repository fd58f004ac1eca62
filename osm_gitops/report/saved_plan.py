"""A plan in a file, to be applied later exactly as it was shown, or not at all. It contains no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import Code, InputError, Problem, input_error, some
from osm_gitops.model.objects import Json
from osm_gitops.model.plan import ClusterPlan, Plan
from osm_gitops.plan.fingerprint import fingerprint
from osm_gitops.report.masked import shown_plans

FORMAT_VERSION: Final = "1.0"
_KIND: Final = "SavedPlan"
_NAMED: Final = 5
_FIX: Final = "Nothing was changed. Review and save a new plan"


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """The content of a file. ``options`` are those of the command that made it, by flag; an option with a credential is
    ``None`` and has to be passed again. ``clusters`` are as :func:`saved_plan` writes them."""

    version: str
    options: Mapping[str, Json]
    clusters: tuple[Mapping[str, Json], ...]


def saved_plan(plan: Plan, version: str, options: Mapping[str, Json]) -> str:
    """The text of a file; ``version`` is that of osm-gitops, ``options`` are as in :class:`SavedPlan`."""
    prints = {cluster.cluster: cluster.fingerprint or fingerprint(cluster) for cluster in plan.clusters}
    document = {
        "formatVersion": FORMAT_VERSION,
        "kind": _KIND,
        "version": version,
        "options": dict(options),
        "clusters": [
            {
                "name": cluster.cluster,
                "fingerprint": prints[cluster.cluster],
                "sources": list(cluster.sources),
                "hosts": list(cluster.hosts),
                "changes": list(_lines(cluster)),
            }
            for cluster in shown_plans(plan)
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read_saved_plan(text: bytes, where: str) -> SavedPlan:
    """Parse a file. Raises InputError for anything but a saved plan of this format."""
    try:
        document = parse_json(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        raise input_error(
            Code.SAVED_PLAN_INVALID, "is not a saved plan", where=where, fix="Make one with osm-gitops plan --out FILE"
        )
    if str(document.get("formatVersion")).partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise input_error(
            Code.SAVED_PLAN_INVALID, "was saved by a version with another format", where=where, fix="Make a new one"
        )
    options, clusters = document.get("options"), document.get("clusters")
    if not isinstance(options, dict) or not isinstance(clusters, list) or not all(map(_is_cluster, clusters)):
        raise input_error(
            Code.SAVED_PLAN_INVALID, "is damaged", where=where, fix="Make a new one with osm-gitops plan --out FILE"
        )
    return SavedPlan(str(document.get("version")), options, tuple(clusters))


def refuse_stale(saved: SavedPlan, plan: Plan, version: str, where: str) -> None:
    """Raise InputError with all differences between ``plan``, made now, and the saved one."""
    problems = [
        Problem(Code.SAVED_PLAN_STALE, what, where=where, fix=_FIX) for what in _differences(saved, plan, version)
    ]
    if problems:
        raise InputError(problems)


def _differences(saved: SavedPlan, plan: Plan, version: str) -> Iterator[str]:
    if saved.version != version:
        yield f"it was made by osm-gitops {saved.version}, this is {version}"
    now = {cluster.cluster: cluster for cluster in shown_plans(plan)}
    prints = {cluster.cluster: cluster.fingerprint or fingerprint(cluster) for cluster in plan.clusters}
    then = {str(cluster["name"]): cluster for cluster in saved.clusters}
    for name in sorted(now.keys() ^ then.keys()):
        yield f"cluster {name} is only in one of the two plans"
    for name in sorted(now.keys() & then.keys()):
        if then[name]["fingerprint"] != prints[name]:
            yield f"cluster {name} has changed since: {'; '.join(_moved(then[name], now[name]))}"


def _moved(then: Mapping[str, Json], now: ClusterPlan) -> Iterator[str]:
    """Why a cluster's fingerprint changed, as far as this is known without content."""
    found = False
    for what, before, after in (
        ("it was read from", then.get("sources") or [], now.sources),
        ("it was planned for", then.get("hosts") or [], now.hosts),
    ):
        if list(before) != list(after):
            found = True
            yield f"{what} {', '.join(map(str, before))}, now {', '.join(after)}"
    before_changes, after_changes = set(then.get("changes") or ()), set(_lines(now))
    for what, lines in (("no longer planned", before_changes - after_changes), ("new", after_changes - before_changes)):
        if lines:
            found = True
            yield f"{what}: {some(sorted(lines), _NAMED)}"
    if not found:
        yield "the content of objects"


def _lines(plan: ClusterPlan) -> Iterator[str]:
    return (f"{change.action.value} {change.ref}" for change in plan.effective if not change.upkeep)


def _is_cluster(value: Json) -> bool:
    return isinstance(value, Mapping) and {"name", "fingerprint"} <= value.keys()
