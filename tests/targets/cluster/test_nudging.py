"""Machines that had to wait are woken once, and no others."""

from __future__ import annotations

import pytest

from osm_gitops.errors import ClusterError, Code, Problem
from osm_gitops.kube.api import Clusters
from osm_gitops.kube.kinds import MACHINE
from osm_gitops.targets.cluster.pools import NUDGED
from tests.faults import Expected
from tests.targets.cluster.scene import MACHINES, Counting, EndedError, Scene, ref, secret_path


def _machine(there: Scene, name: str, machine_set: str, *, waits: bool) -> None:
    there.osm.machine(there.osm.objects["MachineSet", "kube-system", machine_set], name, waits=waits)


def _nudged(there: Scene) -> dict[str, str | None]:
    items = there.get(f"{MACHINES}/machines")["items"]
    return {each["metadata"]["name"]: (each["metadata"].get("annotations") or {}).get(NUDGED) for each in items}


def _rolled(there: Scene) -> None:
    """A pool at its second revision, of which the bootstrap Secret is still the first."""
    there.pool("a")
    there.run()
    _machine(there, "old", "a-1", waits=False)
    there.roll("a", "2", "1.35.0")
    _machine(there, "waits", "a-2", waits=True)
    _machine(there, "runs", "a-2", waits=False)
    _machine(there, "late", "a-1", waits=True)  # of the revision that is over: nothing comes for it


def test_machines_that_wait_for_a_revision_are_woken_when_it_comes(single: Scene) -> None:
    _rolled(single)
    delivery = single.run()
    assert _nudged(single) == {"old": None, "waits": "2", "runs": None, "late": None}
    assert "woke 1 Machines that waited for their bootstrap Secret" in delivery.notes


def test_a_machine_that_came_while_the_run_was_under_way_is_woken_too(single: Scene) -> None:
    _rolled(single)
    planned = single.plan()
    _machine(single, "newer", "a-2", waits=True)
    single.run(plan=planned)
    assert _nudged(single)["newer"] == "2"


def test_machines_are_not_woken_again_nor_without_a_reason(single: Scene) -> None:
    _rolled(single)
    single.run()
    single.script = "#!/bin/sh\necho another content of the same revision\n"
    single.version = "v1.0.1"
    counting = Counting(single.live.worker)
    single.live = Clusters(counting.as_api, counting.as_api)
    single.run()
    assert [name for _, name in counting.writes if name in _nudged(single)] == []
    counting.writes.clear()
    single.run()
    assert counting.writes == []


def test_nobody_is_woken_where_that_is_not_wanted(single: Scene) -> None:
    _rolled(single)
    single.run(nudge=False)
    assert set(_nudged(single).values()) == {None}


def test_what_a_run_that_was_ended_did_not_wake_the_next_one_wakes(single: Scene) -> None:
    _rolled(single)
    there = single.live
    counting = Counting(there.worker)
    single.live = Clusters(counting.as_api, counting.as_api)
    planned = single.plan()
    counting.last = 4  # OSC and two Secrets, then the Machine
    with pytest.raises(EndedError):
        single.run(plan=planned)
    assert counting.writes[-1] == ("merge", "waits")
    single.live = there
    assert _nudged(single)["waits"] is None
    single.run()
    assert _nudged(single) == {"old": None, "waits": "2", "runs": None, "late": None}


class _Forbidding(Counting):
    """May write all but Machines."""

    def merge(self, kind: object, *args: object) -> object:
        if kind is MACHINE:
            raise ClusterError([Problem(Code.INVALID_VALUE, "patch machines: it is forbidden (403)")], 403)
        return self._api.merge(kind, *args)  # type: ignore[arg-type]


def test_who_may_not_wake_machines_is_told_and_has_written_all_else(single: Scene) -> None:
    _rolled(single)
    api = _Forbidding(single.live.worker).as_api
    single.live = Clusters(api, api)
    delivery = single.run()
    assert delivery.written == (ref("a"),)
    (problem,) = delivery.failed[None]
    assert problem == Expected(Code.INVALID_VALUE, "patch machines")
    assert single.get(secret_path("a"))["metadata"]["annotations"]["k8c.io/machine-deployment-revision"] == "2"
