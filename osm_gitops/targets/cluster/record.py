"""The record of runs in the cluster: a ConfigMap with the state of each pool, Events, and the times of runs.

The ConfigMap is written only if more than times change: a run without changes writes nothing but the Lease (design.md,
"Comparison"). So the times of the last run and the last good run are annotations of the Lease, which is written anyway.
Errors are masked, so the record contains no secret.

Each new error is an Event on its MachineDeployment, for ``kubectl describe``. The name of an Event is a digest of its
text, so the API server refuses duplicates while it keeps the Event (an hour, by default). Errors that are in the record
already are not reported again.

Beyond the rights for the Lease it needs ``get``, ``create`` and ``patch`` on configmaps in the management namespace,
and ``create`` on events.events.k8s.io in the worker cluster, in the namespaces of MachineDeployments.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from osm_gitops import __version__
from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import ClusterError, Code, LostLockError, Problem
from osm_gitops.kube.api import Api, Clusters
from osm_gitops.kube.kinds import CONFIG_MAP, EVENT, LEASE, MACHINE_DEPLOYMENT
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, LeftReason
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.promotion import Carried
from osm_gitops.model.record import FinishedRun, PoolRecord, PoolState, RunRecord
from osm_gitops.model.span import rfc3339, rfc3339_micro
from osm_gitops.report.mask import Masker
from osm_gitops.targets.cluster.lease import LEASE_NAME, Held

PROFILE_ERROR: Final = "OperatingSystemProfileError"
"""The reason of OSM's Events for a profile that does not fit (osm-behaviour.md, "Profile selection")."""
RENDERING_FAILED: Final = "RenderingFailed"
APPLY_FAILED: Final = "ApplyFailed"

_OSM_PREFIX: Final = "failed to validate referenced OSP: "
_CONTROLLER: Final = "osm-gitops"
_LONGEST_NAME: Final = 236  # plus a dot and the digest: 253, the API's limit
_LONGEST_NOTE: Final = 1024  # bytes, the API's limit
_MOST: Final = 100  # limits Events for a mistake in a whole fleet


@dataclass(frozen=True, slots=True)
class PoolErrors:
    """New errors of a pool, from ``rendering`` or from writing."""

    pool: ObjectRef
    uid: str
    problems: tuple[Problem, ...]
    rendering: bool
    masker: Masker = field(repr=False)

    @property
    def reason(self) -> str:
        if not self.rendering:
            return APPLY_FAILED
        unfit = any(problem.code is Code.PROFILE_DOES_NOT_FIT for problem in self.problems)
        return PROFILE_ERROR if unfit else RENDERING_FAILED

    @property
    def note(self) -> str:
        """OSM's text for a profile that does not fit, otherwise all problems."""
        if self.reason == PROFILE_ERROR:
            unfit = (problem.what for problem in self.problems if problem.code is Code.PROFILE_DOES_NOT_FIT)
            text = self.masker.text(_OSM_PREFIX + "; ".join(unfit))
        else:
            text = "; ".join(str(self.masker.problem(problem)) for problem in self.problems)
        return text.encode()[:_LONGEST_NOTE].decode(errors="ignore")


def _create_events(worker: Api, news: Iterable[PoolErrors], at: datetime) -> tuple[Problem, ...]:
    """Create at most a hundred Events. Stops at the first failure and returns it; existing Events are no failure."""
    for each in islice(news, _MOST):
        try:
            worker.create(_event(each, at))
        except ClusterError as failure:
            if failure.status != 409:
                return failure.problems
    return ()


def _event(news: PoolErrors, at: datetime) -> dict[str, Json]:
    pool, reason, note = news.pool, news.reason, news.note
    digest = hashlib.sha256("\0".join((news.uid, reason, note)).encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {"name": f"{pool.name[:_LONGEST_NAME].rstrip('.-')}.{digest}", "namespace": pool.namespace},
        "type": "Warning",
        "reason": reason,
        "note": note,
        "action": "Rendering" if news.rendering else "Applying",
        "eventTime": rfc3339_micro(at),
        "reportingController": _CONTROLLER,
        "reportingInstance": _CONTROLLER,
        "regarding": {
            "apiVersion": MACHINE_DEPLOYMENT.api_version,
            "kind": MACHINE_DEPLOYMENT.name,
            "namespace": pool.namespace,
            "name": pool.name,
            "uid": news.uid,
        },
    }


