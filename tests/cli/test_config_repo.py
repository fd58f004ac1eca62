"""``--repo URL --ref REF``: a run in a clone that lasts as long as the run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.sops.keys import new_identity
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository
from tests.git.server import serving

_PLAINTEXT = "--dangerously-plaintext-secrets"
_FLEET = "clusters: [{name: prod, from: pools, to: {git: {path: clusters, branch: main, remote: upstream}}}]"


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No run may leave anything where temporary files go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A config repo with sources and a fleet file; nobody's work tree is at hand."""
    first = new_repository(tmp_path / "first")
    write_fleet(first, _FLEET)
    write_tree(first / "pools", profile(), pool("a"))
    git(first, "add", ".")
    git(first, "commit", "--quiet", "--message", "pools")
    git(tmp_path, "clone", "--quiet", "--bare", "first", "served/nodes.git")
    return tmp_path / "served" / "nodes.git"


def _run(command: str, remote: Path, *more: str) -> Ran:
    yes = ("--yes",) if command == "apply" else ()
    return osm_gitops(command, *yes, "--repo", f"file://{remote}", *more)


def _files(remote: Path, branch: str = "main") -> list[str]:
    return [name for name in git(remote, "ls-tree", "-r", "--name-only", branch).splitlines() if "clusters/" in name]


def test_a_plan_needs_nothing_but_the_address(remote: Path) -> None:
    ran = _run("plan", remote, _PLAINTEXT)
    assert (ran.code, ran.err) == (0, "")
    assert "Plan: 4 to create" in ran.out


def test_an_apply_commits_and_pushes_what_a_later_run_finds_done(remote: Path) -> None:
    ran = _run("apply", remote, "--ref", "main", _PLAINTEXT)
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[-1] == "pushed to origin/main"
    assert "clusters/prod/worker/secrets/a-kube-system-bootstrap-config.yaml" in _files(remote)
    assert git(remote, "log", "--format=%s", "main").splitlines()[1:] == ["pools", "start"]
    ran = _run("apply", remote, "--ref", "main", _PLAINTEXT)
    assert (ran.code, ran.out.splitlines()[-1], ran.err) == (0, "No changes.", "")


def test_relative_paths_start_in_the_clone_and_absolute_ones_do_not(remote: Path, tmp_path: Path) -> None:
    dump = write_tree(tmp_path / "dump", profile(), pool("b"))
    ran = _run("apply", remote, "--from", str(dump), "--profiles-from", "pools", "--to", "desired", _PLAINTEXT)
    assert ran.code == 0, ran.err
    assert "desired/default/management/operatingsystemconfigs/b-kube-system-config.yaml" in git(
        remote, "ls-tree", "-r", "--name-only", "main"
    )


def test_a_fleet_file_and_files_of_settings_are_looked_for_in_the_clone(remote: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(remote), "clone")
    write_fleet(clone / "fleets", "clusters: [{name: other, from: ../pools, to: {git: {path: ../clusters}}}]")
    git(clone, "rm", "--quiet", "osm-gitops.yaml")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message", "other fleet")
    git(clone, "push", "--quiet")
    # One that lies above the clone belongs to somebody else.
    (tmp_path / "temporary" / "osm-gitops.yaml").write_text("kind: Trap\n")
    ran = _run("plan", remote)
    (tmp_path / "temporary" / "osm-gitops.yaml").unlink()
    assert Expected(Code.NO_SOURCE, f"file://{remote}", "osm-gitops.yaml") in told(ran.err)
    ran = _run("plan", remote, "--fleet", "fleets/osm-gitops.yaml", "--host-ca-bundle", "gone.pem")
    assert ran.code == 1
    assert f"file://{remote}/gone.pem" in ran.err.replace("fleets/../", "")
    assert "Cluster other" in _run("plan", remote, "--fleet", "fleets/osm-gitops.yaml").out


def test_overlays_of_the_fleet_and_of_flags_are_found_in_the_clone(remote: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(remote), "clone")
    write_fleet(clone, _FLEET.replace("from: pools", "from: pools, overlays: [overlays/a]"))
    for name, setting in (("a", "pauseImage: a"), ("b", "pauseImage: b"), ("c", "clusterDNS: nonsense")):
        (clone / "overlays" / name).mkdir(parents=True)
        text = f"apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\nsettings: {{{setting}}}\n"
        (clone / "overlays" / name / "overlay.yaml").write_text(text)
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message", "overlays")
    git(clone, "push", "--quiet")
    shown = _run("plan", remote, "--overlay", "overlays/b").out
    assert "overlays overlays/a (overlays/a/overlay.yaml:3) and overlays/b set this differently" in " ".join(
        shown.split()
    )
    ran = _run("plan", remote, "--overlay", "overlays/c")
    assert ran.err == (
        'Error: overlays/c/overlay.yaml:3 settings.clusterDNS: "nonsense" is not an IP address. '
        "Write addresses such as 10.96.0.10, separated by commas, without a prefix length or leading zeros [OG1024]\n"
    )
    ran = _run("plan", remote, "--overlay", "overlays/missing")
    assert str(tmp_path / "temporary") not in ran.err


