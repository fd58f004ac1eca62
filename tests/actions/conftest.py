"""A config repository on a server, pull requests to it, and jobs that run actions on them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.actions.github import WRITING, GitHub, serving
from tests.actions.runner import Job
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, secret, write_fleet, write_tree
from tests.git.repos import git, new_repository, pin_git
from tests.sources.sealed import KEY, RECIPIENT, sealed

FLEET = "clusters:\n- {name: prod, from: pools, to: {git: {path: clusters, branch: main}}}\n"
_SOPS = f"creation_rules:\n- {{path_regex: .*, encrypted_regex: '^(data|stringData|spec)$', age: {RECIPIENT}}}\n"
_PRINTS = "#!/bin/sh\necho {{ .Token }} {{ .KubeVersion }}\n"


@pytest.fixture(autouse=True)
def _pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    pin_git(monkeypatch)


@pytest.fixture
def github() -> Iterator[GitHub]:
    with serving() as server:
        yield server


@dataclass(frozen=True, slots=True)
class Config:
    """A config repository: ``work`` is a clone of ``remote``, where ``main`` is the default branch."""

    work: Path
    remote: Path

    def commit(self, message: str = "more") -> None:
        git(self.work, "add", ".")
        git(self.work, "commit", "--quiet", "-m", message)

    def clone(self) -> None:
        git(self.work.parent, "clone", "--quiet", str(self.remote), str(self.work))

    def pool(self, name: str, **more: str) -> None:
        path = self.work / "pools" / f"MachineDeployment-{name}.yaml"
        path.write_text(yaml.safe_dump(pool(name, **more)), "utf-8")

    def token(self, token: str) -> None:
        text = yaml.safe_dump(secret("cloud-init-getter-token", "cloud-init-settings", {"token": token}))
        (self.work / "pools" / "Secret-cloud-init-getter-token.yaml").write_text(sealed(text), "utf-8")

    def checkout(self, folder: Path, ref: str = "main", depth: int = 1) -> Path:
        """What actions/checkout leaves: a shallow clone of one ref."""
        git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
        git(folder, "remote", "add", "origin", self.remote.as_uri())
        git(folder, "fetch", "--quiet", f"--depth={depth}", "origin", ref)
        branch = ["-B", ref] if not ref.startswith("refs/") else []
        git(folder, "checkout", "--quiet", *branch, "FETCH_HEAD")
        return folder

    def pull_request(self, change: Callable[[Config], None]) -> None:
        """Offer a change: refs/pull/7/merge is main with it merged, as GitHub makes it."""
        git(self.work, "checkout", "--quiet", "-B", "offered", "main")
        change(self)
        self.commit("offered")
        git(self.work, "checkout", "--quiet", "--detach", "main")
        git(self.work, "merge", "--quiet", "--no-ff", "-m", "merge", "offered")
        git(self.work, "push", "--quiet", "--force", "origin", "HEAD:refs/pull/7/merge")
        git(self.work, "checkout", "--quiet", "main")


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bare repositories to copy: ``start.git`` with the sources of one cluster, ``applied.git`` with its state too."""
    folder = tmp_path_factory.mktemp("states")
    with pytest.MonkeyPatch.context() as patch:
        pin_git(patch)
        made = Config(folder / "work", folder / "applied.git")
        git(new_repository(folder / "first").parent, "clone", "--quiet", "--bare", "first", "applied.git")
        made.clone()
        write_fleet(made.work, FLEET)
        write_tree(made.work / "pools", profile(script=_PRINTS), pool("a"), pool("b"))
        made.token("getter-token-1")
        (made.work / ".sops.yaml").write_text(_SOPS, "utf-8")
        made.commit()
        git(made.work, "push", "--quiet", "origin", "HEAD")
        git(folder, "clone", "--quiet", "--bare", "applied.git", "start.git")
        patch.chdir(made.work)
        patch.setenv("SOPS_AGE_KEY", KEY)
        ran = osm_gitops("apply", "--yes", "--push")
        assert ran.code == 0, ran.err
    return folder


@pytest.fixture
def config(states: Path, tmp_path: Path) -> Config:
    """One cluster with two pools, encrypted, and nothing applied yet."""
    return _copy(states / "start.git", tmp_path)


@pytest.fixture
def applied(states: Path, tmp_path: Path) -> Config:
    """The same with its desired state."""
    return _copy(states / "applied.git", tmp_path)


def _copy(state: Path, folder: Path) -> Config:
    made = Config(folder / "work", Path(shutil.copytree(state, folder / "remote.git")))
    made.clone()
    return made


@dataclass(frozen=True, slots=True)
class Jobs:
    """Makes jobs of pull request 7 and of the default branch of a config repository."""

    github: GitHub
    programs: Path
    folder: Path

    def pull_request(self, config: Config, *, fork: bool = False, actor: str = "someone") -> Job:
        context = {
            "event_name": "pull_request",
            "event.pull_request.number": "7",
            "event.pull_request.head.repo.full_name": "stranger/nodes" if fork else "org/nodes",
            "actor": actor,
        }
        job = self._job(context)
        config.checkout(job.workspace, "refs/pull/7/merge", depth=2)
        return job

    def push(self, config: Config) -> Job:
        job = self._job({"event_name": "push"})
        config.checkout(job.workspace)
        return job

    def _job(self, context: dict[str, str]) -> Job:
        number = len(list(self.folder.iterdir()))
        temp = self.folder / f"temp-{number}"
        temp.mkdir()
        server = {"server_url": "https://github.com", "api_url": self.github.url, "run_id": "4711"}
        github = {"repository": "org/nodes", "token": WRITING} | server | context
        job = Job(temp, self.folder / f"work-{number}", github, {"GIT_CONFIG_NOSYSTEM": "1"})
        job.outputs["setup.bin"] = str(self.programs)
        return job


@pytest.fixture
def jobs(github: GitHub, programs: Path, tmp_path: Path) -> Jobs:
    (tmp_path / "runner").mkdir()
    return Jobs(github, programs, tmp_path / "runner")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the step that installs osm-gitops puts it."""
    temp = tmp_path_factory.mktemp("setup")
    # It finds uv, its cache and the package index as this process does.
    kept = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    job = Job(temp, temp, {}, kept)
    job.install()
    assert not job.failed, job.log
    return Path(job.outputs["setup.bin"])
