"""The state of clusters and pools for ``status``, which only reads (design.md, "Commands")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

from osm_gitops.config.spec import ClusterSpec
from osm_gitops.errors import ClusterError, OsmGitopsError, Problem
from osm_gitops.kube.api import Api, Clusters
from osm_gitops.kube.kinds import SECRET
from osm_gitops.model.desired import LeftReason
from osm_gitops.model.live import Gate, LivePool
from osm_gitops.model.machine import PoolNames, is_chosen, token_key
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, ObjectRef
from osm_gitops.model.plan import Action, Change
from osm_gitops.model.record import PoolState, RunRecord
from osm_gitops.model.settings import Settings
from osm_gitops.model.span import spoken
from osm_gitops.model.status import UNKNOWN, ClusterStatus, Finding, GateStatus, ObjectStatus, PoolStatus
from osm_gitops.pipeline.kkp import settings_problems, state_warnings
from osm_gitops.pipeline.live import LiveState, read_live
from osm_gitops.pipeline.load import given_settings, load_settings
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.osm_activity import OsmActivity, osm_in_target
from osm_gitops.pipeline.status.blockers import find_blockers
from osm_gitops.pipeline.status.snapshot import MARKS, ClusterSnapshot, LiveObject, collect
from osm_gitops.plan.tokens import read_bootstrap_token
from osm_gitops.render.manifests import REVISION
from osm_gitops.render.resolve.bootstrap_token import NAME_LABEL, NAMESPACE
from osm_gitops.targets.cluster.record import read_record


@dataclass(frozen=True)
class Known:
    """What was read of a cluster. ``state`` is ``None`` if the cluster could not be planned. ``tokens`` has the expiry
    of bootstrap tokens by key; it is ``None`` if a ServiceAccount is used instead, or if they could not be read."""

    settings: Settings
    snapshot: ClusterSnapshot
    state: LiveState | None
    record: RunRecord | None
    tokens: Mapping[str, tuple[datetime | None, ...]] | None
    now: datetime

    @cached_property
    def changes(self) -> Mapping[ObjectRef, Change]:
        """The planned change of each object."""
        plan = self.state.plan if self.state else None
        return {change.ref: change for change in plan.changes if not change.upkeep} if plan else {}

    @cached_property
    def renewals(self) -> Mapping[ObjectRef, Change]:
        """The changes of tokens and kubeconfigs that the plan has; it has none for those that are up to date."""
        plan = self.state.plan if self.state else None
        return {change.ref: change for change in plan.changes if change.upkeep} if plan else {}


def pool_status(ref: ObjectRef, known: Known) -> PoolStatus:
    """The state of a pool."""
    names = PoolNames(ref.name, ref.namespace)
    config = ObjectRef("OperatingSystemConfig", known.settings.namespace, names.config_name)
    bootstrap = ObjectRef("Secret", CLOUD_INIT_NAMESPACE, names.bootstrap_secret_name)
    provisioning = ObjectRef("Secret", CLOUD_INIT_NAMESPACE, names.provisioning_secret_name)
    live = _live(ref, known.state)
    expires, token = _token(ref, known)
    status = PoolStatus(
        ref=ref,
        config=_object(config, known),
        bootstrap=_object(bootstrap, known),
        provisioning=_object(provisioning, known),
        kubeconfig=_kubeconfig(names.kubelet_kubeconfig_name, known),
        gate=_gate(live, known.snapshot.objects.get(bootstrap)),
        machines=live.machines if live else 0,
        waiting=live.waiting if live else (),
        expires=expires,
        token=token,
        errors=known.state.desired.failed.get(ref, ()) if known.state else (),
        recorded=known.record.pools.get(ref.namespaced_name) if known.record else None,
    )
    return replace(status, troubles=tuple(_troubles(status, known.now)))


def _live(ref: ObjectRef, state: LiveState | None) -> LivePool | None:
    """The pool in the cluster, even if the source does not have it."""
    if state is None:
        return None
    return state.pools.get(ref) or (state.comparison.strays.get(ref) if state.comparison else None)


def _object(ref: ObjectRef, known: Known) -> ObjectStatus:
    snapshot, change = known.snapshot.objects.get(ref), known.changes.get(ref)
    status = ObjectStatus(created=snapshot.created if snapshot else "", ours=snapshot is not None and snapshot.ours)
    if change is None:
        return status
    same = change.action is Action.UNCHANGED or _is_cosmetic(change)
    return replace(status, difference="" if same else change.reason or change.action.value)


def _kubeconfig(name: str, known: Known) -> ObjectStatus:
    """The kubeconfig of a pool. Metadata do not show the content of one that others wrote."""
    ref = ObjectRef("Secret", CLOUD_INIT_NAMESPACE, name)
    snapshot, change = known.snapshot.kubeconfigs.get(ref), known.renewals.get(ref)
    status = ObjectStatus(created=snapshot.created if snapshot else "", ours=snapshot is not None and snapshot.ours)
    if not status.ours or known.state is None or known.state.tokens is None:
        return status
    return replace(status, difference=change.reason if change else "")


def _is_cosmetic(change: Change) -> bool:
    """Whether a change is only of labels and annotations that neither machine-controller nor machines read."""
    if change.action is not Action.UPDATE or change.before is None or change.after is None:
        return False
    before, after = dict(change.before), dict(change.after)
    contents = ({key: body[key] for key in body if key != "metadata"} for body in (before, after))
    annotations = [(body.get("metadata") or {}).get("annotations") or {} for body in (before, after)]
    marks = ({mark: each.get(mark) for mark in MARKS} for each in annotations)
    return next(contents) == next(contents) and next(marks) == next(marks)


def _gate(live: LivePool | None, bootstrap: LiveObject | None) -> GateStatus:
    if live is None:
        return GateStatus(gate=Gate.WAITING, why="it could not be read")
    stamped = bootstrap.marks.get(REVISION) if bootstrap else None
    accepts = None if not live.revision else stamped == live.revision
    why = live.left.why if live.left else ""
    return GateStatus(gate=live.gate, why=why, revision=live.revision, stamped=stamped, accepts=accepts)


def _token(ref: ObjectRef, known: Known) -> tuple[datetime | None, str]:
    """When the pool's token expires, or why that is not known."""
    account = known.settings.bootstrap_token_service_account
    if account is not None:
        return None, f"of ServiceAccount {'/'.join(account)}"
    if known.tokens is None:
        return None, "unknown"
    ends = known.tokens.get(token_key(ref), ())
    if len(ends) != 1:
        return None, "missing" if not ends else f"{len(ends)} tokens instead of one"
    return ends[0], "" if ends[0] else "without expiry"


