"""A folder as a target: what it holds, and the files that a plan writes and removes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.model.desired import Desired, DesiredObject, Side
from osm_gitops.model.live import Delivery
from osm_gitops.model.packed import text_of
from osm_gitops.model.plan import Action, Advance, Change, ClusterPlan, CurrentState, unwatched
from osm_gitops.plan.compare import PlanOptions, make_cluster_plan
from osm_gitops.targets.current import read_folder
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.files import (
    HEADER,
    KUSTOMIZATION,
    Content,
    FileChanges,
    holds_secrets,
    kustomizations,
    owned_path,
    path_of,
    paths_of,
    place_file,
    place_files,
    read_file,
    remove_temporary,
    stage_file,
    stage_files,
)


def stream(objects: Iterable[DesiredObject]) -> Iterator[str]:
    """All objects as documents of one YAML text."""
    for wanted in objects:
        yield f"---\n{text_of(wanted.body).decode()}"


class FolderTarget:
    """The files of clusters below ``root``, one per object.

    With ``exact`` every file that differs by a byte is written, else only objects whose content differs.
    """

    def __init__(self, root: Path, sealing: FileEncryption, *, exact: bool = False) -> None:
        self.root = root
        self.sealing = sealing
        self._exact = exact

    def read(self, desired: Desired, advance: Advance = unwatched) -> CurrentState:
        """What the folder holds for one cluster. Raises TargetError where nothing at hand can compare its files."""
        return read_folder(self.root, desired, self.sealing, advance)

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """The plan with the files beside the objects that have to be written where no object has.

        Raises TargetError for what a write would refuse: a creation rule that leaves secrets in plain text.
        """
        if not plan.effective:
            stale = self.changes(plan).write
            return replace(plan, layout=tuple(str(path) for path in sorted(stale)))
        tried = set()
        for change in plan.effective:
            if change.action is Action.DELETE:
                continue
            wanted = _wanted(change)
            path = self.root / path_of(plan.cluster, wanted.ref)
            rule = self.sealing.rule(path, secret=holds_secrets(wanted))
            if rule is not None and (rule, wanted.ref.kind) not in tried:
                tried.add((rule, wanted.ref.kind))
                self.sealing.content(path, wanted, None)
        return plan

    def changes(self, plan: ClusterPlan) -> FileChanges:
        """The files that a plan writes and removes, both ``kustomization.yaml`` included."""
        chosen = [change for change in plan.changes if change.action is not Action.DELETE]
        paths = paths_of(plan.cluster, (change.ref for change in chosen))
        texts: dict[PurePosixPath, Content] = {}
        for change in chosen:
            if self._exact or change.action is not Action.UNCHANGED:
                wanted, path = _wanted(change), self.root / paths[change.ref]
                there = read_file(path)
                if there is None or not self.sealing.holds(path, there, wanted):
                    texts[paths[change.ref]] = partial(_content, path, wanted, self.sealing)
        removed = [change.ref for change in plan.changes if change.action is Action.DELETE]
        staying = [*plan.kept, *(change.ref for change in plan.not_deleted)]
        listed = {*paths.values(), *(path_of(plan.cluster, ref) for ref in staying)}
        for listing, text in kustomizations(plan.cluster, listed).items():
            content = text.encode()
            if read_file(self.root / listing) != content:
                texts[listing] = partial(bytes, content)
        return FileChanges(
            write=texts,
            remove=tuple(path_of(plan.cluster, ref) for ref in removed),
            private=frozenset(paths[change.ref] for change in chosen if holds_secrets(_wanted(change))),
        )

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched) -> Delivery:
        """Write the files, each in one move."""
        changes = self.changes(plan)
        management = owned_path(plan.cluster) / Side.MANAGEMENT.value / KUSTOMIZATION
        if not (self.root / management).exists():
            # First of all the sign by which the next run knows this folder, should this one be killed.
            sign = kustomizations(plan.cluster, [])[management].encode()
            place_file(stage_file(self.root / management, sign, None), self.root / management)
        remove_temporary(self.root, plan.cluster)
        made = count(1)
        staged = stage_files(self.root, changes, lambda *_: advance(next(made), len(changes.write)))
        place_files(self.root, staged)
        return Delivery(
            written=plan.changed_pools,
            left=plan.left,
            files_written=len(changes.write),
            files_removed=len(changes.remove),
        )


def _wanted(change: Change) -> DesiredObject:
    """The object that a change leaves there."""
    assert change.after is not None
    return DesiredObject(change.ref, change.side, change.after, change.pool, change.digest, change.sealed)


def _content(path: Path, wanted: DesiredObject, sealing: FileEncryption) -> bytes:
    return sealing.content(path, wanted, read_file(path))


def render_to(root: Path, desired: Desired, sealing: FileEncryption) -> Delivery:
    """Write the desired state into an empty folder or one that was written before.

    Stale files of ours are removed, but not those of pools that failed, and none where a document
    of the source could not be read.
    """
    _refuse_foreign(root)
    target = FolderTarget(root, sealing, exact=True)
    return target.deliver(make_cluster_plan(desired, target.read(desired), PlanOptions()))


def _refuse_foreign(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        raise TargetError([Problem(Code.TARGET_NOT_A_FOLDER, "is no folder", where=str(root))])
    entries = list(root.iterdir())
    if entries and not any(_written_by_us(entry) for entry in entries):
        raise TargetError(
            [
                Problem(
                    Code.TARGET_OF_OTHERS,
                    "is not empty and was not written by osm-gitops before",
                    where=str(root),
                    fix="Name an empty or a new folder",
                )
            ]
        )


def _written_by_us(folder: Path) -> bool:
    text = read_file(folder / Side.MANAGEMENT.value / KUSTOMIZATION) if folder.is_dir() else None
    return text is not None and text.startswith(HEADER.encode())
