"""``osm-gitops doctor``: what is there, what is missing, and never a key."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.sops.keys import new_identity
from tests.apiserver.cluster import Cluster
from tests.apiserver.rights import allow, rule
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, write_fleet, write_tree
from tests.cli.schemas import checked
from tests.git.repos import git, new_repository

_KEY, _RECIPIENT = new_identity()
_SECRET = _KEY.splitlines()[-1]
_FLEET = """
clusters:
- name: one
  from: ../tree
  to: {git: {path: clusters, branch: main}}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a key in it, and no kubeconfig."""
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    for name in os.environ:
        if name.startswith(("SOPS_", "XDG_", "KUBECONFIG")):
            monkeypatch.delenv(name)
    _key_file(folder).parent.mkdir(parents=True)
    _key_file(folder).write_text(_KEY, "utf-8")
    return folder


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config repository that lacks nothing; the current folder."""
    root = new_repository(tmp_path / "repo")
    write_tree(tmp_path / "tree", profile(), pool())
    write_fleet(root, _FLEET)
    _rules(root, _RECIPIENT)
    monkeypatch.chdir(root)
    return root


def _key_file(home: Path) -> Path:
    return home / ".config" / "sops" / "age" / "keys.txt"


def _rules(root: Path, recipient: str) -> None:
    (root / ".sops.yaml").write_text(f"creation_rules:\n- age: {recipient}\n", "utf-8")


def _lines(ran: Ran, state: str, area: str = "") -> list[str]:
    return [line[6:] for line in ran.out.splitlines() if line.startswith(f"{state:<4}  {area}")]


def _has(lines: Iterable[str], *words: str | Code) -> bool:
    """Whether a line has all words; a code as it is shown at its end."""
    shown = [f"[{word.value}]" if isinstance(word, Code) else word for word in words]
    return any(all(word in line for word in shown) for line in lines)


def test_where_nothing_is_missing_every_line_says_so_and_the_exit_code_is_0(repo: Path, home: Path) -> None:
    ran = osm_gitops("doctor")
    assert (ran.code, ran.err, _lines(ran, "fix")) == (0, "", [])
    fine = _lines(ran, "ok")
    assert _has(fine, "git: version 2.")
    assert _has(fine, "git: commits are by A Tester <tester@example.com>")
    assert _has(fine, f"keys: {_RECIPIENT}: its private key is in {_key_file(home)}")
    assert _has(fine, "fleet: osm-gitops.yaml names 1 cluster")
    assert _has(fine, "cluster one: MachineDeployments: 1, OperatingSystemProfiles: 1")
    assert _has(fine, f"target clusters: commits can be made in {repo}")
    assert _has(fine, f".sops.yaml:2 encrypts can be read again with the key of {_RECIPIENT}")
    assert _SECRET not in ran.out


@pytest.mark.usefixtures("repo")
def test_looking_changes_nothing(tmp_path: Path) -> None:
    def everything() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = everything()
    osm_gitops("doctor")
    assert everything() == before


def test_programs_read_the_same_as_json_with_a_version(repo: Path) -> None:
    (repo / ".sops.yaml").unlink()
    ran = osm_gitops("doctor", "--output", "json")
    report = checked("checkup", ran.out)
    assert (ran.code, report["formatVersion"], report["healthy"]) == (1, "2.1", False)
    (wrong,) = [finding for finding in report["findings"] if finding["state"] == "fix"]
    assert wrong["area"] == "target clusters"
    assert wrong["code"] == Code.PLAIN_SECRETS_IN_GIT.value
    assert "--age-recipient" in wrong["fix"]
    text = osm_gitops("doctor").out
    lines = text.splitlines()
    assert len(lines) == len(report["findings"])
    # What is in order needs no code that says what to do.
    in_order = [line for line, each in zip(lines, report["findings"], strict=True) if each["state"] == "ok"]
    assert [line for line in in_order if "[OG" in line] == []


def test_a_committer_that_git_does_not_know_is_missed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "")
    git(repo, "config", "user.useConfigOnly", "true")
    ran = osm_gitops("doctor")
    assert ran.code == 1
    assert _has(_lines(ran, "fix", "git"), Code.COMMIT_PERSON_MISSING, "GIT_COMMITTER_NAME")
    assert "1 to fix." in ran.err


