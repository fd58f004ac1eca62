"""Live clusters behind the interface of targets: for what is applied directly, and for what comes through git."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from osm_gitops.kube.connecting import Clusters
from osm_gitops.model.desired import Desired
from osm_gitops.model.live import Delivery
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, Advance, Change, ClusterPlan, CurrentState, unwatched
from osm_gitops.plan.compare import group_name
from osm_gitops.plan.stamps import Stamping
from osm_gitops.targets.cluster.maintenance import Maintenance
from osm_gitops.targets.cluster.stamping import stamp_pools
from osm_gitops.targets.cluster.state import Scope, read_state
from osm_gitops.targets.cluster.write_options import WriteOptions
from osm_gitops.targets.cluster.writing import Control, deliver


@dataclass(frozen=True, slots=True)
class ClusterTarget:
    """The clusters of one fleet entry, as they were when their pools and tokens were read for ``maintenance``.

    ``check`` is called before every write and raises LostLockError when there must be no more.
    """

    live: Clusters
    scope: Scope
    maintenance: Maintenance
    write: WriteOptions
    check: Callable[[], None]

    def read(self, desired: Desired, _advance: Advance = unwatched, /) -> CurrentState:
        """What the clusters hold. Raises ClusterError."""
        return read_state(self.live, desired, self.scope)

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """The plan with tokens and finalizers, and the pools that are passed over for now."""
        return self.maintenance.added_to(plan)

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched, /) -> Delivery:
        """Write, pool by pool. Raises LostLockError."""
        pools, tokens = self.maintenance.pools, self.maintenance.tokens
        return deliver(self.live, plan, pools, tokens, self.write, Control(self.check, advance))


@dataclass(frozen=True, slots=True)
class StampedTarget(ClusterTarget):
    """Clusters into which something else applies what is in git. Nothing of it is desired here: a plan has tokens,
    finalizers and the revision stamps of ``stampings``."""

    stampings: Mapping[ObjectRef, Stamping]

    def read(self, _desired: Desired, _advance: Advance = unwatched, /) -> CurrentState:
        """Nothing: what there is, is compared where it is committed."""
        return CurrentState(live=True)

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """The plan with tokens and finalizers, and with a change for each stamp."""
        plan = self.maintenance.added_to(plan)
        stamps = (
            Change(each.target.ref, each.target.side, Action.UPDATE, each.reason, group_name(ref), ref, upkeep=True)
            for ref, stamping in self.stampings.items()
            for each in stamping.stamps
        )
        return replace(plan, changes=tuple(sorted((*plan.changes, *stamps), key=lambda change: change.place)))

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched, /) -> Delivery:
        """Keep tokens and finalizers, then stamp, then wake Machines. Raises LostLockError."""
        stamped = {each.target.ref for stamping in self.stampings.values() for each in stamping.stamps}
        others = replace(plan, changes=tuple(change for change in plan.changes if change.ref not in stamped))
        pools, control = self.maintenance.pools, Control(self.check, advance)
        write = replace(self.write, nudge=False)  # Machines wait for the stamps
        kept = deliver(self.live, others, pools, self.maintenance.tokens, write, control)
        done = stamp_pools(self.live, pools, self.stampings, self.write, Control(self.check, advance))
        return Delivery(
            written=tuple(dict.fromkeys((*kept.written, *done.written))),
            failed={**kept.failed, **done.failed},
            left={**kept.left, **done.left},
            notes=(*kept.notes, *done.notes),
            webhook=kept.webhook or done.webhook,
        )
