"""``osm-gitops init``: a config repository that can be planned at once, and nothing overwritten."""

from __future__ import annotations

import importlib
import json
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from osm_gitops import __version__
from osm_gitops.errors import Code
from osm_gitops.sops.document import decrypt, recipients_of
from osm_gitops.sops.keys import find_keys, new_identity
from osm_gitops.sops.rules import CreationRules
from osm_gitops.sources.builtin import newest
from tests.cli.running import osm_gitops
from tests.faults import Expected, told
from tests.git.repos import git, new_repository
from tests.real_tools import real_tool
from tests.sources.sealed import RECIPIENT

# The package has the command under the same name.
init = importlib.import_module("osm_gitops.commands.init.command")
_TOKEN = "facts/example/getter-token.yaml"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: a new private key goes there."""
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    for name in os.environ:
        if name.startswith(("SOPS_", "XDG_")):
            monkeypatch.delenv(name)
    return folder


def _files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def _key_file(home: Path) -> Path:
    return home / ".config" / "sops" / "age" / "keys.txt"


def _body(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def test_a_new_folder_becomes_a_repository_with_all_that_a_fleet_needs_and_no_commit(tmp_path: Path) -> None:
    ran = osm_gitops("init", "nodes")
    assert ran.code == 0, ran.err
    root = tmp_path / "nodes"
    assert sorted(ran.out.splitlines()) == sorted(f"nodes/{path}" for path in _files(root))
    assert {"osm-gitops.yaml", ".sops.yaml", ".gitattributes", ".gitignore", ".pre-commit-config.yaml"} < set(
        _files(root)
    )
    assert git(root, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(root, "log", "--all", "--oneline") == ""
    assert git(root, "diff", "--cached", "--name-only") == ""
    assert not [path for path, content in _files(root).items() if re.search(rb"__[A-Z_]+__", content)]


def test_the_new_repository_can_be_planned_and_applied_at_once_and_then_has_no_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    osm_gitops("init", "nodes")
    root = tmp_path / "nodes"
    monkeypatch.chdir(root)
    plan = osm_gitops("plan", "--detailed-exitcode")
    assert (plan.code, plan.err) == (2, "")
    assert "Plan: 4 to create" in plan.out
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "start")
    assert osm_gitops("doctor").code == 0
    applied = osm_gitops("apply", "--yes")
    assert applied.code == 0, applied.err
    assert "example: committed " in applied.err
    for path in sorted((root / "clusters").rglob("*.yaml")):
        assert b"example-token-to-be-replaced" not in path.read_bytes()
        if "secrets" in path.parts or "operatingsystemconfigs" in path.parts:
            assert "mac: ENC[" in path.read_text("utf-8")
    again = osm_gitops("plan", "--detailed-exitcode")
    assert (again.code, again.out, again.err) == (0, "No changes.\n", "")


def test_the_example_boots_by_a_default_profile_whose_version_is_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    osm_gitops("init", "nodes")
    assert _body(tmp_path / "nodes" / "osm-gitops.yaml")["defaults"]["profilesVersion"] == newest()
    monkeypatch.chdir(tmp_path / "nodes")
    assert f"OperatingSystemProfile kube-system/osp-ubuntu: new profile, built-in {newest()}" in osm_gitops("plan").out


def test_the_token_is_encrypted_for_a_key_that_lies_outside_and_is_named(tmp_path: Path, home: Path) -> None:
    ran = osm_gitops("init", "nodes")
    assert str(_key_file(home)) in ran.err
    assert stat.S_IMODE(_key_file(home).stat().st_mode) == 0o600
    assert "AGE-SECRET-KEY" in _key_file(home).read_text("utf-8")
    assert "AGE-SECRET-KEY" not in ran.out + ran.err
    assert not [path for path, content in _files(tmp_path / "nodes").items() if b"AGE-SECRET-KEY" in content]
    body = _body(tmp_path / "nodes" / _TOKEN)
    assert b"example-token" not in (tmp_path / "nodes" / _TOKEN).read_bytes()
    (opened,) = decrypt([body], find_keys(os.environ))
    assert opened["stringData"] == {"token": "example-token-to-be-replaced"}


def test_the_rules_for_sops_encrypt_for_the_same_key_and_leave_names_readable(tmp_path: Path) -> None:
    osm_gitops("init", "nodes")
    root = tmp_path / "nodes"
    recipients = recipients_of(_body(root / _TOKEN))
    assert recipients == find_keys(os.environ).recipients
    for path in (_TOKEN, "clusters/example/worker/secrets/a.yaml", "clusters/example/management/x/a.yaml"):
        rule = CreationRules().rule_for(root / path)
        assert rule is not None
        assert rule.recipients == recipients
        assert rule.selection.encrypted_regex == _body(root / _TOKEN)["sops"]["encrypted_regex"]


def test_a_second_repository_adds_its_key_and_keeps_those_that_are_there(tmp_path: Path, home: Path) -> None:
    file = _key_file(home)
    file.parent.mkdir(parents=True)
    file.write_text(new_identity()[0].rstrip("\n"), "utf-8")  # a last line without an end
    before = file.read_text("utf-8")
    file.chmod(0o644)
    assert osm_gitops("init", "one").code == 0
    assert osm_gitops("init", "two").code == 0
    assert file.read_text("utf-8").startswith(before + "\n")
    assert len(find_keys(os.environ).recipients) == 3
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert recipients_of(_body(tmp_path / "one" / _TOKEN)) != recipients_of(_body(tmp_path / "two" / _TOKEN))


@pytest.mark.parametrize(
    "start", ["-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n", "age-encryption.org/v1\n-> scrypt\n\0"]
)
def test_a_key_file_under_a_passphrase_is_left_as_it_is(tmp_path: Path, home: Path, start: str) -> None:
    _key_file(home).parent.mkdir(parents=True)
    _key_file(home).write_text(start, "utf-8")
    ran = osm_gitops("init", "nodes")
    assert ran.code == 1
    assert Expected(Code.AGE_KEY_INVALID, _key_file(home)) in told(ran.err)
    assert _key_file(home).read_text("utf-8") == start
    assert not (tmp_path / "nodes").exists()


def test_without_git_no_key_is_made(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = osm_gitops("init", "nodes")
    assert ran.code == 1
    assert Expected(Code.GIT_UNUSABLE) in told(ran.err)
    assert not home.exists()


def test_with_recipients_no_key_is_made_and_all_of_them_can_open_the_token(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mine, one), (_, other) = new_identity(), new_identity()
    given = ("--age-recipient", one, "--age-recipient", other, "--age-recipient", one)
    ran = osm_gitops("init", "nodes", *given)
    assert ran.code == 0, ran.err
    assert not home.exists()
    assert "private key of" not in ran.err.replace("the private key of a recipient", "")
    body = _body(tmp_path / "nodes" / _TOKEN)
    assert recipients_of(body) == (one, other)
    rule = CreationRules().rule_for(tmp_path / "nodes" / _TOKEN)
    assert rule is not None
    assert rule.recipients == (one, other)
    monkeypatch.setenv("SOPS_AGE_KEY", mine.splitlines()[-1])
    (opened,) = decrypt([body], find_keys(os.environ))
    assert opened["stringData"]["token"]


def test_an_ssh_key_serves_as_recipient_whatever_its_comment_is(tmp_path: Path) -> None:
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMR7QhjzrKNGlpKn/4s5fLwiPUG9wcqkiqtJtnT9w2C8"
    assert osm_gitops("init", "nodes", "--age-recipient", f"{key} me, at home").code == 0
    rule = CreationRules().rule_for(tmp_path / "nodes" / _TOKEN)
    assert rule is not None
    assert rule.recipients == (key,)


def test_a_private_key_as_recipient_is_refused_and_not_repeated(tmp_path: Path) -> None:
    secret = new_identity()[0].splitlines()[-1]
    ran = osm_gitops("init", "nodes", "--age-recipient", secret, "--age-recipient", "age1nothing")
    assert ran.code == 1
    assert Expected(Code.PRIVATE_KEY_AS_RECIPIENT) in told(ran.err)
    assert Expected(Code.RECIPIENT_INVALID, "age1nothing") in told(ran.err)
    assert secret not in ran.err
    assert not (tmp_path / "nodes").exists()


def test_all_files_that_are_in_the_way_are_named_at_once_and_nothing_is_written(tmp_path: Path, home: Path) -> None:
    root = new_repository(tmp_path / "nodes")
    for path in ("osm-gitops.yaml", ".gitignore", "osps"):
        (root / path).write_text("mine\n", "utf-8")
    (root / "facts").symlink_to(tmp_path)
    before = _files(root)
    ran = osm_gitops("init", "nodes")
    assert (ran.code, ran.out) == (1, "")
    for path in ("osm-gitops.yaml", ".gitignore", "osps", "facts"):
        assert Expected(Code.FILE_EXISTS, f"nodes/{path}") in told(ran.err), path
    assert _files(root) == before
    assert not home.exists()


def test_a_repository_from_a_server_keeps_its_readme_its_branch_and_its_index(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "nodes")
    git(root, "checkout", "--quiet", "-b", "release/1.0")
    (root / "staged").write_text("mine\n", "utf-8")
    git(root, "add", "staged")
    ran = osm_gitops("init", "nodes", "--cluster", "1.5")
    assert ran.code == 0, ran.err
    assert (root / "README.md").read_text("utf-8") == "read me\n"
    assert "README.md exists and is not changed." in ran.err
    assert git(root, "diff", "--cached", "--name-only") == "staged"
    fleet = _body(root / "osm-gitops.yaml")
    assert fleet["defaults"]["to"]["git"]["branch"] == "release/1.0"
    assert fleet["clusters"][0]["name"] == "1.5"
    workflow = _body(root / ".github" / "workflows" / "osm-gitops.yml")
    assert workflow[True]["push"]["branches"] == ["release/1.0"]


def test_the_inside_of_a_work_tree_is_refused_with_the_way_out(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "mono")
    ran = osm_gitops("init", "mono/nodes")
    assert ran.code == 1
    assert Expected(Code.NOT_AT_THE_ROOT, root, "mono/nodes") in told(ran.err)
    assert not (root / "nodes").exists()


def test_a_key_that_would_lie_in_the_repository_is_refused(home: Path) -> None:
    home.mkdir()
    ran = osm_gitops("init", str(home))
    assert ran.code == 1
    assert Expected(Code.KEY_IN_REPOSITORY) in told(ran.err)
    assert list(home.iterdir()) == []


def test_a_user_without_a_home_is_told_to_bring_a_recipient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    ran = osm_gitops("init", "nodes")
    assert ran.code == 1
    assert Expected(Code.NO_HOME_FOLDER) in told(ran.err)
    assert not (tmp_path / "nodes").exists()


def test_a_name_that_no_cluster_can_have_is_refused(tmp_path: Path) -> None:
    ran = osm_gitops("init", "nodes", "--cluster", "../prod")
    assert ran.code == 1
    assert Expected(Code.INVALID_OPTION, "../prod") in told(ran.err)
    assert not (tmp_path / "nodes").exists()


def test_what_was_written_is_taken_back_where_the_rest_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "template").mkdir()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "template"))  # git cannot read a folder, and fails
    ran = osm_gitops("init", "nodes")
    assert ran.code == 1
    assert Expected(Code.GIT_COMMAND_FAILED, "git init") in told(ran.err)
    assert not (tmp_path / "nodes").exists()


def test_the_fleet_file_names_the_schema_that_lies_beside_it_and_is_as_it_says(tmp_path: Path) -> None:
    osm_gitops("init", "nodes")
    fleet = tmp_path / "nodes" / "osm-gitops.yaml"
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", fleet.read_text("utf-8").splitlines()[0])
    assert found is not None
    schema = (fleet.parent / found[1]).read_text("utf-8")
    assert schema == osm_gitops("schema", "fleet").out
    assert list(Draft202012Validator(yaml.safe_load(schema)).iter_errors(_body(fleet))) == []


def test_every_setting_that_the_fleet_file_shows_in_a_comment_is_one(tmp_path: Path) -> None:
    osm_gitops("init", "nodes")
    fleet = tmp_path / "nodes" / "osm-gitops.yaml"
    bare = re.sub(r"^( *)# ( *\w+:( .*)?)$", r"\1\2", fleet.read_text("utf-8"), flags=re.MULTILINE)
    body = yaml.safe_load(bare)
    assert len(body["clusters"][0]["settings"]) > 10
    assert body["clusters"][0]["management"] == {"namespace": "kube-system"}
    assert body["defaults"]["settings"]
    fleet.write_text(bare, "utf-8")
    schema = yaml.safe_load(osm_gitops("schema", "fleet").out)
    assert list(Draft202012Validator(schema).iter_errors(body)) == []


def _pygrep(hook: dict[str, Any], path: str, text: str) -> str | None:
    """What pre-commit prints of a file that the hook refuses, ``None`` for one that it lets pass.

    Without ``--multiline`` a line is searched at a time; ``--negate`` refuses files without a find, by their name.
    """
    if not re.search(hook["files"], path):
        return None
    if "--negate" in hook["args"]:
        return None if any(re.search(hook["entry"], line) for line in text.splitlines()) else ""
    found = re.search(hook["entry"], text, re.MULTILINE | re.DOTALL)
    if found is None:
        return None
    first = text[: found.start()].count("\n")
    return "\n".join([text.split("\n")[first], *found[0].split("\n")[1:]])


def test_the_hooks_refuse_what_is_not_encrypted_and_print_no_secret(tmp_path: Path) -> None:
    osm_gitops("init", "nodes")
    root = tmp_path / "nodes"
    plan, checks, state, facts = _body(root / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert re.search(plan["files"], "pools/example/example.yaml")
    assert re.search(checks["files"], "osps/osp-mine.yaml")
    sealed = (root / _TOKEN).read_text("utf-8")
    for path, content in _files(root).items():
        assert _pygrep(facts, path, content.decode()) is None, path
    written = "clusters/example/worker/secrets/a.yaml"
    assert _pygrep(state, written, sealed) is None
    plain = [
        "apiVersion: v1\ndata:\n  a: c2VjcmV0\nkind: Secret\n",
        'items:\n- kind: "Secret"\n  data: {a: c2VjcmV0}\n',
        '{\n "data": {"a": "c2VjcmV0"},\n "kind": "Secret"\n}',
        f"kind: Secret\ndata: {{a: c2VjcmV0}}\n---\n{sealed}",
    ]
    for text in plain:
        assert "c2VjcmV0" not in (_pygrep(facts, "facts/example/a.yaml", text) or "c2VjcmV0"), text
    assert _pygrep(state, written, plain[0]) == ""
    assert _pygrep(facts, "facts/example/a.yaml", "kind: SealedSecret\n# kind: Secret\n") is None
    assert _pygrep(facts, "facts/a.json", '{\n "kind": "Secret",\n "sops": {\n  "mac": "ENC[x"}}') is None


# --- the real tools ---


@pytest.mark.oracle
def test_the_way_to_put_in_ones_own_token_works_with_the_real_sops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    osm_gitops("init", "nodes")
    monkeypatch.chdir(tmp_path / "nodes")
    programs = tmp_path / "programs"
    programs.mkdir()
    stub = programs / "kubectl"
    stub.write_text(f"#!/bin/sh\ncat <<END\n{_OWN_TOKEN}END\n", "utf-8")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), str(real_tool("sops").parent), os.environ["PATH"]]))
    readme = Path("README.md").read_text("utf-8").split("To import the token of a cluster", 1)[1]
    script = "".join(re.findall(r"^    (.*\n)", readme, re.MULTILINE))
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], check=True)
    (opened,) = decrypt([_body(Path(_TOKEN))], find_keys(os.environ))
    assert opened == yaml.safe_load(_OWN_TOKEN)
    shown = subprocess.run(["sops", "decrypt", _TOKEN], capture_output=True, text=True, check=True).stdout
    assert yaml.safe_load(shown) == opened
    assert osm_gitops("plan").code == 0


_OWN_TOKEN = """\
apiVersion: v1
kind: Secret
metadata:
  name: cloud-init-getter-token
  namespace: cloud-init-settings