@pytest.mark.usefixtures("repo")
def test_without_git_there_is_one_sentence_and_the_rest_is_looked_at_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = osm_gitops("doctor")
    assert ran.code == 1
    assert _has(_lines(ran, "fix", "git"), Code.GIT_UNUSABLE)
    assert _has(_lines(ran, "ok"), "keys:")
    assert _has(_lines(ran, "note"), Code.PROGRAM_NOT_INSTALLED, "programs: kubectl ")


def test_signing_is_looked_at_where_git_is_to_sign(repo: Path, tmp_path: Path) -> None:
    assert not _has(_lines(osm_gitops("doctor"), "ok"), "signed")
    git(repo, "config", "commit.gpgsign", "true")
    git(repo, "config", "gpg.format", "ssh")
    assert _has(_lines(osm_gitops("doctor"), "fix", "git"), Code.SIGNING_KEY_MISSING, "user.signingkey")
    key = tmp_path / "key"
    git(repo, "config", "user.signingkey", str(key))
    assert _has(_lines(osm_gitops("doctor"), "fix", "git"), Code.SIGNING_KEY_MISSING, f" {key}")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    assert _has(_lines(osm_gitops("doctor"), "ok", "git"), f"commits in {repo} are signed by", "ssh-keygen")
    git(repo, "config", "gpg.ssh.program", "no-such-program")
    assert _has(_lines(osm_gitops("doctor"), "fix", "git"), Code.SIGNING_PROGRAM_MISSING, "no-such-program")
    write_fleet(repo, _FLEET.replace("branch: main", "branch: main, sign: false"))
    assert osm_gitops("doctor").code == 0
    git(repo, "config", "commit.gpgsign", "false")
    write_fleet(repo, _FLEET.replace("branch: main", "branch: main, sign: true"))
    assert _has(_lines(osm_gitops("doctor"), "fix", "git"), Code.SIGNING_PROGRAM_MISSING, "no-such-program")


