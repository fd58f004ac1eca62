"""``--changed-since`` works on the clusters whose inputs differ from a revision, and never on too few."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from osm_gitops.errors import Code
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.render.data import ROOT_TYPES
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.conformance_data import DATA
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_FLEET = """\
defaults: {overlays: [overlays/all], to: {git: {path: desired}}}
clusters:
- {name: own, from: clusters/own, overlays: [overlays/own]}
- {name: shared, from: {machineDeployments: clusters/shared, profiles: osps, facts: clusters/shared}}
- name: file
  from: {machineDeployments: clusters/file, profiles: osps, facts: clusters/file}
  settings: {hostCABundle: ca/host.pem}
- {name: linked, from: clusters/linked}
"""
_OVERLAY = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
_ALL = frozenset({"own", "shared", "file", "linked"})


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with four clusters that share some of their inputs, committed."""
    root = new_repository(tmp_path / "fleet")
    write_fleet(root, _FLEET)
    body = profile(script="#!/bin/sh\n: {{ .HostCACert }}\n")
    for name in _ALL:
        write_tree(root / "clusters" / name, pool())
    write_tree(root / "clusters" / "own", body)
    write_tree(root / "osps", body)
    for kind in ("ConfigMap", "Secret"):
        for path in (root / "osps").glob(f"{kind}-*"):
            path.unlink()
    write_tree(root / "elsewhere", body)
    link = root / "clusters" / "linked" / "profile.yaml"
    link.symlink_to("../../elsewhere/OperatingSystemProfile-osp-a.yaml")
    for name, more in (("all", ""), ("base", ""), ("own", "overlays: [../base]\n")):
        (root / "overlays" / name).mkdir(parents=True)
        (root / "overlays" / name / "overlay.yaml").write_text(f"{_OVERLAY}{more}", "utf-8")
    (root / "ca").mkdir()
    (root / "ca" / "host.pem").write_text((DATA / "ca.pem").read_text("utf-8"), "utf-8")
    (root / "ca" / "other.pem").write_text("nobody's\n", "utf-8")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "fleet")
    monkeypatch.chdir(root)
    return root


def _replaced(path: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        text = (root / path).read_text("utf-8")
        assert old in text
        (root / path).write_text(text.replace(old, new), "utf-8")

    return edit


def _appended(path: str, text: str) -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("a", encoding="utf-8") as file:
            file.write(text)

    return edit


_PATCH = 'settings: {pauseImage: "example.com/pause:1"}\n'
_EDITS: dict[str, tuple[Callable[[Path], None], AbstractSet[str]]] = {
    "a pool": (_replaced("clusters/own/MachineDeployment-workers.yaml", "1.34.2", "1.33.1"), frozenset({"own"})),
    "a fact": (_replaced("clusters/file/ConfigMap-cluster-info.yaml", "api.example.com", "b.example.com"), {"file"}),
    "a shared profile": (_replaced("osps/OperatingSystemProfile-osp-a.yaml", "24.04", "24.10"), {"shared", "file"}),
    "a linked profile": (_replaced("elsewhere/OperatingSystemProfile-osp-a.yaml", "24.04", "24.10"), {"linked"}),
    "an overlay of all": (_appended("overlays/all/overlay.yaml", _PATCH), _ALL),
    "a base": (_appended("overlays/base/overlay.yaml", _PATCH), {"own"}),
    "a file in a setting": (_appended("ca/host.pem", (DATA / "ca.pem").read_text("utf-8")), {"file"}),
    "a file of nobody": (_appended("ca/other.pem", "more"), frozenset()),
    "an entry": (
        _replaced("osm-gitops.yaml", "facts: clusters/shared}", "facts: clusters/shared}, settings: {pauseImage: x}"),
        {"shared"},
    ),
    "the defaults": (_replaced("osm-gitops.yaml", "defaults: {", "defaults: {settings: {pauseImage: x}, "), _ALL),
    "a line above": (_replaced("osm-gitops.yaml", "clusters:", "# clusters of all regions\nclusters:"), frozenset()),
    "recipients": (_appended("desired/.sops.yaml", "creation_rules: []\n"), _ALL),
    "a new file": (_appended("clusters/linked/more.yaml", "# nothing\n"), {"linked"}),
    "a new cluster": (_appended("osm-gitops.yaml", "- {name: new, from: clusters/own}\n"), {"new"}),
}


def _chosen(*more: str, since: str = "HEAD") -> set[str]:
    """The clusters that a plan works on, whatever is wrong in them."""
    ran = osm_gitops("plan", "--dangerously-plaintext-secrets", "--changed-since", since, "-o", "json", *more)
    assert " changed since " in ran.err, ran.err
    failed = {cluster for cluster in (*_ALL, "new") if f"cluster {cluster}" in ran.err}
    return {each["name"] for each in json.loads(ran.out)["clusters"]} | failed


def _render_differently() -> set[str]:
    """The clusters that render differently, found by rendering all of them twice."""
    ran = osm_gitops("plan", "--against", "HEAD", "-o", "json")
    clusters = json.loads(ran.out)["clusters"]
    return {each["name"] for each in clusters if any(change["action"] != "unchanged" for change in each["changes"])}


@pytest.mark.parametrize("edit", _EDITS)
def test_a_change_selects_the_clusters_that_it_concerns(fleet: Path, edit: str) -> None:
    change, expected = _EDITS[edit]
    change(fleet)
    assert _chosen() == expected
    if edit != "recipients":
        assert _render_differently() <= expected
    git(fleet, "add", ".")
    git(fleet, "commit", "--quiet", "-m", edit)
    assert _chosen() == set()
    assert _chosen(since="HEAD~1") == expected


@pytest.fixture
def _deep() -> None:
    """The first engine raises Python's limit of recursion, and hypothesis warns if a property does."""
    Engine(ROOT_TYPES)


@pytest.mark.usefixtures("_deep")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.sets(st.sampled_from([*_EDITS]), min_size=2, max_size=4))
def test_no_cluster_that_renders_differently_is_left_out(fleet: Path, edits: set[str]) -> None:
    git(fleet, "checkout", "--quiet", "--force", "HEAD")
    git(fleet, "clean", "--quiet", "-fd")
    for edit in sorted(edits):
        _EDITS[edit][0](fleet)
    assert _render_differently() <= _chosen()


