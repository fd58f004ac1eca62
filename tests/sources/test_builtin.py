"""Default profiles: composed of sources and parts, self-contained, every fault with its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.render.config import compile_profile
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.manifests import profile_object
from osm_gitops.sources import builtin
from osm_gitops.sources.composing import references
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from osm_gitops.yaml.emit import dump
from tests.faults import Expected, placed
from tests.profiles.sets import SOURCE, write_set


def compose(folder: Path, parts: Mapping[str, str], source: str = SOURCE) -> list[Problem]:
    """The problems of the only profile of a set."""
    write_set(folder, {"osp-a": source}, parts)
    return list(builtin.read_builtin("osp-a", "v2.0.0", "kube-system").problems)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "FOLDER", tmp_path / "osps")


PARTS = {"greet.sh": 'echo hello\n{% include "name.sh" %}\n', "name.sh": "echo {{ KubeVersion }}\n", "unused": "x"}


def test_a_half_gets_the_parts_that_it_needs_and_those_that_these_need(tmp_path: Path) -> None:
    write_set(tmp_path / "osps", {"osp-a": SOURCE}, PARTS)
    profile = builtin.read_builtin("osp-a", "v2.0.0", "cluster-1").value
    assert profile is not None
    assert dict(profile.bootstrap.templates) == {name: PARTS[name] for name in ("greet.sh", "name.sh")}
    assert dict(profile.provisioning.templates) == {"name.sh": PARTS["name.sh"]}
    assert (profile.version, profile.namespace) == ("v2.0.0", "cluster-1")
    assert profile.manifest.body["spec"]["version"] == "v2.0.0"
    assert profile.manifest.body["metadata"]["annotations"] == {
        "osm-gitops.io/template": "jinja2/v1",
        "osm-gitops.io/built-in": "v2.0.0",
    }


def test_what_is_composed_renders_from_its_own_manifest_alone(tmp_path: Path) -> None:
    write_set(tmp_path / "osps", {"osp-a": SOURCE}, PARTS)
    profile = builtin.read_builtin("osp-a", "v2.0.0", "kube-system").value
    assert profile is not None
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "osp.yaml").write_text(dump(profile_object(profile).body), "utf-8")
    read = read_tree(Folder(tree, "tree"), management_namespace="kube-system", environment={})
    alone = read.profiles["kube-system", "osp-a"]
    assert (alone.bootstrap, alone.provisioning) == (profile.bootstrap, profile.provisioning)
    compile_profile(Engine(ROOT_TYPES), alone)


def test_a_missing_part_is_told_where_it_is_named(tmp_path: Path) -> None:
    assert compose(tmp_path / "osps", {"greet.sh": 'echo\n{% include "name.sh" %}\n'}) == [
        Expected(Code.BUILT_IN_PROFILE_INVALID, f"{place}: OperatingSystemProfile osp-a: ", "name.sh")
        for place in ("builtin:parts/greet.sh@v2.0.0:2", "builtin:osp-a@v2.0.0:25")
    ]


def test_a_computed_name_is_refused(tmp_path: Path) -> None:
    assert placed(compose(tmp_path / "osps", {**PARTS, "name.sh": "\n{% include OSName %}\n"})) == [
        (Code.BUILT_IN_PROFILE_INVALID, "builtin:parts/name.sh@v2.0.0:2: OperatingSystemProfile osp-a")
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a\n{%- include 'x' -%}\n", [("x", 2)]),
        ('{% from "x" import a, b with context %}{% import "y" as y %}', [("x", 1), ("y", 1)]),
        ('{# {% include "x" %}\n#}\n{% extends "y" %}', [("y", 3)]),
        ("{% include ['x', 'y'] %}", [("", 1)]),
        ('{% include x if y else "z" %}', [("", 1)]),
        ('{% if include == "x" %}{{ from }}{% endif %} include "y"', []),
    ],
)
def test_parts_are_named_by_statements_alone(text: str, named: list[tuple[str, int]]) -> None:
    assert list(references(text)) == named


@pytest.mark.parametrize("wrong", ["b {% if %}", "{{ x | nothing }}"])
def test_a_fault_while_a_part_is_compiled_is_told_in_the_part(tmp_path: Path, wrong: str) -> None:
    write_set(tmp_path / "osps", {"osp-a": SOURCE}, {**PARTS, "name.sh": f"a\n{wrong}\n"})
    profile = builtin.read_builtin("osp-a", "v2.0.0", "kube-system").value
    assert profile is not None
    with pytest.raises(InputError) as caught:
        compile_profile(Engine(ROOT_TYPES), profile)
    assert {problem.where for problem in caught.value.problems} == {"builtin:parts/name.sh@v2.0.0:2"}


def test_versions_ascend_by_number_and_an_unknown_one_is_answered_with_those_there_are(tmp_path: Path) -> None:
    for version in ("v2.10.0", "v2.9.0", "v2.9.0-rc.1", "drafts"):
        write_set(tmp_path / "osps", {"osp-a": SOURCE}, PARTS, version)
    assert builtin.versions() == ("v2.9.0-rc.1", "v2.9.0", "v2.10.0")
    assert builtin.newest() == "v2.10.0"
    assert builtin.names("v2.9.0") == ("osp-a",)
    (problem,) = builtin.read_builtin("osp-a", "v3.0.0", "kube-system").problems
    assert problem == Expected(Code.UNKNOWN_PROFILES_VERSION, "v2.9.0-rc.1, v2.9.0, v2.10.0")


def test_a_name_that_is_not_there_gets_the_nearest_one(tmp_path: Path) -> None:
    write_set(tmp_path / "osps", {"osp-ubuntu": SOURCE.replace("osp-a", "osp-ubuntu")}, PARTS)
    (problem,) = builtin.read_builtin("osp-ubunut", "v2.0.0", "kube-system").problems
    assert problem == Expected(Code.PROFILE_NOT_FOUND, " osp-ubuntu?")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            ("name: osp-a", "name: osp-b"),
            Expected(Code.BUILT_IN_PROFILE_INVALID, "builtin:osp-a@v2.0.0:4: OperatingSystemProfile osp-b: "),
        ),
        (("jinja2/v1", "go"), Expected(Code.BUILT_IN_PROFILE_INVALID, "osm-gitops.io/template: jinja2/v1")),
        (
            ("osName: ubuntu", "osName: ubuntu\n  version: v1.0.0"),
            Expected(Code.BUILT_IN_PROFILE_INVALID, "builtin:osp-a@v2.0.0:9: "),
        ),
        (("osName: ubuntu", "osName: beos"), Expected(Code.INVALID_VALUE, "builtin:osp-a@v2.0.0:8: ")),
    ],
)
def test_a_file_that_is_no_source_is_refused(tmp_path: Path, change: tuple[str, str], fault: Expected) -> None:
    (problem, *_) = compose(tmp_path / "osps", PARTS, SOURCE.replace(*change))
    assert problem == fault


def test_the_profiles_that_are_shipped_compose_without_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "FOLDER", builtin.data_folder("osps"))
    for version in builtin.versions():
        for name in builtin.names(version):
            checked = builtin.read_builtin(name, version, "kube-system")
            assert (checked.problems, checked.warnings) == ((), ())
            assert checked.value is not None
            assert yaml.safe_load(dump(profile_object(checked.value).body))["spec"]["version"] == version
