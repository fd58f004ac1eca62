"""The files of a tree that may contain manifests, sorted by name: of a local folder or of a git revision."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePath
from typing import Final, Protocol

from osm_gitops.bounded.files import LARGE, read_file
from osm_gitops.errors import Code, Problem, input_error

MAX_BYTES: Final = LARGE

Keeper = Callable[[Sequence[PurePath]], Collection[PurePath]]
"""Returns those files that are in git, or would be after ``git add --all``."""


class Kind(Enum):
    """The type of a path; ``OUTSIDE``: a link out of the tree."""

    FOLDER = "folder"
    FILE = "file"
    SUBMODULE = "submodule"
    OTHER = "other"
    OUTSIDE = "outside"


class SourceFiles(Protocol):
    """Access to folders and files of a tree. Methods raise OSError.

    ``root`` is a folder or a single file, ``display`` its name in messages, ``suffix`` is appended to displayed names
    (``@main``).
    """

    @property
    def root(self) -> PurePath: ...
    @property
    def display(self) -> str: ...
    @property
    def suffix(self) -> str: ...

    def locate(self, path: PurePath) -> tuple[PurePath, Kind]:
        """The path after following all links, and its type."""

    def names(self, folder: PurePath) -> Iterable[str]:
        """The names in a folder, in any order."""

    def read(self, file: PurePath) -> bytes | None:
        """The content of a file; ``None`` if it is larger than :data:`MAX_BYTES`."""

    def kept_in_git(self, files: Sequence[PurePath]) -> Collection[PurePath]:
        """Those of ``files`` that are in git, or would be after ``git add --all``."""


def in_no_git(files: Sequence[PurePath]) -> Collection[PurePath]:
    """None of ``files``."""
    return files[:0]


@dataclass(frozen=True, slots=True)
class Folder:
    """A local folder (or a single file). ``keeper`` asks git about its files."""

    root: Path
    display: str
    keeper: Keeper = in_no_git
    suffix: str = ""

    def locate(self, path: PurePath) -> tuple[PurePath, Kind]:
        real = Path(path).resolve(strict=True)
        mode = real.stat().st_mode
        if stat.S_ISDIR(mode):
            return real, Kind.FOLDER
        return real, Kind.FILE if stat.S_ISREG(mode) else Kind.OTHER

    def names(self, folder: PurePath) -> Iterable[str]:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]

    def read(self, file: PurePath) -> bytes | None:
        try:
            return read_file(file, MAX_BYTES)
        except OSError as fault:
            if fault.errno == errno.EFBIG:
                return None
            raise

    def kept_in_git(self, files: Sequence[PurePath]) -> Collection[PurePath]:
        return self.keeper(files)


MOST_ENTRIES: Final = 300_000
_DEEPEST: Final = 100
_NARROW: Final = "Name the folder with the manifests"
_SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Walk:
    """The result of a walk; ``files`` are pairs of path and displayed name."""

    files: list[tuple[PurePath, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def walk(source: SourceFiles) -> Walk:
    """The files below the root of ``source``, or the root itself if it is a file.

    Hidden files are skipped. Links are followed only inside of the tree, and each file is read once. Raises InputError
    if the root does not exist.
    """
    found = Walk()
    shown = f"{source.display}{source.suffix}"
    try:
        real, kind = source.locate(source.root)
    except (OSError, RuntimeError) as error:
        raise input_error(Code.SOURCE_NOT_FOUND, f"the source cannot be read: {_reason(error)}", where=shown) from None
    if kind is Kind.FOLDER:
        _Walker(source, real, found).folder(real, source.display)
    elif kind is Kind.FILE:
        found.files.append((real, shown))
    else:
        raise input_error(Code.SOURCE_NOT_FOUND, "the source is neither a folder nor a file", where=shown)
    return found


class _Walker:
    def __init__(self, source: SourceFiles, root: PurePath, found: Walk) -> None:
        self.source = source
        self.root = root
        self.found = found
        self.seen = {root}
        self.entries = 0

    def folder(self, path: PurePath, name: str) -> None:
        if len(path.parts) - len(self.root.parts) > _DEEPEST:
            what = f"is nested more than {_DEEPEST} folders deep, and not read"
            self.found.problems.append(Problem(Code.SOURCE_TOO_LARGE, what, where=self.shown(name)))
            return
        try:
            names = sorted(entry for entry in self.source.names(path) if not entry.startswith("."))
        except OSError as error:
            self.problem(self.shown(name), error)
            return
        self.entries += len(names)
        if self.entries > MOST_ENTRIES:
            # A small commit may contain the same folder thousands of times at each level.
            shown = self.shown(self.source.display)
            raise input_error(
                Code.SOURCE_TOO_LARGE,
                f"the source has more than {MOST_ENTRIES} files and folders",
                where=shown,
                fix=_NARROW,
            )
        for entry in names:
            self.entry(path / entry, f"{name.rstrip('/')}/{entry}" if name else entry)

    def entry(self, path: PurePath, name: str) -> None:
        shown = self.shown(name)
        wanted = path.name.lower().endswith(_SUFFIXES)
        try:
            real, kind = self.source.locate(path)
        except (OSError, RuntimeError) as error:
            if wanted:
                self.problem(shown, error)
            return
        if kind in {Kind.FILE, Kind.OTHER} and not wanted:
            return
        if kind is Kind.OUTSIDE or not real.is_relative_to(self.root):
            self.found.notes.append(f"{shown}: a link that leads out of the source is not followed")
        elif real in self.seen:
            self.found.notes.append(f"{shown}: a link to what is read already")
        else:
            self.seen.add(real)
            self.take(real, kind, name)

    def take(self, real: PurePath, kind: Kind, name: str) -> None:
        shown = self.shown(name)
        if kind is Kind.FOLDER:
            self.folder(real, name)
        elif kind is Kind.FILE:
            self.found.files.append((real, shown))
        elif kind is Kind.SUBMODULE:
            self.found.warnings.append(
                Problem(
                    Code.SUBMODULE_NOT_READ,
                    "is a submodule, whose files are not in the revision: it is ignored",
                    where=shown,
                    fix="If it contains manifests, name a revision of its repository as a source",
                )
            )
        else:
            self.found.notes.append(f"{shown}: not a regular file")

    def shown(self, name: str) -> str:
        return f"{name}{self.source.suffix}".encode("utf-8", "backslashreplace").decode()

    def problem(self, shown: str, error: Exception) -> None:
        self.found.problems.append(Problem(Code.FILE_UNREADABLE, f"cannot be read: {_reason(error)}", where=shown))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.errno != errno.ELOOP:
        return error.strerror
    return "its links lead in a circle"