def test_a_recipient_that_no_key_here_opens_is_named(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = new_identity()[1]
    _rules(repo, other)
    ran = osm_gitops("doctor")
    assert ran.code == 1
    assert _has(_lines(ran, "fix", "target"), Code.NO_KEY_FOR_NEXT_RUN, f"{repo}/.sops.yaml:2", other)
    monkeypatch.setenv("OSM_GITOPS_DIGEST_KEY", "0123456789abcdef0123456789abcdef")
    ran = osm_gitops("doctor")
    assert ran.code == 0, ran.out
    assert _has(_lines(ran, "note", "target"), Code.NO_KEY_FOR_NEXT_RUN)
    assert "0123456789abcdef" not in ran.out
    assert osm_gitops("doctor", "--age-recipient", _RECIPIENT).code == 0
    monkeypatch.setenv("OSM_GITOPS_DIGEST_KEY", "short")
    assert _has(_lines(osm_gitops("doctor"), "fix", "keys"), Code.DIGEST_KEY_TOO_SHORT)


@pytest.mark.usefixtures("repo")
def test_encrypted_files_that_osm_gitops_did_not_write_are_named(repo: Path) -> None:
    applied = osm_gitops("apply", "--yes")
    assert applied.code == 0, applied.err
    assert _has(_lines(osm_gitops("doctor"), "ok", "target clusters"), "made the data keys of all encrypted files")
    folder = repo / "clusters" / "one" / "worker" / "secrets"
    (sealed,) = folder.glob("*-bootstrap-config.yaml")
    line, text = sealed.read_text().split("\n", 1)
    body = yaml.safe_load(text)
    body["sops"]["age"] *= 2
    (folder / "twice.yaml").write_text(yaml.safe_dump(body))
    (folder / "former.yaml").write_text(f"{line.split(',')[0]},{line.split(',')[1]}\n{text}")
    (folder / "edited.yaml").write_text(f"{line}\n{text}# edited\n")
    ran = osm_gitops("doctor")
    assert ran.code == 1
    wrong = _lines(ran, "fix", "target clusters")
    assert _has(wrong, Code.SOPS_REPEATED_RECIPIENT, "one/worker/secrets/twice.yaml", "osm-gitops rekey")
    assert _has(wrong, Code.DATA_KEY_NOT_OURS, "twice.yaml", "osm-gitops rekey --rotate")
    assert _has(wrong, Code.DATA_KEY_NOT_OURS, "former.yaml", "osm-gitops rekey --rotate once")
    notes = _lines(ran, "note", "target clusters")
    assert _has(notes, Code.FILES_NOT_VERIFIED, "edited.yaml", "OSM_GITOPS_DIGEST_KEY")
    assert not _has([*wrong, *notes], sealed.name)


def test_keys_that_cannot_be_used_are_told_without_a_word_of_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _key_file(home).write_text(f"{_KEY}AGE-PLUGIN-YUBIKEY-1QQQQ\n", "utf-8")
    ran = osm_gitops("doctor")
    assert _has(_lines(ran, "note", "keys"), Code.KEY_PASSED_OVER, str(_key_file(home)))
    monkeypatch.setenv("SOPS_AGE_KEY", f"{_SECRET}X")
    ran = osm_gitops("doctor")
    assert ran.code == 1
    assert _has(_lines(ran, "fix", "keys"), Code.AGE_KEY_INVALID, "SOPS_AGE_KEY:1: ")
    assert _SECRET not in ran.out + ran.err
    monkeypatch.delenv("SOPS_AGE_KEY")
    _key_file(home).unlink()
    assert _has(_lines(osm_gitops("doctor"), "note", "keys"), Code.NO_PRIVATE_KEY, str(_key_file(home)))


def test_a_command_that_gives_keys_is_run_once(
    repo: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "keys"
    command.write_text(f"#!/bin/sh\necho once >>{tmp_path}/asked\necho {_SECRET}\n", "utf-8")
    command.chmod(0o755)
    _key_file(home).unlink()
    monkeypatch.setenv("SOPS_AGE_KEY_CMD", str(command))
    monkeypatch.setenv("OSM_GITOPS_DIGEST_KEY", "0123456789abcdef0123456789abcdef")
    sealed = osm_gitops("init", str(tmp_path / "sealed"), "--age-recipient", _RECIPIENT)
    assert sealed.code == 0
    write_fleet(repo, _FLEET.replace("../tree", "{machineDeployments: ../tree, facts: ../sealed/facts}"))
    ran = osm_gitops("doctor")
    assert ran.code == 0, ran.out
    assert _has(_lines(ran, "ok", "keys"), "its private key is in SOPS_AGE_KEY_CMD")
    assert (tmp_path / "asked").read_text("utf-8") == "once\n"


def test_all_that_would_refuse_a_run_in_the_target_is_told_at_once(repo: Path) -> None:
    write_fleet(repo, _FLEET.replace("branch: main", "branch: live, push: true"))
    (repo / "clusters" / "one").mkdir(parents=True)
    (repo / "clusters" / "one" / "stray").write_text("mine\n", "utf-8")
    (repo / ".sops.yaml").unlink()
    ran = osm_gitops("doctor")
    wrong = _lines(ran, "fix", "target clusters")
    assert _has(wrong, Code.WRONG_BRANCH, '"main"', '"live"', "git switch live")
    assert _has(wrong, Code.OWNED_FILES_EDITED, "clusters/one/stray")
    assert _has(wrong, Code.REMOTE_NOT_FOUND, '"origin"')
    assert _has(wrong, Code.PLAIN_SECRETS_IN_GIT)
    assert len(wrong) == 4


def test_a_target_outside_of_git_and_a_cluster_without_one_are_told(repo: Path) -> None:
    write_fleet(repo, "clusters:\n- {name: a, from: ../tree, to: {git: {path: ../out}}}\n- {name: b, from: ../tree}\n")
    wrong = _lines(osm_gitops("doctor"), "fix")
    assert _has(wrong, "target ../out", Code.NO_WORK_TREE)
    assert _has(wrong, "cluster b: ", Code.NO_TARGET)


def test_line_ends_that_git_would_change_are_a_note(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    assert _has(_lines(osm_gitops("doctor"), "note", "git"), Code.LINE_ENDS_CHANGED, "* -text")
    (repo / ".gitattributes").write_text("* -text\n", "utf-8")
    assert not _has(_lines(osm_gitops("doctor"), "note", "git"), Code.LINE_ENDS_CHANGED)


def test_a_schema_of_another_release_is_a_note_with_the_way_to_a_new_one(repo: Path) -> None:
    schema = repo / ".osm-gitops" / "fleet.schema.json"
    schema.parent.mkdir()
    schema.write_text(osm_gitops("schema", "fleet").out, "utf-8")
    assert not _has(_lines(osm_gitops("doctor"), "note"), Code.FLEET_SCHEMA_OUTDATED)
    schema.write_text("{}", "utf-8")
    assert _has(_lines(osm_gitops("doctor"), "note", "fleet"), Code.FLEET_SCHEMA_OUTDATED, str(schema))


def test_faults_of_the_fleet_file_and_of_sources_are_told_with_their_places(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "tree" / "broken.yaml").write_text("apiVersion: v1\nkind: Secret\n  x: [", "utf-8")
    assert _has(_lines(osm_gitops("doctor"), "fix", "cluster one"), "broken.yaml:3")
    write_fleet(repo, _FLEET.replace("../tree", "../nowhere"))
    assert _has(_lines(osm_gitops("doctor"), "fix", "cluster one"), "nowhere")
    write_fleet(repo, _FLEET.replace("name: one", "nam: one"))
    wrong = _lines(osm_gitops("doctor"), "fix", "fleet")
    assert _has(wrong, Code.UNKNOWN_KEY, "osm-gitops.yaml:5: clusters[0].nam", " name?")
    assert _has(_lines(osm_gitops("doctor", "--fleet", "gone.yaml"), "fix", "fleet"), Code.FILE_UNREADABLE, "gone.yaml")


@pytest.mark.usefixtures("repo")
def test_many_faults_of_a_kind_are_cut_with_the_way_to_all(tmp_path: Path) -> None:
    for number in range(14):
        (tmp_path / "tree" / f"broken-{number}.yaml").write_text("apiVersion: v1\nkind: Secret\n  x: [", "utf-8")
    wrong = _lines(osm_gitops("doctor"), "fix", "cluster one")
    assert len(wrong) == 11
    assert _has(wrong[-1:], Code.MORE_PROBLEMS, "cluster one: ", "4")


def test_without_a_fleet_file_the_rest_is_looked_at() -> None:
    ran = osm_gitops("doctor")
    assert ran.code == 0
    assert _has(_lines(ran, "note", "fleet"), Code.NO_FLEET_FILE, "osm-gitops.yaml")


# --- kubeconfigs ---

_CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "prod",
    "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://me:secret@api.example.com:6443"}}],
    "users": [{"name": "u", "user": {"token": "a-very-secret-token"}}],
}


