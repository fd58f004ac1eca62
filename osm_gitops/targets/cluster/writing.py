"""Delivery of a plan to live clusters, several pools in parallel (design.md, "Writing to clusters").

Order per pool: finalizer, tokens, then the boot configuration, with the bootstrap Secret last. Each write can be
repeated, and the next plan shows what is missing, so the next run completes an interrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Protocol

from osm_gitops.errors import ClusterError, LostLockError, OsmGitopsError, Problem, WebhookError
from osm_gitops.kube.api import Clusters
from osm_gitops.model.desired import ABSENT, APPLIED, MOVED, Left, LeftReason
from osm_gitops.model.live import CLEANUP_FINALIZER, Delivery, Gate, LivePool, WriteOptions
from osm_gitops.model.machine import PoolNames
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Advance, ClusterPlan, unwatched
from osm_gitops.plan.stamps import is_as_read
from osm_gitops.targets.cluster.pools import nudge_late, nudge_missed
from osm_gitops.targets.cluster.steps import (
    PoolWork,
    Unit,
    clean_up,
    gate_to_shut,
    in_order,
    is_late,
    made_for,
    run_parallel,
    split,
    write_pool,
)
from osm_gitops.targets.cluster.writes import Writes, apply_machine, hold, made, read_machine


@dataclass(frozen=True, slots=True)
class Control:
    """Control of a delivery: ``check`` is called before each write and raises LostLockError if writing must end.
    ``advance`` counts pools. ``stop`` is set when the delivery ends early."""

    check: Callable[[], None]
    advance: Advance = unwatched
    stop: Event = field(default_factory=Event)

    def may_write(self) -> None:
        """Raise StoppedError or LostLockError if this run must not write. Thread-safe."""
        if self.stop.is_set():
            raise StoppedError
        self.check()


class StoppedError(Exception):
    """The delivery has ended early; raised in all threads."""


class TokenKeeper(Protocol):
    """Creates and renews the credentials that machines join with. ``makes_tokens``: each pool has its bootstrap
    token."""

    @property
    def makes_tokens(self) -> bool: ...

    def bring(self, pool: ObjectRef) -> None:
        """Create or renew the credentials of the pool. Raises OsmGitopsError."""


def deliver(
    live: Clusters,
    plan: ClusterPlan,
    pools: Mapping[ObjectRef, LivePool],
    tokens: TokenKeeper | None,
    options: WriteOptions,
    control: Control,
) -> Delivery:
    """Carry out ``plan``. A failed pool stops no other. Pools that machine-controller is not ready for, or that have
    changed since they were read, are skipped. If the API server cannot call a webhook, all pools that have not started
    are skipped, since it would refuse them too; only their tokens are renewed, so that machines can join.

    Raises LostLockError from ``control``, after running requests have ended.
    """
    units = split(plan, pools)
    run = _Run(live, pools, tokens, options, control, len(units))
    run.one_by_one(units.profiles)
    run.many(units.pools)
    run.one_by_one(units.unused)
    if options.nudge:
        run.nudge()
    return run.delivery()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of a unit; empty if it was not started. ``late``: Machines may have waited for it."""

    unit: Unit
    written: bool = False
    late: bool = False
    left: Left | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Run:
    """The writes of one run. The calling thread creates bodies and collects results; threads carry out the units."""

    live: Clusters
    pools: Mapping[ObjectRef, LivePool]
    tokens: TokenKeeper | None
    options: WriteOptions
    control: Control
    total: int
    webhook: str = ""
    """A webhook that the API server cannot call; set by any thread."""
    outcomes: list[_Outcome] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def writes(self) -> Writes:
        return Writes(self.live, self.options.force_conflicts, self.control.may_write, self.notes.append)

    def one_by_one(self, units: Sequence[Unit]) -> None:
        for unit in units:
            self._take(self._carry_out(unit, self._work(unit)))

    def many(self, units: Sequence[Unit]) -> None:
        run_parallel(self._jobs(units), self._take, self.options.concurrency, self.control.stop, self.live.hurry)

    def _jobs(self, units: Sequence[Unit]) -> Iterator[Callable[[], _Outcome]]:
        spared = self._spared(units)
        for unit in units:
            yield partial(self._carry_out, unit, self._work(unit), spared)

    def _take(self, outcome: _Outcome) -> None:
        self.outcomes.append(outcome)
        self.control.advance(len(self.outcomes), self.total)

    def _work(self, unit: Unit) -> PoolWork:
        """The work of a unit. Bodies are created only for ready pools."""
        pool = self._pool(unit)
        if self.webhook:
            return PoolWork([], [], None)
        gate = gate_to_shut(unit.content)
        ready = unit.pool is None or (pool is not None and pool.gate is Gate.READY and unit.machine is None)
        bodies = [made(change) for change in in_order(unit.content)] if ready else []
        removals = [change for change in unit.content if change.action is Action.DELETE]
        return PoolWork(bodies, removals, gate, late=any(map(is_late, bodies)))

    def _spared(self, units: Sequence[Unit]) -> frozenset[ObjectRef]:
        """Objects of remaining pools, which a clean-up must not delete; empty if no pool is deleted."""
        if not any(pool.gate is Gate.DELETING for pool in map(self._pool, units) if pool):
            return frozenset()
        living = [pool.ref for pool in self.pools.values() if pool.gate is not Gate.DELETING]
        namespace = self.options.namespace
        return frozenset(ref for each in living for _, ref in made_for(PoolNames(each.name, each.namespace), namespace))

    def _pool(self, unit: Unit) -> LivePool | None:
        return self.pools.get(unit.pool) if unit.pool else None

    def _carry_out(self, unit: Unit, work: PoolWork, spared: frozenset[ObjectRef] = frozenset()) -> _Outcome:
        """Runs in any thread."""
        if self.webhook:
            return self._leave(unit)
        try:
            if unit.pool is None:
                write_pool(self.writes, work)
                return _Outcome(unit, written=True)
            pool = self._pool(unit)
            if pool is None:
                return _Outcome(unit, left=ABSENT)
            if pool.gate is Gate.DELETING:
                return self._clean_up(unit, pool, work, spared)
            return self._write(unit, pool, work)
        except LostLockError:
            raise
        except WebhookError as failure:
            self.webhook = failure.webhook
            return _failed(unit, (*failure.problems, *self._leave(unit).problems))
        except OsmGitopsError as failure:
            return _failed(unit, failure.problems)
        except StoppedError:
            return _Outcome(unit)

    def _leave(self, unit: Unit) -> _Outcome:
        """Skip a unit that a webhook blocks, but renew its tokens."""
        pool = self._pool(unit)
        try:
            if pool is not None and pool.gate is not Gate.DELETING:
                self._bring_tokens(unit, pool)
        except LostLockError:
            raise
        except OsmGitopsError as failure:
            return _failed(unit, failure.problems)
        except StoppedError:
            return _Outcome(unit)
        left = Left(LeftReason.WEBHOOK, f"the API server cannot call webhook {self.webhook}")
        return _Outcome(unit, left=left if unit.changes_more_than_tokens else None)

    def _clean_up(self, unit: Unit, pool: LivePool, work: PoolWork, spared: frozenset[ObjectRef]) -> _Outcome:
        if unit.has_finalizer:
            tokens = self.tokens is not None and self.tokens.makes_tokens
            clean_up(self.writes, pool, self.options.namespace, spared, tokens=tokens)
        else:  # without our finalizer nothing waits for the clean-up
            self._bring_tokens(unit, pool)
            write_pool(self.writes, work)
        return _Outcome(unit, written=True)

    def _write(self, unit: Unit, pool: LivePool, work: PoolWork) -> _Outcome:
        """Maintain the pool in any state; write its boot configuration only if machine-controller is ready for it."""
        held = None
        if unit.has_finalizer and self.options.finalizers:
            held = hold(self.writes, pool)
            if held is None:
                return _Outcome(unit, left=MOVED)
        self._bring_tokens(unit, pool)
        if unit.machine is not None:
            # The boot configuration comes later: machine-controller first sets the new revision.
            apply_machine(self.writes, unit.machine, pool)
            return _Outcome(unit, written=True, left=APPLIED if unit.changes_content else None)
        if not unit.changes_content:
            return _Outcome(unit)
        if pool.gate is not Gate.READY:
            return _Outcome(unit, left=pool.left)
        held = held or read_machine(self.writes, pool)
        if held is None or not is_as_read(pool, held):
            return _Outcome(unit, left=MOVED)
        write_pool(self.writes, work)
        if CLEANUP_FINALIZER not in (held.get("finalizers") or ()) and read_machine(self.writes, pool) is None:
            # It was deleted without a clean-up, and a new one of this name would use the bootstrap Secret
            # (osm-behaviour.md, "machine-controller").
            self.writes.remove(*next(made_for(PoolNames(pool.ref.name, pool.ref.namespace), self.options.namespace)))
            return _Outcome(unit, left=MOVED)
        return _Outcome(unit, written=True, late=work.late)

    def _bring_tokens(self, unit: Unit, pool: LivePool) -> None:
        if unit.has_tokens and self.tokens is not None:
            self.control.may_write()
            self.tokens.bring(pool.ref)

    def nudge(self) -> None:
        """Wake Machines that waited for the written objects."""
        late = {each.unit.pool for each in self.outcomes if each.late}
        pools = [pool for pool in self.pools.values() if pool.gate is Gate.READY]
        worker, check = self.live.worker, self.control.may_write
        try:
            done = nudge_late(worker, [pool for pool in pools if pool.ref in late], check)
            done += nudge_missed(worker, [pool for pool in pools if pool.ref not in late], check)
        except LostLockError:
            raise
        except ClusterError as failure:
            self.problems += failure.problems
            return
        if done:
            self.notes.append(f"woke {done} Machines that waited for their bootstrap Secret")

    def delivery(self) -> Delivery:
        """All results, in an order that does not depend on threads."""
        failed: dict[ObjectRef | None, tuple[Problem, ...]] = {None: tuple(self.problems)} if self.problems else {}
        for each in self.outcomes:
            if each.problems:
                failed[each.unit.pool] = (*failed.get(each.unit.pool, ()), *each.problems)
        written = {each.unit.pool for each in self.outcomes if each.written}
        known = sorted(ref for ref in written if ref is not None)
        left = {each.unit.pool: each.left for each in self.outcomes if each.left and each.unit.pool}
        return Delivery(
            written=(*([None] if None in written else []), *known),
            failed=dict(sorted(failed.items(), key=lambda each: str(each[0] or ""))),
            left=dict(sorted(left.items())),
            notes=tuple(sorted(self.notes)),
            webhook=self.webhook,
        )


def _failed(unit: Unit, problems: Sequence[Problem]) -> _Outcome:
    about = str(unit.pool) if unit.pool else ""
    return _Outcome(unit, problems=tuple(problem.at(about=about) for problem in dict.fromkeys(problems)))
