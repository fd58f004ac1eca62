"""Which revision of the shared inputs each cluster of a wave gets (docs/explanation/promotion.md).

Pure: what a fleet carries and whether it is healthy is evidence that others read, and ``now`` is an input.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from osm_gitops.errors import some
from osm_gitops.model.promotion import After, Promotion, Step, Wave
from osm_gitops.model.span import rfc3339

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Known:
    """The commit of the shared inputs that a cluster has; ``None`` if there is none yet, with the reason ``trouble`` if
    that could not be read."""

    commit: str | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Since:
    """Since when a cluster carries a revision; ``None`` with the reason ``why`` if it does not."""

    moment: datetime | None
    why: str = ""


class Evidence(Protocol):
    """What a fleet carries. Methods are called only for what is needed, for some are slow."""

    @property
    def head(self) -> str:
        """The commit of HEAD."""

    @property
    def missing(self) -> str:
        """Why the clusters of waves are not known completely; empty if they are."""

    def commit_of(self, cluster: str) -> Known:
        """The commit of the shared inputs that a cluster has."""

    def digest(self, cluster: str, commit: str) -> str:
        """Equal for commits with equal shared inputs of the cluster."""

    def is_newer(self, commit: str, other: str) -> bool:
        """Whether ``commit`` is a descendant of ``other``."""

    def carried_since(self, cluster: str, commit: str, after: After) -> Since:
        """Since when the cluster has had the shared inputs of the commit."""

    def changes_nothing(self, cluster: str, commit: str) -> bool:
        """Whether the shared inputs of the commit are known to change nothing in the cluster."""

    def health(self, clusters: Sequence[str], commit: str, since: datetime, after: After) -> tuple[str, ...]:
        """Why clusters are not healthy with the shared inputs of a commit, which all have had ``since``."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Whether the clusters of a wave have proven a commit; ``reasons`` are why not."""

    since: datetime | None = None
    until: datetime | None = None
    reasons: tuple[str, ...] = ()


_NO_VERDICT = _Verdict()


def decide(
    waves: Mapping[Wave, Sequence[str]],
    evidence: Evidence,
    now: datetime,
    wanted: Collection[str],
    promoted: Collection[str] = (),
) -> Mapping[str, Promotion]:
    """The promotion of each of the ``wanted`` clusters. ``waves`` have the names of their clusters, in any order, and
    no cycle. ``promoted`` clusters do not wait.

    A cluster never goes back to an earlier commit than it has, unless its shared inputs there are the same.
    """
    work = _Decision(waves, evidence, now, frozenset(promoted))
    for wave, clusters in waves.items():
        if not wanted or not set(clusters).isdisjoint(wanted):
            work.decide(wave.name)
    return {cluster: each for cluster, each in work.found.items() if not wanted or cluster in wanted}