def _config(path: Path, **other: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_CONFIG | other), "utf-8")
    return path


def test_the_kubeconfig_that_kubectl_takes_is_told_with_the_host_that_it_leads_to(home: Path) -> None:
    assert _has(_lines(osm_gitops("doctor"), "note"), Code.KUBECONFIG_NOT_FOUND, "kubeconfig: ")
    path = _config(home / ".kube" / "config")
    ran = osm_gitops("doctor")
    assert _lines(ran, "ok", "kubeconfig") == [f"kubeconfig: {path}: context prod leads to api.example.com:6443"]
    assert "secret" not in ran.out.replace("secrets", "")


def test_of_several_kubeconfigs_the_first_that_names_a_context_wins_and_a_fault_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = _config(tmp_path / "one", **{"current-context": "", "contexts": []})
    two = _config(tmp_path / "two", clusters=[])
    three = _config(tmp_path / "three", **{"current-context": "other"})
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(one), str(tmp_path / "gone"), str(two), str(three)]))
    ran = osm_gitops("doctor")
    assert ran.code == 0
    assert _lines(ran, "ok", "kubeconfig") == [f"kubeconfig: {two}: context prod leads to api.example.com:6443"]
    assert _has(_lines(ran, "note", "kubeconfig"), Code.KUBECONFIG_NOT_FOUND, f"{tmp_path}/gone")


