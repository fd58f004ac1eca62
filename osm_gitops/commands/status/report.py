"""Output of ``status``: a table and sentences, and JSON with its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.model.live import Gate
from osm_gitops.model.objects import Json
from osm_gitops.model.record import PoolRecord, PoolState
from osm_gitops.model.span import rfc3339, spoken
from osm_gitops.model.status import UNKNOWN, ClusterStatus, ObjectStatus, PoolStatus
from osm_gitops.report.json_words import FORMAT_VERSION, problem_json
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import (
    COUNT,
    PROBLEM,
    PROBLEM_RECORD,
    format_version,
    head,
    listing,
    optional_text,
    record,
    ref,
    text,
    texts,
    truth,
)
from osm_gitops.report.visible import visible

_HEADS: Final = ("POOL", "OSC", "BOOTSTRAP", "PROVISIONING", "KUBECONFIG", "GATE", "MACHINES", "TOKEN")
_GATES: Final = {Gate.PAUSED: "paused", Gate.DELETING: "deleting"}


def status_text(clusters: Sequence[ClusterStatus], masker: Masker) -> str:
    """Text for people; it may change."""
    lines = (line for cluster in clusters for line in _cluster_lines(cluster))
    return "".join(f"{visible(_masked(line, masker))}\n" for line in lines)


def status_json(clusters: Sequence[ClusterStatus], masker: Masker, left_out: Mapping[str, str]) -> str:
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version. ``left_out``
    says why clusters are not among them, by name."""
    trouble = any(cluster.is_in_trouble for cluster in clusters)
    document = {"formatVersion": FORMAT_VERSION, "trouble": trouble, "clusters": [_cluster(each) for each in clusters]}
    document["leftOut"] = [{"name": name, "reason": why} for name, why in sorted(left_out.items())]
    return masker.text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


# --- text ---


@dataclass(frozen=True, slots=True)
class _ProblemLine:
    """A line with a problem. Its parts are masked separately: the name of a Secret, a colon and a message look like a
    password in a file."""

    lead: str
    problem: Problem


def _masked(line: str | _ProblemLine, masker: Masker) -> str:
    if isinstance(line, _ProblemLine):
        return f"{line.lead}{masker.problem(line.problem)}"
    return masker.text(line)


def _cluster_lines(cluster: ClusterStatus) -> Iterator[str | _ProblemLine]:
    yield f"Cluster {cluster.name}: {_summary(cluster)}"
    yield from (f"  {host}" for host in cluster.hosts)
    yield from (f"  {line}" for line in _last_run(cluster))
    known = [finding for finding in cluster.findings if finding.kind != UNKNOWN]
    unknown = [finding.problem for finding in cluster.findings if finding.kind == UNKNOWN]
    for title, problems in (
        ("Blockers", [finding.problem for finding in known if finding.trouble]),
        ("Worth knowing", [finding.problem for finding in known if not finding.trouble]),
        ("Could not be read", [*unknown, *cluster.problems]),
    ):
        if problems:
            yield f"{title}:"
            yield from (_ProblemLine("  - ", problem) for problem in problems)
    if cluster.pools:
        yield ""
        yield from _table([_HEADS, *(_row(pool, cluster.now) for pool in cluster.pools)])
        yield from _details(cluster.pools)
    yield ""


def _summary(cluster: ClusterStatus) -> str:
    if not cluster.knows_pools:
        return "its pools could not be read"
    bad = sum(pool.is_in_trouble for pool in cluster.pools)
    pools = f"{len(cluster.pools)} pool{'' if len(cluster.pools) == 1 else 's'}"
    return f"{pools}, {bad} with problems" if bad else f"{pools}, no problems"


def _last_run(cluster: ClusterStatus) -> Iterator[str]:
    record = cluster.record
    if record is None or not record.last_run:
        if cluster.knows_record:
            yield "no run of osm-gitops so far"
        return
    if record.good:
        yield f"last run {record.last_run} succeeded"
        return
    good = f"the last success was {record.last_good_run}" if record.last_good_run else "no run has succeeded so far"
    yield f"last run {record.last_run} failed, {good}{''.join(f'; {error}' for error in record.errors)}"


