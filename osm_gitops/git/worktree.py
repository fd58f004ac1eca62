"""A second work tree of a repository, so that the one that somebody works in stays as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from osm_gitops.git.process import Extras
from osm_gitops.git.repository import Repository

_FOLDER = "work-tree"
# Making the folder is no checkout of the user's.
_WITHOUT_HOOKS = Extras(("-c", f"core.hooksPath={os.devnull}"))


@contextmanager
def second_work_tree(repository: Repository, commit: str) -> Iterator[Repository]:
    """A work tree at a commit, on no branch, inside of ``.git``; it goes at the end.

    Only for who holds the repository's lock: what a killed run left is removed.
    """
    folder = repository.own_folder() / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    # By force: git still knows the place of a killed run. Without files: they would go into the other index.
    command = ("worktree", "add", "--quiet", "--force", "--detach", "--no-checkout", "--", str(folder), commit)
    repository.git.run(*command, extras=_WITHOUT_HOOKS)
    try:
        made = Repository(folder)
        made.reset_to(commit)
        yield made
    finally:
        repository.git.execute(["worktree", "remove", "--force", "--", str(folder)])
        shutil.rmtree(folder, ignore_errors=True)