def _troubles(status: PoolStatus, now: datetime) -> Iterator[str]:
    gate = status.gate.gate
    if status.errors:
        yield "it cannot be rendered"
    if gate is Gate.DELETING:
        return  # its objects are no longer needed
    yield from _of_objects(status)
    if status.gate.accepts is False:
        stamped = f"revision {status.gate.stamped}" if status.gate.stamped is not None else "no revision"
        what = f"its bootstrap Secret has {stamped}, but Machines have revision {status.gate.revision}"
        yield f"new machines get no instance: {what if status.bootstrap.present else 'the bootstrap Secret is missing'}"
    refused = [machine for machine in status.waiting if machine.revision != status.gate.stamped]
    if refused:
        since = min(machine.since for machine in refused)
        yield f"{len(refused)} of its Machines wait for an instance and cannot get one, the first since {since}"
    if gate is Gate.WAITING:
        yield f"osm-gitops does not write it now: {status.gate.why}"
    if status.expires is not None and status.expires <= now:
        yield f"its token expired {spoken(now - status.expires)} ago, so machines that boot now cannot join"
    elif status.expires is None and not status.token.startswith("of ServiceAccount"):
        yield f"its token is {status.token}, so machines that boot now cannot join"
    record = status.recorded
    if record is not None and record.state is PoolState.FAILED:
        yield "the last run failed for it"
    if record is not None and record.state is PoolState.STUCK:
        # Another version may have written the record, with a reason that this one does not know.
        fix = next((f". {each.fix}" for each in LeftReason if each.code == record.code), "")
        yield f"runs have skipped it since {record.since}: {record.reason} ({record.code}){fix}"


def _of_objects(status: PoolStatus) -> Iterator[str]:
    objects = (
        (status.config, "OperatingSystemConfig"),
        (status.bootstrap, "bootstrap Secret"),
        (status.provisioning, "provisioning Secret"),
    )
    missing = [name for each, name in objects if not each.present]
    if missing:
        yield f"missing: {', '.join(missing)}"
    if not status.kubeconfig.present:
        yield "missing: kubelet bootstrap kubeconfig Secret, so machines that boot now cannot join"
    elif status.kubeconfig.difference:
        yield f"its kubelet bootstrap kubeconfig must be rewritten: {status.kubeconfig.difference}"
    for each, name in objects:
        if each.present and each.difference:
            yield f"its {name} differs from what is rendered: {each.difference}"


def statuses(specs: Sequence[ClusterSpec], options: RunOptions) -> Iterator[ClusterStatus]:
    """The state of each cluster, with what could not be read as problems."""
    for spec in specs:
        now = options.live.now()
        try:
            yield _ClusterReader(spec, options, load_settings(spec), options.connections.clusters(spec), now).status()
        except OsmGitopsError as failure:
            yield ClusterStatus(
                name=spec.name, now=now, knows_pools=False, knows_record=False, problems=failure.problems
            )


