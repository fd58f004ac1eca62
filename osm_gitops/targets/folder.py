"""A folder as a target: the plan for it, and the files that a plan writes and removes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.model.desired import Desired, DesiredObject, Side
from osm_gitops.model.packed import text_of
from osm_gitops.model.plan import Action, Advance, ClusterPlan, unwatched
from osm_gitops.plan.compare import PlanOptions, make_cluster_plan
from osm_gitops.targets.current import read_folder
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.files import (
    Content,
    FileChanges,
    place_file,
    place_files,
    read_file,
    remove_temporary,
    stage_file,
    stage_files,
)
from osm_gitops.targets.layout import (
    HEADER,
    KUSTOMIZATION,
    holds_secrets,
    kustomizations,
    owned_path,
    path_of,
    paths_of,
)


def stream(objects: Iterable[DesiredObject]) -> Iterator[str]:
    """All objects as documents of one YAML text."""
    for wanted in objects:
        yield f"---\n{text_of(wanted.body).decode()}"


def plan_folder(
    root: Path, desired: Desired, options: PlanOptions, sealing: FileEncryption, *, advance: Advance = unwatched
) -> ClusterPlan:
    """What would change below ``root`` for one cluster; nothing is written. ``advance`` counts the files."""
    plan = make_cluster_plan(desired, read_folder(root, desired, sealing, advance), options)
    if plan.effective:
        _try_rules(root, desired, plan, sealing)
        return plan
    stale = file_changes(root, desired, plan, sealing).write
    return replace(plan, layout=tuple(str(path) for path in sorted(stale)))


def _try_rules(root: Path, desired: Desired, plan: ClusterPlan, sealing: FileEncryption) -> None:
    """Refuse in a plan already what a write would refuse: a creation rule that leaves secrets in plain text."""
    effective = {change.ref for change in plan.effective}
    tried = set()
    for wanted in desired.objects:
        if wanted.ref not in effective:
            continue
        path = root / path_of(desired.cluster, wanted.ref)
        rule = sealing.rule(path, secret=holds_secrets(wanted))
        if rule is not None and (rule, wanted.ref.kind) not in tried:
            tried.add((rule, wanted.ref.kind))
            sealing.content(path, wanted, None)


def file_changes(
    root: Path, desired: Desired, plan: ClusterPlan, sealing: FileEncryption, *, exact: bool = False
) -> FileChanges:
    """The files that a plan writes and removes, both ``kustomization.yaml`` included.

    With ``exact`` every file that differs by a byte is written, else only objects whose content differs.
    """
    paths = paths_of(desired.cluster, desired.objects)
    effective = {change.ref for change in plan.effective}
    texts: dict[PurePosixPath, Content] = {}
    for wanted in desired.objects:
        path = paths[wanted.ref]
        if exact or wanted.ref in effective:
            there = read_file(root / path)
            if there is None or not sealing.holds(root / path, there, wanted):
                texts[path] = partial(_content, root / path, wanted, sealing)
    removed = [change.ref for change in plan.changes if change.action is Action.DELETE]
    staying = [*plan.kept, *(change.ref for change in plan.not_deleted)]
    listed = {*paths.values(), *(path_of(desired.cluster, ref) for ref in staying)}
    for path, text in kustomizations(desired.cluster, listed).items():
        content = text.encode()
        if read_file(root / path) != content:
            texts[path] = partial(bytes, content)
    return FileChanges(
        write=texts,
        remove=tuple(path_of(desired.cluster, ref) for ref in removed),
        private=frozenset(paths[wanted.ref] for wanted in desired.objects if holds_secrets(wanted)),
    )


def _content(path: Path, wanted: DesiredObject, sealing: FileEncryption) -> bytes:
    return sealing.content(path, wanted, read_file(path))


def render_to(root: Path, desired: Desired, sealing: FileEncryption) -> FileChanges:
    """Write the desired state into an empty folder or one that was written before; return what changed.

    Stale files of ours are removed, but not those of pools that failed, and none where a document
    of the source could not be read.
    """
    _refuse_foreign(root)
    plan = make_cluster_plan(desired, read_folder(root, desired, sealing), PlanOptions())
    changes = file_changes(root, desired, plan, sealing, exact=True)
    management = owned_path(desired.cluster) / Side.MANAGEMENT.value / KUSTOMIZATION
    if not (root / management).exists():
        # First of all the sign by which the next run knows this folder, should this one be killed.
        sign = kustomizations(desired.cluster, [])[management].encode()
        place_file(stage_file(root / management, sign, None), root / management)
    remove_temporary(root, desired.cluster)
    place_files(root, stage_files(root, changes))
    return changes


def _refuse_foreign(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        raise TargetError([Problem(Code.UNCODED, "is no folder", where=str(root))])
    entries = list(root.iterdir())
    if entries and not any(_written_by_us(entry) for entry in entries):
        raise TargetError(
            [
                Problem(
                    Code.UNCODED,
                    "is not empty and was not written by osm-gitops before",
                    where=str(root),
                    fix="Name an empty or a new folder",
                )
            ]
        )


def _written_by_us(folder: Path) -> bool:
    text = read_file(folder / Side.MANAGEMENT.value / KUSTOMIZATION) if folder.is_dir() else None
    return text is not None and text.startswith(HEADER.encode())
