"""Which profile of KKP replaces which of a user cluster."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code, Problem
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.sources.inputs_builder import InputsBuilder
from osm_gitops.sources.kkp.profiles import with_custom_profiles
from tests.cli.scenes import profile

OURS = {"app.kubernetes.io/managed-by": "osm-gitops"}
KEY = ("kube-system", "osp-a")
REF = ObjectRef("OperatingSystemProfile", *KEY)


def inputs(origin: str, version: str = "v1.0.0", labels: dict[str, str] | None = None, **spec: Any) -> Inputs:
    body = profile("osp-a", version=version, **spec)
    body["metadata"]["labels"] = labels or {}
    builder = InputsBuilder()
    builder.add(Manifest(REF, body, Origin(origin), {}))
    return builder.inputs({})


@pytest.mark.parametrize(
    ("own", "custom", "chosen"),
    [
        (inputs("own"), inputs("custom"), "own"),
        (inputs("own"), inputs("custom", osVersion="another"), "own"),
        (inputs("own"), inputs("custom", "v1.0.1"), "custom"),
        (inputs("own", "v2.0.0"), inputs("custom"), "custom"),
        (inputs("own", labels=OURS), inputs("custom"), "custom"),
        (Inputs(), inputs("custom"), "custom"),
        (inputs("own"), Inputs(), "own"),
    ],
)
def test_another_version_replaces_a_profile_and_the_same_does_not(own: Inputs, custom: Inputs, chosen: str) -> None:
    assert with_custom_profiles(own, custom).profiles[KEY].manifest.origin.path == chosen


def test_a_broken_profile_of_kkp_counts_only_where_the_cluster_has_none() -> None:
    problem = Problem(Code.WRONG_TYPE, "it is broken")
    broken = Inputs(broken={REF: (problem,)})
    assert with_custom_profiles(inputs("own"), broken).broken == {}
    assert with_custom_profiles(Inputs(), broken).broken == {REF: (problem,)}


def test_a_profile_of_kkp_mends_a_broken_one() -> None:
    broken = Inputs(broken={REF: (Problem(Code.WRONG_TYPE, "it is broken"),)})
    found = with_custom_profiles(broken, inputs("custom"))
    assert (list(found.profiles), found.broken) == ([KEY], {})