STATUS_NAME: Final = "osm-gitops-status"
LAST_RUN: Final = "osm-gitops.io/last-run"
LAST_GOOD_RUN: Final = "osm-gitops.io/last-good-run"

_KEY: Final = "status.json"
_FORMAT_VERSION: Final = "1.2"
_TIMES: Final = frozenset({"lastRun", "lastGoodRun"})
_MOST_BYTES: Final = 768 * 1024  # objects may have 1 MiB
_MOST_ERRORS: Final = 3
_LONGEST_ERROR: Final = 500
_LEFT: Final = frozenset({PoolState.LEFT, PoolState.STUCK})


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record after a run, the run with the times of the record, and failures to write it. ``known`` are the errors
    of the record before."""

    record: RunRecord
    ran: FinishedRun
    warnings: tuple[Problem, ...] = ()
    known: frozenset[str] = frozenset()


def read_record(management: Api, namespace: str) -> RunRecord | None:
    """Read the record; ``None`` if there is none. Raises ClusterError."""
    found = management.get(LEASE, namespace, LEASE_NAME, metadata_only=True)
    record = _stored(management, namespace)
    if found is None:
        return record
    return _with_times(record or RunRecord(), found["metadata"].get("annotations") or {})


def record_run(live: Clusters, held: Held, ran: FinishedRun, uids: Mapping[ObjectRef, str]) -> Recorded:
    """Write the record of a run to the namespace of its Lease, create Events for new errors, and note the time.

    ``uids`` are those of the MachineDeployments. A run that lost its Lease writes nothing.
    """
    masker = Masker(ran.plan.sensitive if ran.plan else ())
    earlier = _with_times(RunRecord(), held.annotations)
    warnings: list[Problem] = []
    try:
        held.check()
        earlier = _with_times(_stored(live.management, held.namespace) or RunRecord(), held.annotations)
        record = after_run(earlier, ran, masker)
        # Events first: after an interruption the next run creates Events of the same names.
        warnings += _create_events(live.worker, _news(earlier, record, ran, uids, masker), ran.ended)
        if _lasting(record) != _lasting(earlier):
            held.check()
            live.management.apply(_body(held.namespace, record), force=True)
        held.leave(
            {LAST_RUN: record.last_run} | ({LAST_GOOD_RUN: record.last_good_run} if record.last_good_run else {})
        )
    except LostLockError as lost:
        warnings = list(lost.problems)
    except ClusterError as failure:
        warnings += failure.problems
    record = after_run(earlier, ran, masker)
    return Recorded(record, _aged(ran, record), tuple(warnings), frozenset(_told(earlier)))


def _told(earlier: RunRecord) -> Iterator[str]:
    """The errors of an earlier record."""
    yield from earlier.errors
    for pool in earlier.pools.values():
        yield from pool.errors


def _aged(ran: FinishedRun, record: RunRecord) -> FinishedRun:
    """The run with facts from the record: since when pools are skipped, and which of them are stuck."""
    left, stuck = {}, set()
    for pool, each in ran.left.items():
        known = record.pools.get(pool.namespaced_name)
        if known is None or not known.since:
            left[pool] = each
            continue
        age = ran.ended - _moment(known.since)
        left[pool] = replace(each, since=known.since, age=timedelta(seconds=int(age.total_seconds())))
        stuck |= {pool} if known.state is PoolState.STUCK else set()
    return replace(ran, delivery=replace(ran.delivery, left=left), stuck=frozenset(stuck))


def after_run(earlier: RunRecord, ran: FinishedRun, masker: Masker) -> RunRecord:
    """The record after a run, made from the earlier one."""
    partial = ran.plan is None or ran.narrowed
    seen = dict(_pool_records(earlier, ran, masker))
    listed, counted = _bounded({**earlier.pools, **seen} if partial else seen)
    if partial:
        # Pools that were only counted are in detail now; those only counted are almost always healthy.
        counted += Counter(earlier.counted)
        counted[PoolState.OK] -= min(earlier.counted.get(PoolState.OK, 0), len(seen.keys() - earlier.pools.keys()))
    now = rfc3339(ran.ended)
    record = RunRecord(
        cluster=ran.cluster,
        tool=__version__,
        errors=short_errors(ran.troubles, masker),
        pools=listed,
        counted={state: counted[state] for state in PoolState if counted[state]},
        last_run=now,
        last_good_run=earlier.last_good_run,
        inputs=_inputs(earlier, ran),
    )
    good = ran.good and not any(record.count()[each] for each in (PoolState.FAILED, PoolState.STUCK))
    # A run of selected pools does not count as a good run of the cluster.
    return replace(record, good=good, last_good_run=now if good and not ran.narrowed else earlier.last_good_run)


def _inputs(earlier: RunRecord, ran: FinishedRun) -> Carried | None:
    """The shared inputs of the cluster after a run; a run that could not plan leaves what was known."""
    promotion, before = ran.plan.inputs if ran.plan else None, earlier.inputs
    if promotion is None or ran.narrowed:
        return before
    if before is not None and before.digest == promotion.digest and (before.whole or not ran.good):
        return before
    return Carried(promotion.commit, promotion.digest, ran.ended.replace(microsecond=0), ran.good)


def _pool_records(earlier: RunRecord, ran: FinishedRun, masker: Masker) -> Iterator[tuple[str, PoolRecord]]:
    failed, left, changed, now = ran.failed, ran.left, ran.changed, rfc3339(ran.ended)
    # Many pools often have the same problem, and masking is slow.
    texts = {problems: short_errors(problems, masker) for problems in set(failed.values())}
    for pool, state in ran.pools.items():
        name = pool.namespaced_name
        before = earlier.pools.get(name)
        written = now if pool in changed else before.written if before else ""
        errors = texts[failed[pool]] if state is PoolState.FAILED else ()
        record = PoolRecord(state=state, errors=errors, written=written)
        if state is PoolState.LEFT:
            why = left[pool]
            stuck = before is not None and _is_stuck(why.reason, before)
            reached = PoolState.STUCK if stuck else PoolState.LEFT
            record = replace(record, state=reached, code=why.reason.code, reason=masker.text(why.why))
        yield name, record if state is PoolState.OK else _since(record, before, earlier.last_run, now)


def _is_stuck(reason: LeftReason, before: PoolRecord) -> bool:
    """Whether a skipped pool was also skipped by the run before. Reasons that may last are not stuck."""
    lasting = {each.code for each in LeftReason if each.lasts}
    return before.state in _LEFT and before.code not in lasting and not reason.lasts


def _since(record: PoolRecord, before: PoolRecord | None, last_run: str, now: str) -> PoolRecord:
    """The record with the time since which its trouble lasts: unchanged if the trouble is the same."""
    if before is None:
        return replace(record, since=now)
    good = last_run if before.state is PoolState.OK else before.good
    same = (before.state in _LEFT, before.code, before.errors) == (record.state in _LEFT, record.code, record.errors)
    return replace(record, since=before.since if same else now, good=good)


def short_errors(problems: Iterable[Problem], masker: Masker) -> tuple[str, ...]:
    found = list(dict.fromkeys(str(masker.problem(problem)) for problem in problems))
    more = [f"and {len(found) - _MOST_ERRORS} more"] if len(found) > _MOST_ERRORS else []
    return tuple(text[:_LONGEST_ERROR] for text in (*found[:_MOST_ERRORS], *more))


def _bounded(pools: Mapping[str, PoolRecord]) -> tuple[dict[str, PoolRecord], Counter[PoolState]]:
    """Pools in detail, up to the size limit, and the number of others by state. Troubled and recent pools come
    first."""
    order = {PoolState.FAILED: 0, PoolState.STUCK: 1, PoolState.LEFT: 2, PoolState.OK: 3}
    newest = sorted(sorted(pools.items()), key=lambda item: item[1].written, reverse=True)
    listed, counted, size = {}, Counter[PoolState](), 0
    for name, record in sorted(newest, key=lambda item: order[item[1].state]):
        if record == PoolRecord():
            counted[record.state] += 1
            continue
        size += len(_text({name: _pool_json(record)}).encode())
        if size > _MOST_BYTES:
            counted[record.state] += 1
        else:
            listed[name] = record
    return listed, counted


def _news(
    earlier: RunRecord, record: RunRecord, ran: FinishedRun, uids: Mapping[ObjectRef, str], masker: Masker
) -> Iterator[PoolErrors]:
    """Errors that the run before did not have."""
    for pool, problems in sorted(ran.failed.items()):
        name = pool.namespaced_name
        before, now = earlier.pools.get(name), record.pools.get(name)
        if pool in uids and (before is None or now is None or before.errors != now.errors):
            rendering = ran.plan is not None and pool in ran.plan.failed
            yield PoolErrors(pool, uids[pool], problems, rendering, masker)


def _body(namespace: str, record: RunRecord) -> dict[str, Json]:
    metadata = {"name": STATUS_NAME, "namespace": namespace, "labels": {MANAGED_BY_LABEL: MANAGED_BY}}
    text = _text(_document(record))
    return {"apiVersion": CONFIG_MAP.api_version, "kind": CONFIG_MAP.name, "metadata": metadata, "data": {_KEY: text}}


def _text(value: Json) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _lasting(record: RunRecord) -> Json:
    """The part of a record whose change is written."""
    return {key: value for key, value in _document(record).items() if key not in _TIMES}


def _document(record: RunRecord) -> dict[str, Json]:
    count = record.count()
    return {
        "formatVersion": _FORMAT_VERSION,
        "cluster": record.cluster,
        "toolVersion": record.tool,
        "result": "ok" if record.good else "failed",
        "lastRun": record.last_run,
        "lastGoodRun": record.last_good_run,
        "newerTimes": f"annotations {LAST_RUN} and {LAST_GOOD_RUN} of Lease {LEASE_NAME}",
        **({"inputs": _inputs_json(record.inputs)} if record.inputs else {}),
        "errors": list(record.errors),
        "count": {state.value: count[state] for state in PoolState},
        "pools": {name: _pool_json(record.pools[name]) for name in sorted(record.pools)},
        "notListed": {state.value: number for state, number in record.counted.items()},
    }


def _inputs_json(inputs: Carried) -> Json:
    since = rfc3339(inputs.since)
    return {"commit": inputs.commit, "digest": inputs.digest, "since": since, "complete": inputs.whole}


def _pool_json(record: PoolRecord) -> dict[str, Json]:
    whole = {
        "state": record.state.value,
        "code": record.code,
        "reason": record.reason,
        "errors": list(record.errors),
        "since": record.since,
        "written": record.written,
        "lastGoodRun": record.good,
    }
    return {key: value for key, value in whole.items() if value}


def _stored(management: Api, namespace: str) -> RunRecord | None:
    """The record in the ConfigMap. An edited, invalid one counts as empty."""
    found = management.get(CONFIG_MAP, namespace, STATUS_NAME)
    try:
        return _parsed(parse_json((found or {})["data"][_KEY]))
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def _parsed(document: Mapping[str, Json]) -> RunRecord:
    pools = {
        str(name): PoolRecord(
            state=PoolState(pool["state"]),
            code=str(pool.get("code", "")),
            reason=str(pool.get("reason", "")),
            errors=tuple(map(str, pool.get("errors", ()))),
            since=rfc3339(_moment(pool["since"])) if pool.get("since") else "",
            written=str(pool.get("written", "")),
            good=str(pool.get("lastGoodRun", "")),
        )
        for name, pool in document["pools"].items()
    }
    return RunRecord(
        cluster=str(document["cluster"]),
        tool=str(document["toolVersion"]),
        good=document["result"] == "ok",
        errors=tuple(map(str, document["errors"])),
        pools=pools,
        counted={PoolState(state): int(number) for state, number in document["notListed"].items()},
        last_run=str(document["lastRun"]),
        last_good_run=str(document["lastGoodRun"]),
        inputs=_parsed_inputs(document.get("inputs")),
    )


def _parsed_inputs(found: Mapping[str, Json] | None) -> Carried | None:
    if not found:
        return None
    whole = found["complete"] is True
    return Carried(str(found["commit"]), str(found["digest"]), _moment(found["since"]), whole)


def _with_times(record: RunRecord, annotations: Mapping[str, str]) -> RunRecord:
    """The record with the times of the Lease if they are newer. RFC 3339 in UTC sorts as text."""
    return replace(
        record,
        last_run=max(record.last_run, annotations.get(LAST_RUN, "")),
        last_good_run=max(record.last_good_run, annotations.get(LAST_GOOD_RUN, "")),
    )


def _moment(text: str) -> datetime:
    """Parse the format of :func:`rfc3339`. Raises ValueError or TypeError."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
