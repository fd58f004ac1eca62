"""The fleet as text: a line for each cluster; the text may change."""

from __future__ import annotations

from collections.abc import Iterator

from osm_gitops.commands.report.fleet import ClusterReport, FleetReport, Revision
from osm_gitops.commands.report.words import changes_words, few, kubelets_of, size_words, summary, token_words
from osm_gitops.report.visible import many, section, table, visible

_HEADS = ("CLUSTER", "STATE", "POOLS", "KUBELET", "LARGEST USER-DATA", "CHANGES")
_SHORT = 12


def report_text(fleet: FleetReport) -> str:
    """One line for each cluster, then what is wrong, and the last changes."""
    return "".join(f"{visible(line)}\n" for line in _lines(fleet))


def _lines(fleet: FleetReport) -> Iterator[str]:
    heads = (*_HEADS, "MACHINES", "TOKEN") if fleet.is_live else _HEADS
    yield from table([heads, *(_row(cluster, fleet) for cluster in fleet.clusters)])
    problems = (f"{few(names)}: {problem}" for names, problem in fleet.problems_of_clusters())
    yield from section("Problems of clusters", problems)
    failed = (f"{one.name}: {pool.full_name}: {problem}" for one, pool in fleet.pools() for problem in pool.problems)
    yield from section("Pools that cannot be rendered", failed)
    yield from section("Last changes", map(_revision, fleet.revisions))
    yield ""
    yield summary(fleet)


def _row(cluster: ClusterReport, fleet: FleetReport) -> tuple[str, ...]:
    token = cluster.token
    live = (
        "-" if cluster.machines is None else str(cluster.machines),
        "-" if token is None else token_words(token, fleet.now),
    )
    return (
        cluster.name,
        cluster.state.value,
        str(len(cluster.pools)),
        kubelets_of(cluster) or "-",
        size_words(cluster.fullest) if cluster.fullest else "-",
        changes_words(cluster),
        *(live if fleet.is_live else ()),
    )


def _revision(revision: Revision) -> str:
    commit = revision.commit
    return f"{commit.date} {commit.identity[:_SHORT]} {commit.subject} ({many(len(revision.clusters), 'cluster')})"
