"""The Lease on a real API server: one run at a time, whatever becomes of its holder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code, LostLockError
from osm_gitops.kube.api import Api, connect
from osm_gitops.kube.transport import RetryPolicy
from osm_gitops.targets.cluster.lease import Held, Pace, holder_name, lease
from tests.apiserver.cluster import Cluster
from tests.apiserver.proxy import Fault, Proxy, answer, drop, lose
from tests.apiserver.rights import allow, rule
from tests.faults import Expected, refused

Behind = Callable[[Cluster], Proxy]
PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/osm-gitops"


@dataclass(slots=True)
class Hours:
    """Time that passes when somebody waits; ``meanwhile`` is what others do then."""

    now: float = 0.0
    meanwhile: Callable[[], None] = lambda: None
    said: list[str] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.01)
        self.meanwhile()

    @property
    def pace(self) -> Pace:
        def today() -> datetime:
            return datetime(2026, 1, 5, 10, tzinfo=UTC) + timedelta(seconds=self.now)

        return Pace(clock=lambda: self.now, sleep=self.sleep, chance=lambda: 0.5, today=today)


@pytest.fixture
def api(management: Cluster, tmp_path: Path) -> Api:
    return connect(ContextRef(str(management.kubeconfig(tmp_path / "kubeconfig"))), {})


def held(api: Api, hours: Hours, holder: str = "me", timeout: float = 0.0) -> AbstractContextManager[Held]:
    return lease(api, "kube-system", holder=holder, timeout=timeout, note=hours.said.append, pace=hours.pace)


def always(check: Callable[[], None]) -> None:
    while True:
        check()


def spec(management: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = management.client().get(PATH)["spec"]
    return found


def test_a_run_takes_the_lease_and_gives_it_back(management: Cluster, api: Api) -> None:
    hours = Hours()
    with held(api, hours) as mine:
        mine.check()
        assert spec(management) == {
            "holderIdentity": "me",
            "leaseDurationSeconds": 60,
            "acquireTime": "2026-01-05T10:00:00.000000Z",
            "renewTime": "2026-01-05T10:00:00.000000Z",
            "leaseTransitions": 0,
        }
        labels = management.client().get(PATH)["metadata"]["labels"]
        assert labels == {"app.kubernetes.io/managed-by": "osm-gitops"}
    assert not spec(management).get("holderIdentity")
    with held(api, hours, "next"):
        assert (spec(management)["holderIdentity"], spec(management)["leaseTransitions"]) == ("next", 1)
    assert hours.said == []


def test_a_second_run_says_who_holds_it_and_since_when(management: Cluster, api: Api) -> None:
    hours = Hours()
    with held(api, hours), pytest.raises(ClusterError) as refused, held(api, hours, "second"):
        raise AssertionError("two runs at once")
    text = str(refused.value)
    assert "Lease kube-system/osm-gitops" in text
    assert "another run of osm-gitops is active: me, since 2026-01-05T10:00:00.000000Z" in text
    assert "--lock-timeout: if it was killed, 60s is enough" in text
    assert management.server in text


def test_a_second_run_waits_until_the_first_has_ended(management: Cluster, api: Api) -> None:
    hours = Hours()
    first = held(api, hours, "first")
    first.__enter__()
    looks: list[float] = []

    def ends_after_ten_seconds() -> None:
        looks.append(hours.now)
        if hours.now > 10 and spec(management)["holderIdentity"]:
            first.__exit__(None, None, None)

    hours.meanwhile = ends_after_ten_seconds
    with held(api, hours, "second", timeout=30):
        assert spec(management)["holderIdentity"] == "second"
    waits = [later - earlier for earlier, later in pairwise(looks)]
    assert waits == sorted(waits)
    assert 10 < hours.now < 20
    assert hours.said == ["Waiting: another run of osm-gitops is active: first, since 2026-01-05T10:00:00.000000Z."]


def test_who_waits_gives_up_in_time_while_the_holder_is_alive(api: Api) -> None:
    hours = Hours()
    with held(api, hours, "alive") as alive:
        hours.meanwhile = alive.renew
        with (
            refused(Expected(Code.LOCK_NOT_TAKEN, "alive"), kind=ClusterError),
            held(api, hours, "second", timeout=200),
        ):
            raise AssertionError("two runs at once")
        assert 200 <= hours.now < 207
        alive.check()


@pytest.mark.parametrize("said_at", ["2020-01-01T00:00:00.000000Z", "2040-01-01T00:00:00.000000Z"])
def test_a_dead_holder_is_succeeded_when_it_was_silent_as_long_as_its_lease_lives_whatever_its_clock_says(
    said_at: str, management: Cluster, api: Api
) -> None:
    hours = Hours()
    dead = {"holderIdentity": "dead", "leaseDurationSeconds": 15, "acquireTime": said_at, "renewTime": said_at}
    metadata = {"name": "osm-gitops", "namespace": "kube-system"}
    api.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": dead})
    with pytest.raises(ClusterError), held(api, hours, timeout=14):
        raise AssertionError("it may be alive")
    started = hours.now
    with held(api, hours, timeout=90):
        assert 15 <= hours.now - started < 22
        assert spec(management)["holderIdentity"] == "me"


@pytest.mark.parametrize("was_there", [False, True])
def test_of_two_that_find_it_free_at_the_same_moment_one_gets_it(
    was_there: bool, management: Cluster, api: Api
) -> None:
    if was_there:
        with held(api, Hours()):
            pass
    faster = held(api, Hours(), "faster")
    hours = Hours()

    def today() -> datetime:  # asked between the look and the write
        if hours.now == 0:
            hours.now = 1
            faster.__enter__()
        return datetime(2026, 1, 5, tzinfo=UTC)

    pace = replace(hours.pace, today=today)
    with (
        refused(Expected(Code.LOCK_NOT_TAKEN, "faster"), kind=ClusterError),
        lease(api, "kube-system", holder="me", timeout=0, note=print, pace=pace),
    ):
        raise AssertionError("two runs at once")
    assert spec(management)["holderIdentity"] == "faster"
    faster.__exit__(None, None, None)


def test_a_holder_whose_lease_went_to_another_stops(management: Cluster, api: Api) -> None:
    hours = Hours()
    with held(api, hours) as mine:
        management.client().merge(PATH, {"spec": {"holderIdentity": "thief"}})
        mine.renew()
        with refused(Expected(Code.LOCK_LOST, "Lease", "thief"), kind=LostLockError):
            mine.check()
    assert spec(management)["holderIdentity"] == "thief"


def test_a_holder_whose_lease_was_deleted_stops_and_makes_no_new_one(management: Cluster, api: Api) -> None:
    hours = Hours()
    with held(api, hours) as mine:
        management.client().delete(PATH)
        mine.renew()
        with refused(Expected(Code.LOCK_LOST, "Lease"), kind=LostLockError):
            mine.check()
    management.client().wait(PATH, lambda found: found is None)


def test_a_holder_that_cannot_renew_stops_before_others_may_begin(management: Cluster, api: Api) -> None:
    hours = Hours()
    with held(api, hours) as mine:
        hours.now = 39
        mine.check()
        mine.renew()
        hours.now = 78
        mine.check()
        hours.now = 80  # as after a sleep of the machine: 41 s without a renewal
        with refused(Expected(Code.LOCK_LOST, "40"), kind=LostLockError):
            mine.check()
        mine.renew()  # too late: others may have begun and ended
        with pytest.raises(LostLockError):
            mine.check()
    assert spec(management)["holderIdentity"] == "me"  # it ends by itself


def test_an_edit_of_the_lease_by_somebody_else_is_no_loss(management: Cluster, api: Api) -> None:
    hours = Hours()
    with held(api, hours) as mine:
        management.client().merge(PATH, {"metadata": {"annotations": {"note": "seen"}}})
        hours.now = 30
        mine.renew()
        assert spec(management)["renewTime"] == "2026-01-05T10:00:30.000000Z"
        mine.check()
    assert not spec(management).get("holderIdentity")
    assert management.client().get(PATH)["metadata"]["annotations"] == {"note": "seen"}


def test_what_a_run_leaves_on_the_lease_the_next_one_finds(api: Api) -> None:
    hours = Hours()
    with held(api, hours) as mine:
        assert mine.annotations == {}
        mine.leave({"osm-gitops.io/last-run": "x"})
    with held(api, hours) as mine:
        assert mine.annotations == {"osm-gitops.io/last-run": "x"}


def test_it_is_renewed_in_the_background(management: Cluster, api: Api) -> None:
    with lease(api, "kube-system", holder="me", timeout=0, note=print, pace=Pace(duration=1)) as mine:
        first = spec(management)["renewTime"]
        management.client().wait(PATH, lambda found: found is not None and found["spec"]["renewTime"] > first)
        management.client().merge(PATH, {"spec": {"holderIdentity": "thief"}})
        management.client().wait(PATH, lambda found: found is not None and found["spec"]["holderIdentity"] == "thief")
        with pytest.raises(LostLockError):
            always(mine.check)


def test_a_run_that_fails_gives_the_lease_back_too(management: Cluster, api: Api) -> None:
    with pytest.raises(KeyboardInterrupt), held(api, Hours()):
        raise KeyboardInterrupt
    assert not spec(management).get("holderIdentity")


def test_the_rights_that_the_module_names_are_enough(management: Cluster, tmp_path: Path) -> None:
    rules = [
        rule("create", "leases.coordination.k8s.io"),
        rule("get update", "leases.coordination.k8s.io", ["osm-gitops"]),
    ]
    allow(management, "applier", rules, "kube-system")
    api = connect(ContextRef(str(management.kubeconfig(tmp_path / "kubeconfig", "applier"))), {})
    for _ in range(2):
        with held(api, Hours()) as mine:
            mine.renew()
            mine.check()


@pytest.mark.parametrize("fault", [drop, lose, answer(503), answer(429, retry_after="1")])
def test_what_networks_and_busy_servers_do_loses_no_lease(
    fault: Fault, management: Cluster, through: Behind, tmp_path: Path
) -> None:
    proxy = through(management)
    access = ContextRef(str(proxy.cluster.kubeconfig(tmp_path / "kubeconfig")))
    api = connect(access, {}, RetryPolicy(sleep=lambda _: None))
    hours = Hours()
    for _ in range(2):  # the Lease is made, then taken
        for method, nth in (("GET", 1), ("POST", 1), ("PUT", 1), ("PUT", 3), ("PUT", 5)):
            proxy.when(fault, method=method, path="/leases", nth=nth)
        with held(api, hours) as mine:
            mine.renew()
            mine.check()
            assert spec(management)["holderIdentity"] == "me"
        assert not spec(management).get("holderIdentity")
        proxy.clear()
    assert hours.said == []


def test_a_free_lease_that_cannot_be_taken_is_given_up(management: Cluster, through: Behind, tmp_path: Path) -> None:
    proxy = through(management)
    api = connect(ContextRef(str(proxy.cluster.kubeconfig(tmp_path / "proxied"))), {})
    proxy.when(answer(409), method="POST", times=None)
    with (
        refused(Expected(Code.LOCK_NOT_TAKEN, "6"), kind=ClusterError),
        held(api, Hours()),
    ):
        raise AssertionError


def test_who_cannot_reach_the_server_any_more_stops_in_time_and_says_how_the_lease_ends(
    management: Cluster, through: Behind, tmp_path: Path
) -> None:
    proxy = through(management)
    access = ContextRef(str(proxy.cluster.kubeconfig(tmp_path / "kubeconfig")))
    api = connect(access, {}, RetryPolicy(tries=2, sleep=lambda _: None))
    hours = Hours()
    with held(api, hours) as mine:
        proxy.when(drop, times=None)
        mine.renew()
        mine.check()
    assert hours.said[0].endswith("The Lease expires after 60 s.")
    hours.now = 100
    proxy.clear()
    with held(api, hours, timeout=90) as mine:
        proxy.when(answer(503), times=None)
        hours.now += 41
        mine.renew()
        with refused(Expected(Code.LOCK_LOST, "40"), kind=LostLockError):
            mine.check()


def test_every_run_has_a_name_of_its_own() -> None:
    assert holder_name() != holder_name()
