"""``osm-gitops plan`` and ``apply`` against real git repositories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from osm_gitops.pipeline import git_work
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import clone_with_remote, file, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository, write_hook

_PLAINTEXT = "--dangerously-plaintext-secrets"


def _plan(*more: str) -> Ran:
    return osm_gitops("plan", "--from", "tree", "--to", "repo/clusters", _PLAINTEXT, *more)


def _apply(*more: str) -> Ran:
    return osm_gitops("apply", "--yes", "--from", "tree", "--to", "repo/clusters", _PLAINTEXT, *more)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree", profile(), pool("a"), pool("b"), pool("c"))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo")


def _commits(repository: Path) -> int:
    return int(git(repository, "rev-list", "--count", "HEAD"))


def test_plan_then_apply_then_nothing_to_do(tree: Path, repo: Path) -> None:
    assert tree.is_dir()
    assert "Plan: 10 to create" in _plan().out
    assert not (repo / "clusters").exists()
    ran = _apply()
    assert ran.code == 0, ran.err
    assert "Plan: 10 to create" in ran.out
    assert ran.err.startswith("default: committed ")
    assert _commits(repo) == 2
    ran = _apply()
    assert (ran.code, ran.out, ran.err) == (0, "No changes.\n", "")
    assert _commits(repo) == 2
    assert git(repo, "status", "--porcelain") == ""


def test_what_was_applied_can_be_reported(tree: Path, repo: Path, tmp_path: Path) -> None:
    assert tree.is_dir()
    assert _apply("--report", "applied.md").code == 0
    assert repo.is_dir()
    assert "Plan: 10 to create" in (tmp_path / "applied.md").read_text("utf-8")
    _apply("--report", "applied.md")
    assert (tmp_path / "applied.md").read_text("utf-8") == "## osm-gitops apply\n\nNo changes.\n\n"


def test_the_exit_code_tells_of_changes_only_when_asked(tree: Path, repo: Path) -> None:
    assert tree.is_dir()
    assert _plan().code == 0
    assert _plan("--detailed-exitcode").code == 2
    _apply()
    assert repo.is_dir()
    assert _plan("--detailed-exitcode").code == 0
    write_tree(tree, pool("bad", operatingSystem="debian"))
    assert _plan("--detailed-exitcode").code == 1


def test_the_commit_says_what_changed_and_from_what(tmp_path: Path, repo: Path) -> None:
    sources = new_repository(tmp_path / "sources")
    write_tree(sources / "tree", profile(), pool("a"))
    git(sources, "add", ".")
    git(sources, "commit", "--quiet", "-m", "pools")
    osm_gitops("apply", "--yes", "--from", "sources/tree", "--to", "repo/clusters", "--cluster", "prod", _PLAINTEXT)
    message = git(repo, "log", "-1", "--format=%B")
    assert message.startswith("osm-gitops: prod: 4 created, 0 updated, 0 deleted\n")
    assert "- kube-system/a\n" in message
    assert f"Osm-Gitops-Source: sources/tree@{git(sources, 'rev-parse', 'HEAD')}" in message
    assert "Osm-Gitops-Cluster: prod" in message


def test_actions_have_reasons_and_diffs_are_of_the_files_inside(tree: Path, repo: Path) -> None:
    _apply()
    assert repo.is_dir()
    (tree / "MachineDeployment-c.yaml").unlink()
    script = "#!/bin/sh\necho {{ .KubeVersion }}\nsystemctl restart kubelet\n"
    write_tree(tree, profile(version="v1.0.1", provisioningConfig={"files": [file("/opt/bin/setup", script)]}))
    write_tree(tree, pool("d"))
    out = _plan().out
    assert "profile version v1.0.0 → v1.0.1" in out
    assert "/opt/bin/setup" in out
    assert "+systemctl restart kubelet" in out
    assert "pool is gone" in out
    assert "new pool" in out
    assert "c3lzdGVtY3Rs" not in out
    assert "3 to create, 7 to update, 0 to replace, 3 to delete, 0 unchanged" in out


def test_the_json_plan_has_a_version_and_all_actions(tree: Path, repo: Path) -> None:
    assert tree.is_dir()
    assert repo.is_dir()
    report = json.loads(_plan("-o", "json").out)
    assert report["formatVersion"] == "2.1"
    assert report["hasChanges"] is True
    assert report["summary"]["create"] == 10


def test_a_plan_that_fails_prints_json_all_the_same(tmp_path: Path) -> None:
    assert tmp_path.is_dir()
    ran = osm_gitops("plan", "--from", "none", "--to", "repo", "-o", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["clusters"] == []


def test_a_pool_that_fails_stops_no_other_and_keeps_its_objects(tree: Path, repo: Path) -> None:
    _apply()
    before = (repo / "clusters/default/worker/secrets/b-kube-system-bootstrap-config.yaml").read_bytes()
    write_tree(tree, pool("b", operatingSystem="debian"), pool("d"))
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.UNKNOWN_OPERATING_SYSTEM, "debian") in told(ran.err)
    assert (repo / "clusters/default/worker/secrets/d-kube-system-bootstrap-config.yaml").is_file()
    assert (repo / "clusters/default/worker/secrets/b-kube-system-bootstrap-config.yaml").read_bytes() == before
    assert "b-kube-system" in (repo / "clusters/default/worker/kustomization.yaml").read_text()
    assert _commits(repo) == 3


def test_a_broken_pool_keeps_its_objects_too(tree: Path, repo: Path) -> None:
    _apply()
    broken = pool("b")
    del broken["spec"]["template"]["spec"]["versions"]
    write_tree(tree, broken)
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.MISSING_KEY, "spec.template.spec.versions") in told(ran.err)
    assert _commits(repo) == 2


def test_most_pools_are_not_deleted_without_being_asked(tree: Path, repo: Path) -> None:
    _apply()
    for name in ("a", "b"):
        (tree / f"MachineDeployment-{name}.yaml").unlink()
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.TOO_MANY_DELETIONS, "2", "3") in told(ran.err)
    assert Expected(Code.TOO_MANY_DELETIONS, "2") in told(ran.err)
    assert _commits(repo) == 2
    assert _plan().code == 1
    assert _plan("--max-delete", "2").code == 0
    assert _apply("--max-delete", "2").code == 0
    assert len(list((repo / "clusters/default/worker/secrets").iterdir())) == 2


def test_an_empty_source_deletes_nothing_without_being_asked(tree: Path, repo: Path) -> None:
    _apply()
    for path in tree.glob("MachineDeployment-*"):
        path.unlink()
    ran = _apply("--max-delete", "100%")
    assert ran.code == 1
    assert Expected(Code.NOTHING_DESIRED) in told(ran.err)
    assert _commits(repo) == 2
    assert _apply("--allow-empty").code == 0
    assert not (repo / "clusters/default/worker/secrets").exists()


def test_the_number_of_changed_pools_can_be_bounded(tree: Path, repo: Path) -> None:
    assert tree.is_dir()
    ran = _apply("--max-changed-pools", "2")
    assert ran.code == 1
    assert Expected(Code.TOO_MANY_CHANGES, "3") in told(ran.err)
    assert _commits(repo) == 1


def test_a_document_that_cannot_be_read_forbids_deletion(tree: Path, repo: Path) -> None:
    _apply()
    (tree / "MachineDeployment-b.yaml").unlink()
    (tree / "broken.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: x\n")
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.YAML_SYNTAX, "tree/broken.yaml") in told(ran.err)
    assert (repo / "clusters/default/worker/secrets/b-kube-system-bootstrap-config.yaml").is_file()


def test_only_commits_some_pools_and_deletes_none(tree: Path, repo: Path) -> None:
    write_tree(tree, profile("osp-b"), pool("b", "osp-b"))
    _apply()
    # What other pools need is not known, so of their profiles nothing is said.
    assert "Not deleted" not in _plan("--only", "a").out
    (tree / "MachineDeployment-c.yaml").unlink()
    write_tree(tree, pool("a", kubelet="1.35.0"), pool("b", "osp-b", kubelet="1.35.0"))
    assert _apply("--only", "a").code == 0
    changed = git(repo, "show", "--stat", "--format=", "HEAD")
    assert "a-kube-system" in changed
    assert "b-kube-system" not in changed
    assert "c-kube-system" not in changed


def test_files_with_changes_of_somebody_are_refused(tree: Path, repo: Path) -> None:
    _apply()
    edited = repo / "clusters/default/worker/secrets/a-kube-system-bootstrap-config.yaml"
    edited.write_text(edited.read_text() + "# mine\n")
    write_tree(tree, pool("a", kubelet="1.35.0"))
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.OWNED_FILES_EDITED, "clusters/default/worker/secrets/a-kube") in told(ran.err)
    assert edited.read_text().endswith("# mine\n")
    assert _commits(repo) == 2


def test_what_lies_beside_the_owned_path_is_not_committed(tree: Path, repo: Path) -> None:
    assert tree.is_dir()
    (repo / "README.md").write_text("changed\n")
    (repo / "new.txt").write_text("new\n")
    git(repo, "add", "new.txt")
    assert _apply().code == 0
    assert git(repo, "status", "--porcelain").splitlines() == ["M README.md", "A  new.txt"] or (
        sorted(git(repo, "status", "--porcelain").split()) == ["A", "M", "README.md", "new.txt"]
    )


def test_apply_wants_a_git_work_tree_and_plan_does_not(tree: Path, tmp_path: Path) -> None:
    assert tree.is_dir()
    ran = osm_gitops("apply", "--yes", "--from", "tree", "--to", "plain", _PLAINTEXT)
    assert ran.code == 1
    assert Expected(Code.NO_WORK_TREE, f"{tmp_path}/plain") in told(ran.err)
    assert osm_gitops("plan", "--from", "tree", "--to", "plain").code == 0
    assert osm_gitops("render", "--from", "tree", "--to", "plain").code == 0
    assert osm_gitops("plan", "--from", "tree", "--to", "plain").out == "No changes.\n"


def test_plain_secrets_are_refused_with_the_reason(tree: Path, repo: Path) -> None:
    assert tree.is_dir()
    ran = osm_gitops("apply", "--yes", "--from", "tree", "--to", "repo/clusters")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.PLAIN_SECRETS_IN_GIT) in told(ran.err)
    assert Expected(Code.PLAIN_SECRETS_IN_GIT, _PLAINTEXT) in told(ran.err)
    assert _commits(repo) == 1


def test_a_repository_without_a_commit_gets_its_first(tree: Path, tmp_path: Path) -> None:
    assert tree.is_dir()
    repository = new_repository(tmp_path / "repo", with_commit=False)
    assert _apply().code == 0
    assert _commits(repository) == 1


def test_another_branch_than_the_fleets_is_refused(tree: Path, repo: Path, tmp_path: Path) -> None:
    assert tree.is_dir()
    write_fleet(tmp_path, "clusters: [{name: a, from: tree, to: {git: {path: repo/clusters, branch: prod}}}]")
    ran = osm_gitops("apply", "--yes", _PLAINTEXT)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.WRONG_BRANCH, repo, "main", "prod")]


def test_sources_and_target_may_share_a_repository(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(repo / "tree", profile(), pool("a"))
    write_fleet(repo, "defaults: {to: {git: {path: .}}}\nclusters: [{name: a, from: .}, {name: b, from: tree}]")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "sources")
    monkeypatch.chdir(repo)
    ran = osm_gitops("apply", "--yes", _PLAINTEXT)
    assert ran.code == 0, ran.err
    assert _commits(repo) == 4
    ran = osm_gitops("apply", "--yes", _PLAINTEXT)
    assert ran.code == 0, ran.err
    assert ran.out.endswith("\nNo changes.\n")
    assert "this Secret is in plain text in git. " in ran.out  # ours are not counted


def test_a_hook_that_refuses_leaves_all_as_it_was(tree: Path, repo: Path) -> None:
    assert tree.is_dir()
    write_hook(repo, "pre-commit", "echo no secrets here, please >&2; exit 1")
    ran = _apply()
    assert ran.code == 1
    assert Expected(Code.GIT_COMMAND_FAILED, "no secrets here, please") in told(ran.err)
    assert _commits(repo) == 1
    assert git(repo, "status", "--porcelain") == ""


def _racing(tmp_path: Path) -> tuple[Path, Path]:
    """A clone whose first push always comes too late: another clone pushes from its pre-push hook."""
    remote, clone = clone_with_remote(tmp_path)
    git(tmp_path, "clone", "--quiet", "remote.git", "other")
    other = tmp_path / "other"
    script = (
        f"[ -e {tmp_path}/raced ] && exit 0\ntouch {tmp_path}/raced\n"
        f"unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE\ncd {other}\n"
        "mkdir -p clusters/default/worker/secrets && echo x > theirs.txt\n"
        "git add . && git commit --quiet -m theirs && git push --quiet origin main"
    )
    write_hook(clone, "pre-push", script)
    return remote, clone


def test_a_push_that_comes_too_late_is_planned_and_pushed_again(tree: Path, tmp_path: Path) -> None:
    assert tree.is_dir()
    remote, clone = _racing(tmp_path)
    ran = osm_gitops("apply", "--yes", "--from", "tree", "--to", "clone/clusters", _PLAINTEXT, "--push", "-v")
    assert ran.code == 0, ran.err
    assert "planning again" in ran.err
    subjects = git(remote, "log", "--format=%s", "main").splitlines()
    assert subjects == ["osm-gitops: default: 10 created, 0 updated, 0 deleted", "theirs", "start"]
    assert git(clone, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")
    assert (clone / "theirs.txt").is_file()


def test_a_push_that_always_comes_too_late_is_given_up_and_leaves_all_to_the_others(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tree.is_dir()
    pauses: list[float] = []
    monkeypatch.setattr(git_work, "_PUSH_ATTEMPTS", 5)
    monkeypatch.setattr(git_work, "sleep", pauses.append)
    remote, clone = _racing(tmp_path)
    hook = clone / ".git" / "hooks" / "pre-push"
    again = hook.read_text().replace(f"[ -e {tmp_path}/raced ] && exit 0\n", "").replace("echo x >", "echo x >>")
    write_hook(clone, "pre-push", again)
    ran = osm_gitops("apply", "--yes", "--from", "tree", "--to", "clone/clusters", _PLAINTEXT, "--push")
    assert ran.code == 1
    assert Expected(Code.PUSH_TOO_LATE, "5") in told(ran.err)
    assert len(pauses) == 4  # after the first time it is tried again at once
    assert all(0 <= pause <= 8 for pause in pauses)
    assert "committed" not in ran.err
    assert git(remote, "log", "--format=%s", "main").splitlines() == ["theirs"] * 5 + ["start"]
    assert git(clone, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")
    assert git(clone, "status", "--porcelain") == ""


def test_a_push_that_is_refused_is_told_and_retried_by_the_next_run(tree: Path, tmp_path: Path) -> None:
    assert tree.is_dir()
    remote, clone = clone_with_remote(tmp_path)
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho not on a Friday >&2\nexit 1\n")
    hook.chmod(0o755)
    command = ("apply", "--yes", "--from", "tree", "--to", "clone/clusters", _PLAINTEXT, "--push")
    ran = osm_gitops(*command)
    assert ran.code == 1
    assert Expected(Code.PUSH_REFUSED, "not on a Friday") in told(ran.err)
    assert _commits(remote) == 1
    hook.unlink()
    assert osm_gitops(*command).code == 0
    assert git(clone, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")


def test_a_pool_that_fails_only_in_the_second_plan_fails_the_run(tmp_path: Path) -> None:
    remote, clone = clone_with_remote(tmp_path)
    write_tree(clone / "tree", profile(), pool("a"))
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "sources")
    git(clone, "push", "--quiet", "origin", "main")
    git(tmp_path, "clone", "--quiet", "remote.git", "other")
    write_tree(tmp_path / "other/tree", pool("b", operatingSystem="debian"))
    write_hook(
        clone,
        "pre-push",
        f"[ -e {tmp_path}/raced ] && exit 0\ntouch {tmp_path}/raced\n"
        f"unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE\ncd {tmp_path}/other\n"
        "git add . && git commit --quiet -m theirs && git push --quiet origin main",
    )
    ran = osm_gitops("apply", "--yes", "--from", "clone/tree", "--to", "clone/clusters", _PLAINTEXT, "--push")
    assert ran.code == 1
    assert Expected(Code.UNKNOWN_OPERATING_SYSTEM, "debian") in told(ran.err)
    assert git(clone, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")


def test_clusters_with_one_target_get_a_commit_each(tree: Path, repo: Path, tmp_path: Path) -> None:
    assert tree.is_dir()
    write_fleet(
        tmp_path,
        "defaults: {to: {git: {path: repo/clusters}}}\n"
        "clusters: [{name: a, from: tree}, {name: b, from: tree}, {name: c, from: none}]",
    )
    ran = osm_gitops("apply", "--yes", _PLAINTEXT)
    assert ran.code == 1
    assert Expected(Code.SOURCE_NOT_FOUND) in told(ran.err)
    assert [line.split()[:2] for line in ran.err.splitlines()[:2]] == [["a:", "committed"], ["b:", "committed"]]
    assert _commits(repo) == 3


def test_apply_says_nothing_of_changes_where_nothing_could_be_planned(tree: Path) -> None:
    assert tree.is_dir()
    assert osm_gitops("apply", "--yes", "--from", "tree", "--to", "plain", _PLAINTEXT).out == ""


def test_a_tree_at_a_revision_is_applied_and_named_by_its_commit(tmp_path: Path, repo: Path) -> None:
    source = new_repository(tmp_path / "source")
    write_tree(source / "pools", profile(), pool("a"))
    git(source, "add", ".")
    git(source, "commit", "--quiet", "--message", "pools")
    head = git(source, "rev-parse", "HEAD")
    write_tree(source / "pools", pool("not-yet"))
    ran = osm_gitops("apply", "--yes", "--from", "source/pools@main", "--to", "repo/clusters", _PLAINTEXT)
    assert ran.code == 0, ran.err
    assert "not-yet" not in ran.out
    assert "source/pools/Secret-cloud-init-getter-token.yaml@main:1: Secret cloud-init-settings/" in ran.out
    assert f"Osm-Gitops-Source: source/pools@{head}" in git(repo, "log", "-1", "--format=%(trailers)").splitlines()
    ran = osm_gitops("apply", "--yes", "--from", "source/pools@gone", "--to", "repo/clusters", _PLAINTEXT)
    assert ran.code == 1
    assert Expected(Code.REVISION_NOT_FOUND, "source/pools@gone", "default", source, "gone") in told(ran.err)


def test_figures_tell_of_runs_into_git_too(tree: Path, repo: Path, tmp_path: Path) -> None:
    assert repo.is_dir()
    figures = tmp_path / "figures.prom"
    for changed in (3, 0):
        assert _apply("--metrics-file", str(figures)).code == 0
        text = figures.read_text("utf-8")
        assert 'osm_gitops_run_success{cluster="default"} 1\n' in text
        assert f'osm_gitops_pools{{cluster="default",state="changed"}} {changed}\n' in text
    write_tree(tree, pool("d", operatingSystem="suse"))
    assert _apply("--metrics-file", str(figures)).code == 1
    text = figures.read_text("utf-8")
    assert 'osm_gitops_run_success{cluster="default"} 0\n' in text
    assert 'osm_gitops_pools{cluster="default",state="failed"} 1\n' in text
    assert "osm_gitops_last_good_run_timestamp_seconds{" in text  # that of the run before
    refused = _apply("--pushgateway", "nonsense")
    assert refused.code == 1
    assert Expected(Code.INVALID_OPTION) in told(refused.err)
