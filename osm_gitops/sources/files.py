"""Files to read manifests from: one interface for a folder of this machine and for a revision of a repository."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePath
from typing import Final, Protocol

from osm_gitops.bounded.files import LARGE, read_file

MAX_BYTES: Final = LARGE

Keeper = Callable[[Sequence[PurePath]], Collection[PurePath]]
"""Says which of some files are in git, or will be with the next commit of everything."""


class Kind(Enum):
    """What a path leads to; ``OUTSIDE`` is where these files end, as for a link out of a repository."""

    FOLDER = "folder"
    FILE = "file"
    SUBMODULE = "submodule"
    OTHER = "other"
    OUTSIDE = "outside"


class SourceFiles(Protocol):
    """Folders and files as reading a tree needs them. What cannot be read raises OSError.

    ``root`` is where the tree begins, a folder or a single file; ``display`` is how the user
    named it, and ``suffix`` what every name ends in when it is shown (``@main``).
    """

    @property
    def root(self) -> PurePath: ...
    @property
    def display(self) -> str: ...
    @property
    def suffix(self) -> str: ...

    def locate(self, path: PurePath) -> tuple[PurePath, Kind]:
        """Where a path leads when all links are followed, and what is there."""

    def names(self, folder: PurePath) -> Iterable[str]:
        """The names in a folder, in any order."""

    def read(self, file: PurePath) -> bytes | None:
        """The content of a file; ``None`` where it is larger than :data:`MAX_BYTES`."""

    def kept_in_git(self, files: Sequence[PurePath]) -> Collection[PurePath]:
        """Those of ``files`` that are in git, or will be with the next commit of everything."""


def in_no_git(files: Sequence[PurePath]) -> Collection[PurePath]:
    """None of ``files``."""
    return files[:0]


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder (or a single file) of this machine; ``keeper`` is what git says of its files."""

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
