"""A folder as a target: reading its state, and writing files so that none is ever half there."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

from osm_gitops.errors import InputError, Problem, TargetError
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Desired, DesiredObject, Side
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan, CurrentObject, CurrentState
from osm_gitops.plan.compare import PlanOptions, is_ours, make_cluster_plan
from osm_gitops.targets.layout import (
    HEADER,
    KUSTOMIZATION,
    SECRET_KINDS,
    kustomizations,
    object_folders,
    owned_path,
    path_of,
    paths_of,
)
from osm_gitops.yamldoor.emit import dump
from osm_gitops.yamldoor.kubernetes import load_documents

TEMPORARY_PREFIX = ".osm-gitops-"
_PRIVATE = 0o600
_NAMED_FILES = 5
# Kinds by the folder that holds them.
_KINDS = {
    "operatingsystemprofiles": "OperatingSystemProfile",
    "operatingsystemconfigs": "OperatingSystemConfig",
    "secrets": "Secret",
}


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


def no_step(_name: str) -> None:
    """Called between the steps of a write; tests stop the process here."""


def stream(objects: Iterable[DesiredObject]) -> Iterator[str]:
    """All objects as documents of one YAML text."""
    for wanted in objects:
        yield f"---\n{dump(wanted.body)}"


def plan_folder(root: Path, desired: Desired, options: PlanOptions) -> ClusterPlan:
    """What would change below ``root`` for one cluster; nothing is written."""
    plan = make_cluster_plan(desired, read_folder(root, desired), options)
    if plan.effective:
        return plan
    stale = file_changes(root, desired, plan).write
    return replace(plan, layout=tuple(str(path) for path in sorted(stale)))


def read_folder(root: Path, desired: Desired) -> CurrentState:
    """What a folder holds for one cluster.

    Files that equal the desired text are not parsed, so an unchanged folder costs only its bytes.
    """
    refuse_links(root, desired.cluster)
    paths = paths_of(desired.cluster, desired.objects)
    objects: dict[ObjectRef, CurrentObject] = {}
    identical = set()
    for wanted in desired.objects:
        text = _read(root / paths[wanted.ref])
        if text is None:
            continue
        if _is_text_of(text, wanted):
            identical.add(wanted.ref)
        else:
            body = _only_document(text, paths[wanted.ref])
            objects[wanted.ref] = CurrentObject(wanted.ref, wanted.side, body, str(paths[wanted.ref]))
    strays = _Strays(root, desired.cluster, frozenset(paths.values()))
    strays.read()
    return CurrentState(
        objects=objects | strays.objects,
        identical=frozenset(identical),
        unreadable=tuple(strays.unreadable),
        warnings=strays.warnings(),
    )


def _is_text_of(text: bytes, wanted: DesiredObject) -> bool:
    if wanted.digest:
        return hashlib.sha256(text).digest() == wanted.digest
    return text == _text(wanted)


def _text(wanted: DesiredObject) -> bytes:
    return dump(wanted.body).encode()


def file_changes(root: Path, desired: Desired, plan: ClusterPlan, *, exact: bool = False) -> FileChanges:
    """The files that a plan writes and removes, both ``kustomization.yaml`` included.

    With ``exact`` every file that differs by a byte is written, else only objects whose content differs.
    """
    paths = paths_of(desired.cluster, desired.objects)
    effective = {change.ref for change in plan.effective}
    texts: dict[PurePosixPath, Content] = {}
    for wanted in desired.objects:
        path = paths[wanted.ref]
        if exact or wanted.ref in effective:
            there = _read(root / path)
            if there is None or not _is_text_of(there, wanted):
                texts[path] = partial(_text, wanted)
    removed = [change.ref for change in plan.changes if change.action is Action.DELETE]
    staying = [*plan.kept, *(change.ref for change in plan.not_deleted)]
    listed = {*paths.values(), *(path_of(desired.cluster, ref) for ref in staying)}
    for path, text in kustomizations(desired.cluster, listed).items():
        content = text.encode()
        if _read(root / path) != content:
            texts[path] = partial(bytes, content)
    return FileChanges(
        write=texts,
        remove=tuple(path_of(desired.cluster, ref) for ref in removed),
        private=frozenset(path for ref, path in paths.items() if ref.kind in SECRET_KINDS),
    )


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
            ready[path] = _stage(root / path, content, mode)
    except BaseException:
        for temporary in ready.values():
            temporary.unlink(missing_ok=True)
        raise
    return StagedFiles(ready, changes.remove)


def place_files(root: Path, staged: StagedFiles, step: Callable[[str], None] = no_step) -> None:
    """Put staged files in place, each in one move, and remove what is to go.

    Objects come before the ``kustomization.yaml`` that lists them, removals after it.
    """
    for path in sorted(staged.ready, key=lambda path: (path.name == KUSTOMIZATION, path)):
        _place(staged.ready[path], root / path)
        step(f"wrote {path}")
    for path in staged.remove:
        (root / path).unlink(missing_ok=True)
        step(f"removed {path}")
    for path in staged.remove:
        _remove_empty(root / path.parent, root / path.parts[0])


def render_to(root: Path, desired: Desired) -> FileChanges:
    """Write the desired state into an empty folder or one that was written before; return what changed.

    Stale files of ours are removed, but not those of pools that failed, and none where a document
    of the source could not be read.
    """
    _refuse_foreign(root)
    plan = make_cluster_plan(desired, read_folder(root, desired), PlanOptions())
    changes = file_changes(root, desired, plan, exact=True)
    management = owned_path(desired.cluster) / Side.MANAGEMENT.value / KUSTOMIZATION
    if not (root / management).exists():
        # First of all the sign by which the next run knows this folder, should this one be killed.
        sign = kustomizations(desired.cluster, [])[management].encode()
        _place(_stage(root / management, sign, None), root / management)
    remove_temporary(root, desired.cluster)
    place_files(root, stage_files(root, changes))
    return changes


def remove_temporary(root: Path, cluster: str) -> None:
    """Remove what a killed run left behind of files that it was writing."""
    for folder, _, names in os.walk(root / owned_path(cluster)):
        for name in names:
            if name.startswith(TEMPORARY_PREFIX) and name.endswith(".tmp"):
                Path(folder, name).unlink(missing_ok=True)


def refuse_links(root: Path, cluster: str) -> None:
    """Refuse an owned path that leads elsewhere through a symbolic link."""
    owned = root / owned_path(cluster)
    folders = [owned, *(owned / folder for folder in object_folders()), *(owned / side.value for side in Side)]
    for folder in folders:
        if folder.is_symlink():
            raise TargetError(
                [Problem("is a symbolic link; osm-gitops writes only below the target path", where=str(folder))]
            )


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        what = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise TargetError([Problem(what, where=str(path), fix="Remove it or put a file in its place")]) from error


def _only_document(text: bytes, path: PurePosixPath) -> Mapping[str, Json] | None:
    try:
        documents = load_documents(text, str(path))
    except InputError:
        return None
    if len(documents) != 1 or not isinstance(documents[0].value, Mapping):
        return None
    value: Mapping[str, Json] = documents[0].value
    return value


class _Strays:
    """Files in a cluster's folders that are not desired: ours, unreadable, or of others."""

    def __init__(self, root: Path, cluster: str, wanted: frozenset[PurePosixPath]) -> None:
        self._root, self._cluster, self._wanted = root, cluster, wanted
        self.objects: dict[ObjectRef, CurrentObject] = {}
        self.unreadable: list[Problem] = []
        self._foreign: list[str] = []

    def read(self) -> None:
        owned = owned_path(self._cluster)
        known = {f"{owned}/{side.value}/{KUSTOMIZATION}" for side in Side} | {str(path) for path in self._wanted}
        for folder, folders, names in os.walk(self._root / owned):
            folders.sort()
            here = PurePosixPath(Path(folder).relative_to(self._root).as_posix())
            for name in sorted(names):
                if f"{here}/{name}" not in known and not name.startswith(TEMPORARY_PREFIX):
                    self._stray(here / name)

    def warnings(self) -> tuple[Problem, ...]:
        if not self._foreign:
            return ()
        more = len(self._foreign) - _NAMED_FILES
        names = ", ".join(self._foreign[:_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
        return (Problem(f"files that osm-gitops did not write are left alone: {names}", where=str(self._root)),)

    def _stray(self, path: PurePosixPath) -> None:
        place = self._place(path)
        text = _read(self._root / path) if place and not (self._root / path).is_symlink() else None
        if text is None or place is None or MANAGED_BY_LABEL.encode() not in text or MANAGED_BY.encode() not in text:
            self._foreign.append(str(path))
            return
        body = _only_document(text, path)
        if body is None:
            self.unreadable.append(Problem("is no readable manifest", where=str(path), fix="Repair or remove it"))
            self.objects[place] = CurrentObject(place, self._side(path), None, str(path))
            return
        metadata = body.get("metadata") or {}
        ref = ObjectRef(str(body.get("kind")), str(metadata.get("namespace", "")), str(metadata.get("name")))
        if not is_ours(body) or (ref.kind, ref.name) != (place.kind, place.name):
            self._foreign.append(str(path))
            return
        self.objects[ref] = CurrentObject(ref, self._side(path), body, str(path))

    def _place(self, path: PurePosixPath) -> ObjectRef | None:
        """What a file must hold by its place; ``None`` where no object of ours can be."""
        for folder in object_folders():
            inside = owned_path(self._cluster) / folder
            if path.suffix != ".yaml" or not path.is_relative_to(inside):
                continue
            *namespaces, name = path.relative_to(inside).parts
            kind = _KINDS[folder.name]
            if len(namespaces) == (1 if kind == "OperatingSystemProfile" else 0):
                return ObjectRef(kind, "".join(namespaces), name.removesuffix(".yaml"))
        return None

    def _side(self, path: PurePosixPath) -> Side:
        return Side(path.parts[1])


def _stage(path: Path, content: bytes, mode: int | None) -> Path:
    """Write a file beside its place, from where one move brings it there: readers see the old or the new one.

    Files are not flushed to the disk one by one, which takes minutes for a fleet: what a power cut
    leaves empty differs from the desired bytes, so the next run writes it again.
    """
    with _as_refusal(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), _usual_mode() if mode is None else mode)
    return Path(temporary)


def _place(temporary: Path, path: Path) -> None:
    with _as_refusal(path):
        temporary.replace(path)


@contextmanager
def _as_refusal(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TargetError([Problem(f"cannot be written: {error.strerror}", where=str(path))]) from error


def _usual_mode() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _remove_empty(folder: Path, highest: Path) -> None:
    while folder != highest and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _refuse_foreign(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        raise TargetError([Problem("is no folder", where=str(root))])
    entries = list(root.iterdir())
    if entries and not any(_written_by_us(entry) for entry in entries):
        raise TargetError(
            [
                Problem(
                    "is not empty and was not written by osm-gitops before",
                    where=str(root),
                    fix="Name an empty or a new folder",
                )
            ]
        )


def _written_by_us(folder: Path) -> bool:
    text = _read(folder / Side.MANAGEMENT.value / KUSTOMIZATION) if folder.is_dir() else None
    return text is not None and text.startswith(HEADER.encode())