type: kubernetes.io/service-account-token
data:
  token: bXktb3duLXRva2Vu
"""


@pytest.mark.oracle
def test_the_workflow_is_one_for_github_whatever_the_branch_is(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "nodes")
    git(root, "checkout", "--quiet", "-b", "release/1,0")
    assert osm_gitops("init", "nodes").code == 0
    checked = subprocess.run(
        [real_tool("actionlint"), "-no-color", root / ".github" / "workflows" / "osm-gitops.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def _noted(**more: str) -> str:
    """What pip notes of a program that it installed from GitHub (PEP 610)."""
    info = {"vcs": "git", "commit_id": "0123456789abcdef0123456789abcdef01234567", "requested_revision": "v0.1.0"}
    return json.dumps({"url": "https://github.com/example/osm-gitops.git", "vcs_info": info | more})


def test_the_workflow_is_pinned_by_the_commit_that_the_program_was_installed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init, "_direct_url", _noted)
    assert osm_gitops("init", "nodes", "--age-recipient", RECIPIENT).code == 0
    text = (tmp_path / "nodes/.github/workflows/osm-gitops.yml").read_text()
    commit = "0123456789abcdef0123456789abcdef01234567"
    assert f"uses: example/osm-gitops/.github/workflows/fleet.yml@{commit} # v0.1.0\n" in text
    assert "OWNER" not in text
    assert "COMMIT" not in text


@pytest.mark.parametrize(
    "noted",
    [
        "",
        "{",
        "[]",
        '{"url": "file:///home/me/osm-gitops", "dir_info": {"editable": true}}',
        _noted(commit_id="main"),
        _noted(requested_revision="x\n    secrets: inherit"),
        _noted().replace("https://github.com/", "https://gitlab.com/"),
    ],
)
def test_where_the_commit_is_not_known_the_workflow_says_what_to_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: str
) -> None:
    monkeypatch.setattr(init, "_direct_url", lambda: noted)
    assert osm_gitops("init", "nodes", "--age-recipient", RECIPIENT).code == 0
    text = (tmp_path / "nodes/.github/workflows/osm-gitops.yml").read_text()
    assert f"uses: OWNER/osm-gitops/.github/workflows/fleet.yml@COMMIT # v{__version__}\n" in text
    assert "Replace OWNER and COMMIT where they stand here" in text