def test_a_kubeconfig_that_was_named_must_serve(tmp_path: Path) -> None:
    path = _config(tmp_path / "config")
    named = ("doctor", "--kubeconfig", str(path))
    assert osm_gitops(*named, "--context", "prod").code == 0
    ran = osm_gitops(*named, "--context", "dev", "--worker-cluster-kubeconfig", str(tmp_path / "gone"))
    assert ran.code == 1
    wrong = _lines(ran, "fix")
    assert _has(wrong, "kubeconfig, management", Code.CONTEXT_NOT_FOUND, '"dev"', "prod")
    assert _has(wrong, "kubeconfig, worker", Code.KUBECONFIG_NOT_FOUND, "gone")


@pytest.mark.parametrize(
    ("other", "code", "name"),
    [
        ({"current-context": ""}, Code.CONTEXT_NOT_FOUND, "prod"),
        ({"users": []}, Code.KUBECONFIG_INVALID, '"u"'),
        (
            {"clusters": [{"name": "c", "cluster": {"certificate-authority": "ca.pem"}}]},
            Code.KUBECONFIG_INVALID,
            "certificate-authority ca.pem",
        ),
        (
            {"users": [{"name": "u", "user": {"exec": {"command": "no-such-plugin"}}}]},
            Code.KUBECONFIG_INVALID,
            "no-such-plugin",
        ),
        ({"users": "a-very-secret-token"}, Code.KUBECONFIG_INVALID, "users"),
        ({"contexts": ["a-very-secret-token"]}, Code.KUBECONFIG_INVALID, "contexts"),
        ({"kind": "Secret"}, Code.KUBECONFIG_INVALID, "config: "),
    ],
)
def test_what_a_kubeconfig_lacks_is_told_without_what_is_in_it(
    tmp_path: Path, other: dict[str, Any], code: Code, name: str
) -> None:
    ran = osm_gitops("doctor", "--kubeconfig", str(_config(tmp_path / "config", **other)))
    assert ran.code == 1
    assert _has(_lines(ran, "fix", "kubeconfig, management"), code, name)
    assert "a-very-secret-token" not in ran.out


@pytest.mark.parametrize("key", ["client-key", "tokenFile"])
def test_a_key_where_a_kubeconfig_wants_the_name_of_a_file_is_not_told(tmp_path: Path, key: str) -> None:
    users = [{"name": "u", "user": {key: "a-very-secret-token" * times}} for times in (1, 500)]
    for user in users:  # the second is longer than any name of a file
        ran = osm_gitops("doctor", "--kubeconfig", str(_config(tmp_path / "config", users=[user])))
        assert ran.code == 1
        assert _has(_lines(ran, "fix", "kubeconfig, management"), Code.KUBECONFIG_INVALID, key)
        assert "a-very-secret-token" not in ran.out + ran.err


def test_a_kubeconfig_that_is_no_yaml_is_not_cited(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("token: 'a-very-secret-token\n", "utf-8")
    ran = osm_gitops("doctor", "--kubeconfig", "config")
    assert _has(_lines(ran, "fix"), Code.KUBECONFIG_INVALID, "config: ")
    assert "a-very-secret-token" not in ran.out


# --- live clusters ---


_LIVE = """
clusters:
- name: live
  from: cluster
  to: cluster
  management: {kubeconfig: config, context: management}
"""


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, management: Cluster) -> Cluster:
    """A cluster with a pool and what it needs; a fleet file in the current folder names it for its admin."""
    monkeypatch.chdir(tmp_path)
    management.namespace("cloud-init-settings")
    for body in (*facts(), profile(), pool()):
        management.client().create(body)
    management.kubeconfig(tmp_path / "config")
    write_fleet(tmp_path, _LIVE)
    return management


def test_a_cluster_that_allows_everything_is_told_with_its_server(live: Cluster) -> None:
    ran = osm_gitops("doctor")
    server = f"{live.server} (context management)"
    assert (ran.code, ran.err) == (0, "")
    counts = "MachineDeployments: 1, OperatingSystemProfiles: 1"
    assert f"cluster live: {counts}, read from cluster {server}" in _lines(ran, "ok")
    assert f"target of cluster live: {server} allows what a run does there" in _lines(ran, "ok")


