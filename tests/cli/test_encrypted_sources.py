"""``render``, ``plan`` and ``apply`` from trees whose manifests are SOPS files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from osm_gitops.errors import Code
from tests.cli.running import osm_gitops
from tests.cli.scenes import objects_of, pool, profile, secret, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository
from tests.sources.sealed import KEY_FILE, RECIPIENT, sealed

_RULES = f"creation_rules:\n- encrypted_regex: ^(data|stringData|token)$\n  age: {RECIPIENT}\n"
_REGISTRIES = secret("registries", "kube-system", {"a.example.com": '{"username": "u-12345", "password": "p-12345"}'})
_WITH_REGISTRIES = ("--node-registry-credentials-secret", "kube-system/registries")


def encrypt_in_place(tree: Path) -> None:
    """As ``sops encrypt --in-place`` would: Secrets, ConfigMaps, and tokens in provider specs."""
    for path in tree.rglob("*.yaml"):
        text = path.read_text()
        if "sops:" not in text and yaml.safe_load(text)["kind"] != "OperatingSystemProfile":
            path.write_text(sealed(text, "^(data|stringData|token)$"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree", profile(), pool("a", cloudProviderSpec={"token": "hcloud-1"}), _REGISTRIES)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(KEY_FILE))


@pytest.mark.usefixtures("key")
def test_an_encrypted_tree_renders_as_the_plain_one(tree: Path) -> None:
    render = ("render", "--from", "tree", "--to", "-", *_WITH_REGISTRIES)
    plain = osm_gitops(*render)
    encrypt_in_place(tree)
    assert "hcloud-1" not in (tree / "MachineDeployment-a.yaml").read_text()
    assert osm_gitops(*render) == plain


def test_without_a_key_nothing_is_rendered_and_the_reason_is_told(tree: Path) -> None:
    encrypt_in_place(tree)
    ran = osm_gitops("render", "--from", "tree", "--to", "-", *_WITH_REGISTRIES)
    assert (ran.code, ran.out) == (1, "")
    place = "tree/Secret-registries.yaml:1: Secret kube-system/registries: sops: no available key decrypts the document"
    assert Expected(Code.NO_KEY_OPENS, place) in told(ran.err)
    assert Expected(Code.NO_KEY_OPENS, RECIPIENT) in told(ran.err)
    assert Expected(Code.NO_KEY_OPENS) in told(ran.err)
    assert "not found" not in ran.err


def test_credentials_that_no_key_opens_are_not_taken_for_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = {"secretKeyRef": {"name": "credentials", "namespace": "kube-system", "key": "password"}}
    machines = pool("a", cloudProvider="openstack", cloudProviderSpec={"password": reference}, kubelet="1.28.9")
    tree = write_tree(tmp_path / "tree", profile(supportedCloudProviders=[{"name": "openstack"}]), machines)
    body = secret("credentials", "kube-system", {"password": "p-12345"})
    (tree / "credentials.yaml").write_text(sealed(yaml.safe_dump(body)))
    monkeypatch.setenv("OS_PASSWORD", "of-another-cloud")
    ran = osm_gitops("render", "--from", "tree", "--to", "-")
    assert (ran.code, [kind for kind, _ in objects_of(ran.out)]) == (1, [])
    cause, derived = (line for line in ran.err.splitlines() if line.startswith("Error: "))
    assert (
        "tree/credentials.yaml:1: Secret kube-system/credentials: sops: no available key decrypts the document" in cause
    )
    part = "a part of the source that could not be read: tree/credentials.yaml:1. Correct that first"
    assert f"Secret kube-system/credentials may be in {part}" in derived


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_the_missing_key_is_told_before_the_pools_that_fail_for_it(command: str, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool("a"))
    token = secret("cloud-init-getter-token", "cloud-init-settings", {"token": "t-12345"})
    (tree / "Secret-cloud-init-getter-token.yaml").write_text(sealed(yaml.safe_dump(token)))
    new_repository(tmp_path / "repo")
    yes = ("--yes",) if command == "apply" else ()
    ran = osm_gitops(command, "--from", "tree", "--to", "repo/clusters", "--dangerously-plaintext-secrets", *yes)
    assert ran.code == 1
    cause, derived = (line for line in ran.err.splitlines() if line.startswith("Error: "))
    assert "sops: no available key decrypts the document" in cause
    part = "a part of the source that could not be read: tree/Secret-cloud-init-getter-token.yaml:1"
    assert part in derived


@pytest.mark.usefixtures("key")
def test_what_stands_encrypted_is_masked_in_plans_whatever_its_kind(tree: Path) -> None:
    encrypt_in_place(write_tree(tree, pool("a", cloudProviderSpec={"token": "hcloud-1"})))
    # What a template renders to that stood encrypted itself is not told from its own text.
    body = profile(script="echo {{ .KubeVersion }} template-secret-1 {{ .Token }} and-another-1\n")
    (tree / "OperatingSystemProfile-osp-a.yaml").write_text(sealed(yaml.safe_dump(body), "^data$"))
    ran = osm_gitops("plan", "--from", "tree", "--to", "out", "-v")
    assert ran.code == 0, ran.err
    assert "+0755 /opt/bin/bootstrap (b64)" in ran.out
    assert "+***" in ran.out
    for text in ("hcloud-1", "template-secret-1", "and-another-1", "api.example.com", "getter-token"):
        assert text not in ran.out + ran.err


@pytest.mark.usefixtures("key")
def test_sources_and_target_may_share_a_repository_and_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new_repository(tmp_path / "repo")
    encrypt_in_place(write_tree(repo / "tree", profile(), pool("a")))
    (repo / ".sops.yaml").write_text(_RULES.replace("|token", "|bootstrapConfig|provisioningConfig|cloudProvider"))
    write_fleet(repo, "defaults: {to: {git: {path: clusters}}}\nclusters: [{name: a, from: .}]")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "sources")
    monkeypatch.chdir(repo)
    ran = osm_gitops("apply", "--yes")
    assert ran.code == 0, ran.err
    assert "plain text" not in ran.out
    ran = osm_gitops("apply", "--yes", "-v")
    assert (ran.code, ran.out) == (0, "No changes.\n"), ran.err
    assert "2 of kind Secret, encrypted and written by osm-gitops, ignored" in ran.err


def test_sources_and_target_share_one_search_for_keys(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "print-key"
    command.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\ncat {KEY_FILE}\n")
    command.chmod(0o700)
    monkeypatch.setenv("SOPS_AGE_KEY_CMD", str(command))
    encrypt_in_place(tree)
    new_repository(tmp_path / "repo")
    write_fleet(
        tmp_path,
        "defaults: {to: {git: {path: repo/clusters}}}\nclusters: [{name: a, from: tree}, {name: b, from: tree}]",
    )
    for _ in range(2):
        assert osm_gitops("apply", "--yes", "--age-recipient", RECIPIENT).code == 0
    (tree / "OperatingSystemProfile-osp-a.yaml").write_text(yaml.safe_dump(profile(version="v1.0.1")))
    assert osm_gitops("plan", "--age-recipient", RECIPIENT).code == 0
    assert (tmp_path / "runs").read_text() == "run\n" * 3


def test_without_keys_a_rotation_shows_and_no_word_of_ours_is_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new_repository(tmp_path / "repo")
    tree = write_tree(repo / "tree", profile(), pool("a"), _REGISTRIES)
    encrypt_in_place(tree)
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "sources")
    write_tree(tmp_path / "new", token="another-token")
    encrypt_in_place(tmp_path / "new")
    (tmp_path / "new" / "Secret-cloud-init-getter-token.yaml").replace(tree / "Secret-cloud-init-getter-token.yaml")
    monkeypatch.chdir(repo)
    ran = osm_gitops("plan", "--from", "tree", "--against", "HEAD", "--without-keys", *_WITH_REGISTRIES)
    assert (ran.code, ran.err) == (0, "")
    assert "contents not shown: the file is made from secrets" in ran.out
    assert "Plan: 0 to create, 2 to update, 0 to replace, 0 to delete, 2 unchanged." in ran.out
    assert "Warning: tree: 4 encrypted documents were read without a key" in ran.out


def test_explain_without_a_key_explains_with_placeholders_and_says_which_key_is_missing(tree: Path) -> None:
    encrypt_in_place(tree)
    ran = osm_gitops("explain", "a", "--from", "tree", "--file", "/opt/bin/setup")
    assert ran.code == 0
    ran = osm_gitops("explain", "a", "--from", "tree", "-o", "json")
    explained = json.loads(ran.out)
    assert ran.code == 0
    assert explained["rendering"]["files"]
    assert (explained["target"], explained["problems"]) == (None, [])
    (warning,) = (each for each in explained["warnings"] if each["code"] == Code.READ_WITHOUT_KEY.value)
    assert RECIPIENT in warning["message"]
    assert "SOPS_AGE_KEY_FILE" in warning["fix"]


def test_findings_of_explain_have_the_form_that_validate_gives_them(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool("a", operatingSystemSpec={"disUpgradeOnBoot": True}))
    explained = json.loads(osm_gitops("explain", "a", "--from", "tree", "-o", "json").out)["findings"]
    validated = json.loads(osm_gitops("validate", "tree", "-o", "json").out)["findings"]
    assert explained
    assert [each for each in validated if each["id"] == "os-spec-key"] == explained
