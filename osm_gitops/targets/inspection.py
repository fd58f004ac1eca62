"""What would refuse a run in a git target, found without a lock and without changing anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from osm_gitops.errors import OsmGitopsError, Problem
from osm_gitops.gitdoor.remote import Remote
from osm_gitops.gitdoor.repository import Repository
from osm_gitops.targets.git import checked_branch, refuse_linked_folder, work_tree_of
from osm_gitops.targets.layout import owned_path
from osm_gitops.targets.place import GitPlace
from osm_gitops.targets.plaintext import refuse_plaintext
from osm_gitops.targets.sealing import Sealing
from osm_gitops.targets.session import refuse_dirty
from osm_gitops.targets.upstream import require_remote


def obstacles(place: GitPlace, sealing: Sealing) -> tuple[Problem, ...]:
    """All of it at once, in the words of the run. Raises TargetError where there is no repository to look into."""
    folder = Path(os.path.normpath(place.folder.absolute()))
    root = work_tree_of(folder)
    repository = Repository(root)
    owned = [(folder / owned_path(cluster)).relative_to(root).as_posix() for cluster in place.clusters]
    checks: list[Callable[[], object]] = [
        partial(refuse_linked_folder, folder, root),
        partial(refuse_plaintext, folder, place.clusters, sealing),
        partial(checked_branch, repository, place),
        *(partial(refuse_dirty, repository, path) for path in owned),
    ]
    if place.push:
        checks.append(partial(require_remote, Remote(repository, place.remote), repository))
    return tuple(problem for check in checks for problem in _problems(check))


def _problems(check: Callable[[], object]) -> Iterator[Problem]:
    try:
        check()
    except OsmGitopsError as failure:
        yield from failure.problems
