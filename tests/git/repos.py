"""Real git repositories in temporary folders, with nothing of the user's config."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.com",
    "GIT_COMMITTER_NAME": "A Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.com",
}


def pin_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *command: str) -> str:
    """Run git in a folder; its output without the final line break."""
    done = subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


def new_repository(folder: Path, *, with_commit: bool = True) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    if with_commit:
        (folder / "README.md").write_text("read me\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "start")
    return folder


def write_hook(repository: Path, name: str, script: str) -> None:
    hook = repository / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)
