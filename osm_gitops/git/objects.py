"""Folders and files of a commit, read from git's object store: no checkout, one process for all of them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from osm_gitops.bounded.files import shown_size

_FOLDER: Final = 0o040000
_LINK: Final = 0o120000
_SUBMODULE: Final = 0o160000
_LARGEST_FOLDER: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name in a folder of a commit stands for: git's mode, and the id of the object."""

    mode: int
    id: str

    @classmethod
    def of_folder(cls, identity: str) -> Self:
        return cls(_FOLDER, identity)

    @property
    def is_folder(self) -> bool:
        return self.mode == _FOLDER

    @property
    def is_link(self) -> bool:
        return self.mode == _LINK

    @property
    def is_submodule(self) -> bool:
        return self.mode == _SUBMODULE


class ObjectReader:
    """Reads objects by their ids through one ``git cat-file --batch``, which ends with this context.

    ``start`` starts that command, with pipes for its input, output and errors. What git cannot give
    (a damaged repository, a partial clone without its remote) raises OSError.
    """

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start = start
        self._process = start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            pipe.close()
        self._process.proc.wait()  # its input has ended, and so does it

    def folder(self, identity: str) -> dict[str, Entry]:
        """The entries of a tree."""
        size = self._ask(identity)
        if size > _LARGEST_FOLDER:
            self._again()
            raise OSError(errno.EFBIG, f"the folder has more than {shown_size(_LARGEST_FOLDER)} of entries")
        text = self._take(size)
        width = len(identity) // 2
        found: dict[str, Entry] = {}
        at = 0
        while at < len(text):  # "MODE NAME\0" and the id in bytes
            space = text.index(b" ", at)
            end = text.index(b"\0", space) + 1
            name = os.fsdecode(text[space + 1 : end - 1])
            found[name] = Entry(int(text[at:space], 8), text[end : end + width].hex())
            at = end + width
        return found

    def file(self, identity: str, limit: int) -> bytes | None:
        """The bytes of a blob; ``None`` where they are more than ``limit``."""
        size = self._ask(identity)
        if size <= limit:
            return self._take(size)
        self._again()
        return None

    def _again(self) -> None:
        """Leave what git is about to print: a few bytes in a repository may stand for terabytes."""
        self._process.proc.kill()
        self._close()
        self._process = self._start()

    def _ask(self, identity: str) -> int:
        """The size of what comes next."""
        self._process.stdin.write(f"{identity}\n".encode())
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        if len(answer) != 3:
            raise OSError(errno.EIO, f"the repository lacks the object {identity}")
        return int(answer[2])

    def _take(self, size: int) -> bytes:
        text: bytes = self._process.stdout.read(size)
        self._process.stdout.read(1)  # the line break after an object
        return text
