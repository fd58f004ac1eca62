"""The last commits that changed inputs of clusters, and what they changed in boot configurations.

Both sides of a commit are read and rendered as ``plan --against`` does, with placeholders for encrypted values: no file
of an earlier revision is decrypted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from osm_gitops.cli.clusters import clusters_at, home_of, shown_path, trust_of
from osm_gitops.cli.options import Request
from osm_gitops.commands.report.fleet import Revision
from osm_gitops.config.spec import ClusterSpec, TreeRef
from osm_gitops.errors import Code, OsmGitopsError
from osm_gitops.git.commits import Commit
from osm_gitops.git.repository import Repository, find_repository
from osm_gitops.model.plan import ClusterPlan, Plan, View
from osm_gitops.pipeline.against import fleet_at, plan_against
from osm_gitops.pipeline.changed import Differences, fleet_entry
from osm_gitops.pipeline.options import Outcome, RunOptions
from osm_gitops.report.outline import Detail, outline
from osm_gitops.sops.keys import KeySearch

_MOST_RENDERED: Final = 10
"""Clusters that are rendered for a commit: one that touches hundreds changes most of them alike."""
_SHORT: Final = 12
_ABOUT_CHANGES: Final = frozenset({Code.SHOWN_AS_NEW, Code.CLUSTER_LEFT_FLEET})
_SEARCHED: Final = 8
"""Commits to search for each that is shown: some change the fleet file, but no cluster."""


@dataclass(frozen=True, slots=True)
class _Change:
    commit: Commit
    clusters: tuple[str, ...]
    rendered: int
    outcome: Outcome


def last_revisions(
    request: Request, specs: Sequence[ClusterSpec], options: RunOptions, count: int, sensitive: frozenset[str]
) -> tuple[tuple[Revision, ...], str]:
    """At most ``count`` revisions, newest first, or why there are none. ``sensitive`` are secrets of today, which are
    masked beside those of each revision."""
    if not count:
        return (), ""
    try:
        history = _History.of(request, specs)
        if history is None:
            return (), "the sources are not in a git repository"
        placeholders = KeySearch(options.environment, without_keys=True)
        view = View(together=True, hide_secret_files=request.untrusted)
        options = replace(options, keys=placeholders, views=(view,))
        changes = [history.change(commit, names, options) for commit, names in history.touching(count)]
    except OsmGitopsError as failure:
        return (), "; ".join(str(problem) for problem in failure.problems)
    every = sensitive.union(*(plan.sensitive for each in changes for plan in each.outcome.plan.clusters))
    return tuple(_revision(each, every, hidden=request.untrusted) for each in changes), ""


def _revision(change: _Change, sensitive: frozenset[str], *, hidden: bool) -> Revision:
    outcome = change.outcome
    plan = Plan(tuple(_without_advice(each, sensitive) for each in outcome.plan.clusters))
    # Globs of --only match the pools of today.
    problems = [problem for problem in outcome.problems if problem.code is not Code.NO_POOL_MATCHES]
    content = outline(plan, Detail(command="report", hide_secret_files=hidden), problems)
    return Revision(commit=change.commit, clusters=change.clusters, rendered=change.rendered, content=content)


def _without_advice(plan: ClusterPlan, sensitive: frozenset[str]) -> ClusterPlan:
    """The plan of a commit without what is to be done now: warnings about inputs, and refusals."""
    warnings = tuple(each for each in plan.warnings if each.code in _ABOUT_CHANGES)
    return replace(plan, sensitive=sensitive, warnings=warnings, refusals=())


@dataclass(frozen=True, slots=True)
class _History:
    """The repository of the sources; ``paths`` are those of each cluster's inputs, ``fleet`` that of the fleet file."""

    request: Request
    specs: Sequence[ClusterSpec]
    repository: Repository
    root: Path
    home: Path
    fleet: str
    paths: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, request: Request, specs: Sequence[ClusterSpec]) -> _History | None:
        """``None`` if the sources are not in a repository. Raises OsmGitopsError."""
        if request.source is not None and not any(isinstance(part, TreeRef) for part in specs[0].source.parts):
            return None
        home = home_of(request, "HEAD")
        found = find_repository(home)
        if found is None:
            return None
        root, inside = found
        repository = trust_of(request).repository(root)
        if repository.head() is None:
            return None
        now = Differences.of((), repository, root)
        paths = {spec.name: now.known_paths(spec) for spec in specs}
        return cls(request, specs, repository, root, home, inside if request.source is None else "", paths)

    def touching(self, count: int) -> Iterator[tuple[Commit, tuple[str, ...]]]:
        """The last commits that touch clusters, with the names of these, in the order of the fleet."""
        paths = set().union(*self.paths.values()) | ({self.fleet} if self.fleet else set())
        shown = 0
        for commit in self.repository.history.last(sorted(paths), count * _SEARCHED) if paths else ():
            names = self._touched(commit)
            if names:
                yield commit, names
                shown += 1
            if shown == count:
                return

    def _touched(self, commit: Commit) -> tuple[str, ...]:
        if not commit.parent:
            return tuple(spec.name for spec in self.specs)
        changed = self.repository.history.paths_between(commit.parent, commit.identity)
        differences = Differences.of(changed, self.repository, self.root)
        before, after = self._entries(commit.parent, changed), self._entries(commit.identity, changed)
        return tuple(
            spec.name
            for spec in self.specs
            if before.get(spec.name) != after.get(spec.name) or differences.touches(self.paths[spec.name])
        )

    def _entries(self, revision: str, changed: Sequence[str]) -> Mapping[str, object]:
        """What the fleet file says of clusters at a revision, if the commit changed it."""
        if self.fleet not in changed:
            return {}
        trust = trust_of(self.request)
        try:
            found = fleet_at(self.home, shown_path(self.home, self.request), revision, trust).clusters
        except OsmGitopsError:  # rendering the revision reports it
            return {}
        return {spec.name: fleet_entry(spec) for spec in found}

    def change(self, commit: Commit, names: tuple[str, ...], options: RunOptions) -> _Change:
        """A commit with the plan of its change."""
        chosen = frozenset(names[:_MOST_RENDERED])
        try:
            after, before = self._specs(commit.identity, chosen), self._specs(commit.parent, chosen)
            outcome = plan_against(after, before, commit.parent[:_SHORT], options)
        except OsmGitopsError as failure:
            outcome = Outcome(Plan(()), tuple(failure.problems))
        return _Change(commit, names, len(chosen), outcome)

    def _specs(self, revision: str, names: frozenset[str]) -> tuple[ClusterSpec, ...]:
        found = clusters_at(self.request, revision) if revision else ()
        return tuple(spec for spec in found if spec.name in names)
