"""The inputs of a run, put together from several sources."""

from __future__ import annotations

from pathlib import Path

from osm_gitops.pipeline.inputs import ClusterInputs
from tests.sources.trees import MACHINE, PROFILE, read


def test_profiles_of_another_source_replace_the_own_ones(tmp_path: Path) -> None:
    own = read(tmp_path / "a", {"a.yaml": MACHINE, "b.yaml": PROFILE, "c.yaml": PROFILE.replace("osp-a", "osp-x")})
    other = read(tmp_path / "b", {"a.yaml": PROFILE.replace("v1.0.0", "v2.0.0"), "b.yaml": "apiVersion: [\nkind: x"})
    building = ClusterInputs.of(own)
    building.take_profiles(other)
    both = building.build()
    assert {key: profile.version for key, profile in both.profiles.items()} == {("kube-system", "osp-a"): "v2.0.0"}
    assert (both.machines, len(both.unreadable), both.sources) == (own.machines, 1, ("t",))


def test_what_two_sources_tell_is_told_once(tmp_path: Path) -> None:
    own = read(tmp_path / "a", {"a.yaml": MACHINE, "b.yaml": "apiVersion: [\nkind: x"})
    building = ClusterInputs.of(own)
    building.take_facts(own)
    building.take_profiles(own)
    both = building.build()
    assert (both.unreadable, both.warnings, both.notes) == (own.unreadable, own.warnings, own.notes)
    assert both == own


def test_a_profile_that_must_not_be_used_is_broken_for_good_and_the_built_inputs_stay_as_they_are(
    tmp_path: Path,
) -> None:
    building = ClusterInputs.of(read(tmp_path, {"a.yaml": MACHINE, "b.yaml": PROFILE}))
    before = building.build()
    (profile,) = before.profiles.values()
    building.break_profiles({profile.manifest.ref: ()})
    assert building.build().profiles == {}
    assert profile.manifest.ref in building.build().broken
    assert list(before.profiles.values()) == [profile]
    assert before.broken == {}
