"""The kubelet's version (osm-behaviour.md, "Kubelet version" and "Cloud provider")."""

from __future__ import annotations

import pytest

from osm_gitops.errors import InputError
from osm_gitops.render.resolve.machine_spec import kube_version, needs_no_cloud_config, satisfies


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1", "v1.0.0"),
        ("1.30", "v1.30.0"),
        ("v1.33.4", "v1.33.4"),
        ("01.030.1", "v1.30.1"),
        ("1.30.5+k3s1", "v1.30.5+k3s1"),
        ("1.29.0-rc.1", "v1.29.0-rc.1"),
    ],
)
def test_a_version_is_normalised(text: str, version: str) -> None:
    assert kube_version(text) == version


@pytest.mark.parametrize("text", ["", "V1.30.0", " 1.30.0", "1.30.x", "1.2.3.4", "1.30.0-01", "1.30\n", "latest"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(InputError) as error:
        kube_version(text)
    assert error.value.problems[0].field == "spec.template.spec.versions.kubelet"


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("1.28.9", False),
        ("1.29", True),
        ("1.29.0", True),
        ("v1.34.2", True),
        ("1.29.0-rc.1", False),
        ("1.40.0-a", False),
    ],
)
def test_from_1_29_on_there_is_no_cloud_config_but_for_prereleases(text: str, without: bool) -> None:
    assert needs_no_cloud_config(text) is without


def test_a_version_is_held_against_a_constraint() -> None:
    assert satisfies("1.28.9", "~1.9.10 || >=1.12.*")
    assert not satisfies("1", "~1.9.10 || >=1.12.*")
