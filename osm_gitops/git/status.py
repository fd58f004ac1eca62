"""What git says of the files of a work tree, asked once for all clusters that have files in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

from osm_gitops.errors import TargetError
from osm_gitops.git.repository import Repository, find_work_tree, path_inside

T = TypeVar("T")

_MOST: Final = 16
"""Folders in one question: git compares each of its files with each of them."""


class WorkTreeStatus:
    """Answers about the paths of a work tree, as they were when the first of them was asked for.

    git is asked once about all of ``folders``, and about other paths each time. It is for plans, which see one state of
    a work tree; what writes asks the repository itself. An error is not kept. Methods raise TargetError.
    """

    def __init__(self, repository: Repository, folders: Collection[str] = ()) -> None:
        self.repository = repository
        self._folders = frozenset(folders)
        self._answers: dict[Hashable, Any] = {}

    @property
    def root(self) -> Path:
        """The root of the work tree."""
        return self.repository.root

    def once(self, question: Hashable, answer: Callable[[], T]) -> T:
        """The answer to a question, which is asked once."""
        if question not in self._answers:
            self._answers[question] = answer()
        found: T = self._answers[question]
        return found

    def head(self) -> str | None:
        """As :meth:`Repository.head`."""
        return self.once("head", self.repository.head)

    def branch(self) -> str | None:
        """As :meth:`Repository.branch`."""
        return self.once("branch", self.repository.branch)

    def operation_in_progress(self) -> str | None:
        """As :meth:`Repository.operation_in_progress`."""
        return self.repository.operation_in_progress()

    def names_filters(self) -> bool:
        """As :meth:`Repository.names_filters`."""
        return self.once("filters", self.repository.names_filters)

    def changed_paths(self, *paths: str) -> tuple[str, ...]:
        """As :meth:`Repository.changed_paths`."""
        return self._below(paths, lambda: self._states()[0], self.repository.changed_paths)

    def unseen_paths(self, *paths: str) -> tuple[str, ...]:
        """As :meth:`Repository.unseen_paths`."""
        every = self.repository.unseen_paths
        return self._below(paths, lambda: self.once("unseen", lambda: every(*sorted(self._folders))), every)

    def ignored(self, paths: Iterable[str]) -> frozenset[str]:
        """As :meth:`Repository.ignored`, but all ``paths`` must exist."""
        given = frozenset(paths)
        if not all(map(self._is_known, given)):
            return self.repository.ignored(given)
        try:
            changed, ignored = self._states()
        except TargetError:
            return self.repository.ignored(given)
        # What git says of a repository in this one does not name its files.
        unclear = [path for path in given if any(f"{folder}/" in changed for folder in _above(path))]
        found = {path for path in given if path in ignored or any(f"{folder}/" in ignored for folder in _above(path))}
        return frozenset(found.difference(unclear)) | (self.repository.ignored(unclear) if unclear else frozenset())

    def _states(self) -> tuple[frozenset[str], frozenset[str]]:
        """The changed and the ignored paths in all folders."""
        return self.once("states", lambda: self.repository.states(*sorted(self._folders)))

    def _below(
        self, paths: tuple[str, ...], every: Callable[[], Iterable[str]], ask: Callable[..., tuple[str, ...]]
    ) -> tuple[str, ...]:
        """What a question about all folders finds in some of them; others are asked about."""
        if not all(map(self._is_known, paths)):
            return ask(*paths)
        try:
            found = every()
        except TargetError:  # for which another cluster may be the reason
            return ask(*paths)
        return tuple(sorted(each for each in found if any(_is_inside(each, path) for path in paths)))

    def _is_known(self, path: str) -> bool:
        return path in self._folders or any(str(folder) in self._folders for folder in _above(path))


def folders_by_work_tree(paths: Iterable[Path]) -> Mapping[Path, tuple[str, ...]]:
    """A few folders for each work tree that contain all of its ``paths``; paths outside of work trees have none."""
    found: dict[Path, set[PurePosixPath]] = {}
    for path in paths:
        root = find_work_tree(path)
        if root is not None:
            found.setdefault(root, set()).add(PurePosixPath(path_inside(path, root)))
    return {root: tuple(sorted(map(str, _few(inside)))) for root, inside in found.items()}


def _few(paths: Iterable[PurePosixPath]) -> frozenset[PurePosixPath]:
    """At most so many folders that contain all of ``paths``."""
    found = _outermost(paths)
    while len(found) > _MOST:
        deepest = max(len(path.parts) for path in found)
        found = _outermost(path.parent if len(path.parts) == deepest else path for path in found)
    return found


def _outermost(paths: Iterable[PurePosixPath]) -> frozenset[PurePosixPath]:
    every = frozenset(paths)
    return frozenset(path for path in every if every.isdisjoint(path.parents))


def _above(path: str) -> Iterator[str]:
    """The folders above a path, the innermost one first."""
    return map(str, PurePosixPath(path).parents)


def _is_inside(path: str, folder: str) -> bool:
    return folder in {".", path} or path.startswith(f"{folder}/")
