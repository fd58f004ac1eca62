"""``status --runs``: the results of all shards of a fleet's runs, merged, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from itertools import groupby
from typing import Final

from osm_gitops.model.objects import Json
from osm_gitops.model.run_result import RunResult
from osm_gitops.model.span import rfc3339, spoken
from osm_gitops.report.json_words import FORMAT_VERSION
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import (
    COUNT,
    format_version,
    head,
    listing,
    optional_text,
    record,
    text,
    texts,
    truth,
)
from osm_gitops.report.visible import many, section, table, visible

HEADS: Final = ("SHARD", "STATE", "ENDED", "TOOK", "CLUSTERS", "POOLS", "CHANGED", "FAILED", "SKIPPED")


class ShardState(Enum):
    """``BEHIND``: its result is of an earlier run than that of another shard, so it is still at work, or lost.
    ``MISSING``: it has left no result."""

    OK = "ok"
    FAILED = "failed"
    BEHIND = "behind"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class ShardRun:
    """A shard with the result of its last run, if it has left one."""

    shard: str
    state: ShardState
    result: RunResult | None


@dataclass(frozen=True, slots=True)
class CommandRuns:
    """The runs of one command in all its shards."""

    command: str
    shards: tuple[ShardRun, ...]

    @property
    def results(self) -> tuple[RunResult, ...]:
        return tuple(each.result for each in self.shards if each.result is not None)

    @property
    def good(self) -> bool:
        return all(each.state is ShardState.OK for each in self.shards)


def merged(results: Sequence[RunResult]) -> tuple[CommandRuns, ...]:
    """The results of each command, with the shards that have none. Of results with another number of shards, as one
    leaves behind who changes it, those of the newest run count."""
    ordered = sorted(results, key=lambda each: each.command)
    return tuple(
        _of_command(command, tuple(found)) for command, found in groupby(ordered, key=lambda each: each.command)
    )


def _of_command(command: str, results: Sequence[RunResult]) -> CommandRuns:
    newest = max(results, key=lambda each: each.started)
    found = {each.index: each for each in results if each.count == newest.count}
    return CommandRuns(command, tuple(_shard(index, found.get(index), newest) for index in range(newest.count)))


def _shard(index: int, result: RunResult | None, newest: RunResult) -> ShardRun:
    if result is None:
        state = ShardState.MISSING
    elif not result.good:
        state = ShardState.FAILED
    else:
        state = ShardState.BEHIND if _is_earlier(result, newest) else ShardState.OK
    return ShardRun(f"{index}/{newest.count}", state, result)


def _is_earlier(result: RunResult, newest: RunResult) -> bool:
    """Whether it is of an earlier run. The pods of one Job are one run, also those that the Job started again."""
    if result.job and newest.job:
        return result.job != newest.job
    return result.ended < newest.started


def runs_text(namespace: str, runs: Sequence[CommandRuns], now: datetime) -> str:
    """Text for people; it may change. Texts of results were masked by their runs."""
    if not runs:
        return f"No results of runs in namespace {namespace}: runs leave them with --result-in {namespace}.\n"
    return "".join(f"{visible(line)}\n" for each in runs for line in _lines(each, now))


def _lines(runs: CommandRuns, now: datetime) -> Iterator[str]:
    yield f"{runs.command}: {summary(runs)}"
    yield from (f"  {line}" for line in table([HEADS, *(row(each, now) for each in runs.shards)]))
    yield from section("Errors", errors(runs))
    yield from section("Failed clusters", failed_clusters(runs))
    yield ""


def summary(runs: CommandRuns) -> str:
    """One line on all shards."""
    clusters = sum(each.clusters for each in runs.results)
    done = f"{many(clusters, 'cluster')}, {_failed(runs)} failed"
    return f"{'OK' if runs.good else 'not OK'}: {many(len(runs.shards), 'shard')}, {done}"


def _failed(runs: CommandRuns) -> int:
    return sum(each.failed_clusters for each in runs.results)


def errors(runs: CommandRuns) -> list[str]:
    """Errors that belong to no cluster, each with its shard."""
    return [f"shard {each.shard or '0/1'}: {error}" for each in runs.results for error in each.errors]


def failed_clusters(runs: CommandRuns) -> list[str]:
    """The failed clusters that results name, each with its errors, and the number of the others."""
    listed = [
        f"{failure.name}: {'; '.join(failure.errors) or 'pools were skipped again and again'}"
        for each in runs.results
        for failure in each.failures
    ]
    more = _failed(runs) - len(listed)
    return [*listed, *([f"and {more} more"] if more > 0 else [])]


def row(each: ShardRun, now: datetime) -> tuple[str, ...]:
    """The texts below ``HEADS`` for a shard."""
    result = each.result
    if result is None:
        return (each.shard, each.state.value, *["-"] * (len(HEADS) - 2))
    counts = (result.clusters, result.pools, result.changed, result.failed, result.skipped)
    ago, took = f"{spoken(now - result.ended)} ago", spoken(_took(result))
    return (each.shard, each.state.value, ago, took, *map(str, counts))


def _took(result: RunResult) -> timedelta:
    return result.ended - result.started


def runs_json(runs: Sequence[CommandRuns]) -> str:
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version."""
    document: dict[str, Json] = {
        "formatVersion": FORMAT_VERSION,
        "good": all(each.good for each in runs),
        "commands": [
            {"command": each.command, "good": each.good, "shards": [_shard_json(shard) for shard in each.shards]}
            for each in runs
        ],
    }
    return Masker().text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _shard_json(each: ShardRun) -> dict[str, Json]:
    found = each.result
    return {
        "shard": each.shard,
        "state": each.state.value,
        "started": rfc3339(found.started) if found else None,
        "ended": rfc3339(found.ended) if found else None,
        "clusters": found.clusters if found else 0,
        "failedClusters": found.failed_clusters if found else 0,
        "pools": found.pools if found else 0,
        "changed": found.changed if found else 0,
        "failed": found.failed if found else 0,
        "skipped": found.skipped if found else 0,
        "failures": [{"cluster": one.name, "errors": list(one.errors)} for one in (found.failures if found else ())],
        "errors": list(found.errors) if found else [],
    }


