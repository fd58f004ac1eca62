"""Files of a target: read without following links, and written so that none is ever half there."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from osm_gitops.bounded.files import LARGE
from osm_gitops.bounded.files import read_file as _read_file
from osm_gitops.errors import Code, Problem, TargetError, some
from osm_gitops.targets.layout import KUSTOMIZATION, owned_path

TEMPORARY_PREFIX = ".osm-gitops-"
_PRIVATE = 0o600
_NAMED_FILES = 5

Content = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Files to write and to remove, relative to the target path.

    Contents hold secrets, and are made when they are needed: a fleet's do not fit into memory.
    Make each once: encryption never makes the same bytes twice.
    """

    write: Mapping[PurePosixPath, Content] = field(default_factory=dict, repr=False)
    remove: tuple[PurePosixPath, ...] = ()
    private: frozenset[PurePosixPath] = frozenset()

    @property
    def paths(self) -> tuple[PurePosixPath, ...]:
        return (*self.write, *self.remove)


def named_files(paths: Sequence[object]) -> str:
    """Some of the files by name, and how many more there are."""
    return some(paths, _NAMED_FILES)


def no_step(_name: str) -> None:
    """Called between the steps of a write; tests stop the process here."""


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """New files that stand ready beside their places, and files to remove."""

    ready: Mapping[PurePosixPath, Path]
    remove: tuple[PurePosixPath, ...]


def unseen(_path: PurePosixPath, _content: bytes) -> None:
    """For those who need not know the bytes."""


def stage_files(
    root: Path, changes: FileChanges, made: Callable[[PurePosixPath, bytes], None] = unseen, *, private: bool = True
) -> StagedFiles:
    """Make each content once and write it beside its place; ``made`` sees the bytes that will stand there.

    With ``private`` only the owner may read secrets. Where one cannot be written, none is left.
    """
    ready: dict[PurePosixPath, Path] = {}
    try:
        for path, make in changes.write.items():
            content = make()
            made(path, content)
            mode = _PRIVATE if private and path in changes.private else None
            ready[path] = stage_file(root / path, content, mode)
    except BaseException:
        drop_staged(ready.values())
        raise
    return StagedFiles(ready, changes.remove)


def drop_staged(ready: Iterable[Path]) -> None:
    """Take away files that stand ready, for they are not to be placed."""
    for temporary in ready:
        temporary.unlink(missing_ok=True)


def place_files(root: Path, staged: StagedFiles, step: Callable[[str], None] = no_step) -> None:
    """Put staged files in place, each in one move, and remove what is to go.

    Objects come before the ``kustomization.yaml`` that lists them, removals after it. Where one cannot be placed, no
    staged file is left.
    """
    try:
        for path in sorted(staged.ready, key=lambda path: (path.name == KUSTOMIZATION, path)):
            place_file(staged.ready[path], root / path)
            step(f"wrote {path}")
    except BaseException:
        drop_staged(staged.ready.values())
        raise
    for path in staged.remove:
        (root / path).unlink(missing_ok=True)
        step(f"removed {path}")
    for path in staged.remove:
        _remove_empty(root / path.parent, root / path.parts[0])


def remove_temporary(root: Path, cluster: str) -> None:
    """Remove what a killed run left behind of files that it was writing. No link is followed."""
    owned = root / owned_path(cluster)
    if owned.is_symlink():
        return
    for folder, _, names in os.walk(owned):
        _remove_staged(Path(folder), names)


def remove_temporary_beside(paths: Iterable[Path]) -> None:
    """Remove what a killed run left behind in the folders of these files."""
    for folder in {path.parent for path in paths}:
        if folder.is_dir():
            _remove_staged(folder, [each.name for each in folder.iterdir()])


def _remove_staged(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        if name.startswith(TEMPORARY_PREFIX) and name.endswith(".tmp"):
            Path(folder, name).unlink(missing_ok=True)


def read_file(path: Path) -> bytes | None:
    try:
        return _read_file(path, LARGE, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        what = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise TargetError(
            [Problem(Code.FILE_UNREADABLE, what, where=str(path), fix="Remove it or put a file in its place")]
        ) from error


def stage_file(path: Path, content: bytes, mode: int | None) -> Path:
    """Write a file beside its place, from where one move brings it there: readers see the old or the new one.

    Files are not flushed to the disk one by one, which takes minutes for a fleet: what a power cut
    leaves empty differs from the desired bytes, so the next run writes it again.
    """
    with _as_refusal(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(temporary).chmod(_usual_mode() if mode is None else mode)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    return Path(temporary)


def place_file(temporary: Path, path: Path) -> None:
    """Move a staged file to its place."""
    with _as_refusal(path):
        temporary.replace(path)


@contextmanager
def _as_refusal(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TargetError(
            [Problem(Code.FILE_UNWRITABLE, f"cannot be written: {error.strerror}", where=str(path))]
        ) from error


def _usual_mode() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _remove_empty(folder: Path, highest: Path) -> None:
    while folder != highest and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