@dataclass(slots=True)
class _ClusterReader:
    """Reads one cluster; ``problems`` are what could not be read."""

    spec: ClusterSpec
    options: RunOptions
    settings: Settings
    live: Clusters
    now: datetime
    problems: list[Problem] = field(default_factory=list)
    knows_record: bool = True

    def status(self) -> ClusterStatus:
        osm = self._osm()
        snapshot, state, record = self._seen(), self._look(osm), self._record()
        of_pools = snapshot.narrowed(self.options.only) if snapshot else None
        findings = (
            *find_blockers(self.live, osm, of_pools),
            *_differences(state, self.options.only),
            *self._user_cluster(),
        )
        # A finding, such as a missing kind, may be the cause of a failed read.
        reported = {finding.problem for finding in findings}
        return ClusterStatus(
            name=self.spec.name,
            now=self.now,
            hosts=self.options.connections.hosts(self.spec),
            findings=findings,
            pools=tuple(self._pools(snapshot or ClusterSnapshot(), state, record)),
            record=record,
            knows_pools=snapshot is not None or state is not None,
            knows_record=self.knows_record,
            problems=tuple(problem for problem in dict.fromkeys(self.problems) if problem not in reported),
            plan=state.plan if state else None,
            sensitive=state.desired.sensitive if state else frozenset(),
        )

    def _pools(
        self, snapshot: ClusterSnapshot, state: LiveState | None, record: RunRecord | None
    ) -> Iterator[PoolStatus]:
        known = Known(self.settings, snapshot, state, record, self._tokens(), self.now)
        for ref in sorted({*snapshot.machines, *(state.pools if state else ())}):
            if is_chosen(ref.name, self.options.only):
                yield pool_status(ref, known)

    def _osm(self) -> OsmActivity:
        try:
            return osm_in_target(self.spec, self.options)
        except ClusterError as failure:
            return OsmActivity(unknown=failure.problems)

    def _user_cluster(self) -> Iterator[Finding]:
        """What KKP says of a user cluster, and settings that differ from those of Operating System Manager."""
        yield from (Finding("kkp-state", problem, trouble=False) for problem in state_warnings(self.spec))
        try:
            differing = settings_problems(self.spec, self.options.connections, given_settings(self.spec))
            yield from (Finding("kkp-setting", problem) for problem in differing)
        except OsmGitopsError as failure:
            yield from (Finding(UNKNOWN, problem) for problem in failure.problems)

    def _seen(self) -> ClusterSnapshot | None:
        try:
            return collect(self.live, self.settings.namespace)
        except ClusterError as failure:
            self.problems.extend(failure.problems)
            return None

    def _look(self, osm: OsmActivity) -> LiveState | None:
        try:
            state = read_live(self.spec, replace(self.options, only=()), osm)
        except OsmGitopsError as failure:
            self.problems.extend(failure.problems)
            return None
        self.problems.extend(state.problems)
        return state

    def _record(self) -> RunRecord | None:
        try:
            return read_record(self.live.management, self.settings.namespace)
        except ClusterError as failure:
            self.problems.extend(failure.problems)
            self.knows_record = False
            return None

    def _tokens(self) -> Mapping[str, tuple[datetime | None, ...]] | None:
        """The expiry of the bootstrap tokens by key; ``None`` with a ServiceAccount, or if they cannot be read."""
        if self.settings.bootstrap_token_service_account is not None:
            return None
        try:
            return _read_tokens(self.live.worker)
        except ClusterError as failure:
            self.problems.extend(failure.problems)
            return None


def _differences(state: LiveState | None, only: Sequence[str]) -> Iterator[Finding]:
    """Differences between the MachineDeployments of a tree and of the cluster, for the pools that ``only`` selects."""
    if state is None or state.comparison is None:
        return
    found = state.comparison
    chosen = replace(
        found,
        pools={ref: pool for ref, pool in found.pools.items() if is_chosen(ref.name, only)},
        strays={ref: pool for ref, pool in found.strays.items() if is_chosen(ref.name, only)},
    )
    yield from (Finding("source-differs", problem, trouble=False) for problem in chosen.warnings())


def _read_tokens(worker: Api) -> Mapping[str, tuple[datetime | None, ...]]:
    """The expiry of the bootstrap tokens by key. Takes ⌈N/500⌉ requests."""
    found: dict[str, tuple[datetime | None, ...]] = {}
    for token in worker.list(SECRET, read_bootstrap_token, NAMESPACE, labels=NAME_LABEL):
        end = datetime.fromtimestamp(token.expires, UTC) if token.expires else None
        found[token.key] = (*found.get(token.key, ()), end)
    return found