def test_every_right_that_is_missing_in_a_cluster_is_told(live: Cluster, tmp_path: Path) -> None:
    live.kubeconfig(tmp_path / "config", "reader")
    allow(live, "reader", [rule("get list create", "secrets")], "cloud-init-settings")
    ran = osm_gitops("doctor")
    assert ran.code == 1
    wrong = _lines(ran, "fix")
    assert _has(wrong, Code.REQUEST_REFUSED, "cluster live: ", "machinedeployments.cluster.k8s.io", "403")
    named = f"target of cluster live: {live.server} (context management) "
    assert _has(wrong, Code.RIGHT_MISSING, named, "patch, delete on secrets", "cloud-init-settings")
    assert _has(wrong, Code.RIGHT_MISSING, "list on machines")


def test_rights_to_watch_are_looked_at_where_runs_are_to_watch(live: Cluster, tmp_path: Path) -> None:
    live.kubeconfig(tmp_path / "config", "reader")
    assert not _has(_lines(osm_gitops("doctor"), "fix"), Code.RIGHT_MISSING, "allow watch")
    wrong = _lines(osm_gitops("doctor", "--watch"), "fix")
    assert _has(wrong, Code.RIGHT_MISSING, "watch on machinedeployments", "all namespaces")
    assert _has(wrong, Code.RIGHT_MISSING, "watch on configmaps cluster-info", "kube-public")


@pytest.mark.usefixtures("live")
def test_a_context_that_a_fleet_names_and_that_is_not_there_is_told(tmp_path: Path) -> None:
    config = json.loads((tmp_path / "config").read_text("utf-8"))
    config["contexts"][0]["name"] = config["current-context"] = "other"
    (tmp_path / "config").write_text(json.dumps(config), "utf-8")
    ran = osm_gitops("doctor")
    assert ran.code == 1
    assert _has(_lines(ran, "fix"), "cluster live", Code.CONTEXT_NOT_FOUND, '"management"')
    assert _has(_lines(ran, "fix"), "target of cluster live", Code.CONTEXT_NOT_FOUND, '"management"')


def test_flags_that_name_a_cluster_win_over_the_fleet_file(live: Cluster, tmp_path: Path) -> None:
    live.kubeconfig(tmp_path / "reader", "reader")
    ran = osm_gitops("doctor", "--kubeconfig", str(tmp_path / "reader"))
    wrong = _lines(ran, "fix")
    assert _has(
        wrong, Code.RIGHT_MISSING, "target of cluster live: ", "get, update on leases osm-gitops", "kube-system"
    )


def _told_of(area: str, *arguments: str) -> list[tuple[str, str]]:
    """State and code of what doctor finds in an area."""
    document = checked("checkup", osm_gitops("doctor", "--output", "json", *arguments).out)
    return [(each["state"], each["code"]) for each in document["findings"] if each["area"] == area]


def test_a_token_is_looked_for_where_pull_requests_are_asked_for(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = ("ok", Code.CHECK_PASSED.value)
    assert _told_of("forge") == []
    write_fleet(repo, _FLEET.replace("branch: main", "branch: main, push: true, pullRequest: {branch: nodes}"))
    assert _told_of("forge") == [("fix", Code.FORGE_TOKEN.value)]
    assert _told_of("forge", "--untrusted") == []
    (repo / "token").write_text("forge-token-1\n", "utf-8")
    assert _told_of("forge", "--forge-token-file", "token") == [good]
    assert _told_of("forge", "--forge-token-file", "none") != [good]
    monkeypatch.setenv("OSM_GITOPS_FORGE_TOKEN", "forge-token-2")
    assert _told_of("forge") == [good]
    assert "forge-token" not in osm_gitops("doctor").out


def test_the_address_of_a_webhook_is_read_and_not_shown(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _told_of("webhook") == []
    monkeypatch.setenv("OSM_GITOPS_NOTIFY_URL", "https://hooks.example.com/secret-path")
    assert _told_of("webhook") == [("ok", Code.CHECK_PASSED.value)]
    assert "secret-path" not in osm_gitops("doctor").out
    assert _told_of("webhook", "--notify-url-file", "none") == [("fix", Code.FILE_UNREADABLE.value)]
    (repo / "url").write_text("secret-path\n", "utf-8")
    assert _told_of("webhook", "--notify-url-file", "url") == [("fix", Code.INVALID_OPTION.value)]