@dataclass(slots=True)
class _Decision:
    waves: Mapping[Wave, Sequence[str]]
    evidence: Evidence
    now: datetime
    promoted: frozenset[str]
    found: dict[str, Promotion] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def decide(self, name: str) -> None:
        """All clusters of a wave, after those of the waves before it."""
        if name in self.done:
            return
        self.done.add(name)
        wave = next(wave for wave in self.waves if wave.name == name)
        clusters, head = self.waves[wave], self.evidence.head
        if wave.after is None and not wave.hold:
            self.found |= {each: self._at(each, wave, Step.NEWEST, head, head) for each in clusters}
            return
        offered = head
        if wave.after is not None:
            self.decide(wave.after.wave)
            offered = self._newest(self.found[each].commit for each in self._clusters(wave.after.wave))
        trial = _Trial(wave.after, offered, self._clusters(wave.after.wave) if wave.after else (), self)
        known = {cluster: self.evidence.commit_of(cluster) for cluster in clusters}
        # A new cluster starts where the others of its wave are.
        beside = self._newest(each.commit for each in known.values() if each.commit is not None)
        for cluster in clusters:
            has = known[cluster].commit or ("" if known[cluster].trouble else beside)
            if cluster in self.promoted:
                promotion = self._at(cluster, wave, Step.PROMOTED, head, offered)
                self.found[cluster] = replace(promotion, moves=not (has and self._alike(cluster, has, head)))
                continue
            verdict = _Verdict(reasons=(f"wave {wave.after.wave} waits itself",) if wave.after else ())
            if wave.hold:
                commit, verdict = has, _Verdict(reasons=(f"the fleet file holds the wave: {wave.hold}",))
            elif has and offered and (self._alike(cluster, has, offered) or self.evidence.is_newer(has, offered)):
                commit = has if self.evidence.is_newer(has, offered) else offered
            elif trial.soaks().reasons:
                commit, verdict = has, trial.soaks()
            elif (has and self.evidence.changes_nothing(cluster, offered)) or not trial.health().reasons:
                commit = offered
            else:
                commit, verdict = has, trial.health()
            step = Step.WAITS
            if not commit:
                why = known[cluster].trouble or "no run has left word of the revision that it has"
                step, verdict = Step.UNKNOWN, replace(verdict, reasons=(why, *verdict.reasons))
            elif self._alike(cluster, commit, head):
                step, commit, verdict = Step.NEWEST, head, _Verdict()
            moves = bool(commit) and not (has and self._alike(cluster, has, commit))
            self.found[cluster] = replace(self._at(cluster, wave, step, commit, offered, verdict), moves=moves)

    def _at(
        self,
        cluster: str,
        wave: Wave,
        step: Step,
        commit: str,
        offered: str,
        verdict: _Verdict = _NO_VERDICT,
    ) -> Promotion:
        return Promotion(
            wave=wave.name,
            step=step,
            commit=commit,
            digest=self.evidence.digest(cluster, commit) if commit else "",
            newest=self.evidence.head,
            offered=offered,
            after=wave.after.wave if wave.after else "",
            since=verdict.since,
            until=verdict.until,
            reasons=verdict.reasons,
        )

    def _alike(self, cluster: str, one: str, other: str) -> bool:
        return one == other or self.evidence.digest(cluster, one) == self.evidence.digest(cluster, other)

    def _newest(self, commits: Iterable[str | None]) -> str:
        newest = ""
        for commit in commits:
            if commit and (not newest or self.evidence.is_newer(commit, newest)):
                newest = commit
        return newest

    def _clusters(self, wave: str) -> Sequence[str]:
        return next(clusters for each, clusters in self.waves.items() if each.name == wave)


@dataclass(slots=True)
class _Trial:
    """Whether the clusters of the wave before have proven a commit. Health takes reading them, so it is asked for only
    once a cluster waits for nothing else."""

    after: After | None
    offered: str
    clusters: Sequence[str]
    decision: _Decision
    soaked: _Verdict | None = None
    healthy: _Verdict | None = None

    def soaks(self) -> _Verdict:
        """Whether all clusters have had the commit for long enough."""
        if self.soaked is None:
            self.soaked = self._soaks()
        return self.soaked

    def health(self) -> _Verdict:
        """Whether the clusters are healthy with it."""
        if self.healthy is None:
            soaked, after = self.soaks(), self.after
            reasons: tuple[str, ...] = ()
            if after is not None and after.healthy and soaked.since is not None:
                found = self.decision.evidence.health(self.clusters, self.offered, soaked.since, after)
                reasons = tuple(f"wave {after.wave}, {reason}" for reason in found)
            self.healthy = replace(soaked, reasons=reasons)
        return self.healthy

    def _soaks(self) -> _Verdict:
        after = self.after
        if after is None:
            return _NO_VERDICT
        missing = self.decision.evidence.missing or ("" if self.clusters else "it has no cluster")
        if missing:
            return _Verdict(reasons=(f"wave {after.wave}: {missing}",))
        if not self.offered:
            return _Verdict(reasons=(f"it is not known which revision wave {after.wave} has",))
        carried = {each: self.decision.evidence.carried_since(each, self.offered, after) for each in self.clusters}
        moments = [each.moment for each in carried.values() if each.moment is not None]
        lacking: dict[str, list[str]] = {}
        for cluster, each in carried.items():
            if each.moment is None:
                lacking.setdefault(each.why, []).append(cluster)
        if lacking:
            named = (f"{some(names, _NAMED)}: {why}" for why, names in lacking.items())
            return _Verdict(reasons=tuple(f"wave {after.wave}, cluster {text}" for text in named))
        since = max(moments)
        until = since + after.soak
        if self.decision.now >= until:
            return _Verdict(since, until)
        what = f"wave {after.wave} has it since {rfc3339(since)}, and must keep it until {rfc3339(until)}"
        return _Verdict(since, until, (what,))