def test_errors_name_the_address_and_not_the_folder_that_is_gone(remote: Path, tmp_path: Path) -> None:
    ran = _run("apply", remote)
    assert ran.code == 1
    assert f"Error: file://{remote}/clusters: is in the git work tree file://{remote}: " in ran.err
    assert str(tmp_path / "temporary") not in ran.err


def test_encryption_rules_above_the_clone_belong_to_somebody_else(remote: Path, tmp_path: Path) -> None:
    rules = tmp_path / "temporary" / ".sops.yaml"
    rules.write_text(f"creation_rules: [{{age: {new_identity()[1]}}}]\n")
    ran = _run("apply", remote)
    rules.unlink()
    assert ran.code == 1
    assert Expected(Code.PLAIN_SECRETS_IN_GIT) in told(ran.err)


def test_a_tag_or_commit_can_be_planned_but_not_applied(remote: Path) -> None:
    git(remote, "tag", "v1", "main")
    assert _run("plan", remote, "--ref", "v1", _PLAINTEXT).code == 0
    ran = _run("apply", remote, "--ref", "v1", _PLAINTEXT)
    assert ran.code == 1
    assert Expected(Code.WRONG_BRANCH, f"file://{remote}", "main") in told(ran.err)


def test_another_branch_than_the_fleets_is_refused_with_the_flag_that_names_it(remote: Path) -> None:
    git(remote, "branch", "next", "main")
    ran = _run("apply", remote, "--ref", "next", _PLAINTEXT)
    assert Expected(Code.WRONG_BRANCH, f"file://{remote}", "next", "main") in told(ran.err)


def test_a_ref_that_the_remote_lacks_is_told(remote: Path) -> None:
    ran = _run("plan", remote, "--ref", "gone")
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [Expected(Code.GIT_NAME, f"file://{remote}", "gone")]


def test_what_would_be_lost_or_means_nothing_is_refused(remote: Path) -> None:
    assert Expected(Code.OPTIONS_CONFLICT, "--no-push: ") in told(_run("apply", remote, "--no-push").err)
    assert Expected(Code.OPTIONS_CONFLICT, "--ref: ") in told(osm_gitops("plan", "--ref", "main").err)
    ran = osm_gitops("plan", "--repo", "https://me:hunter22@git.example.com/nodes.git")
    assert Expected(Code.CREDENTIAL_IN_ADDRESS, "--repo") in told(ran.err)
    assert "hunter22" not in ran.err


def _race(remote: Path, human: Path, command: str) -> None:
    """The first push of ours meets a commit of theirs, which holds what ``command`` does in their clone."""
    raced = human.parent / "raced"
    hook = remote / "hooks" / "pre-receive"
    hook.write_text(
        f"#!/bin/sh\n[ -e {raced} ] && exit 0\ntouch {raced}\n"
        "unset GIT_DIR GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
        f"cd {human} && {command} && git add . && git commit --quiet -m theirs && git push --quiet origin main\n"
    )
    hook.chmod(0o755)


def test_a_human_who_pushes_in_between_is_planned_upon_and_nothing_of_theirs_is_lost(
    remote: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "human")
    human = tmp_path / "human"
    write_tree(human / "pools", pool("b"))
    _race(remote, human, ":")
    ran = _run("apply", remote, _PLAINTEXT, "-v")
    assert ran.code == 0, ran.err
    assert "The remote has newer commits: planning again from them." in ran.err
    subjects = git(remote, "log", "--format=%s", "main").splitlines()
    assert subjects == ["osm-gitops: prod: 7 created, 0 updated, 0 deleted", "theirs", "pools", "start"]


def test_a_fleet_file_that_comes_with_the_commits_of_others_counts(remote: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "human")
    _race(remote, tmp_path / "human", "git mv pools nodes && sed -i s/pools/nodes/ osm-gitops.yaml")
    ran = _run("apply", remote, _PLAINTEXT)
    assert ran.code == 0, ran.err
    assert "osm-gitops-source: nodes" in git(remote, "log", "-1", "--format=%B", "main").lower()


