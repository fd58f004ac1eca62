"""A bare remote and a clone of it, for targets that push."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git.repos import git, new_repository


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    new_repository(tmp_path / "first")
    git(tmp_path, "clone", "--quiet", "--bare", "first", "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
def repository(tmp_path: Path, remote: Path) -> Path:
    git(tmp_path, "clone", "--quiet", str(remote), "repo")
    return tmp_path / "repo"
