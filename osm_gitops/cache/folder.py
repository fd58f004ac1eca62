"""A folder of entries that only this user can write (docs/explanation/security.md, "The cache").

An entry that is not exactly as it was written, or could have been written by somebody else, counts as missing. What
cannot be stored is not stored: a cache is never a reason to fail.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from osm_gitops.bounded.files import read_file

_DIGEST: Final = sha256().digest_size
_TEMPORARY: Final = ".tmp"


@dataclass(slots=True)
class CacheFolder:
    """Entries of one kind, by names that are digests. ``most`` bytes are kept, and ``largest`` of one entry."""

    path: Path
    most: int
    largest: int
    _changed: bool = False

    def get(self, name: str) -> bytes | None:
        """The content of an entry, or ``None`` if there is none."""
        path = self.path / name
        try:
            if not is_ours(path.lstat()):
                return None
            entry = read_file(path, _DIGEST + self.largest, follow=False)
        except OSError:
            return None
        content = entry[_DIGEST:]
        return content if entry[:_DIGEST] == _seal(name, content) else None

    def put(self, name: str, content: bytes) -> None:
        """Store an entry, if that is possible."""
        if len(content) > self.largest:
            return
        with suppress(OSError):
            descriptor, temporary = tempfile.mkstemp(suffix=_TEMPORARY, dir=self.path)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_seal(name, content) + content)
                Path(temporary).replace(self.path / name)
                self._changed = True
            except OSError:
                Path(temporary).unlink(missing_ok=True)

    def trim(self) -> None:
        """After entries were stored: remove the oldest ones beyond ``most``, and what interrupted runs left."""
        if not self._changed:
            return
        self._changed = False
        with suppress(OSError):
            found = [(path, path.lstat()) for path in self.path.iterdir()]
            left = self.most
            for path, status in sorted(found, key=lambda each: -each[1].st_mtime):
                left -= status.st_size
                if left < 0:
                    path.unlink(missing_ok=True)


def cache_path(environment: Mapping[str, str], kind: str) -> Path | None:
    """Where things of a kind are kept: below ``$XDG_CACHE_HOME`` or ``~/.cache``. ``None`` if neither is an absolute
    path."""
    named, home = environment.get("XDG_CACHE_HOME", ""), environment.get("HOME", "")
    parent = Path(named) if named else Path(home) / ".cache"
    return parent / "osm-gitops" / kind if parent.is_absolute() else None


def open_folder(environment: Mapping[str, str], kind: str, most: int, largest: int) -> CacheFolder | None:
    """The folder for a kind of entries; ``None`` if there can be none that only this user can write."""
    folder = cache_path(environment, kind)
    if folder is None or not hasattr(os, "geteuid"):
        return None
    try:
        folder.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, exist_ok=True)
            if not (stat.S_ISDIR(each.lstat().st_mode) and is_ours(each.lstat())):
                return None
    except (OSError, ValueError):
        return None
    return CacheFolder(folder, most, largest)


def _seal(name: str, content: bytes) -> bytes:
    """What an entry begins with. It is of its name too: an entry that was renamed is none."""
    return sha256(name.encode() + content).digest()


def is_ours(found: os.stat_result) -> bool:
    """Whether only this user could have written it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