def test_a_cluster_that_others_took_out_of_the_fleet_is_not_written(remote: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "human")
    _race(remote, tmp_path / "human", "sed -i s/prod/gone/ osm-gitops.yaml")
    ran = _run("apply", remote, _PLAINTEXT)
    assert ran.code == 1
    assert Expected(Code.FLEET_FILE_CHANGED, "cluster prod: ") in told(ran.err)
    assert _files(remote) == []


def test_targets_after_one_whose_push_met_others_are_planned_again_too(remote: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "human")
    human = tmp_path / "human"
    fleet = ", ".join(f"{{name: {name}, from: pools, to: {{git: {{path: clusters/{name}}}}}}}" for name in ("eu", "us"))
    write_fleet(human, f"clusters: [{fleet}]")
    git(human, "commit", "--quiet", "--all", "-m", "two")
    git(human, "push", "--quiet")
    _race(remote, human, "sed -i s/cx22/cx32/ pools/* && sed -i s/1.34.2/1.34.9/ pools/*")
    assert _run("apply", remote, _PLAINTEXT).code == 0
    for name in ("eu", "us"):
        path = f"clusters/{name}/{name}/management/operatingsystemconfigs"
        shown = git(remote, "grep", "-c", "1.34.9", "main", "--", path)
        assert shown, name
    assert _run("plan", remote, "--detailed-exitcode", _PLAINTEXT).code == 0


def test_a_protected_branch_is_told_with_the_way_around(remote: Path) -> None:
    hook = remote / "hooks" / "update"
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/main ] || { echo main is protected >&2; exit 1; }\n')
    hook.chmod(0o755)
    before = git(remote, "rev-parse", "main")
    ran = _run("apply", remote, _PLAINTEXT)
    assert ran.code == 1
    assert Expected(Code.PUSH_REFUSED, f"file://{remote}", "origin", "main", "hook declined: main is") in told(ran.err)
    assert Expected(Code.PUSH_REFUSED, "--branch NAME") in told(ran.err)
    assert "committed" not in ran.err
    assert git(remote, "rev-parse", "main") == before
    ran = _run("apply", remote, _PLAINTEXT, "--branch", "osm-gitops/update")
    assert ran.code == 0, ran.err
    assert git(remote, "rev-parse", "main") == before
    assert _files(remote, "osm-gitops/update")


