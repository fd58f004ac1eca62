"""How clusters stand: everything is read, nothing written (design.md, "Commands")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from osm_gitops.commands.status.blockers import find_blockers
from osm_gitops.commands.status.pools import Known, pool_status
from osm_gitops.commands.status.seen import ClusterSnapshot, collect
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import ClusterError, OsmGitopsError, Problem
from osm_gitops.kube.api import Api
from osm_gitops.kube.clusters import Clusters
from osm_gitops.kube.kinds import SECRET
from osm_gitops.model.record import RunRecord
from osm_gitops.model.settings import Settings
from osm_gitops.model.status import ClusterStatus, Finding, PoolStatus
from osm_gitops.pipeline.live import LiveState, read_live
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.osm_activity import OsmActivity, osm_in_target
from osm_gitops.pipeline.rendering import is_chosen
from osm_gitops.plan.tokens import read_bootstrap_token
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL, NAMESPACE
from osm_gitops.targets.cluster.record import read_record


def statuses(specs: Sequence[ClusterSpec], options: RunOptions) -> Iterator[ClusterStatus]:
    """How each cluster stands; what cannot be read of one is among its problems."""
    for spec in specs:
        now = options.live.now()
        try:
            yield _Looking(spec, options, load_settings(spec), options.connections.clusters(spec), now).status()
        except OsmGitopsError as failure:
            yield ClusterStatus(
                name=spec.name, now=now, knows_pools=False, knows_record=False, problems=failure.problems
            )


@dataclass(slots=True)
class _Looking:
    """One cluster being looked at; ``problems`` are what could not be read."""

    spec: ClusterSpec
    options: RunOptions
    settings: Settings
    live: Clusters
    now: datetime
    problems: list[Problem] = field(default_factory=list)
    knows_record: bool = True

    def status(self) -> ClusterStatus:
        osm = self._osm()
        seen, look, record = self._seen(), self._look(osm), self._record()
        of_pools = seen.narrowed(self.options.only) if seen else None
        findings = (*find_blockers(self.live, osm, of_pools), *_differences(look, self.options.only))
        # A kind that is missing, say, is the reason of whatever else could not be read.
        told = {finding.problem for finding in findings}
        return ClusterStatus(
            name=self.spec.name,
            now=self.now,
            hosts=self.options.connections.hosts(self.spec),
            findings=findings,
            pools=tuple(self._pools(seen or ClusterSnapshot(), look, record)),
            record=record,
            knows_pools=seen is not None or look is not None,
            knows_record=self.knows_record,
            problems=tuple(problem for problem in dict.fromkeys(self.problems) if problem not in told),
            sensitive=look.desired.sensitive if look else frozenset(),
        )

    def _pools(self, seen: ClusterSnapshot, look: LiveState | None, record: RunRecord | None) -> Iterator[PoolStatus]:
        known = Known(self.settings, seen, look, record, self._tokens(), self.now)
        for ref in sorted({*seen.machines, *(look.pools if look else ())}):
            if is_chosen(ref.name, self.options.only):
                yield pool_status(ref, known)

    def _osm(self) -> OsmActivity:
        try:
            return osm_in_target(self.spec, self.options)
        except ClusterError as failure:
            return OsmActivity(unknown=failure.problems)

    def _seen(self) -> ClusterSnapshot | None:
        try:
            return collect(self.live, self.settings.namespace)
        except ClusterError as failure:
            self.problems.extend(failure.problems)
            return None

    def _look(self, osm: OsmActivity) -> LiveState | None:
        try:
            look = read_live(self.spec, replace(self.options, only=()), osm)
        except OsmGitopsError as failure:
            self.problems.extend(failure.problems)
            return None
        self.problems.extend(look.problems)
        return look

    def _record(self) -> RunRecord | None:
        try:
            return read_record(self.live.management, self.settings.namespace)
        except ClusterError as failure:
            self.problems.extend(failure.problems)
            self.knows_record = False
            return None

    def _tokens(self) -> Mapping[str, tuple[datetime | None, ...]] | None:
        """The ends of the bootstrap tokens by key; ``None`` where pools have none of their own, or nobody can tell."""
        if self.settings.bootstrap_token_service_account is not None:
            return None
        try:
            return _read_tokens(self.live.worker)
        except ClusterError as failure:
            self.problems.extend(failure.problems)
            return None


def _differences(look: LiveState | None, only: Sequence[str]) -> Iterator[Finding]:
    """What MachineDeployments of a tree and of the cluster do not have in common, as far as ``only`` chooses them."""
    if look is None or look.comparison is None:
        return
    found = look.comparison
    chosen = replace(
        found,
        pools={ref: pool for ref, pool in found.pools.items() if is_chosen(ref.name, only)},
        strays={ref: pool for ref, pool in found.strays.items() if is_chosen(ref.name, only)},
    )
    yield from (Finding("source-differs", problem, trouble=False) for problem in chosen.warnings())


def _read_tokens(worker: Api) -> Mapping[str, tuple[datetime | None, ...]]:
    """When they end. Takes ⌈N/500⌉ requests."""
    found: dict[str, tuple[datetime | None, ...]] = {}
    for token in worker.list(SECRET, read_bootstrap_token, NAMESPACE, labels=NAME_LABEL):
        end = datetime.fromtimestamp(token.expires, UTC) if token.expires else None
        found[token.key] = (*found.get(token.key, ()), end)
    return found
