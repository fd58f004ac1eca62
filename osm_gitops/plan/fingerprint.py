"""The fingerprint of a plan: equal for plans with the same changes to the same state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from osm_gitops.model.objects import Json
from osm_gitops.model.packed import parsed
from osm_gitops.model.plan import Action, Change, ClusterPlan


def fingerprint(plan: ClusterPlan) -> str:
    """SHA-256 over the current state and all changes, in hexadecimal.

    One digest over all objects, so that it does not help to guess the value of a secret. Maintenance is not included,
    since it depends on the time, nor are refusals.
    """
    digest = hashlib.sha256()
    for text in _texts(plan):
        digest.update(f"{len(text)}:{text}".encode())
    return digest.hexdigest()


def _texts(plan: ClusterPlan) -> Iterator[str]:
    yield plan.cluster
    for lines in (plan.sources, plan.hosts, plan.layout, sorted(map(str, plan.kept)), sorted(map(str, plan.failed))):
        yield "\n".join(lines)
    for change in plan.changes:
        if not change.upkeep:
            yield f"{change.action.value} {change.side.value} {change.ref}"
            yield change.digest.hex() or _content(change.after)
            yield "" if change.action is Action.UNCHANGED else _before(change)


def _before(change: Change) -> str:
    """The current state, without counters of the API server."""
    body = parsed(change.before or {})
    metadata = {key: body.get("metadata", {}).get(key) for key in ("name", "namespace", "labels", "annotations")}
    rest = {key: value for key, value in body.items() if key not in {"metadata", "status"}}
    return _content({**rest, "metadata": metadata}) if change.before else ""


def _content(body: Mapping[str, Json] | None) -> str:
    return json.dumps(None if body is None else dict(body), sort_keys=True, separators=(",", ":"))
