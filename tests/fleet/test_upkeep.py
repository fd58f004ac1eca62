"""Finalizers as changes of a plan."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.fleet.upkeep import Upkeep
from osm_gitops.model.live import CLEANUP_FINALIZER, Gate, LivePool
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import ClusterPlan


def _pool(gate: Gate, *finalizers: str, uid: str = "1") -> LivePool:
    ref = ObjectRef("MachineDeployment", "kube-system", "a")
    return LivePool(ref=ref, uid=uid, resource_version="1", revision="1", finalizers=finalizers, gate=gate)


@pytest.mark.parametrize(
    ("pool", "wanted", "due"),
    [
        (_pool(Gate.READY), True, True),
        (_pool(Gate.WAITING), True, True),
        (_pool(Gate.READY), False, False),
        (_pool(Gate.READY, CLEANUP_FINALIZER), True, False),
        (_pool(Gate.DELETING, CLEANUP_FINALIZER), True, True),
        (_pool(Gate.DELETING, CLEANUP_FINALIZER), False, True),  # it would hang for ever
        (_pool(Gate.DELETING, "others"), True, False),
        (_pool(Gate.WAITING, uid=""), True, False),  # a tree has it, the cluster has not
    ],
)
def test_a_finalizer_is_set_where_that_is_wanted_and_removed_from_whatever_goes(
    pool: LivePool, wanted: bool, due: bool
) -> None:
    upkeep: dict[str, Any] = {"machines": (), "tokens": None, "finalizers": wanted}
    changes = Upkeep(pools={pool.ref: pool}, **upkeep).added_to(ClusterPlan("prod", ())).changes
    assert [change.ref for change in changes] == [pool.ref] * due


def test_a_narrowed_run_leaves_the_finalizers_of_others_alone() -> None:
    pool = _pool(Gate.DELETING, CLEANUP_FINALIZER)
    narrowed = Upkeep(machines=(), pools={pool.ref: pool}, tokens=None, only="b*")
    assert narrowed.added_to(ClusterPlan("prod", ())).changes == ()