def runs_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    return {
        **head("runs", "Runs"),
        **record(
            "The last runs of all shards of a fleet. Contains no secret.",
            formatVersion=format_version(),
            good=truth("Whether all shards of all commands are ok."),
            commands=listing("command", "The commands that left results, such as apply and refresh, by name."),
        ),
        "$defs": {
            "command": record(
                "The runs of one command.",
                command=text("Its name."),
                good=truth("Whether all its shards are ok."),
                shards=listing("shard", "Its shards, by index."),
            ),
            "shard": record(
                "The last run of a shard. Without a result all numbers are 0.",
                shard=text("Its index and their number, such as 0/4."),
                state={
                    "enum": [state.value for state in ShardState],
                    "description": "ok; failed; behind: its result is of an earlier run than that of another shard, so "
                    "it is still at work or lost; missing: it has left no result.",
                },
                started=optional_text("When its last run began."),
                ended=optional_text("When that run ended."),
                clusters=COUNT | {"description": "Its clusters."},
                failedClusters=COUNT | {"description": "Clusters in which something failed."},
                pools=COUNT | {"description": "The pools of its clusters."},
                changed=COUNT | {"description": "Pools whose boot configuration was written."},
                failed=COUNT | {"description": "Pools that could not be rendered or written."},
                skipped=COUNT | {"description": "Pools that were skipped for now."},
                failures=listing("failure", "The first of the failed clusters."),
                errors=texts("Errors that belong to no cluster, the first ones."),
            ),
            "failure": record(
                "A cluster in which something failed.",
                cluster=text("Its name."),
                errors=texts("The first errors."),
            ),
        },
    }
