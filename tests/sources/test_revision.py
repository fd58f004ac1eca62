"""A git revision as a tree of manifests, read without a checkout."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from osm_gitops.model.inputs import Inputs
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from tests.faults import Expected, placed, refused
from tests.git.repos import git, new_repository, pin_git
from tests.sources.trees import MACHINE, PROFILE, found, problems

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ns}\n"


@pytest.fixture(autouse=True)
def _pinned_git(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo")


def commit(repo: Path, files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "files")


def read(path: Path, revision: str = "main", display: str = "t") -> Inputs:
    with open_revision(path, revision, display) as files:
        return read_tree(files, management_namespace="kube-system", environment={})


def told(inputs: Inputs) -> list[str]:
    """Everything that the inputs say, and where their objects are from."""
    origins = [str(machine.manifest.origin) for machine in inputs.machines]
    origins += [str(profile.manifest.origin) for profile in inputs.profiles.values()]
    return [*origins, *map(str, problems(inputs)), *map(str, inputs.warnings), *inputs.notes]


def test_a_revision_is_read_as_the_folder_that_it_was(repo: Path) -> None:
    commit(
        repo,
        {
            "pools/b/deep/er/osp.yml": PROFILE,
            "pools/a.json": '{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineDeployment", "metadata": {}}',
            "pools/c.yaml": f"{MACHINE}---\n{MACHINE.replace('pool', 'b')}",
            "pools/twice.yaml": MACHINE,
            "pools/broken.yaml": "apiVersion: [\nkind: x",
            "pools/wrong.yaml": PROFILE.replace("osp-a", "osp-b").replace("ubuntu", "ubunto"),
            "pools/secret.yaml": SECRET,
            "pools/README.md": "kind: MachineDeployment",
            "pools/.hidden/x.yaml": "a: [",
            "pools/chart/Chart.yaml": "apiVersion: v2\nname: x\n",
            "pools/chart/templates/sub/a.yaml": MACHINE.replace("1.34.2", "{{ .Values.version }}"),
            "pools/ä ö.yaml": "x: 1\n",
            "pools/values.yaml": "replicas: 3\n",
        },
    )
    folder = read_tree(
        Folder(repo / "pools", "t", lambda found: found), management_namespace="kube-system", environment={}
    )
    revision = read(repo / "pools")
    assert [text.replace("@main", "") for text in told(revision)] == told(folder)
    assert str(revision.machines[0].manifest.origin) == "t/c.yaml@main:14"
    assert revision.machines[0].manifest.line_of("spec.template") == "t/c.yaml@main:19"


def test_links_are_followed_as_in_a_folder(repo: Path) -> None:
    root = repo / "root"
    (root / "..data").mkdir(parents=True)
    (root / "..data" / "md.yaml").write_text(MACHINE)
    (root / "md.yaml").symlink_to("..data/md.yaml")
    (root / "sub").mkdir()
    (root / "sub" / "loop").symlink_to("..")
    (root / "sub" / "again.yaml").symlink_to("../md.yaml")
    (root / "sub" / "circle.yaml").symlink_to("circle.yaml")
    (root / "sub" / "through").symlink_to("../../root/..data")
    (root / "gone.yaml").symlink_to("nowhere")
    (root / "under.yaml").symlink_to("md.yaml/nothing")
    (root / "out.yaml").symlink_to("../README.md")
    (root / "readme").symlink_to("../README.md")
    commit(repo, {})
    folder = read_tree(Folder(root, "t"), management_namespace="kube-system", environment={})
    assert [text.replace("@main", "") for text in told(read(root))] == told(folder)
    assert [problem.where for problem in folder.unreadable] == ["t/gone.yaml", "t/sub/circle.yaml", "t/under.yaml"]


def test_links_out_of_the_repository_are_not_followed(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text(MACHINE)
    (repo / "up.yaml").symlink_to("../outside.yaml")
    (repo / "absolute.yaml").symlink_to(tmp_path / "outside.yaml")
    commit(repo, {"link": "x"})
    inputs = read(repo)
    assert inputs.machines == ()
    assert inputs.notes == (
        "t/absolute.yaml@main: a link that leads out of the source is not followed",
        "t/up.yaml@main: a link that leads out of the source is not followed",
    )


@pytest.mark.parametrize(
    "revision", ["main", "v1", "HEAD", "HEAD~1", "refs/heads/main", "topic/a", "v1^0", "ABBREVIATED"]
)
def test_branches_tags_and_commits_are_revisions(repo: Path, revision: str) -> None:
    commit(repo, {"a.yaml": MACHINE})
    git(repo, "branch", "topic/a")
    git(repo, "tag", "--annotate", "--message", "x", "v1")
    if revision == "HEAD~1":
        commit(repo, {"a.yaml": PROFILE})
    first = git(repo, "rev-list", "--max-count=1", "v1")
    named = first[:9] if revision == "ABBREVIATED" else revision
    with open_revision(repo, named, "t") as files:
        assert files.commit == first
    assert len(read(repo, named).machines) == 1


def test_a_path_that_is_gone_from_the_work_tree_is_found(repo: Path) -> None:
    commit(repo, {"pools/prod/a.yaml": MACHINE})
    shutil.rmtree(repo / "pools")
    assert len(read(repo / "pools" / "prod").machines) == 1
    one = read(repo / "pools" / "prod" / "a.yaml", display="pools/prod/a.yaml")
    assert str(one.machines[0].manifest.origin) == "pools/prod/a.yaml@main:1"


def test_a_bare_repository_has_revisions(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"pools/a.yaml": MACHINE})
    git(tmp_path, "clone", "--quiet", "--bare", "repo", "bare.git")
    assert len(read(tmp_path / "bare.git" / "pools").machines) == 1
    assert len(read(tmp_path / "bare.git").machines) == 1


def test_a_linked_work_tree_and_a_link_to_a_folder_lead_to_the_repository(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"pools/a.yaml": MACHINE})
    git(repo, "worktree", "add", "--quiet", "--detach", "../linked")
    (tmp_path / "shortcut").symlink_to("repo/pools")
    assert len(read(tmp_path / "linked" / "pools").machines) == 1
    assert len(read(tmp_path / "shortcut").machines) == 1


def test_git_of_another_hash_is_read(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
    commit(repo, {"pools/a.yaml": MACHINE})
    assert len(read(repo / "pools").machines) == 1


def test_a_submodule_is_named_and_passed_over(repo: Path, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other")
    commit(other, {"a.yaml": MACHINE})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "--quiet", str(other), "pools/sub")
    commit(repo, {"pools/b.yaml": PROFILE})
    inputs = read(repo / "pools")
    assert placed(inputs.warnings) == [(Code.SUBMODULE_NOT_READ, "t/sub@main")]
    assert len(read(repo / "pools" / "sub").machines) == 1  # checked out, it is a repository itself
    shutil.rmtree(repo / "pools" / "sub")
    with refused(Code.SUBMODULE_NOT_READ):
        read(repo / "pools" / "sub")


def test_plain_secrets_of_a_revision_stand_in_git(repo: Path) -> None:
    commit(repo, {"a.yaml": SECRET + "data: {a: eA==}\n"})
    (warning,) = read(repo).warnings
    assert placed([warning]) == [(Code.SECRET_IN_PLAIN_TEXT, "t/a.yaml@main:1: Secret ns/s")]


def test_what_a_filter_left_in_git_is_no_absence(repo: Path) -> None:
    commit(
        repo,
        {
            "a.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n",
            "b.yaml": b"\0GITCRYPT\0\1\2",
        },
    )
    unreadable = read(repo).unreadable
    assert placed(unreadable) == [(Code.POINTER_FILE, "t/a.yaml@main"), (Code.POINTER_FILE, "t/b.yaml@main")]
    assert ["Git LFS" in unreadable[0].what, "git-crypt" in unreadable[1].what] == [True, True]


@pytest.mark.parametrize(
    ("revision", "path", "fault"),
    [
        ("gone", ".", Expected(Code.REVISION_NOT_FOUND, "t@gone", "gone")),
        ("--all", ".", Expected(Code.REVISION_NOT_FOUND, "t@--all")),
        ("main:pools", ".", Expected(Code.REVISION_NOT_FOUND, "main:pools")),
        ("HEAD..main", ".", Expected(Code.REVISION_NOT_FOUND, "HEAD..main")),
        ("main", "nowhere", Expected(Code.SOURCE_NOT_FOUND, "t@main", " nowhere")),
        ("main", "README.md/x", Expected(Code.SOURCE_NOT_FOUND, "README.md/x")),
        ("main", "out", Expected(Code.LINK_LEADS_OUT, "t@main")),
        ("main", "../beside", Expected(Code.SOURCE_NOT_FOUND, "t@main")),
    ],
)
def test_what_cannot_be_found_is_said_with_what_to_do(repo: Path, revision: str, path: str, fault: Expected) -> None:
    (repo / "out").symlink_to("/")
    commit(repo, {})
    with refused(fault):
        read(Path(os.path.normpath(repo / path)), revision)


def test_a_shallow_clone_is_named_as_the_reason(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a.yaml": MACHINE})
    git(tmp_path, "clone", "--quiet", "--depth=1", repo.as_uri(), "shallow")
    with refused(Expected(Code.REVISION_NOT_FOUND, "HEAD~1", "fetch-depth: 0")):
        read(tmp_path / "shallow", "HEAD~1")


def test_an_object_that_is_gone_is_a_problem_of_its_file(repo: Path) -> None:
    commit(repo, {"a.yaml": MACHINE, "b.yaml": PROFILE})
    identity = git(repo, "rev-parse", "HEAD:a.yaml")
    (repo / ".git" / "objects" / identity[:2] / identity[2:]).unlink()
    inputs = read(repo)
    assert found(inputs) == [(Code.FILE_UNREADABLE, "t/a.yaml@main")]
    assert str(problems(inputs)[0]).count(identity) == 1
    assert len(inputs.profiles) == 1


def test_a_file_that_is_too_large_does_not_hide_the_next(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("osm_gitops.sources.revision.MAX_BYTES", 1 << 20)
    commit(repo, {"a.yaml": b"#" * ((2 << 20) + 7) + b"\n" + MACHINE.encode(), "b.yaml": MACHINE})
    inputs = read(repo)
    assert [problem.where for problem in inputs.unreadable] == ["t/a.yaml@main"]
    assert [str(machine.manifest.origin) for machine in inputs.machines] == ["t/b.yaml@main:1"]
