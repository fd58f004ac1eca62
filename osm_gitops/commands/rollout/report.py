"""Output of ``rollout``: a table and sentences, and JSON with its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from osm_gitops.commands.rollout.rolling import ClusterState, PoolState
from osm_gitops.errors import some
from osm_gitops.model.objects import Json
from osm_gitops.model.rollout import MachineRollout
from osm_gitops.model.span import rfc3339, spoken
from osm_gitops.plan.rolling import roll_command
from osm_gitops.report.json_words import FORMAT_VERSION, problem_json
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import (
    COUNT,
    PROBLEM_RECORD,
    format_version,
    head,
    listing,
    optional_text,
    record,
    text,
    truth,
)
from osm_gitops.report.visible import many, visible

_HEADS: Final = ("POOL", "MACHINES", "OLD", "OLDEST", "NOT READY", "STATE")
_NAMED: Final = 5
NEXT: Final = (
    "New machines get their configuration by the next run: osm-gitops apply, and with a git target osm-gitops refresh."
)


def rollout_text(clusters: Sequence[ClusterState], masker: Masker) -> str:
    """Text for people; it may change."""
    return "".join(f"{visible(masker.text(line))}\n" for cluster in clusters for line in _lines(cluster))


def rollout_json(clusters: Sequence[ClusterState], masker: Masker) -> str:
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version."""
    document = {"formatVersion": FORMAT_VERSION, "clusters": [_cluster(each) for each in clusters]}
    return masker.text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _lines(cluster: ClusterState) -> Iterator[str]:
    old = [pool for pool in cluster.pools if pool.rollout.old]
    if cluster.problems and not cluster.pools:
        yield f"Cluster {cluster.name}: its pools could not be read"
        yield ""
        return
    number = sum(len(pool.rollout.old) for pool in old)
    behind = (
        f"{many(number, 'machine')} of {many(len(old), 'pool')} with an old configuration" if old else "all current"
    )
    yield f"Cluster {cluster.name}: {many(len(cluster.pools), 'pool')}, {behind}"
    shown = [pool for pool in cluster.pools if pool.rollout.old or pool.late]
    if shown:
        rows = [_HEADS, *(_row(pool, cluster.now) for pool in shown)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
        yield ""
        for row in rows:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    for pool in shown:
        if pool.late:
            names = some([_named(each, cluster.now) for each in pool.late], _NAMED)
            yield f"  {pool.ref.namespaced_name}: without a Ready Node: {names}"
    rolls = [pool for pool in shown if pool.rolls]
    if rolls:
        yield ""
        yield "To replace the machines of a pool, rolling: osm-gitops rollout --roll N, or, without the checks:"
        yield from (f"  {roll_command(pool.ref)}" for pool in rolls)
        yield NEXT
    yield ""


def _row(pool: PoolState, now: datetime) -> tuple[str, ...]:
    old = pool.rollout.old
    state = pool.obstacle or ("can be rolled" if old else "current")
    alive = sum(not each.deleting for each in pool.rollout.machines)
    oldest = spoken(now - old[0].created) if old else "-"
    return pool.ref.namespaced_name, str(alive), str(len(old)), oldest, str(len(pool.late)), state


def _named(machine: MachineRollout, now: datetime) -> str:
    return f"{machine.name} ({spoken(now - machine.created)}{', no Node' if not machine.node else ''})"


def _cluster(cluster: ClusterState) -> dict[str, Json]:
    return {
        "name": cluster.name,
        "at": rfc3339(cluster.now),
        "pools": [_pool(pool) for pool in cluster.pools],
        "problems": [problem_json(problem) for problem in cluster.problems],
    }


def _pool(pool: PoolState) -> dict[str, Json]:
    rollout = pool.rollout
    return {
        "namespace": pool.ref.namespace,
        "name": pool.ref.name,
        "revision": rollout.revision or None,
        "written": rfc3339(rollout.written) if rollout.written else None,
        "machines": sum(not each.deleting for each in rollout.machines),
        "joined": sum(each.ready for each in rollout.current),
        "old": [_machine(each) for each in rollout.old],
        "late": [_machine(each) for each in pool.late],
        "canRoll": pool.rolls,
        "obstacle": pool.obstacle or None,
    }


def _machine(machine: MachineRollout) -> dict[str, Json]:
    return {
        "name": machine.name,
        "created": rfc3339(machine.created),
        "revision": machine.revision or None,
        "node": machine.node or None,
        "ready": machine.ready,
    }


def rollout_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    pool = record(
        "A pool that is not being deleted.",
        namespace=text("Its namespace."),
        name=text("Its name."),
        revision=optional_text("The revision that machine-controller has given it; null before."),
        written=optional_text("When its present boot configuration came into the cluster; null if it has none."),
        machines=COUNT | {"description": "Its Machines, without those that are being deleted."},
        joined=COUNT | {"description": "Machines with the present configuration whose Node is Ready."},
        old=listing("machine", "Machines that booted, or may have, with an old configuration; the oldest first."),
        late=listing("machine", "Machines that have had no Ready Node for too long."),
        canRoll=truth("Whether it has old Machines, and they may be replaced now."),
        obstacle=optional_text("Why machines must not be replaced now; null if they may."),
    )
    machine = record(
        "A Machine.",
        name=text("Its name."),
        created=text("When it was created, in UTC."),
        revision=optional_text("The revision of its MachineSet."),
        node=optional_text("Its Node; null before it joins."),
        ready=truth("Whether its Node is Ready."),
    )
    return {
        **head("rollout", "Rollout"),
        **record(
            "Which Machines have an old boot configuration. Contains no secret.",
            formatVersion=format_version(),
            clusters=listing("cluster", "One entry for each cluster, in the fleet's order."),
        ),
        "$defs": {
            "cluster": record(
                "One cluster.",
                name=text("Its name."),
                at=text("When it was read, in UTC."),
                pools=listing("pool", "Its pools, by namespace and name."),
                problems=listing("problem", "What could not be read."),
            ),
            "pool": pool,
            "machine": machine,
            "problem": PROBLEM_RECORD,
        },
    }
