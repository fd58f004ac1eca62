"""``osm-gitops osp list`` and ``show``: which profiles there are, who uses them, and what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.sops.document import encrypt
from osm_gitops.sops.keys import new_identity
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.sources import builtin
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, secret, write_fleet, write_tree
from tests.cli.schemas import checked
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_OWN = ("--disable-default-osps",)
_HEADS = ("PROFILE", "OS", "VERSION", "TEMPLATES", "POOLS", "CLUSTERS", "PROVIDERS")


def _table(text: str) -> list[tuple[str, ...]]:
    """Rows without their heads, cells by the columns that the heads begin."""
    head, *lines = text.splitlines()
    assert tuple(head.split()) == _HEADS
    starts = [head.index(name) for name in _HEADS]
    ends = [*starts[1:], None]
    return [tuple(line[start:end].strip() for start, end in zip(starts, ends, strict=True)) for line in lines]


def _jinja(name: str) -> dict[str, object]:
    body = profile(name, script="{{ Token }}", provisioningConfig={})
    body["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
    return body


def test_a_list_tells_of_each_profile_and_how_many_pools_use_it(tmp_path: Path) -> None:
    other = profile("osp-b", osVersion="22.04", supportedCloudProviders=[{"name": "aws"}, {"name": "hetzner"}])
    write_tree(tmp_path / "tree", profile(), other, _jinja("osp-c"), pool("a"), pool("b"), pool("c", profile="osp-c"))
    ran = osm_gitops("osp", "list", *_OWN, "--from", "tree")
    assert (ran.code, ran.err) == (0, "")
    assert _table(ran.out) == [
        ("kube-system/osp-a", "ubuntu 24.04", "v1.0.0", "go", "2", "default", "hetzner"),
        ("kube-system/osp-b", "ubuntu 22.04", "v1.0.0", "go", "0", "default", "aws, hetzner"),
        ("kube-system/osp-c", "ubuntu 24.04", "v1.0.0", "jinja2/v1", "1", "default", "hetzner"),
    ]


def test_pools_without_a_profile_count_for_the_one_that_they_would_get(tmp_path: Path) -> None:
    plain = pool("a")
    del plain["metadata"]["annotations"]["k8c.io/operating-system-profile"]
    strange = pool("b", operatingSystem="plan9")
    del strange["metadata"]["annotations"]["k8c.io/operating-system-profile"]
    write_tree(tmp_path / "tree", profile("osp-ubuntu"), plain, strange)
    assert _table(osm_gitops("osp", "list", *_OWN, "--from", "tree").out)[0][4] == "1"


def test_profiles_that_clusters_share_are_listed_once(tmp_path: Path) -> None:
    write_tree(tmp_path / "osps", profile())
    for name in ("one", "two", "three", "four", "five"):
        write_tree(tmp_path / name, pool(name))
    write_tree(tmp_path / "own", profile(version="v2.0.0"), pool("own"))
    shared = [
        f"{{name: {name}, from: {{machineDeployments: {name}, profiles: osps}}}}"
        for name in ("one", "two", "three", "four", "five")
    ]
    write_fleet(tmp_path, f"clusters: [{', '.join(shared)}, {{name: own, from: own}}]")
    assert [row[1:6] for row in _table(osm_gitops("osp", "list", *_OWN).out)] == [
        ("ubuntu 24.04", "v1.0.0", "go", "5", "one, two, three and 2 more"),
        ("ubuntu 24.04", "v2.0.0", "go", "1", "own"),
    ]
    assert len(_table(osm_gitops("osp", "list", *_OWN, "--cluster", "own").out)) == 1
    listed = checked("profiles", osm_gitops("osp", "list", *_OWN, "-o", "json").out)
    assert [entry["cluster"] for entry in listed["profiles"]] == ["one", "two", "three", "four", "five", "own"]


def test_a_profile_that_an_overlay_changes_for_one_cluster_has_a_line_of_its_own(tmp_path: Path) -> None:
    write_tree(tmp_path / "osps", profile())
    for name in ("one", "two", "three"):
        write_tree(tmp_path / name, pool(name))
    (tmp_path / "ov").mkdir()
    patch = "patches:\n- {target: {name: osp-a}, merge: {spec: {osVersion: '26.04'}}}\n"
    head = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
    (tmp_path / "ov" / "overlay.yaml").write_text(head + patch, "utf-8")
    clusters = [
        f"{{name: {name}, from: {{machineDeployments: {name}, profiles: osps}}, overlays: {overlays}}}"
        for name, overlays in (("one", "[]"), ("two", "[ov]"), ("three", "[]"))
    ]
    write_fleet(tmp_path, f"clusters: [{', '.join(clusters)}]")
    plain, patched = _table(osm_gitops("osp", "list", *_OWN).out)
    assert plain[1:6] == ("ubuntu 24.04", "v1.0.0", "go", "2", "one, three")
    assert (patched[1], patched[4], patched[5]) == ("ubuntu 26.04", "1", "two")
    assert patched[2].startswith("v1.0.0+ov.")


def test_a_list_for_programs_names_the_pools_and_the_place(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool("a"), pool("b", namespace="other"))
    listed = checked("profiles", osm_gitops("osp", "list", *_OWN, "--from", "tree", "--output", "json").out)
    assert listed == {
        "formatVersion": "2.1",
        "profiles": [
            {
                "cluster": "default",
                "namespace": "kube-system",
                "name": "osp-a",
                "where": "tree/OperatingSystemProfile-osp-a.yaml:1",
                "osName": "ubuntu",
                "osVersion": "24.04",
                "version": "v1.0.0",
                "builtIn": False,
                "provisioningUtility": "cloud-init",
                "supportedCloudProviders": ["hetzner"],
                "templates": "go",
                "pools": ["kube-system/a", "other/b"],
            }
        ],
    }


def test_a_tree_at_a_revision_is_listed_and_shown(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repo")
    write_tree(repository / "tree", profile())
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "first")
    write_tree(repository / "tree", profile(version="v9.0.0"))
    assert _table(osm_gitops("osp", "list", *_OWN, "--from", "repo/tree@HEAD").out)[0][2] == "v1.0.0"
    assert "version: v1.0.0\n" in osm_gitops("osp", "show", "osp-a", "--from", "repo/tree@HEAD").out


def test_what_may_hide_profiles_is_an_error_of_a_list_and_a_warning_of_a_profile_that_is_found(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), profile("osp-b", version="one"))
    (tmp_path / "tree" / "broken.yaml").write_text("kind: OperatingSystemProfile\napiVersion: [", "utf-8")
    listed = osm_gitops("osp", "list", *_OWN, "--from", "tree")
    assert (listed.code, len(_table(listed.out))) == (1, 1)
    assert listed.err.count("Error: tree/") == 2
    shown = osm_gitops("osp", "show", "osp-a", "--from", "tree")
    assert (shown.code, shown.err.count("Warning: tree/")) == (0, 2)
    missing = osm_gitops("osp", "show", "osp-b", "--from", "tree")
    assert (missing.code, missing.out) == (1, "")
    assert Expected(Code.INVALID_VALUE, "spec.version: ") in told(missing.err)


def test_nothing_is_said_to_be_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool())
    ran = osm_gitops("osp", "list", *_OWN, "--from", "tree")
    assert (ran.code, ran.out, ran.err) == (0, "", "There are no profiles in these sources.\n")
    assert json.loads(osm_gitops("osp", "list", *_OWN, "--from", "tree", "-o", "json").out)["profiles"] == []


def test_a_profile_is_shown_with_the_defaults_of_its_crd_and_without_what_a_server_adds(tmp_path: Path) -> None:
    body = profile()
    body["metadata"] = {"name": "osp-a", "uid": "1", "resourceVersion": "2", "annotations": {"mine": "x"}}
    del body["spec"]["bootstrapConfig"]["files"][0]["permissions"]
    body["spec"]["provisioningConfig"] = {
        "supportedContainerRuntimes": [
            {"name": "containerd", "files": [{"path": "/c", "content": {"inline": {"data": "x"}}}]}
        ]
    }
    write_tree(tmp_path / "tree", body)
    ran = osm_gitops("osp", "show", "osp-a", "--from", "tree")
    assert (ran.code, ran.err) == (0, "")
    shown = yaml.safe_load(ran.out)
    assert shown["metadata"] == {"name": "osp-a", "namespace": "kube-system", "annotations": {"mine": "x"}}
    assert shown["spec"]["provisioningUtility"] == "cloud-init"
    assert shown["spec"]["bootstrapConfig"]["files"][0]["permissions"] == 644
    assert shown["spec"]["provisioningConfig"]["supportedContainerRuntimes"][0]["files"][0]["permissions"] == 644
    assert "          data: |\n            #!/bin/sh\n" in ran.out
    assert json.loads(osm_gitops("osp", "show", "kube-system/osp-a", "--from", "tree", "-o", "json").out) == shown
    write_tree(tmp_path / "again", shown)
    assert osm_gitops("osp", "show", "osp-a", "--from", "again").out == ran.out


def test_an_unknown_name_gets_a_suggestion_or_the_list(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile("osp-ubuntu"), profile("osp-rhel"))
    ran = osm_gitops("osp", "show", "osp-ubunto", "--from", "tree")
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [Expected(Code.UNKNOWN_PROFILE, "OperatingSystemProfile", "osp-ubunto", "osp-ubuntu?")]
    ran = osm_gitops("osp", "show", "x", "--from", "tree", *_OWN)
    assert Expected(Code.UNKNOWN_PROFILE, "kube-system/osp-rhel", "kube-system/osp-ubuntu") in told(ran.err)


def test_a_name_that_means_different_profiles_is_refused(tmp_path: Path) -> None:
    other = profile(version="v2.0.0")
    other["metadata"]["namespace"] = "other"
    write_tree(tmp_path / "a", profile())
    write_tree(tmp_path / "b", profile())
    write_tree(tmp_path / "c", other)
    write_fleet(tmp_path, "clusters: [{name: a, from: a}, {name: b, from: b}, {name: c, from: c}]")
    ran = osm_gitops("osp", "show", "osp-a")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.PROFILE_DIFFERS, "kube-system/osp-a", "other/osp-a") in told(ran.err)
    assert "version: v1.0.0\n" in osm_gitops("osp", "show", "kube-system/osp-a").out
    assert "version: v2.0.0\n" in osm_gitops("osp", "show", "osp-a", "--cluster", "c").out


def test_no_key_is_needed_and_nothing_encrypted_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, recipient = new_identity()
    rule = Rule((recipient,), Selection(encrypted_regex="^(data|stringData)$"), "--age-recipient")
    tree = write_tree(tmp_path / "tree", profile(script="password={{ .Token }} hunter2-hunter2"))
    for body in (secret("other", "default", {"a": "hunter2-hunter3"}), profile("osp-b", script="hunter2-hunter4")):
        text = json.dumps(encrypt(body, rule, now="2026-01-01T00:00:00Z"))
        (tree / f"{body['metadata']['name']}.json").write_text(text, "utf-8")
    (tmp_path / "key").write_text(key, "utf-8")
    for environment in ("", str(tmp_path / "key")):
        monkeypatch.setenv("SOPS_AGE_KEY_FILE", environment)
        assert osm_gitops("osp", "list", *_OWN, "--from", "tree").code == 0
        assert "hunter2-hunter2" in osm_gitops("osp", "show", "osp-a", "--from", "tree").out
        ran = osm_gitops("osp", "show", "osp-b", "--from", "tree")
        assert ran.code == 0
        assert "hunter2" not in ran.out
        assert ran.err == "Some values are encrypted in the source: placeholders are shown for them.\n"


def test_built_in_profiles_are_listed_with_the_pools_that_use_them_unless_the_source_has_the_name(
    tmp_path: Path,
) -> None:
    write_tree(tmp_path / "tree", profile("osp-rhel"), pool("a", profile="osp-ubuntu"), pool("b", profile="osp-rhel"))
    ran = osm_gitops("osp", "list", "--from", "tree")
    assert (ran.code, ran.err) == (0, "")
    rows = {row[0]: row[1:6] for row in _table(ran.out)}
    assert set(rows) == {f"kube-system/{name}" for name in builtin.names(builtin.newest())}
    assert rows["kube-system/osp-rhel"] == ("ubuntu 24.04", "v1.0.0", "go", "1", "default")
    assert rows["kube-system/osp-ubuntu"][1:4] == (f"{builtin.newest()} (built-in)", "jinja2/v1", "1")
    listed = json.loads(osm_gitops("osp", "list", "--from", "tree", "-o", "json").out)["profiles"]
    assert {each["name"]: each["builtIn"] for each in listed}["osp-ubuntu"] is True


def test_built_in_profiles_are_at_hand_without_any_source() -> None:
    listed = osm_gitops("osp", "list")
    assert (listed.code, len(_table(listed.out))) == (0, len(builtin.names(builtin.newest())))
    shown = osm_gitops("osp", "show", "osp-ubuntu")
    assert shown.code == 0
    assert f"osm-gitops.io/built-in: {builtin.newest()}" in shown.out
    assert osm_gitops("osp", "show", f"osp-ubuntu@{builtin.newest()}").out == shown.out
    assert osm_gitops("osp", "list", *_OWN).err == "There are no profiles in these sources.\n"


def test_an_unknown_version_of_the_built_in_profiles_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    there = ", ".join(builtin.versions())
    assert told(osm_gitops("osp", "list", "--profiles-version", "v9.9.9").err) == [
        Expected(Code.UNKNOWN_PROFILES_VERSION, "--profiles-version", "v9.9.9", there)
    ]
    assert told(osm_gitops("osp", "show", "osp-ubuntu@v9.9.9").err) == [
        Expected(Code.UNKNOWN_PROFILES_VERSION, "v9.9.9", there)
    ]
    write_tree(tmp_path / "tree", pool())
    write_fleet(tmp_path, "defaults: {profilesVersion: v9.9.9}\nclusters: [{name: one, from: tree}]")
    assert told(osm_gitops("osp", "list").err) == [
        Expected(Code.UNKNOWN_PROFILES_VERSION, "osm-gitops.yaml:3", "defaults.profilesVersion", "v9.9.9", there)
    ]
