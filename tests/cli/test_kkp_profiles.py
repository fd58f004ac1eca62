"""``osm-gitops kkp apply-profiles``: CustomOperatingSystemProfiles come from git, by KKP's rule of versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from tests.apiserver.client import Object, Refused
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import file, profile
from tests.faults import Expected, told
from tests.git.repos import new_repository
from tests.kkp.scene import Scene
from tests.kkp.seed import NAMESPACE, Seed

_PATH = f"/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/{NAMESPACE}/customoperatingsystemprofiles"


@pytest.fixture
def scene(seed: Seed, tmp_path: Path) -> Scene:
    """A fleet file that names the folder osps, with one profile."""
    made = Scene(seed, new_repository(tmp_path / "fleet"))
    _write(made, profile("osp-mine"))
    made.fleet(profiles="osps")
    return made


def _write(scene: Scene, body: Object, name: str = "mine.yaml") -> None:
    (scene.folder / "osps").mkdir(exist_ok=True)
    (scene.folder / "osps" / name).write_text(yaml.safe_dump(body), "utf-8")


def _apply(scene: Scene, *more: str) -> Ran:
    fleet = str(scene.folder / "osm-gitops.yaml")
    return osm_gitops("kkp", "apply-profiles", "--yes", "--fleet", fleet, *more)


def _there(scene: Scene, name: str = "osp-mine") -> Object:
    return scene.seed.server.client().get(f"{_PATH}/{name}")


def _custom(**spec: Any) -> Object:
    """A CustomOperatingSystemProfile that somebody made by hand."""
    body = profile("osp-mine", **spec)
    metadata = {"name": "osp-mine", "namespace": NAMESPACE}
    return body | {"kind": "CustomOperatingSystemProfile", "metadata": metadata}


def test_profiles_are_written_and_then_nothing_is_left_to_do(scene: Scene) -> None:
    ran = _apply(scene)
    assert (ran.code, told(ran.err)) == (0, []), ran.err
    assert "+ create CustomOperatingSystemProfile osp-mine v1.0.0\n" in ran.out
    found = _there(scene)
    assert found["spec"]["bootstrapConfig"] == profile("osp-mine")["spec"]["bootstrapConfig"]
    assert found["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "osm-gitops"}
    before = found["metadata"]["resourceVersion"]
    ran = _apply(scene)
    assert ran.code == 0
    assert ": 0 profiles to write\n" in ran.out
    assert _there(scene)["metadata"]["resourceVersion"] == before


def test_another_version_replaces_what_is_there_and_the_difference_is_shown(scene: Scene) -> None:
    assert _apply(scene).code == 0
    changed = [file("/opt/bin/bootstrap", "#!/bin/sh\necho changed\n")]
    _write(scene, profile("osp-mine", version="v0.9.0", bootstrapConfig={"files": changed}))
    ran = _apply(scene)
    assert (ran.code, told(ran.err)) == (0, []), ran.err
    assert "~ update CustomOperatingSystemProfile osp-mine: v1.0.0 -> v0.9.0\n" in ran.out
    assert "+echo changed" in ran.out
    assert _there(scene)["spec"]["bootstrapConfig"]["files"] == changed


def test_content_that_changes_under_the_same_version_is_refused(scene: Scene) -> None:
    assert _apply(scene).code == 0
    _write(scene, profile("osp-mine", osVersion="26.04"))
    _write(scene, profile("osp-new"), "new.yaml")
    ran = _apply(scene)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.PROFILE_VERSION_UNCHANGED, "osp-mine", "v1.0.0")]
    assert _there(scene)["spec"]["osVersion"] == "24.04"
    with pytest.raises(Refused, match="404"):
        _there(scene, "osp-new")


def test_one_of_somebody_else_is_left_alone_unless_it_is_the_same_or_taken_over(scene: Scene) -> None:
    client = scene.seed.server.client()
    client.create(_custom())
    assert ": 0 profiles to write\n" in _apply(scene).out
    assert "labels" not in _there(scene)["metadata"]
    _write(scene, profile("osp-mine", version="v1.1.0", osVersion="26.04"))
    ran = _apply(scene)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.PROFILE_NAME_TAKEN, "osp-mine", "--take-over")]
    assert _there(scene)["spec"]["version"] == "v1.0.0"
    assert _apply(scene, "--take-over").code == 0
    assert _there(scene)["spec"]["version"] == "v1.1.0"


def test_what_cannot_be_used_in_a_user_cluster_is_told_all_at_once(scene: Scene) -> None:
    jinja = profile("osp-jinja")
    jinja["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
    other = profile("osp-mine")
    other["metadata"]["namespace"] = "elsewhere"
    for name, body in (("jinja.yaml", jinja), ("other.yaml", other), ("broken.yaml", profile("osp-x", osName="os"))):
        _write(scene, body, name)
    ran = _apply(scene)
    assert ran.code == 1
    assert sorted(code.name for code, _ in told(ran.err)) == [
        *("DUPLICATE_OBJECT", "INVALID_VALUE", "JINJA_PROFILE_BESIDE_OSM")
    ]
    assert scene.seed.server.client().get(_PATH)["items"] == []


def test_a_fleet_file_without_profiles_for_a_seed_is_refused(scene: Scene) -> None:
    scene.fleet()
    assert told(_apply(scene).err) == [Expected(Code.NO_SOURCE, "kkp.profiles")]
