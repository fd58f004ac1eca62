"""What lands in git encrypted, judged by the real sops and kustomize: opened, edited, re-keyed, built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.sops.keys import new_identity
from tests.cli.running import Ran, osm_gitops
from tests.demo_fleet import DEMO, DEMO_KEY
from tests.git.repos import git, new_repository, pin_git
from tests.real_tools import real_tool

pytestmark = pytest.mark.oracle
_CONFIG = "clusters/prod-eu/management/operatingsystemconfigs/build-kube-system-config.yaml"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo's fleet in a repository, committed for one recipient whose key is at hand."""
    pin_git(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(tmp_path / "keys.txt"))
    key, recipient = new_identity()
    (tmp_path / "keys.txt").write_text(key + Path(DEMO_KEY["SOPS_AGE_KEY_FILE"]).read_text())
    repository = new_repository(tmp_path / "repo")
    shutil.copytree(DEMO, repository, dirs_exist_ok=True)
    (repository / ".sops.yaml").write_text(f"creation_rules:\n- age: {recipient}\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "Fleet")
    monkeypatch.chdir(repository)
    _succeed("apply", "--yes")
    return repository


def _succeed(*arguments: str) -> Ran:
    ran = osm_gitops(*arguments)
    assert ran.code == 0, ran.err
    return ran


def _real(tool: str, *arguments: str | Path) -> str:
    done = subprocess.run([real_tool(tool), *arguments], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _sealed(repository: Path) -> list[Path]:
    return [path for path in sorted((repository / "clusters").rglob("*.yaml")) if b"ENC[" in path.read_bytes()]


def _key(body: dict[str, Any]) -> tuple[str, str]:
    return body["kind"], body["metadata"]["name"]


def _documents(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {_key(body): body for body in yaml.safe_load_all(text)}


def test_sops_opens_every_file_and_finds_what_was_rendered(repo: Path) -> None:
    sealed = _sealed(repo)
    assert len(sealed) == 22  # an OSC and two Secrets for each of seven pools, and a script of edge
    for cluster in ("dev", "edge-lab", "prod-eu"):
        wanted = _documents(_succeed("render", "--cluster", cluster, "--to", "-").out)
        for path in (path for path in sealed if path.relative_to(repo).parts[1] == cluster):
            assert _real("sops", "filestatus", path).strip() == '{"encrypted":true}'
            body = yaml.safe_load(_real("sops", "decrypt", path))
            assert body == wanted[_key(body)]


def test_kustomize_builds_both_folders_and_once_decrypted_they_are_what_was_rendered(repo: Path) -> None:
    wanted = _documents(_succeed("render", "--cluster", "prod-eu", "--to", "-").out)
    folders = [repo / "clusters" / "prod-eu" / side for side in ("management", "worker")]
    built = {key for folder in folders for key in _documents(_real("kustomize", "build", folder))}
    assert built == set(wanted)
    for path in _sealed(repo):
        _real("sops", "decrypt", "--in-place", path)
    decrypted = [_documents(_real("kustomize", "build", folder)) for folder in folders]
    assert decrypted[0] | decrypted[1] == wanted


def test_an_edit_with_sops_is_seen_inside_and_taken_back(repo: Path) -> None:
    _real("sops", "set", repo / _CONFIG, '["spec"]["cloudProvider"]["name"]', '"edited"')
    git(repo, "commit", "--quiet", "--all", "--message", "By hand")
    plan = _succeed("plan").out
    assert '-  "name": "edited"' in plan
    assert "1 to update" in plan
    _succeed("apply", "--yes")
    assert git(repo, "diff", "--name-only", "HEAD~2", "HEAD") == _CONFIG
    # An edit breaks the seal, so the file gets a new data key.
    assert not _ciphertexts(repo, "HEAD") & (_ciphertexts(repo, "HEAD~1") | _ciphertexts(repo, "HEAD~2"))
    assert yaml.safe_load(_real("sops", "decrypt", repo / _CONFIG))["spec"]["cloudProvider"]["name"] != "edited"


def _ciphertexts(repository: Path, revision: str) -> set[str]:
    return {line for line in git(repository, "show", f"{revision}:{_CONFIG}").splitlines() if "ENC[" in line}


def test_new_recipients_and_data_keys_by_sops_are_no_change_and_ours_are_none_for_sops(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, newcomer = new_identity()
    rules = repo / ".sops.yaml"
    rules.write_text(f"{rules.read_text().rstrip()},{newcomer}\n")
    sealed = _sealed(repo)
    _real("sops", "updatekeys", "--yes", sealed[0])
    _real("sops", "rotate", "--in-place", sealed[1])
    git(repo, "commit", "--quiet", "--all", "--message", "sops")
    plan = _succeed("plan").out
    assert "are encrypted for other recipients than the rules name. Run osm-gitops rekey" in plan
    assert "No changes." in plan
    told = _succeed("rekey", "clusters").out.splitlines()
    assert len(told) == len(sealed) - 1
    (tmp_path / "keys.txt").unlink()
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    monkeypatch.setenv("SOPS_AGE_KEY", key + Path(DEMO_KEY["SOPS_AGE_KEY_FILE"]).read_text())
    for path in sealed:
        _real("sops", "decrypt", path)
    _succeed("rekey", "--rotate", "clusters")
    for path in sealed:
        _real("sops", "decrypt", path)
    git(repo, "commit", "--quiet", "--all", "--message", "New keys")
    plan = _succeed("plan", "--detailed-exitcode").out
    assert plan.endswith("No changes.\n")
    assert "rekey" not in plan


def test_what_sops_wrote_keeps_its_comments_when_it_is_rekeyed(repo: Path) -> None:
    path = repo / "prod-eu" / "pull.yaml"
    path.write_text(
        "# for pulling\napiVersion: v1\nkind: Secret\nmetadata:\n  # of the team\n  name: pull\n"
        "  namespace: kube-system\ntype: Opaque\nstringData:\n  # in the vault too\n  password: hunter22\n"
        "  nothing: ''\n---\nkind: ConfigMap\nmetadata: {name: more}\napiVersion: v1\ndata: {a: b}\n"
    )
    _real("sops", "encrypt", "--in-place", "--encrypted-regex", "^(data|stringData)$", path)
    plain = _real("sops", "decrypt", path)
    _, newcomer = new_identity()
    rules = repo / ".sops.yaml"
    rules.write_text(f"{rules.read_text().rstrip()},{newcomer}\n")
    before = path.read_text()
    _succeed("rekey", str(path))
    assert newcomer in path.read_text()
    assert _real("sops", "decrypt", path) == plain
    lines = path.read_text().splitlines()
    assert all(line in lines for line in before.splitlines() if not line.startswith(" ") or line.startswith("  #"))


def test_what_sops_wrote_keeps_its_comments_and_types_under_a_new_data_key(repo: Path) -> None:
    path = repo / "prod-eu" / "pull.yaml"
    path.write_text(
        "# for pulling\napiVersion: v1\nkind: Secret\nmetadata:\n  # of the team\n  name: pull\n"
        "  namespace: kube-system\nstringData:\n  # in the vault too\n  z: 1.5\n  list:\n  # a first\n  - 7\n"
        "  - {deep: true}\n  day: 2026-01-31T12:00:00Z\n  nothing: ''\n---\nkind: ConfigMap\n"
        "metadata: {name: more}\napiVersion: v1\ndata: {a: b}\n"
    )
    _real("sops", "encrypt", "--in-place", "--encrypted-regex", "^(data|stringData)$", path)
    plain = _real("sops", "decrypt", path)
    before = path.read_text()
    assert "prod-eu/pull.yaml (new data key)" in _succeed("rekey", "--include", "prod-eu/pull.yaml").out
    after = path.read_text()
    assert _real("sops", "decrypt", path) == plain
    texts = [set(re.findall(r"ENC\[[^]]*\]", text)) for text in (before, after)]
    assert len(texts[0]) == len(texts[1]) == 8
    assert not texts[0] & texts[1]
    kept = [line for line in before.splitlines() if "ENC[" not in line and not line.startswith(" ")]
    assert [line for line in after.splitlines() if "ENC[" not in line and not line.startswith(" ")] == kept
