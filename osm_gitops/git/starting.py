"""A new git repository."""

from __future__ import annotations

from pathlib import Path

from osm_gitops.git.process import Git


def require_git() -> None:
    """Raises TargetError where git cannot be run or is too old."""
    Git(Path())


def start_repository(root: Path, branch: str) -> None:
    """Make a repository in the folder ``root``, on ``branch``, without a commit. Raises TargetError."""
    # The place is named, so that an environment that git sets for hooks leads nowhere else.
    git = Git(root, place=(f"--git-dir={root.absolute() / '.git'}",))
    git.run("init", "--quiet")
    # `git init --initial-branch` is younger than the oldest git that serves.
    git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