def _row(pool: PoolStatus, now: datetime) -> tuple[str, ...]:
    waiting = f" ({len(pool.waiting)} wait)" if pool.waiting else ""
    return (
        pool.ref.namespaced_name,
        *map(_state, (pool.config, pool.bootstrap, pool.provisioning, pool.kubeconfig)),
        _gate_word(pool),
        f"{pool.machines}{waiting}",
        _token_words(pool, now),
    )


def _state(each: ObjectStatus) -> str:
    if not each.present:
        return "missing"
    return {True: "ok", False: "differs", None: "exists"}[each.in_step]


def _gate_word(pool: PoolStatus) -> str:
    if pool.gate.gate in _GATES:
        return _GATES[pool.gate.gate]
    return {True: "open", False: "closed", None: "unknown"}[pool.gate.accepts]


def _token_words(pool: PoolStatus, now: datetime) -> str:
    if pool.expires is None:
        return pool.token
    return f"{spoken(pool.expires - now)} left" if pool.expires > now else "expired"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def _details(pools: Sequence[PoolStatus]) -> Iterator[str | _ProblemLine]:
    for pool in pools:
        if pool.troubles:
            yield ""
            yield f"{pool.ref.namespaced_name}:"
            yield from (f"  - {trouble}" for trouble in pool.troubles)
            yield from (_ProblemLine("    ", problem) for problem in pool.errors)
            yield from _recorded_lines(pool.recorded)


def _recorded_lines(record: PoolRecord | None) -> Iterator[str]:
    if record is None:
        return
    yield from (f"    last error: {error}" for error in record.errors)
    if record.good:
        yield f"    last successful run: {record.good}"


# --- JSON ---


def _cluster(cluster: ClusterStatus) -> dict[str, Json]:
    record = cluster.record
    return {
        "name": cluster.name,
        "trouble": cluster.is_in_trouble,
        "at": rfc3339(cluster.now),
        "hosts": list(cluster.hosts),
        "lastRun": (record.last_run or None) if record else None,
        "lastGoodRun": (record.last_good_run or None) if record else None,
        "lastRunGood": record.good if record and record.last_run else None,
        "lastErrors": list(record.errors) if record else [],
        "findings": [
            {"kind": each.kind, "trouble": each.trouble, **problem_json(each.problem)} for each in cluster.findings
        ],
        "problems": [problem_json(problem) for problem in cluster.problems],
        "pools": [_pool(pool, cluster.now) for pool in cluster.pools],
    }


def _pool(pool: PoolStatus, now: datetime) -> dict[str, Json]:
    record, gate = pool.recorded, pool.gate
    return {
        "namespace": pool.ref.namespace,
        "name": pool.ref.name,
        "trouble": pool.is_in_trouble,
        "troubles": list(pool.troubles),
        "config": _object(pool.config),
        "bootstrapSecret": _object(pool.bootstrap),
        "provisioningSecret": _object(pool.provisioning),
        "kubeconfigSecret": _object(pool.kubeconfig),
        "gate": {
            "accepts": gate.accepts,
            "revision": gate.revision,
            "secretRevision": gate.stamped,
            "state": gate.gate.value,
            "reason": gate.why,
        },
        "machines": pool.machines,
        "waitingMachines": [
            {"namespace": each.ref.namespace, "name": each.ref.name, "since": each.since, "revision": each.revision}
            for each in pool.waiting
        ],
        "token": {
            "expires": rfc3339(pool.expires) if pool.expires else None,
            "secondsLeft": max(0, int((pool.expires - now).total_seconds())) if pool.expires else None,
            "state": pool.token,
        },
        "errors": [problem_json(problem) for problem in pool.errors],
        "lastRun": {
            "state": record.state.value if record else None,
            "code": record.code if record else "",
            "reason": record.reason if record else "",
            "since": (record.since or None) if record else None,
        },
        "lastErrors": list(record.errors) if record else [],
        "lastGoodRun": (record.good or None) if record else None,
    }


def _object(each: ObjectStatus) -> dict[str, Json]:
    return {
        "present": each.present,
        "inStep": each.in_step,
        "ours": each.ours,
        "created": each.created or None,
        "difference": each.difference or "",
    }


# --- schema ---


