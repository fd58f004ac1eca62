"""Credentials in plain text in MachineDeployments of a source in git."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.sops.keys import new_identity
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_VALUE = "hunter2-cloud"
_AT = "spec.template.spec.providerSpec.value"
_CLOUD: dict[str, Any] = {"cloudProviderSpec": {"token": {"value": _VALUE}, "serverType": "cx22"}}
_WHAT = "is a credential in plain text in git"
_COMMANDS = ("plan", "apply", "doctor", "validate")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config repository, which is the folder; its private key is at hand."""
    key, recipient = new_identity()
    monkeypatch.setenv("SOPS_AGE_KEY", key)
    root = new_repository(tmp_path / "repo")
    (root / ".sops.yaml").write_text(
        "creation_rules:\n"
        "- path_regex: ^pools/\n"
        "  encrypted_regex: ^(cloudProviderSpec|operatingSystemSpec)$\n"
        f"  age: {recipient}\n"
        f"- age: {recipient}\n",
        "utf-8",
    )
    write_fleet(root, "clusters: [{name: a, from: pools, to: {git: {path: clusters}}}]")
    monkeypatch.chdir(root)
    return root


def _run(command: str, *more: str) -> Ran:
    return osm_gitops(command, *(("--yes",) if command == "apply" else ()), *more)


def _commit(repo: Path, *objects: dict[str, Any]) -> None:
    write_tree(repo / "pools", profile(), *objects)
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message", "pools")


@pytest.mark.parametrize("command", _COMMANDS)
def test_all_four_warn_with_the_way_out_and_never_with_the_value(repo: Path, command: str) -> None:
    _commit(repo, pool("a", **_CLOUD), pool("b", **_CLOUD), pool("c"))
    ran = _run(command)
    told = ran.out + ran.err
    assert f"{_AT}.cloudProviderSpec.token.value" in told
    assert f"{_WHAT}; the same in 1 more: pools/MachineDeployment-b.yaml:" in told
    assert "Put it into a Secret and name that with secretKeyRef, or encrypt the file" in told
    assert _VALUE not in told


@pytest.mark.parametrize("command", _COMMANDS)
def test_with_strict_it_is_an_error(repo: Path, command: str) -> None:
    _commit(repo, pool("a", **_CLOUD))
    head = git(repo, "rev-parse", "HEAD")
    ran = _run(command, "--strict")
    assert ran.code == 1
    assert _VALUE not in ran.out + ran.err
    assert git(repo, "rev-parse", "HEAD") == head
    if command in {"plan", "apply"}:
        assert Expected(Code.WARNINGS_NOT_ALLOWED, "cluster a: ") in told(ran.err)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"operatingSystemSpec": {"rhelSubscriptionManagerPassword": _VALUE}}, "rhelSubscriptionManagerPassword"),
        ({"operatingSystemSpec": {"rhsmOfflineToken": _VALUE}}, "rhsmOfflineToken"),
        ({"overwriteCloudConfig": f"password = {_VALUE}"}, "overwriteCloudConfig"),
        ({"cloudProviderSpec": {"password": 123456}}, "password"),
    ],
)
def test_what_no_reference_can_stand_for_has_sops_as_its_way_out(
    repo: Path, config: dict[str, Any], field: str
) -> None:
    _commit(repo, pool("a", **config))
    ran = osm_gitops("validate")
    assert f"{field}" in ran.out
    assert _WHAT in ran.out
    assert "sops encrypt --in-place FILE" in ran.out
    assert _VALUE not in ran.out + ran.err


@pytest.mark.parametrize("command", _COMMANDS)
def test_references_encrypted_files_and_files_outside_of_git_are_fine(repo: Path, tmp_path: Path, command: str) -> None:
    reference = {"secretKeyRef": {"namespace": "kube-system", "name": "cloud", "key": "token"}}
    _commit(repo, pool("a", cloudProviderSpec={"token": reference}))
    dump = write_tree(tmp_path / "dump", pool("b", **_CLOUD)) / "MachineDeployment-b.yaml"
    ran = osm_gitops("import", str(dump), "--to", "pools")
    assert ran.code == 0, ran.err
    assert _VALUE not in (repo / "pools/kube-system/b.yaml").read_text("utf-8")
    (repo / ".gitignore").write_text("ignored\n", "utf-8")
    body = yaml.safe_dump(pool("c", **_CLOUD))
    (repo / "pools/ignored").mkdir()
    (repo / "pools/ignored/c.yaml").write_text(body, "utf-8")
    ran = _run(command)
    assert _WHAT not in ran.out + ran.err
    assert _VALUE not in ran.out + ran.err
