"""The data: in the repository only what was written for this project, and outside of it all that the tests expect."""

from __future__ import annotations

import json

import pytest

from tests.conformance_data import DATA, OUTSIDE, case_names, load_case, outside_names, released_profiles


def test_the_repository_has_no_case_of_a_released_profile() -> None:
    profiles = [load_case(name).get("osp") for name in case_names()]
    assert len(profiles) == 57
    assert all(profile is None or list(profile) == ["inline"] for profile in profiles)


@pytest.mark.conformance
def test_the_data_outside_of_the_repository_are_at_hand() -> None:
    assert len(outside_names()) >= 100, f"no conformance cases in {OUTSIDE}: CONTRIBUTING.md says where they come from"
    assert len(released_profiles()) >= 30
    assert json.loads((OUTSIDE / "cluster" / "after-osm.json").read_text("utf-8"))["items"]


@pytest.mark.conformance
def test_what_lies_in_both_places_is_the_same() -> None:
    for path in [*(DATA / "cases").glob("*.json"), *(DATA / name for name in ("templates.jsonl", "ca.pem"))]:
        assert path.read_bytes() == (OUTSIDE / path.relative_to(DATA)).read_bytes(), path.name