def test_a_token_from_a_file_is_enough_and_is_nowhere_to_be_read(
    remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("tok-5ecr3t\n")
    monkeypatch.setenv("OSM_GITOPS_GIT_TOKEN_FILE", "token")
    with serving(remote.parent, "tok-5ecr3t") as server:
        ran = osm_gitops("apply", "--yes", "--repo", f"{server.address}/nodes.git", _PLAINTEXT, "-v")
        assert ran.code == 0, ran.err
        assert ran.err.splitlines()[-1] == "pushed to origin/main"
        seen = b"".join((*server.processes, ran.out.encode(), ran.err.encode()))
    assert b"tok-5ecr3t" not in seen
    assert _files(remote)


def _cronjob() -> dict[str, Any]:
    """The manifest of docs/how-to/git.md."""
    document = (Path(__file__).parents[2] / "docs" / "how-to" / "git.md").read_text("utf-8")
    text = document.split("```yaml\napiVersion: batch/v1\n", 1)[1].split("```", 1)[0]
    job: dict[str, Any] = yaml.safe_load(text)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return job


def _mount(folder: Path, files: dict[str, str]) -> None:
    """A Secret as the kubelet mounts it: links to links, so that all files change at once."""
    (folder / "..2026_11_21").mkdir(parents=True)
    (folder / "..data").symlink_to("..2026_11_21")
    for name, text in files.items():
        (folder / "..2026_11_21" / name).write_text(text, "utf-8")
        (folder / name).symlink_to(f"..data/{name}")


def test_the_cronjob_of_the_docs_commits_encrypted_and_finds_nothing_to_do_the_next_time(
    remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = _cronjob()
    (container,) = job["containers"]
    identity, recipient = new_identity()
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    contents = {
        "git": {"token": "tok-5ecr3t\n"},
        "age": {"age.agekey": identity},
        "facts": {f"{index}.yaml": yaml.safe_dump(body) for index, body in enumerate(facts())},
    }
    assert {"tmp", *contents} == set(mounts) == {volume["name"] for volume in job["volumes"]}
    for name, files in contents.items():
        _mount(tmp_path / "mounted" / name, files)

    def inside(text: str) -> str:
        flag, equals, path = text.rpartition("=")
        found = next((name for name in contents if path.startswith(mounts[name])), None)
        return text if found is None else f"{flag}{equals}{tmp_path}/mounted/{found}{path.removeprefix(mounts[found])}"

    git(tmp_path, "clone", "--quiet", str(remote), "nodes")
    nodes = tmp_path / "nodes"
    git(nodes, "rm", "--quiet", "-r", "pools")
    write_tree(nodes / "pools", profile(), pool("a"))
    for path in (nodes / "pools").iterdir():
        if path.name.startswith(("Secret", "ConfigMap")):
            path.unlink()
    source = f"{{machineDeployments: pools, facts: {inside('/cluster-dump')}}}"
    write_fleet(nodes, f"clusters: [{{name: prod, from: {source}, to: {{git: {{path: clusters}}}}}}]")
    (nodes / ".sops.yaml").write_text(f"creation_rules: [{{age: {recipient}}}]\n")
    git(nodes, "add", ".")
    git(nodes, "commit", "--quiet", "--message", "as the docs have it")
    git(nodes, "push", "--quiet")

    for variable in container["env"]:
        monkeypatch.setenv(variable["name"], inside(variable["value"]))
    with serving(remote.parent, "tok-5ecr3t") as server:
        arguments = [inside(each) for each in container["args"] if not each.startswith("--repo=")]
        ran = osm_gitops(*arguments, f"--repo={server.address}/nodes.git")
        assert ran.code == 0, ran.err
        assert ran.err.splitlines()[-1] == "pushed to origin/main"
        assert git(remote, "log", "-1", "--format=%an", "main") == "osm-gitops"
        secret = git(remote, "show", "main:clusters/prod/worker/secrets/a-kube-system-bootstrap-config.yaml")
        assert f"recipient: {recipient}" in secret
        ran = osm_gitops(*arguments, f"--repo={server.address}/nodes.git")
        assert (ran.code, ran.out, ran.err) == (0, "No changes.\n", "")


def test_an_encrypted_proposal_is_not_made_anew_and_encrypted_where_its_branch_says_so(
    remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity, recipient = new_identity()
    git(tmp_path, "clone", "--quiet", str(remote), "nodes")
    nodes = tmp_path / "nodes"
    (nodes / ".sops.yaml").write_text(f"creation_rules: [{{path_regex: ^clusters/, age: {recipient}}}]\n")
    git(nodes, "add", ".")
    git(nodes, "commit", "--quiet", "--message", "rules")
    git(nodes, "push", "--quiet")
    (tmp_path / "key").write_text(identity)
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.chdir(nodes)
    for where in (("--no-push",), ("--repo", f"file://{remote}")):
        command = ("apply", "--yes", *where, "--branch", "osm-gitops/prod")
        first, second = osm_gitops(*command), osm_gitops(*command)
        assert first.code == 0, first.err
        assert (second.code, second.err) == (0, "")
        assert second.out.endswith("No changes.\n")
    secret = "clusters/prod/worker/secrets/a-kube-system-bootstrap-config.yaml"
    assert f"recipient: {recipient}" in git(remote, "show", f"osm-gitops/prod:{secret}")
    assert git(nodes, "rev-list", "--count", "main..osm-gitops/prod") == "1"
    assert git(nodes, "status", "--porcelain") == ""


def test_a_run_that_is_told_to_end_leaves_no_clone(remote: Path, tmp_path: Path) -> None:
    hook = remote / "hooks" / "pre-receive"
    # It ends the run while that pushes, and lasts until that has gone.
    # Of the environment it sees what git needs alone, so what it is to know lies in files.
    hook.write_text(f'#!/bin/sh\nkill -TERM "$(cat {tmp_path}/run)"\nexec cat <{tmp_path}/forever\n')
    hook.chmod(0o755)
    os.mkfifo(tmp_path / "forever")
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    run = str(tmp_path / "run")
    script = f"import os; open({run!r}, 'w').write(str(os.getpid())); from osm_gitops.__main__ import main; main()"
    command = ["apply", "--yes", "--repo", f"file://{remote}", _PLAINTEXT]
    with (tmp_path / "said").open("w") as said:
        done = subprocess.run([sys.executable, "-c", script, *command], env=environment, stderr=said, check=False)
    (tmp_path / "forever").open("w").close()  # the hook ends
    assert done.returncode == 130
    assert (tmp_path / "said").read_text().splitlines()[-1].startswith("Interrupted.")
