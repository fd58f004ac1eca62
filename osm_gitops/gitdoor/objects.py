"""Folders and files of a commit, read from git's object store: no checkout, one process for all of them."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

_FOLDER: Final = 0o040000
_LINK: Final = 0o120000
_SUBMODULE: Final = 0o160000
_PIECE: Final = 1 << 20


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

    ``process`` is that command, with pipes for its input, output and errors. What git cannot give
    (a damaged repository, a partial clone without its remote) raises OSError.
    """

    def __init__(self, process: Any) -> None:
        self._process = process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            pipe.close()
        self._process.proc.wait()  # its input has ended, and so does it

    def folder(self, identity: str) -> dict[str, Entry]:
        """The entries of a tree."""
        text = self._take(self._ask(identity))
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
        while size > 0:
            size -= len(self._take(min(size, _PIECE), last=size <= _PIECE))
        return None

    def _ask(self, identity: str) -> int:
        """The size of what comes next."""
        self._process.stdin.write(f"{identity}\n".encode())
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        if len(answer) != 3:
            raise OSError(errno.EIO, f"the repository lacks the object {identity}")
        return int(answer[2])

    def _take(self, size: int, *, last: bool = True) -> bytes:
        text: bytes = self._process.stdout.read(size)
        if last:
            self._process.stdout.read(1)  # the line break after an object
        return text
