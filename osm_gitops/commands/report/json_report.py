"""The fleet as JSON, with its schema. Keys and their meaning change only with the major version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from osm_gitops.commands.report.fleet import ClusterReport, FleetReport, LiveFacts, PoolReport, Revision, State
from osm_gitops.model.objects import Json
from osm_gitops.model.plan import Action
from osm_gitops.model.pool_facts import PoolFacts
from osm_gitops.model.span import rfc3339
from osm_gitops.report.json_words import FORMAT_VERSION, object_json, problem_json
from osm_gitops.report.outline import ChangeEntry, ClusterEntry, PoolsEntry
from osm_gitops.report.schema_words import (
    COUNT,
    OBJECT,
    PROBLEM_RECORD,
    format_version,
    head,
    listing,
    optional_ref,
    optional_text,
    record,
    ref,
    text,
    texts,
    truth,
)


def report_json(fleet: FleetReport) -> str:
    """The report as a JSON text without secrets, with a newline at the end."""
    document = {
        "formatVersion": FORMAT_VERSION,
        "at": rfc3339(fleet.now),
        "states": {state.value: number for state, number in fleet.states().items()},
        "clusters": [_cluster(cluster, fleet.now) for cluster in fleet.clusters],
        "problems": [problem_json(problem) for problem in fleet.problems],
        "history": [_revision(revision) for revision in fleet.revisions],
        "noHistory": fleet.no_history,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _cluster(cluster: ClusterReport, now: datetime) -> dict[str, Json]:
    return {
        "name": cluster.name,
        "state": cluster.state.value,
        "planned": cluster.planned,
        "sources": list(cluster.sources),
        "hosts": list(cluster.hosts),
        "otherChanges": _counts(cluster.others),
        "problems": [problem_json(problem) for problem in cluster.problems],
        "warnings": [problem_json(problem) for problem in cluster.warnings],
        "lastRun": cluster.last_run or None,
        "pools": [_pool(pool, now) for pool in cluster.pools],
    }


def _pool(pool: PoolReport, now: datetime) -> dict[str, Json]:
    return {
        "namespace": pool.namespace,
        "name": pool.name,
        "state": pool.state.value,
        "facts": _facts(pool.facts) if pool.facts else None,
        "changes": _counts(pool.changes),
        "reasons": list(pool.reasons),
        "left": pool.left,
        "problems": [problem_json(problem) for problem in pool.problems],
        "troubles": list(pool.troubles),
        "live": _live(pool.live, now) if pool.live else None,
    }


def _facts(facts: PoolFacts) -> dict[str, Json]:
    sizes = [
        {"half": size.half, "bytes": size.size, "counted": size.counted, "limit": size.limit, "note": size.note}
        for size in facts.sizes
    ]
    return {
        "os": facts.os,
        "provider": facts.provider,
        "kubelet": facts.kubelet,
        "profile": facts.profile,
        "profileVersion": facts.profile_version,
        "userData": sizes,
    }


def _live(live: LiveFacts, now: datetime) -> dict[str, Json]:
    expires = live.token.expires
    return {
        "machines": live.machines,
        "waitingMachines": live.waiting,
        "token": {
            "expires": rfc3339(expires) if expires else None,
            "secondsLeft": int((expires - now).total_seconds()) if expires else None,
            "state": live.token.state,
        },
    }


def _counts(changes: Mapping[Action, int]) -> dict[str, int]:
    return {action.value: changes.get(action, 0) for action in Action if action is not Action.UNCHANGED}


def _revision(revision: Revision) -> dict[str, Json]:
    commit, content = revision.commit, revision.content
    return {
        "commit": commit.identity,
        "date": commit.date,
        "author": commit.author,
        "subject": commit.subject,
        "clusters": list(revision.clusters),
        "rendered": revision.rendered,
        "problems": list(content.problems),
        "changes": [
            _change(cluster, pools, change)
            for cluster in content.clusters
            for pools in cluster.pools
            for change in pools.changes()
        ],
    }


def _change(cluster: ClusterEntry, pools: PoolsEntry, change: ChangeEntry) -> dict[str, Json]:
    return {
        "clusters": [plan.cluster for plan in cluster.plans],
        "pools": [name for name in pools.pools.names if name],
        "action": change.action.value,
        "object": object_json(change.ref),
        "reason": change.reason,
        "diffs": [{"name": diff.head, "lines": list(diff.lines), "instead": diff.instead} for diff in change.diffs],
    }


_STATE: Final = {
    "enum": [state.value for state in State],
    "description": "failed: it cannot be planned or rendered. problem: something is wrong. waiting: apply skips it for "
    "now. changes: a plan would change it. ok: none of these.",
}


def report_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    return {
        **head("report", "Report"),
        **record(
            "The whole fleet. Contains no secret.",
            formatVersion=format_version(),
            at=text("The time of the report, in UTC."),
            states=record("Number of pools by state.", **{state.value: COUNT for state in State}),
            clusters=listing("cluster", "The clusters, in the fleet's order."),
            problems=listing("problem", "Why clusters could not be planned."),
            history=listing("revision", "The last commits that changed inputs of clusters, newest first."),
            noHistory=text("Why there is no history; empty if there is one, or if none was asked for."),
        ),
        "$defs": {"problem": PROBLEM_RECORD, "object": record("One Kubernetes object.", **OBJECT), **_DEFINITIONS},
    }


_DEFINITIONS: Final = {
    "counts": record(
        "Number of objects by action.",
        **{action.value: COUNT for action in Action if action is not Action.UNCHANGED},
    ),
    "cluster": record(
        "One cluster.",
        name=text("Its name."),
        state=_STATE,
        planned=truth("Whether it could be compared with its target."),
        sources=texts("Where its objects were read, with the git revision if there is one."),
        hosts=texts("The API servers that were read."),
        otherChanges=ref("counts", "Changes of objects without a pool, such as profiles."),
        problems=listing("problem", "Why apply would refuse it, what could not be read, and blockers."),
        warnings=listing("problem", "Warnings."),
        lastRun=optional_text("When the last run ended, and how; null if that is not known."),
        pools=listing("pool", "Its pools, sorted by name."),
    ),
    "pool": record(
        "One pool.",
        namespace=text("Its namespace; empty if only its objects are left, and it is ambiguous."),
        name=text("Its name."),
        state=_STATE,
        facts=optional_ref("facts", "Null for a pool that only the target has, or whose manifest cannot be read."),
        changes=ref("counts", "What a plan would change."),
        reasons=texts("Why."),
        left=text("Why apply skips it for now; else empty."),
        problems=listing("problem", "Why it cannot be rendered."),
        troubles=texts("What status finds wrong with it."),
        live=optional_ref("live", "Null if its cluster was not read."),
    ),
    "facts": record(
        "What machines of a pool run. Texts are empty if they cannot be read.",
        os=text("Its operating system."),
        provider=text("Its cloud provider."),
        kubelet=text("The version of its kubelet, as the MachineDeployment has it."),
        profile=text("Its profile as namespace/name."),
        profileVersion=text("The spec.version of the profile; empty if it does not exist."),
        userData=listing("size", "The sizes of both halves; empty if it cannot be rendered."),
    ),
    "size": record(
        "The size of a half, and the limit for it.",
        half={"enum": ["bootstrap", "provisioning"], "description": "The half."},
        bytes=COUNT | {"description": "Its bytes in the encoding that counts."},
        counted={"enum": ["raw", "gzip", "base64"], "description": "The encoding that counts."},
        limit={"type": ["integer", "null"], "description": "The limit in bytes; null if none is known."},
        note=text("The source of the limit, or why there is none."),
    ),
    "live": record(
        "What only the cluster knows.",
        machines=COUNT | {"description": "Its machines."},
        waitingMachines=COUNT | {"description": "Machines that wait for an instance."},
        token=record(
            "Its bootstrap token.",
            expires=optional_text("When it expires; null if it does not, or does not exist."),
            secondsLeft={"type": ["integer", "null"], "description": "Seconds until then."},
            state=text("Its state, in a few words."),
        ),
    ),
    "revision": record(
        "A commit that changed inputs of clusters.",
        commit=text("Its id."),
        date=text("Its date."),
        author=text("Its author."),
        subject=text("The first line of its message."),
        clusters=texts("The clusters whose inputs it changed."),
        rendered=COUNT | {"description": "How many of these, the first ones, were rendered for changes."},
        problems=texts("What could not be read or rendered."),
        changes=listing("change", "What it changed in the objects of pools."),
    ),
    "change": record(
        "An object that changed, alike in several pools.",
        clusters=texts("The clusters."),
        pools=texts("The pools, as namespace/name; none for a profile."),
        action={"enum": [action.value for action in Action], "description": "What happened to it."},
        object=ref("object", "The object of the first pool."),
        reason=text("Why."),
        diffs=listing("diff", "What changed inside; new and deleted objects have none."),
    ),
    "diff": record(
        "A change inside an object: of a file, a unit, or a field.",
        name=text("What changed."),
        lines=texts("The unified diff, masked."),
        instead=text("Why there is no diff; else empty."),
    ),
}
