"""Read regular files with a size limit: a device, a pipe or a huge file must not block a run."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path, PurePath
from typing import BinaryIO, Final

SMALL: Final = 1 << 20
"""For credentials, certificates, keys and single settings."""
DOCUMENT: Final = 16 << 20
"""For configuration files: fleet files, kubeconfigs, overlays."""
LARGE: Final = 256 << 20
"""For manifests and saved plans, which may contain a whole fleet."""

_FROM_SHELL: Final = re.compile("/(?:dev|proc/self)/fd/[0-9]+")
"""File names of process substitution."""
_PIECE: Final = 16 << 10  # at least: memory for each read costs time
# Do not block on a FIFO without a writer; do not take over a terminal. Windows has neither flag.
_FLAGS: Final = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0)


def read_file(path: PurePath | str, most: int, *, follow: bool = True) -> bytes:
    """The content of a regular file of at most ``most`` bytes.

    Raises OSError; its ``strerror`` follows "cannot be read:". Links are followed unless ``follow`` is false. Files of
    procfs, whose size is 0, are refused as not regular. Pipes are accepted from process substitution:
    ``--kubeconfig <(…)``.
    """
    if _FROM_SHELL.fullmatch(str(path)) and stat.S_ISFIFO(Path(path).stat().st_mode):
        with Path(path).open("rb") as pipe:
            return read_stream(pipe, most)
    try:
        # Check before opening: opening a device may have effects.
        _check(path, os.stat(path, follow_symlinks=follow), most)  # noqa: PTH116 - a path of a path takes as long
        descriptor = os.open(path, os.O_RDONLY | _FLAGS | (0 if follow else _NO_LINKS))
    except ValueError:  # NUL, or a lone surrogate
        raise _fault(errno.EINVAL, "its name contains a character that is not allowed in file names", path) from None
    try:  # without a file object, which takes as long as to read a small file
        found = os.fstat(descriptor)
        _check(path, found, most)
        pieces: list[bytes] = []
        left = most + 1
        # The reported size, and one byte more to detect the end.
        while left and (piece := os.read(descriptor, wanted := min(left, max(found.st_size + 1, _PIECE)))):
            pieces.append(piece)
            left -= len(piece)
            if len(piece) == found.st_size < wanted:
                break
    finally:
        os.close(descriptor)
    if pieces and not found.st_size:
        raise _fault(errno.EINVAL, "it is not a regular file", path)
    if not left:
        raise _too_large(path, most)
    return b"".join(pieces)


def read_stream(stream: BinaryIO, most: int) -> bytes:
    """Read a stream to its end, at most ``most`` bytes. Raises OSError as :func:`read_file`."""
    text = stream.read(most + 1)
    if len(text) > most:
        raise _too_large("", most)
    return text


def shown_size(size: int) -> str:
    """A size for messages: ``16 MiB``."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB" if size >= 1 << 10 else f"{size} bytes"


def _check(path: PurePath | str, found: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _fault(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if stat.S_ISLNK(found.st_mode):
        raise _fault(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if not stat.S_ISREG(found.st_mode):
        raise _fault(errno.EINVAL, "it is not a regular file", path)
    if found.st_size > most:
        raise _too_large(path, most)


def _too_large(path: PurePath | str, most: int) -> OSError:
    return _fault(errno.EFBIG, f"it is larger than {shown_size(most)}", path)


def _fault(number: int, what: str, path: PurePath | str) -> OSError:
    return OSError(number, what, *([str(path)] if str(path) else []))