def status_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    return {
        **head("status", "Status"),
        **record(
            "The state of the pools of clusters. Contains no secret.",
            formatVersion=format_version(),
            trouble=truth("Whether anything is wrong in any cluster."),
            clusters=listing("cluster", "One entry for each cluster, in the fleet's order."),
            leftOut=listing("leftOut", "User clusters of KKP that are not read, sorted by name."),
        ),
        "$defs": {
            "problem": PROBLEM_RECORD,
            "finding": record(
                "Something in the cluster that blocks osm-gitops, or is worth knowing.",
                kind=text("A word for programs; unknown for what could not be read."),
                trouble=truth("Whether it is a problem."),
                **PROBLEM,
            ),
            "leftOut": record("A cluster that is not read.", name=text("Its name."), reason=text("Why not.")),
            **_DEFINITIONS,
        },
    }


_DEFINITIONS: Final = {
    "cluster": record(
        "One cluster.",
        name=text("Its name."),
        trouble=truth("Whether anything in it is wrong."),
        at=text("When it was read, in UTC."),
        hosts=texts("The API servers that were read."),
        lastRun=optional_text("When the last run ended; null if there was none."),
        lastGoodRun=optional_text("When the last run without errors ended; null if there was none."),
        lastRunGood={
            "type": ["boolean", "null"],
            "description": "Whether the last run succeeded; null if there was none.",
        },
        lastErrors=texts("The errors of the last run that do not belong to a pool."),
        findings=listing("finding", "Blockers, and what is worth knowing."),
        problems=listing("problem", "What could not be read."),
        pools=listing("pool", "Its pools, sorted by name."),
    ),
    "object": record(
        "An object of a pool in the cluster.",
        present=truth("Whether it exists."),
        inStep={
            "type": ["boolean", "null"],
            "description": "Whether it is what is rendered; null if that is not known.",
        },
        ours=truth("Whether osm-gitops wrote it."),
        created=optional_text("When it was created; null if that is not known."),
        difference=text("How it differs from what is rendered; empty if it does not."),
    ),
    "pool": record(
        "One pool.",
        namespace=text("Its namespace."),
        name=text("Its name."),
        trouble=truth("Whether anything is wrong with it."),
        troubles=texts("What is wrong with it."),
        config=ref("object", "The OperatingSystemConfig."),
        bootstrapSecret=ref("object", "The Secret with the bootstrap user-data."),
        provisioningSecret=ref("object", "The Secret with the provisioning user-data."),
        kubeconfigSecret=ref("object", "The Secret with the bootstrap kubeconfig of kubelets."),
        gate=record(
            "Whether machine-controller creates machines from these objects.",
            accepts={"type": ["boolean", "null"], "description": "Whether it does; null if that is not known."},
            revision=optional_text("The revision of the MachineDeployment; null if it has none yet."),
            secretRevision=optional_text("The revision on the Secrets; null if there is none."),
            state={"enum": [gate.value for gate in Gate], "description": "Whether the pool may be written now."},
            reason=text("Why not, if it may not."),
        ),
        machines=COUNT | {"description": "Its machines."},
        waitingMachines={
            "type": "array",
            "description": "Machines that wait for their bootstrap Secret.",
            "items": record(
                "A machine that waits.",
                namespace=text("Its namespace."),
                name=text("Its name."),
                since=text("Since when."),
                revision=text("The revision that it waits for."),
            ),
        },
        token=record(
            "Its bootstrap token.",
            expires=optional_text("When it expires; null if it does not, or does not exist."),
            secondsLeft={"type": ["integer", "null"], "description": "Seconds until then; null if it does not expire."},
            state=text("Its state, in a few words."),
        ),
        errors=listing("problem", "Why it cannot be rendered or read."),
        lastRun=record(
            "How the last run ended for it.",
            state={"enum": [*(state.value for state in PoolState), None], "description": "null if there was none."},
            code=text("Why it was skipped, as a word for programs, such as paused; else empty."),
            reason=text("Why it was skipped; else empty."),
            since=optional_text("Since when it has been so; null if that is not known."),
        ),
        lastErrors=texts("The errors of the last run."),
        lastGoodRun=optional_text("When the last run without errors ended for it; null if there was none."),
    ),
}
