"""What would refuse a run in a git target, found without a lock and without changing anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from osm_gitops.errors import OsmGitopsError, Problem
from osm_gitops.git.remote import Remote
from osm_gitops.git.repository import Repository
from osm_gitops.targets.commits import GitPlace
from osm_gitops.targets.file_encryption import FileEncryption, Origin, lacks_seal, repeats_recipients
from osm_gitops.targets.files import owned_path, read_file
from osm_gitops.targets.git import checked_branch, refuse_linked_folder, work_tree_of
from osm_gitops.targets.own_branch import require_remote
from osm_gitops.targets.plaintext import refuse_plaintext
from osm_gitops.targets.session import refuse_dirty


def obstacles(place: GitPlace, sealing: FileEncryption, *, detached: bool = False) -> tuple[Problem, ...]:
    """All of it at once, in the words of the run. Raises TargetError where there is no repository to look into.

    ``detached``: a checkout without a branch is no obstacle. Pull requests are checked out so, and applied elsewhere.
    """
    folder = Path(os.path.normpath(place.folder.absolute()))
    root = work_tree_of(folder)
    repository = Repository(root)
    owned = [(folder / owned_path(cluster)).relative_to(root).as_posix() for cluster in place.clusters]
    checks: list[Callable[[], object]] = [
        partial(refuse_linked_folder, folder, root),
        *(() if place.plaintext_secrets else (partial(refuse_plaintext, folder, place.clusters, sealing),)),
        *(() if detached and repository.branch() is None else (partial(checked_branch, repository, place),)),
        *(partial(refuse_dirty, repository, path) for path in owned),
    ]
    if place.push:
        checks.append(partial(require_remote, Remote(repository, place.remote), repository))
    return tuple(problem for check in checks for problem in _problems(check))


@dataclass(frozen=True, slots=True)
class DataKeys:
    """Encrypted files of a target by what is known of their data keys, without decryption; paths start at its folder.

    ``former`` have a digest of an earlier version, ``unverified`` one that no key at hand verifies, ``foreign`` none.
    ``repeated`` name a recipient twice: one of the entries must be for another key.
    """

    verified: list[Path] = field(default_factory=list)
    former: list[Path] = field(default_factory=list)
    unverified: list[Path] = field(default_factory=list)
    foreign: list[Path] = field(default_factory=list)
    repeated: list[Path] = field(default_factory=list)


def data_keys(folder: Path, clusters: Iterable[str], sealing: FileEncryption) -> DataKeys:
    """Look at the encrypted files of clusters. Raises OsmGitopsError for files and keys that cannot be read."""
    found = DataKeys()
    lists = {
        Origin.VERIFIED: found.verified,
        Origin.FORMER: found.former,
        Origin.FOREIGN: found.foreign,
        Origin.UNVERIFIED: found.unverified,
        Origin.PLAIN: [],
    }
    for path in (each for cluster in clusters for each in _yaml_files(folder / owned_path(cluster))):
        text = read_file(path) or b""
        name = path.relative_to(folder)
        origin = Origin.FORMER if lacks_seal(text) else sealing.origin(text)
        lists[origin].append(name)
        if origin not in {Origin.VERIFIED, Origin.PLAIN} and repeats_recipients(path, text):
            found.repeated.append(name)
    return found


def _yaml_files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders.sort()
        paths = (Path(here, name) for name in sorted(names) if name.endswith(".yaml"))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _problems(check: Callable[[], object]) -> Iterator[Problem]:
    try:
        check()
    except OsmGitopsError as failure:
        yield from failure.problems
