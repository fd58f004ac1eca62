"""The folder of what lanes are made of: roots of machines and programs, each under the digest of its recipe."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

_COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Store:
    """``say`` tells what takes minutes."""

    folder: Path
    say: Callable[[str], None]

    def made(self, name: str, digest: str, make: Callable[[Path], None], what: str) -> Path:
        """The folder of a thing; made where it is not there, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        found = self.folder / f"{name}-{digest}"
        with FileLock(self.folder / f"{name}.lock"):
            if not found.is_dir():
                self.say(f"{what}: some minutes, once")
                unfinished = found.with_name(f"{found.name}.new")
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                make(unfinished)
                unfinished.replace(found)
        return found

    @property
    def is_complete(self) -> bool:
        """Whether everything was made before: less is needed of the machine then."""
        return (self.folder / _COMPLETE).exists()

    def complete(self) -> None:
        """Remember that everything was made."""
        (self.folder / _COMPLETE).touch()
