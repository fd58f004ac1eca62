"""The wave of clusters that are found when a run begins."""

from __future__ import annotations

from osm_gitops.config.waves import wave_of
from osm_gitops.errors import Code
from osm_gitops.model.promotion import Wave
from tests.faults import Expected, refused

_WAVES = (
    Wave(name="one", select=("a-*",), where="osm-gitops.yaml:7"),
    Wave(name="two", select=("b-*", "*-x"), where="osm-gitops.yaml:8"),
)


def test_a_discovered_cluster_is_in_the_wave_that_selects_its_name() -> None:
    assert [wave_of(name, _WAVES) for name in ("a-1", "b-1", "c-x", "c")] == [*_WAVES, _WAVES[1], None]


def test_a_discovered_cluster_in_two_waves_is_refused() -> None:
    with refused(Expected(Code.CLUSTER_IN_TWO_WAVES, "osm-gitops.yaml:8", "a-x", "one and two")):
        wave_of("a-x", _WAVES)
