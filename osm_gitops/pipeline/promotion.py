"""The clusters of a fleet with waves, each with the revision of the shared inputs that its wave gets
(docs/explanation/promotion.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from typing import Final

from osm_gitops.config.spec import ClusterSpec, Fleet, LiveTarget
from osm_gitops.errors import OsmGitopsError, some
from osm_gitops.git.address import TokenFile
from osm_gitops.git.remote import CLONE_REMOTE, Clone, Remote
from osm_gitops.git.repository import Repository
from osm_gitops.model.plan import Advance, unwatched
from osm_gitops.model.promotion import After, Step
from osm_gitops.model.span import rfc3339, spoken
from osm_gitops.pipeline.carried import Carriers, trouble_of
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.run import plan_clusters
from osm_gitops.pipeline.shared_inputs import SharedInputs
from osm_gitops.plan.promotion import Known, Since, decide
from osm_gitops.report.mask import Masker

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class PromotionScope:
    """``finish`` adds what flags say to a cluster of the fleet file. ``promoted`` clusters do not wait."""

    finish: Callable[[ClusterSpec], ClusterSpec]
    promoted: frozenset[str] = frozenset()


def complete_history(clone: Clone, token: TokenFile | None) -> None:
    """Fetch the history of a temporary clone, which has one commit. Raises TargetError."""
    Remote(Repository(clone.root), CLONE_REMOTE, token).complete()


def promoted_clusters(
    fleet: Fleet, specs: Sequence[ClusterSpec], scope: PromotionScope, options: RunOptions
) -> tuple[ClusterSpec, ...]:
    """The clusters of a run with the shared inputs that their waves get, and :attr:`ClusterSpec.promotion`.

    ``fleet`` has all clusters, as the fleet file has them and as they were discovered; ``specs`` are those of the run,
    with flags. Raises InputError.
    """
    waves = {wave: [each.name for each in fleet.clusters if each.wave == wave] for wave in fleet.waves}
    shared = SharedInputs.of([each for each in fleet.clusters if each.wave is not None])
    quiet = replace(options, only=(), advance=_quiet, note=_silent, tell=_silent)
    seeds = tuple(each.name for each in fleet.clusters if each.is_seed)
    evidence = FleetEvidence(shared, scope.finish, quiet, Carriers(shared, quiet), seeds)
    wanted = frozenset(spec.name for spec in specs)
    decided = decide(waves, evidence, options.live.now(), wanted, scope.promoted)
    uncommitted = shared.uncommitted()
    found = []
    for spec in specs:
        promotion = decided.get(spec.name)
        if promotion is None or spec.wave is None:
            found.append(spec)
        elif spec.wave.after is None and not spec.wave.hold:
            # The first waves have what the work tree has, as a fleet without waves.
            known = replace(promotion, commit="", digest="") if uncommitted else promotion
            found.append(replace(spec, promotion=known))
        else:
            if promotion.step is not Step.UNKNOWN and (promotion.commit != shared.head or uncommitted):
                spec = scope.finish(shared.at(spec.name, promotion.commit))  # noqa: PLW2901
            warnings = tuple(shared.not_held(spec.name))
            found.append(replace(spec, promotion=replace(promotion, warnings=warnings)))
    return tuple(found)


def _quiet(_cluster: str, _what: str) -> Advance:
    return unwatched


def _silent(_sentence: str) -> None:
    """Assessing other clusters prints nothing."""


@dataclass(slots=True)
class FleetEvidence:
    """What the repositories and clusters of a fleet show."""

    shared: SharedInputs
    finish: Callable[[ClusterSpec], ClusterSpec]
    options: RunOptions
    carriers: Carriers
    unread_seeds: Sequence[str] = ()
    _contains: dict[tuple[str, str], bool] = field(default_factory=dict)
    _plans: dict[str, tuple[ClusterSpec, str]] = field(default_factory=dict)

    @property
    def head(self) -> str:
        return self.shared.head

    @property
    def missing(self) -> str:
        unread = some(list(self.unread_seeds), _NAMED)
        return f"its clusters are not known: {unread} cannot be read" if unread else ""

    def commit_of(self, cluster: str) -> Known:
        entry = self.shared.entries[cluster]
        if entry.problems:
            return Known(None, f"it cannot be read: {entry.problems[0]}")
        try:
            carried = self.carriers.of(self.finish(entry))
        except OsmGitopsError as failure:
            return Known(None, trouble_of(failure))
        if not carried:
            return Known(None)
        commit = carried[0].commit
        return Known(commit) if self.shared.has(commit) else Known(None, f"this clone lacks its commit {commit}")

    def digest(self, cluster: str, commit: str) -> str:
        return self.shared.digest(cluster, commit)

    def is_newer(self, commit: str, other: str) -> bool:
        key = commit, other
        if key not in self._contains:
            self._contains[key] = commit != other and self.shared.repository.history.contains(commit, other)
        return self._contains[key]

    def carried_since(self, cluster: str, commit: str, after: After) -> Since:
        if self.shared.entries[cluster].problems:
            return Since(None, f"it cannot be read: {self.shared.entries[cluster].problems[0]}")
        spec = self.finish(self.shared.at(cluster, commit))
        try:
            carried = self.carriers.of(spec)
        except OsmGitopsError as failure:
            return Since(None, trouble_of(failure))
        digest = self.digest(cluster, commit)
        alike = [each for each in takewhile(lambda each: each.digest == digest, carried) if each.whole]
        if alike:
            return Since(alike[-1].since)
        if isinstance(spec.target, LiveTarget):
            return Since(None, "it has not been applied there completely")
        # No commit is made where nothing changes, so a cluster may carry a revision without a word of it.
        why = self._uncommitted(spec)
        if why:
            return Since(None, why)
        introduced = self.shared.introduced(cluster, commit, self.options.live.now() - after.soak)
        # Without any word of it, the newest commit of its files may have brought it.
        told = carried and carried[0].whole
        return Since(introduced if told else max(introduced, self.carriers.last_commit(spec) or introduced))

    def changes_nothing(self, cluster: str, commit: str) -> bool:
        spec = self.finish(self.shared.at(cluster, commit))
        return not isinstance(spec.target, LiveTarget) and not self._uncommitted(spec)

    def _uncommitted(self, spec: ClusterSpec) -> str:
        """Why git does not have what a cluster renders to; empty if it has."""
        if spec.name not in self._plans or self._plans[spec.name][0] != spec:
            outcome = plan_clusters([spec], self.options)
            failed = [*outcome.problems, *(each for plan in outcome.plan.clusters for each in plan.refusals)]
            pools = [pool.name for plan in outcome.plan.clusters for pool in plan.failed]
            why = "it has not been committed there" if outcome.plan.has_changes else ""
            why = f"it has pools that cannot be rendered: {some(pools, _NAMED)}" if pools else why
            self._plans[spec.name] = spec, f"it cannot be planned: {failed[0]}" if failed else why
        return self._plans[spec.name][1]

    def health(self, clusters: Sequence[str], commit: str, since: datetime, after: After) -> tuple[str, ...]:
        if self.shared.trust.untrusted:
            return ("whose clusters an untrusted run does not read",)
        reasons: list[str] = []
        joined = 0
        for cluster in clusters:
            spec = replace(self.finish(self.shared.at(cluster, commit)), target=LiveTarget())
            found, machines = self._health(spec, since, after)
            joined += machines
            reasons += (f"cluster {cluster}: {reason}" for reason in found)
        if not reasons and joined < after.machines:
            reasons.append(
                f"of which {joined} Machines have joined with it since {rfc3339(since)}, not {after.machines}"
            )
        return tuple(reasons)

    def _health(self, spec: ClusterSpec, since: datetime, after: After) -> tuple[list[str], int]:
        """Why a cluster is not healthy, and how many of its Machines have joined since."""
        from osm_gitops.pipeline.status.reading import statuses  # noqa: PLC0415 - only if a wave is due
        from osm_gitops.targets.cluster.rollouts import read_rollouts  # noqa: PLC0415

        now = self.options.live.now()
        (status,) = statuses([spec], self.options)
        if status.problems:
            return [f"it cannot be read: {status.problems[0]}"], 0
        reasons = [str(each.problem) for each in status.findings if each.trouble]
        if status.record is not None and not status.record.good:
            reasons.append("its last run failed")
        reasons += (f"pool {pool.ref.namespaced_name}: {each}" for pool in status.pools for each in pool.troubles)
        try:
            rollouts = read_rollouts(self.options.connections.worker(spec))
        except OsmGitopsError as failure:
            return [trouble_of(failure)], 0
        joined = 0
        for ref, pool in rollouts.items():
            new = [each for each in pool.current if each.created >= since]
            joined += sum(each.ready for each in new)
            # The Node of an older Machine may be down for other reasons.
            late = [each for each in pool.late(now - after.waiting) if each in new or not each.node]
            if late:
                named = some([each.name for each in late], _NAMED)
                what = f"{len(late)} Machines have no Ready Node after {spoken(after.waiting)} ({named})"
                reasons.append(f"pool {ref.namespaced_name}: {what}")
        # The plan that shows them is of another cluster, and does not know the secrets of this one.
        masker = Masker(status.sensitive)
        return [masker.text(reason) for reason in reasons], joined
