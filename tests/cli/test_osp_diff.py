"""``osm-gitops osp diff``: two profiles, text by text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.sources import builtin
from tests.cli.running import osm_gitops
from tests.cli.scenes import profile, write_fleet, write_tree
from tests.cli.schemas import checked
from tests.faults import Expected, told
from tests.git.repos import git, new_repository
from tests.profiles.sets import SOURCE, write_set


@pytest.fixture(autouse=True)
def _sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``osp-a`` in two versions that differ in one part."""
    for version, name in (("v2.0.0", "one"), ("v2.1.0", "two")):
        parts = {"greet.sh": f"#!/bin/sh\necho {name}\n", "name.sh": "echo {{ KubeVersion }}\n"}
        write_set(tmp_path / "sets", {"osp-a": SOURCE}, parts, version)
    monkeypatch.setattr(builtin, "FOLDER", tmp_path / "sets")


def _file(path: Path, body: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(body, sort_keys=False), "utf-8")


def test_two_versions_of_a_built_in_profile_differ_in_the_part_that_changed() -> None:
    ran = osm_gitops("osp", "diff", "osp-a@v2.0.0", "osp-a@v2.1.0")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "~ metadata\n"
        "    @@ -1 +1 @@\n"
        "    -annotations.osm-gitops.io/built-in: v2.0.0\n"
        "    +annotations.osm-gitops.io/built-in: v2.1.0\n"
        "~ bootstrap template greet.sh\n"
        "    @@ -1,2 +1,2 @@\n"
        "     #!/bin/sh\n"
        "    -echo one\n"
        "    +echo two\n"
        "~ version\n"
        "    @@ -1 +1 @@\n"
        "    -v2.0.0\n"
        "    +v2.1.0\n"
        "0 new, 3 changed, 0 gone.\n"
    )


def test_a_name_alone_is_the_profile_at_hand(tmp_path: Path) -> None:
    assert osm_gitops("osp", "diff", "osp-a@v2.1.0", "osp-a").out == "No differences.\n"
    assert osm_gitops("osp", "diff", "osp-a@v2.0.0", "osp-a", "--profiles-version", "v2.0.0").out == "No differences.\n"
    write_tree(tmp_path / "tree", profile())
    write_fleet(tmp_path, "clusters: [{name: one, from: tree}]")
    ran = osm_gitops("osp", "diff", "kube-system/osp-a", "osp-a@v2.1.0")
    assert ran.code == 0
    assert "    -v1.0.0\n    +v2.1.0\n" in ran.out


def test_files_units_and_fields_that_are_new_or_gone_are_told_by_name(tmp_path: Path) -> None:
    before, after = profile(), profile()
    before["spec"]["provisioningConfig"] = {"units": [{"name": "a.service", "content": "[Unit]\n"}]}
    after["spec"]["bootstrapConfig"] = {}
    _file(tmp_path / "before.yaml", before)
    _file(tmp_path / "after.yaml", after)
    ran = osm_gitops("osp", "diff", "before.yaml", "after.yaml", "-o", "json")
    told = checked("profile-diff", ran.out)
    assert (told["formatVersion"], told["before"], told["after"], told["differ"]) == (
        "2.1",
        "before.yaml",
        "after.yaml",
        True,
    )
    states = {change["name"]: change["state"] for change in told["changes"]}
    assert states["bootstrap /opt/bin/bootstrap"] == "gone"
    assert states["provisioning /opt/bin/setup"] == "new"
    assert states["provisioning unit a.service"] == "gone"
    same = checked("profile-diff", osm_gitops("osp", "diff", "after.yaml", "after.yaml", "-o", "json").out)
    assert (same["differ"], same["changes"]) == (False, [])


def test_defaults_that_are_written_out_are_no_difference(tmp_path: Path) -> None:
    body = profile()
    del body["spec"]["bootstrapConfig"]["files"][0]["permissions"]
    _file(tmp_path / "short.yaml", body)
    body["spec"]["bootstrapConfig"]["files"][0]["permissions"] = 644
    body["spec"]["provisioningUtility"] = "cloud-init"
    _file(tmp_path / "long.yaml", body)
    assert osm_gitops("osp", "diff", "short.yaml", "long.yaml").out == "No differences.\n"


def test_a_file_is_compared_with_what_git_has_of_it(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repo")
    _file(repository / "osp.yaml", profile())
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "first")
    _file(repository / "osp.yaml", profile(version="v1.0.1"))
    out = osm_gitops("osp", "diff", "repo/osp.yaml@HEAD", "repo/osp.yaml").out
    assert out == "~ version\n    @@ -1 +1 @@\n    -v1.0.0\n    +v1.0.1\n0 new, 1 changed, 0 gone.\n"


@pytest.mark.parametrize(
    ("side", "fault"),
    [
        ("none.yaml", Expected(Code.SOURCE_NOT_FOUND, "none.yaml: ")),
        ("empty.yaml", Expected(Code.NO_PROFILE_IN_FILE, "empty.yaml: ")),
        ("tree", Expected(Code.SEVERAL_PROFILES_IN_FILE, "tree: ", "kube-system/osp-a, kube-system/osp-b")),
        ("osp-a@v9.0.0", Expected(Code.UNKNOWN_PROFILES_VERSION, '"v9.0.0"', "v2.0.0, v2.1.0")),
        ("osp-x@v2.0.0", Expected(Code.PROFILE_NOT_FOUND, '"osp-x"', "v2.0.0")),
        ("osp-b", Expected(Code.UNKNOWN_PROFILE, '"osp-b"', "osp-a?")),
    ],
)
def test_a_side_that_is_not_one_profile_is_refused(tmp_path: Path, side: str, fault: Expected) -> None:
    (tmp_path / "empty.yaml").write_text("a: b\n", "utf-8")
    write_tree(tmp_path / "tree", profile(), profile("osp-b"))
    ran = osm_gitops("osp", "diff", "osp-a", side)
    assert (ran.code, ran.out) == (1, "")
    assert fault in told(ran.err)
