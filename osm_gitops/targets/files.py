"""Files of a target: the layout below the target path (design.md, "Desired state"), reading without following links,
and atomic writing.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

from osm_gitops.bounded.files import LARGE
from osm_gitops.bounded.files import read_file as _read_file
from osm_gitops.errors import Code, Problem, TargetError, some, target_error
from osm_gitops.model.desired import DesiredObject, Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Change

KUSTOMIZATION = "kustomization.yaml"
SECRET_KINDS = frozenset({"Secret", "OperatingSystemConfig"})
# Identifies folders that osm-gitops wrote.
HEADER = "# Written by osm-gitops; changes are overwritten.\n"

_FOLDERS = {
    "OperatingSystemProfile": (Side.MANAGEMENT, "operatingsystemprofiles"),
    "OperatingSystemConfig": (Side.MANAGEMENT, "operatingsystemconfigs"),
    "Secret": (Side.WORKER, "secrets"),
}
_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]+")
_LONGEST_NAME = 255


@lru_cache(maxsize=4096)  # a plan asks for those of a cluster twice
def path_of(cluster: str, ref: ObjectRef) -> PurePosixPath:
    """The file of an object, relative to the target path. Raises TargetError for invalid file names (``/``, ``..``, too
    long)."""
    side, folder = _FOLDERS[ref.kind]
    if ref.kind == "OperatingSystemProfile":
        folder = f"{folder}/{_checked(ref.namespace, ref)}"
    # Joining paths part by part takes longer than comparing the file.
    return PurePosixPath(f"{_checked_cluster(cluster)}/{side.value}/{folder}/{_checked(f'{ref.name}.yaml', ref)}")


def holds_secrets(wanted: DesiredObject | Change) -> bool:
    """Whether an object may contain secrets: by its kind, or because its source is encrypted."""
    return wanted.sealed or wanted.ref.kind in SECRET_KINDS


def secret_places(cluster: str) -> tuple[PurePosixPath, ...]:
    """An example path for each folder with secrets."""
    return tuple(path_of(cluster, ObjectRef(kind, "", "name")) for kind in sorted(SECRET_KINDS))


def owned_path(cluster: str) -> PurePosixPath:
    """The folder of a cluster. Nothing is written outside of it."""
    return PurePosixPath(_checked_cluster(cluster))


def object_folders() -> tuple[PurePosixPath, ...]:
    """The folders of objects below the owned path."""
    return tuple(PurePosixPath(side.value, folder) for side, folder in _FOLDERS.values())


def paths_of(cluster: str, objects: Iterable[ObjectRef]) -> dict[ObjectRef, PurePosixPath]:
    """The files of all objects. Raises TargetError if two objects have the same file."""
    paths = {ref: path_of(cluster, ref) for ref in objects}
    owners: dict[PurePosixPath, ObjectRef] = {}
    problems = []
    for ref, path in paths.items():
        other = owners.setdefault(path, ref)
        if other != ref:
            problems.append(
                Problem(Code.FILES_COLLIDE, f"{other} and {ref} would both be written to {path}", where=cluster)
            )
    if problems:
        raise TargetError(problems)
    return paths


def kustomizations(cluster: str, files: Iterable[PurePosixPath]) -> dict[PurePosixPath, str]:
    """Both ``kustomization.yaml`` files, which list the ``files`` below them."""
    listed = [str(path) for path in files]
    texts = {}
    for side in Side:
        folder = owned_path(cluster) / side.value
        resources = [path.removeprefix(f"{folder}/") for path in listed if path.startswith(f"{folder}/")]
        texts[folder / KUSTOMIZATION] = _kustomization(resources)
    return texts


def _kustomization(resources: list[str]) -> str:
    lines = "".join(f"- {_scalar(resource)}\n" for resource in sorted(resources, key=str.encode))
    listing = f"resources:\n{lines}" if lines else "resources: []\n"
    return f"{HEADER}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{listing}"


def _scalar(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9._/-]+", text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _checked_cluster(cluster: str) -> str:
    return _checked(cluster, f"cluster {cluster!r}")


def _checked(name: str, what: ObjectRef | str) -> str:
    if not _NAME.fullmatch(name) or name in {".", "..", ".git", ".yaml", "..yaml"}:
        raise target_error(Code.FILE_NAME, f"{name!r} cannot be the name of a file or folder", about=str(what))
    if len(name.encode()) > _LONGEST_NAME:
        raise target_error(
            Code.FILE_NAME,
            f"its file name would have more than {_LONGEST_NAME} bytes",
            about=str(what),
            fix="Use a shorter name",
        )
    return name


TEMPORARY_PREFIX = ".osm-gitops-"
_PRIVATE = 0o600
_NAMED_FILES = 5

Content = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Files to write and to remove, relative to the target path.

    Contents are secret, and are created on demand: a whole fleet does not fit into memory. Create each only once:
    encryption gives different bytes each time.
    """

    write: Mapping[PurePosixPath, Content] = field(default_factory=dict, repr=False)
    remove: tuple[PurePosixPath, ...] = ()
    private: frozenset[PurePosixPath] = frozenset()

    @property
    def paths(self) -> tuple[PurePosixPath, ...]:
        return (*self.write, *self.remove)


def named_files(paths: Sequence[object]) -> str:
    """The first files by name, and the number of others."""
    return some(paths, _NAMED_FILES)


def no_step(_name: str) -> None:
    """Called between the steps of a write; tests stop the process here."""


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """New files under temporary names in their folders, and files to remove."""

    ready: Mapping[PurePosixPath, Path]
    remove: tuple[PurePosixPath, ...]


def unseen(_path: PurePosixPath, _content: bytes) -> None:
    """Ignore the content."""


def stage_files(
    root: Path, changes: FileChanges, made: Callable[[PurePosixPath, bytes], None] = unseen, *, private: bool = True
) -> StagedFiles:
    """Write each content to a temporary file in its folder, and pass it to ``made``.

    With ``private`` only the owner can read secrets. If one file cannot be written, all temporary files are removed.
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
    """Remove temporary files that will not be placed."""
    for temporary in ready:
        temporary.unlink(missing_ok=True)


def place_files(root: Path, staged: StagedFiles, step: Callable[[str], None] = no_step) -> None:
    """Move staged files to their places, and remove files.

    Objects are placed before the ``kustomization.yaml`` that lists them, removals come after it. If one file cannot be
    placed, all temporary files are removed.
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
    """Remove temporary files of interrupted runs. Links are not followed."""
    owned = root / owned_path(cluster)
    if owned.is_symlink():
        return
    for folder, _, names in os.walk(owned):
        _remove_staged(Path(folder), names)


def remove_temporary_beside(paths: Iterable[Path]) -> None:
    """Remove temporary files of interrupted runs from the folders of these files."""
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
        raise target_error(
            Code.FILE_UNREADABLE, what, where=str(path), fix="Remove it, or replace it by a file"
        ) from error


def stage_file(path: Path, content: bytes, mode: int | None) -> Path:
    """Write a temporary file in the same folder, for an atomic move.

    Files are not flushed to disk one by one, which takes minutes for a fleet: a file that is empty after a power
    failure differs from the desired bytes, so the next run writes it again.
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
        raise target_error(Code.FILE_UNWRITABLE, f"cannot be written: {error.strerror}", where=str(path)) from error


def _usual_mode() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _remove_empty(folder: Path, highest: Path) -> None:
    while folder != highest and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
