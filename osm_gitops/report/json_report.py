"""A plan as JSON. Keys and their meaning change only with the major version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from json.encoder import encode_basestring

from osm_gitops.model.desired import Left
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan, Plan, TextDiff
from osm_gitops.model.promotion import Promotion
from osm_gitops.model.span import rfc3339
from osm_gitops.report.json_words import FORMAT_VERSION, object_json, problem_json
from osm_gitops.report.masked import ShownChange, ShownCluster, shown


def plan_json(plan: Plan, *, context: int = 3, whole: bool = False, hide_secret_files: bool = False) -> Iterator[str]:
    """The pieces of the plan as a JSON text without secrets, with a newline at the end: ten thousand pools have tens of
    megabytes.

    Unchanged objects are only counted; new and deleted ones have diffs only if ``whole``. ``hide_secret_files``: show
    no content of files that are made from secrets.
    """
    clusters = shown(plan, context=context, whole=whole, hide_secret_files=hide_secret_files)
    head = {
        "formatVersion": FORMAT_VERSION,
        "hasChanges": plan.has_changes,
        "summary": _summary(plan.clusters),
    }
    yield _indented(head, "").removesuffix("\n}") + ',\n  "clusters": '
    yield from _list((_cluster(cluster) for cluster in clusters), "  ")
    yield "\n}\n"


def _cluster(cluster: ShownCluster) -> Iterator[str]:
    plan, margin = cluster.plan, " " * 4
    before = {
        "name": plan.cluster,
        "sources": list(plan.sources),
        "hosts": list(plan.hosts),
        "summary": _summary((plan,)),
        "pools": {
            "desired": plan.pools.desired,
            "changed": plan.pools.changed,
            "deleted": plan.pools.deleted,
            "failed": plan.pools.failed,
        },
    }
    changes = (change for pools in cluster.pools for change in pools.changes)
    inside = margin + " " * 4
    after = {
        "promotion": promotion_json(plan.promotion) if plan.promotion else None,
        "layout": list(plan.layout),
        "left": [_left(pool, plan.left[pool]) for pool in sorted(plan.left)],
        "kept": [object_json(ref) for ref in plan.kept],
        "notDeleted": [object_json(change.ref) for change in plan.not_deleted],
        "noDeletion": [problem_json(problem) for problem in plan.no_deletion],
        "failed": [
            {"pool": object_json(pool), "problems": [problem_json(problem) for problem in problems]}
            for pool, problems in sorted(plan.failed.items())
        ],
        "warnings": [problem_json(problem) for problem in plan.warnings],
        "refusals": [problem_json(problem) for problem in plan.refusals],
    }
    yield _indented(before, margin).removesuffix(f"\n{margin}}}") + f',\n{margin}  "changes": '
    yield from _list((("".join(_change(change, inside)),) for change in changes), margin + "  ")
    yield "," + _indented(after, margin).removeprefix("{")


def _list(entries: Iterable[Iterable[str]], margin: str) -> Iterator[str]:
    """A list in a line that begins at ``margin``, of entries in pieces."""
    between = f"[\n{margin}  "
    for entry in entries:
        for piece in entry:
            yield between + piece
            between = ""
        between = f",\n{margin}  "
    yield "[]" if between[0] == "[" else f"\n{margin}]"


def _indented(value: Json, margin: str) -> str:
    """The text of ``json.dumps`` with an indentation of two, in a line that begins at ``margin``. That takes ten times
    as long, as it leaves C for each value."""
    if isinstance(value, str):
        return encode_basestring(value)
    if not value or not isinstance(value, dict | list):
        return json.dumps(value)
    between = f",\n{margin}  "
    if not any(isinstance(each, dict | list) for each in (value.values() if isinstance(value, dict) else value)):
        inside = json.dumps(value, ensure_ascii=False, separators=(between, ": "))[1:-1]
    elif isinstance(value, dict):
        inside = between.join(
            f"{encode_basestring(key)}: {_indented(each, margin + '  ')}" for key, each in value.items()
        )
    else:
        inside = between.join(_indented(each, margin + "  ") for each in value)
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{margin}  {inside}\n{margin}{last}"


def promotion_json(promotion: Promotion) -> dict[str, Json]:
    """What a cluster of a wave waits for."""
    return {
        "wave": promotion.wave,
        "step": promotion.step.value,
        "commit": promotion.commit or None,
        "newest": promotion.newest,
        "offered": promotion.offered or None,
        "after": promotion.after or None,
        "since": rfc3339(promotion.since) if promotion.since else None,
        "until": rfc3339(promotion.until) if promotion.until else None,
        "reasons": list(promotion.reasons),
    }


def _left(pool: ObjectRef, left: Left) -> dict[str, Json]:
    return {
        "pool": object_json(pool),
        "code": left.reason.code,
        "reason": left.why,
        "since": left.since or None,
        "fix": left.reason.fix,
    }


def _change(shown_change: ShownChange, margin: str) -> Iterator[str]:
    change = shown_change.change
    before = {
        **object_json(change.ref),
        "side": change.side.value,
        "action": change.action.value,
        "reason": shown_change.reason,
        "pool": object_json(change.pool) if change.pool else None,
        "upkeep": change.upkeep,
    }
    yield _indented(before, margin).removesuffix(f"\n{margin}}}") + f',\n{margin}  "diffs": '
    yield from _list(((_diff(diff, margin + " " * 4),) for diff in shown_change.diffs), margin + "  ")
    yield f"\n{margin}}}"


@lru_cache(maxsize=256)  # pools have most of them in common
def _diff(diff: TextDiff, margin: str) -> str:
    found = {
        "name": diff.name,
        "state": diff.state,
        "added": diff.added,
        "removed": diff.removed,
        "lines": list(diff.lines),
        "instead": diff.instead,
    }
    return _indented(found, margin)


def _summary(plans: tuple[ClusterPlan, ...]) -> dict[str, int]:
    counts = [plan.count() for plan in plans]
    return {action.value: sum(count[action] for count in counts) for action in Action}
