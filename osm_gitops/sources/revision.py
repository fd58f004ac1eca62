"""The files of a git revision, read without a checkout (design.md, "Sources and targets of a command")."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Final

from osm_gitops.errors import Code, InputError, TargetError, input_error
from osm_gitops.git.commits import Entry, ObjectReader
from osm_gitops.git.repository import Repository, find_repository
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.sources.walk import MAX_BYTES, Kind

_MOST_LINKS: Final = 40
_LONGEST_LINK: Final = 4096


@dataclass(frozen=True, slots=True)
class RevisionFiles:
    """A folder (or a single file) in a commit. Paths start at the root of the repository."""

    root: PurePath
    display: str
    suffix: str
    commit: str
    objects: ObjectReader
    tree: str
    _folders: dict[tuple[str, ...], dict[str, Entry]] = field(default_factory=dict)

    def locate(self, path: PurePath) -> tuple[PurePath, Kind]:
        done: tuple[str, ...] = ()
        rest = [*reversed(path.parts)]
        links = 0
        while rest:
            part = rest.pop()
            if part == "..":
                if not done:
                    return path, Kind.OUTSIDE
                done = done[:-1]
                continue
            entry = self._folder(done).get(part)
            if entry is None:
                raise _fault(errno.ENOENT)
            if not entry.is_link:
                done = (*done, part)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise _fault(errno.ELOOP)
            leads_to = PurePosixPath(os.fsdecode(self.objects.file(entry.id, _LONGEST_LINK) or b""))
            if leads_to.is_absolute():
                return path, Kind.OUTSIDE
            rest += reversed(leads_to.parts)
        return PurePosixPath(*done), self._kind(done)

    def names(self, folder: PurePath) -> Iterable[str]:
        return self._folder(folder.parts)

    def read(self, file: PurePath) -> bytes | None:
        return self.objects.file(self._entry(file.parts).id, MAX_BYTES)

    def kept_in_git(self, files: Sequence[PurePath]) -> Collection[PurePath]:
        return files

    def _kind(self, parts: tuple[str, ...]) -> Kind:
        entry = self._entry(parts)
        if entry.is_folder:
            return Kind.FOLDER
        return Kind.SUBMODULE if entry.is_submodule else Kind.FILE

    def _entry(self, parts: tuple[str, ...]) -> Entry:
        return self._folder(parts[:-1])[parts[-1]] if parts else Entry.of_folder(self.tree)

    def _folder(self, parts: tuple[str, ...]) -> dict[str, Entry]:
        """The entries of a folder without links in its path; cached."""
        known = self._folders.get(parts)
        if known is None:
            entry = self._entry(parts)
            if not entry.is_folder:
                raise _fault(errno.ENOTDIR)
            known = self._folders[parts] = self.objects.folder(entry.id)
        return known


@contextmanager
def open_revision(path: Path, revision: str, display: str, trust: Trust = TRUSTED) -> Iterator[RevisionFiles]:
    """The files at ``path`` (it need not exist in the work tree) in a branch, a tag or a commit of its repository.

    Raises InputError if repository, revision or path do not exist, or must not be read.
    """
    shown = f"{display}@{revision}"
    trust.check(path, display or ".")
    try:
        repository, inside = _repository(path, display, shown, trust)
        commit = _commit(repository, revision, shown)
        with repository.objects() as objects:
            root = PurePosixPath(inside)
            files = RevisionFiles(root, display, f"@{revision}", commit, objects, repository.tree_of(commit))
            _check_root(files, revision, shown)
            yield files
    except TargetError as failure:  # the repository is an input here
        raise InputError(failure.problems) from failure


def check_revision(path: Path, revision: str, display: str, trust: Trust = TRUSTED) -> tuple[Repository, str]:
    """The repository that contains ``path`` (which need not exist), and the commit of the revision. Raises
    InputError."""
    shown = f"{display}@{revision}"
    try:
        repository, _ = _repository(path, display, shown, trust)
        return repository, _commit(repository, revision, shown)
    except TargetError as failure:
        raise InputError(failure.problems) from failure


def _repository(path: Path, display: str, shown: str, trust: Trust) -> tuple[Repository, str]:
    found = find_repository(path)
    if found is None:
        raise input_error(
            Code.SOURCE_NOT_FOUND,
            f"the path does not exist, and {display or 'this folder'} is not in a git repository with commits",
            where=shown,
            fix="Name an existing folder or file, or PATH@REVISION inside of a git repository",
        )
    return trust.repository(found[0]), found[1]


def _commit(repository: Repository, revision: str, shown: str) -> str:
    if not revision or revision.startswith("-"):
        raise input_error(
            Code.REVISION_NOT_FOUND,
            "the text after the last @ is not a revision",
            where=shown,
            fix="Name a branch, a tag or a commit",
        )
    commit = repository.revision(revision)
    if commit is not None:
        return commit
    where, fix = f"the repository {repository.root} has no revision {revision}", "Fetch it, or find its name"
    if repository.is_shallow():
        raise input_error(
            Code.REVISION_NOT_FOUND,
            f"{where}; it is a shallow clone, which lacks most of the history",
            where=shown,
            fix="Fetch the revision, or all with git fetch --unshallow (actions/checkout: fetch-depth: 0)",
        )
    raise input_error(Code.REVISION_NOT_FOUND, where, where=shown, fix=f"{fix} with git branch --all and git tag")


def _check_root(files: RevisionFiles, revision: str, shown: str) -> None:
    try:
        _, kind = files.locate(files.root)
    except OSError as error:
        if error.errno == errno.EIO:
            raise input_error(Code.FILE_UNREADABLE, f"cannot be read: {error.strerror}", where=shown) from None
        raise input_error(
            Code.SOURCE_NOT_FOUND,
            f"the revision {revision} (commit {files.commit}) has no {files.root}",
            where=shown,
            fix=f"List its files with git ls-tree -r {revision}",
        ) from None
    if kind is Kind.SUBMODULE:
        raise input_error(
            Code.SUBMODULE_NOT_READ,
            "is a submodule, whose files are in another repository",
            where=shown,
            fix="Check out the submodule, and name a revision of its repository",
        )
    if kind is Kind.OUTSIDE:
        raise input_error(
            Code.LINK_LEADS_OUT,
            "is a link that leads out of the repository",
            where=shown,
            fix="Name the target of the link",
        )


def _fault(number: int) -> OSError:
    return OSError(number, os.strerror(number))
