"""The results of runs in the cluster that they run in: a ConfigMap for each command and shard.

A run of a fleet works in many clusters, and leaves a record in each (``record.py``). These ConfigMaps are beside the
Jobs, so that one look at one namespace tells how all shards ended. They take ``create``, ``get`` and ``patch`` on
configmaps there, and ``list`` to read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from osm_gitops import __version__
from osm_gitops.bounded.json_values import parse_json
from osm_gitops.errors import Code, Problem
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import CONFIG_MAP
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.objects import Json
from osm_gitops.model.record import FinishedRun
from osm_gitops.model.run_result import FailedCluster, RunResult
from osm_gitops.model.span import rfc3339
from osm_gitops.report.mask import Masker
from osm_gitops.targets.cluster.record import short_errors

LABEL: Final = "osm-gitops.io/result-of"
"""Has the command as its value."""
_KEY: Final = "result.json"
_FORMAT_VERSION: Final = "1.1"
_MOST_CLUSTERS: Final = 100  # of 3 errors with 500 characters each: well below the limit of an object, 1 MiB


def result_name(command: str, index: int, count: int) -> str:
    """The name of the ConfigMap of a shard. Without shards they are number 0 of 1."""
    return f"osm-gitops-{command}-{index}-of-{count}"


def result_of(
    command: str, shard: str, started: datetime, runs: Sequence[FinishedRun], problems: Iterable[Problem]
) -> RunResult:
    """The result of a run; ``runs`` are those in its clusters, ``problems`` those of the whole run."""
    bad = [run for run in runs if not run.good]
    told = {problem for run in runs for problem in run.troubles}
    return RunResult(
        command=command,
        shard=shard,
        started=started,
        ended=max((run.ended for run in runs), default=datetime.now(UTC)),
        clusters=len(runs),
        failed_clusters=len(bad),
        pools=sum(len(run.pools) for run in runs),
        changed=sum(len(run.changed) for run in runs),
        failed=sum(len(run.failed) for run in runs),
        skipped=sum(len(run.left) for run in runs),
        failures=tuple(map(_failure, sorted(bad, key=lambda run: run.cluster)[:_MOST_CLUSTERS])),
        errors=short_errors((each for each in problems if each not in told), _masker(runs)),
    )


def _masker(runs: Iterable[FinishedRun]) -> Masker:
    return Masker(value for run in runs if run.plan for value in run.plan.sensitive)


def _failure(run: FinishedRun) -> FailedCluster:
    of_pools = (problem for problems in run.failed.values() for problem in problems)
    return FailedCluster(run.cluster, short_errors((*run.troubles, *of_pools), _masker([run])))


def write_result(api: Api, namespace: str, result: RunResult) -> None:
    """Write the ConfigMap of a result. Raises ClusterError."""
    name = result_name(result.command, result.index, result.count)
    labels = {MANAGED_BY_LABEL: MANAGED_BY, LABEL: result.command}
    body: dict[str, Json] = {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.name,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "data": {_KEY: json.dumps(_document(result), indent=1, ensure_ascii=False) + "\n"},
    }
    api.apply(body, force=True)


def _document(result: RunResult) -> dict[str, Json]:
    return {
        "formatVersion": _FORMAT_VERSION,
        "toolVersion": __version__,
        "command": result.command,
        "shard": result.shard,
        "job": result.job,
        "started": rfc3339(result.started),
        "ended": rfc3339(result.ended),
        "clusters": result.clusters,
        "failedClusters": result.failed_clusters,
        "pools": result.pools,
        "changed": result.changed,
        "failed": result.failed,
        "skipped": result.skipped,
        "failures": [{"cluster": each.name, "errors": list(each.errors)} for each in result.failures],
        "errors": list(result.errors),
    }


def read_results(api: Api, namespace: str) -> tuple[tuple[RunResult, ...], tuple[Problem, ...]]:
    """The results in a namespace, sorted by command and shard, and those that cannot be read. Raises ClusterError."""
    found: list[RunResult] = []
    problems: list[Problem] = []
    for body in api.list(CONFIG_MAP, lambda body: body, namespace, labels=LABEL):
        try:
            found.append(_parsed((body.get("data") or {}).get(_KEY)))
        except ValueError:
            what = "it is not the result of a run of this version"
            about = f"ConfigMap {namespace}/{body['metadata']['name']}"
            fix = "Delete it; the next run writes it again"
            problems.append(Problem(Code.INVALID_RESULT, what, where=api.display, about=about, fix=fix))
    return tuple(sorted(found, key=lambda each: (each.command, each.count, each.index))), tuple(problems)


def _parsed(text: Any) -> RunResult:
    """Raises ValueError."""
    body = parse_json(text) if isinstance(text, str) else None
    if not isinstance(body, dict) or not str(body.get("formatVersion")).startswith("1."):
        raise ValueError
    shard = _text(body, "shard")
    index, slash, count = shard.partition("/")
    if shard and not (slash and index.isdecimal() and count.isdecimal() and int(index) < int(count)):
        raise ValueError
    return RunResult(
        command=_text(body, "command"),
        shard=shard,
        job=_text(body, "job") if "job" in body else "",  # older versions wrote none
        started=datetime.fromisoformat(_text(body, "started")),
        ended=datetime.fromisoformat(_text(body, "ended")),
        clusters=_count(body, "clusters"),
        failed_clusters=_count(body, "failedClusters"),
        pools=_count(body, "pools"),
        changed=_count(body, "changed"),
        failed=_count(body, "failed"),
        skipped=_count(body, "skipped"),
        failures=tuple(map(_parsed_failure, _entries(body.get("failures")))),
        errors=tuple(map(str, _entries(body.get("errors")))),
    )


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise ValueError
    return value


def _count(body: Mapping[str, Any], key: str) -> int:
    value = body.get(key)
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _entries(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return value


def _parsed_failure(value: Any) -> FailedCluster:
    if not isinstance(value, dict):
        raise ValueError
    return FailedCluster(str(value.get("cluster")), tuple(map(str, _entries(value.get("errors")))))