def test_what_git_does_not_know_counts_as_changed(fleet: Path, tmp_path: Path) -> None:
    write_tree(tmp_path / "outside", profile(), pool())
    _appended("osm-gitops.yaml", "- {name: new, from: ../outside}\n")(fleet)
    git(fleet, "commit", "--quiet", "--all", "-m", "outside")
    assert _chosen() == {"new"}
    _replaced("osm-gitops.yaml", "from: ../outside", "from: clusters/own@main")(fleet)
    git(fleet, "commit", "--quiet", "--all", "-m", "a branch")
    assert _chosen() == {"new"}
    _replaced("osm-gitops.yaml", "from: clusters/own@main", "from: clusters/own, settings: {hostCABundle: ca/mine}")(
        fleet
    )
    _appended(".gitignore", "ca/mine\n")(fleet)
    _appended("ca/mine", (DATA / "ca.pem").read_text("utf-8"))(fleet)
    git(fleet, "add", ".")
    git(fleet, "commit", "--quiet", "-m", "an ignored file")
    assert _chosen() == {"new"}


def test_clusters_are_selected_by_name_and_by_change(fleet: Path) -> None:
    _EDITS["a shared profile"][0](fleet)
    assert _chosen("--cluster", "s*") == {"shared"}
    assert _chosen("--cluster", "own") == set()


def test_a_saved_plan_keeps_its_selection(fleet: Path) -> None:
    _EDITS["a pool"][0](fleet)
    git(fleet, "commit", "--quiet", "--all", "-m", "a pool")
    plaintext = "--dangerously-plaintext-secrets"
    ran = osm_gitops("plan", plaintext, "--changed-since", "HEAD~1", "--out", "plan.json")
    assert ran.code == 0, ran.err
    assert osm_gitops("apply", "plan.json", "--yes", plaintext).code == 0
    assert {path.name for path in (fleet / "desired").iterdir()} == {"own"}


def test_newer_commits_that_a_push_finds_do_not_move_the_revision(fleet: Path, tmp_path: Path) -> None:
    remote, other = tmp_path / "remote.git", tmp_path / "other"
    git(tmp_path, "clone", "--quiet", "--bare", str(fleet), str(remote))
    git(fleet, "remote", "add", "origin", str(remote))
    _EDITS["a pool"][0](fleet)
    git(fleet, "commit", "--quiet", "--all", "-m", "a pool")
    git(fleet, "push", "--quiet", "--set-upstream", "origin", "main")
    git(tmp_path, "clone", "--quiet", str(remote), str(other))
    (other / "README.md").write_text("newer\n", "utf-8")
    git(other, "commit", "--quiet", "--all", "-m", "newer")
    git(other, "push", "--quiet")
    ran = osm_gitops("apply", "--yes", "--push", "--dangerously-plaintext-secrets", "--changed-since", "HEAD~1")
    assert (ran.code, [path.name for path in (fleet / "desired").iterdir()]) == (0, ["own"]), ran.err


@pytest.mark.usefixtures("fleet")
def test_a_revision_that_cannot_be_compared_is_an_error(tmp_path: Path) -> None:
    ran = osm_gitops("plan", "--changed-since", "nowhere")
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [Expected(Code.REVISION_NOT_FOUND)]
    ran = osm_gitops("plan", "--from", "clusters/own", "--to", "desired", "--changed-since", "HEAD")
    assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT)]
    write_fleet(tmp_path / "plain", "clusters: [{name: a, from: ., to: {git: {path: d}}}]\n")
    ran = osm_gitops("plan", "--fleet", str(tmp_path / "plain" / "osm-gitops.yaml"), "--changed-since", "HEAD")
    assert told(ran.err) == [Expected(Code.NO_WORK_TREE)]
