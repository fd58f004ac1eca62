"""Waves get changes in their order: never before the wave before has them for long enough and is healthy, and in the
end all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from osm_gitops.model.promotion import After, Promotion, Step, Wave
from osm_gitops.plan.promotion import Known, Since, decide

_START = datetime(2026, 1, 5, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_CLUSTERS = {"one": ("one-a", "one-b"), "two": ("two-a", "two-b"), "three": ("three-a",)}
_AFTER = After(wave="one")
_SOAK = {"two": 4 * _HOUR, "three": 2 * _HOUR}


def _waves(hold: Mapping[str, str] | None = None) -> dict[Wave, Sequence[str]]:
    order = list(_CLUSTERS)
    found: dict[Wave, Sequence[str]] = {}
    for number, name in enumerate(order):
        after = After(wave=order[number - 1], soak=_SOAK[name]) if number else None
        found[Wave(name=name, select=(), after=after, hold=(hold or {}).get(name, ""))] = _CLUSTERS[name]
    return found


@dataclass
class _Fleet:
    """A fleet whose repository has the commits ``c00``, ``c01``, …; each changes the shared inputs of some clusters.

    ``carried`` are the commits that clusters were rendered from, with their times.
    """

    now: datetime = _START
    commits: list[frozenset[str]] = field(default_factory=lambda: [frozenset()])
    carried: dict[str, list[tuple[str, datetime]]] = field(default_factory=dict)
    ill: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)
    missing: str = ""

    @property
    def head(self) -> str:
        return f"c{len(self.commits) - 1:02}"

    def commit_of(self, cluster: str) -> Known:
        return Known(self.carried[cluster][-1][0]) if cluster in self.carried else Known(None)

    def digest(self, cluster: str, commit: str) -> str:
        return str(sum(cluster in changed for changed in self.commits[: int(commit[1:]) + 1]))

    def is_newer(self, commit: str, other: str) -> bool:
        return commit > other

    def carried_since(self, cluster: str, commit: str, _after: After) -> Since:
        since = None
        for each, moment in reversed(self.carried.get(cluster, [])):
            if self.digest(cluster, each) != self.digest(cluster, commit):
                break
            since = moment
        return Since(since, "" if since else "it lacks it")

    def changes_nothing(self, _cluster: str, _commit: str) -> bool:
        return False

    def health(self, clusters: Sequence[str], _commit: str, _since: datetime, _after: After) -> tuple[str, ...]:
        self.asked += clusters
        return tuple(f"cluster {each}: it is ill" for each in clusters if each in self.ill)

    def run(self, promoted: Sequence[str] = (), skipped: Sequence[str] = ()) -> Mapping[str, Promotion]:
        """A run of all clusters, of which some fail."""
        decided = decide(_waves(), self, self.now, (), promoted)
        for cluster, each in decided.items():
            if each.commit and cluster not in skipped:
                history = self.carried.setdefault(cluster, [])
                if not history or history[-1][0] != each.commit:
                    history.append((each.commit, self.now))
        return decided


def _adopted() -> _Fleet:
    """A fleet whose clusters have the first commit for a long time."""
    every = [cluster for clusters in _CLUSTERS.values() for cluster in clusters]
    return _Fleet(carried={cluster: [("c00", _START - 100 * _HOUR)] for cluster in every})


_EVERY = frozenset(cluster for clusters in _CLUSTERS.values() for cluster in clusters)
_some_clusters = st.frozensets(st.sampled_from(sorted(_EVERY)))
_Hour = tuple[frozenset[str] | None, frozenset[str], frozenset[str]]
_hours = st.lists(
    st.tuples(
        st.one_of(st.none(), _some_clusters, st.just(_EVERY)),  # a commit that changes the inputs of some clusters
        _some_clusters,  # clusters that are ill
        _some_clusters,  # clusters in which the run fails
    ),
    max_size=30,
)


@settings(max_examples=40)
@given(_hours)
def test_no_wave_gets_a_change_before_the_wave_before_has_proven_it(
    hours: list[_Hour],
) -> None:
    fleet = _adopted()
    order = list(_CLUSTERS)
    for commit, ill, skipped in hours:
        fleet.now += _HOUR
        fleet.commits += [commit] if commit is not None else []
        fleet.ill = ill
        before = replace(fleet, carried={cluster: list(each) for cluster, each in fleet.carried.items()})
        decided = fleet.run(skipped=sorted(skipped))
        for number, name in enumerate(order[1:]):
            for cluster in _CLUSTERS[name]:
                had, gets = before.commit_of(cluster).commit, decided[cluster].commit
                assert had is not None
                if fleet.digest(cluster, gets) == fleet.digest(cluster, had):
                    continue
                assert gets > had
                for earlier in _CLUSTERS[order[number]]:
                    since = before.carried_since(earlier, gets, _AFTER).moment
                    assert since is not None
                    assert fleet.now - since >= _SOAK[name]
                    assert earlier not in ill


@settings(max_examples=40)
@given(_hours)
def test_in_the_end_every_cluster_has_everything(
    hours: list[_Hour],
) -> None:
    fleet = _adopted()
    for commit, ill, skipped in hours:
        fleet.now += _HOUR
        fleet.commits += [commit] if commit is not None else []
        fleet.ill = ill
        fleet.run(skipped=sorted(skipped))
    fleet.ill = frozenset()
    for _ in range(3 * 5):
        fleet.now += _HOUR
        decided = fleet.run()
    for cluster, each in decided.items():
        assert each.step is Step.NEWEST
        assert fleet.digest(cluster, each.commit) == fleet.digest(cluster, fleet.head)


def test_a_later_wave_says_what_it_waits_for_and_until_when() -> None:
    fleet = _adopted()
    fleet.commits.append(_EVERY)
    fleet.run()
    fleet.now += _HOUR
    decided = fleet.run()
    assert decided["one-a"].step is Step.NEWEST
    waits = decided["two-a"]
    assert (waits.step, waits.commit, waits.offered, waits.newest) == (Step.WAITS, "c00", "c01", "c01")
    assert (waits.since, waits.until) == (_START, _START + _SOAK["two"])
    assert decided["three-a"].commit == "c00"
    assert fleet.asked == []  # health is read only when nothing else is missing


def test_a_wave_that_is_not_healthy_stops_the_next_at_any_age() -> None:
    fleet = _adopted()
    fleet.commits.append(_EVERY)
    fleet.run()
    fleet.now += 50 * _HOUR
    fleet.ill = frozenset({"one-b"})
    decided = fleet.run()
    assert decided["two-a"].step is Step.WAITS
    assert decided["two-a"].reasons == ("wave one, cluster one-b: it is ill",)
    assert decided["two-b"].reasons == decided["two-a"].reasons
    assert fleet.asked == ["one-a", "one-b"]  # once for all clusters of a wave


def test_a_change_of_one_cluster_alone_waits_for_nothing_that_others_have() -> None:
    fleet = _adopted()
    fleet.commits.append(frozenset({"two-a"}))
    assert fleet.run()["two-a"].step is Step.NEWEST


def test_a_promoted_cluster_gets_the_newest_at_once_and_keeps_it() -> None:
    fleet = _adopted()
    fleet.commits.append(_EVERY)
    fleet.run()
    fleet.now += _HOUR
    decided = fleet.run(promoted=["two-a"])
    assert (decided["two-a"].step, decided["two-a"].commit) == (Step.PROMOTED, "c01")
    assert decided["two-b"].step is Step.WAITS
    fleet.commits.append(_EVERY)  # wave one gets it, and two-a stays where it was promoted to
    fleet.now += _HOUR
    assert {name: each.commit for name, each in fleet.run().items()} == {
        "one-a": "c02",
        "one-b": "c02",
        "two-a": "c01",
        "two-b": "c00",
        "three-a": "c00",
    }


def test_a_held_wave_gets_nothing_and_neither_do_those_behind_it() -> None:
    fleet = _adopted()
    fleet.commits.append(_EVERY)
    fleet.run()
    fleet.now += 50 * _HOUR
    decided = decide(_waves({"two": "a freeze"}), fleet, fleet.now, ())
    assert decided["two-a"].step is Step.WAITS
    assert "a freeze" in decided["two-a"].reasons[0]
    assert decided["three-a"].commit == "c00"
    assert decide(_waves({"one": "a freeze"}), _adopted(), fleet.now, ())["one-a"].commit == "c00"


def test_a_new_cluster_starts_where_the_others_of_its_wave_are() -> None:
    fleet = _adopted()
    fleet.commits.append(_EVERY)
    del fleet.carried["two-b"]
    decided = fleet.run()
    assert (decided["two-b"].step, decided["two-b"].commit) == (Step.WAITS, "c00")


def test_a_wave_of_which_nothing_is_known_is_left_alone_until_it_is_due() -> None:
    fleet = _adopted()
    fleet.carried |= {"two-a": [("c00", fleet.now)], "two-b": [("c00", fleet.now)]}
    del fleet.carried["three-a"]
    fleet.commits.append(_EVERY)
    fleet.run()
    fleet.now += _HOUR
    decided = fleet.run()
    assert (decided["three-a"].step, decided["three-a"].commit) == (Step.UNKNOWN, "")
    for _ in range(10):
        fleet.now += _HOUR
        decided = fleet.run()
    assert (decided["three-a"].step, decided["three-a"].commit) == (Step.NEWEST, "c01")


def test_a_wave_whose_clusters_are_not_known_proves_nothing() -> None:
    fleet = _adopted()
    fleet.commits.append(_EVERY)
    fleet.run()
    fleet.now += 50 * _HOUR
    fleet.missing = "a seed cannot be read"
    assert fleet.run()["two-a"].reasons == ("wave one: a seed cannot be read",)
    fleet.missing = ""
    none = {wave: [] if wave.name == "one" else clusters for wave, clusters in _waves().items()}
    assert decide(none, fleet, fleet.now, ())["two-a"].reasons == ("wave one: it has no cluster",)


def test_the_order_of_the_waves_in_the_file_makes_no_difference() -> None:
    fleet = _adopted()
    fleet.commits.append(_EVERY)
    fleet.run()
    waves = _waves()
    backwards = dict(reversed(waves.items()))
    assert decide(backwards, fleet, fleet.now, ()) == decide(waves, fleet, fleet.now, ())
    assert decide(waves, fleet, fleet.now, {"three-a"}).keys() == {"three-a"}
