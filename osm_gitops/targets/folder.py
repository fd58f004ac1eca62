"""A folder as a target: the files that a plan writes and removes, and the check for plain text secrets in git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path, PurePosixPath

from osm_gitops.errors import Code, target_error
from osm_gitops.git.repository import Repository, find_work_tree
from osm_gitops.model.desired import Desired, DesiredObject, Side
from osm_gitops.model.live import Delivery
from osm_gitops.model.packed import text_of
from osm_gitops.model.plan import Action, Advance, Change, ClusterPlan, CurrentState, unwatched
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
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
    secret_places,
    stage_file,
    stage_files,
)


def stream(objects: Iterable[DesiredObject]) -> Iterator[str]:
    """All objects as documents of one YAML text."""
    for wanted in objects:
        yield f"---\n{text_of(wanted.body).decode()}"


class FolderTarget:
    """The files of clusters below ``root``, one per object.

    With ``exact`` each file that differs by a byte is written, otherwise only objects whose content differs.
    """

    def __init__(self, root: Path, encryption: FileEncryption, *, exact: bool = False) -> None:
        self.root = root
        self.encryption = encryption
        self._exact = exact

    def read(self, desired: Desired, advance: Advance = unwatched) -> CurrentState:
        """The folder's content for one cluster. Raises TargetError if no available key can compare its files."""
        return read_folder(self.root, desired, self.encryption, advance)

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """The plan with the ``kustomization.yaml`` files to write if no object changes.

        Raises TargetError for a creation rule that would leave secrets in plain text, as a write does.
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
            rule = self.encryption.rule(path, secret=holds_secrets(wanted))
            if rule is not None and (rule, wanted.ref.kind) not in tried:
                tried.add((rule, wanted.ref.kind))
                self.encryption.content(path, wanted, None)
        return plan

    def changes(self, plan: ClusterPlan) -> FileChanges:
        """The files that a plan writes and removes, including both ``kustomization.yaml``."""
        chosen = [change for change in plan.changes if change.action is not Action.DELETE]
        paths = paths_of(plan.cluster, (change.ref for change in chosen))
        texts: dict[PurePosixPath, Content] = {}
        for change in chosen:
            if self._exact or change.action is not Action.UNCHANGED:
                wanted, path = _wanted(change), self.root / paths[change.ref]
                there = read_file(path)
                if there is None or not self.encryption.holds(path, there, wanted):
                    texts[paths[change.ref]] = partial(_content, path, wanted, self.encryption)
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
            private=frozenset(paths[change.ref] for change in chosen if holds_secrets(change)),
        )

    def deliver(self, plan: ClusterPlan, advance: Advance = unwatched) -> Delivery:
        """Write the files, each in one move."""
        changes = self.changes(plan)
        management = owned_path(plan.cluster) / Side.MANAGEMENT.value / KUSTOMIZATION
        if not (self.root / management).exists():
            # Written first: if this run is interrupted, the next one recognizes the folder by it.
            empty = kustomizations(plan.cluster, [])[management].encode()
            place_file(stage_file(self.root / management, empty, None), self.root / management)
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
    """The object after a change."""
    assert change.after is not None
    return DesiredObject(change.ref, change.side, change.after, change.pool, change.digest, change.sealed)


def _content(path: Path, wanted: DesiredObject, encryption: FileEncryption) -> bytes:
    return encryption.content(path, wanted, read_file(path))


def render_to(root: Path, desired: Desired, encryption: FileEncryption) -> Delivery:
    """Write the desired state into an empty folder, or into one that osm-gitops wrote before.

    Removes stale files of ours, but not files of pools that failed, and none if a document of the source is unreadable.
    """
    _refuse_foreign(root)
    target = FolderTarget(root, encryption, exact=True)
    return target.deliver(make_cluster_plan(desired, target.read(desired), PlanOptions()))


def _refuse_foreign(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        raise target_error(Code.TARGET_NOT_A_FOLDER, "is not a folder", where=str(root))
    entries = list(root.iterdir())
    if entries and not any(is_cluster_folder(entry) for entry in entries):
        raise target_error(
            Code.TARGET_OF_OTHERS,
            "is not empty and was not written by osm-gitops before",
            where=str(root),
            fix="Name an empty or a new folder",
        )


def is_cluster_folder(folder: Path) -> bool:
    """Whether a folder has the desired state of a cluster."""
    text = read_file(folder / Side.MANAGEMENT.value / KUSTOMIZATION) if folder.is_dir() else None
    return text is not None and text.startswith(HEADER.encode())


_PLAINTEXT = (
    "configurations and Secrets contain tokens, registry passwords and cloud credentials, "
    "which git would keep in plain text for ever"
)
_PLAINTEXT_FIX = (
    "Encrypt them: name recipients with --age-recipient, or in a .sops.yaml (osm-gitops init writes one). If "
    "only people with access to these secrets can read the repository, use --dangerously-plaintext-secrets"
)


def refuse_plaintext(folder: Path, clusters: Iterable[str], encryption: FileEncryption) -> None:
    """Refuse to write secrets of clusters into a git work tree in plain text (design.md, "Encryption in git").

    Outside of a work tree, plain text is allowed.
    """
    folder = Path(os.path.normpath(folder.absolute()))
    root = find_work_tree(folder)
    places = [place for cluster in clusters for place in secret_places(cluster)]
    if root is None or all(encryption.rule(folder / path) for path in places):
        return
    raise target_error(
        Code.PLAIN_SECRETS_IN_GIT,
        f"is in the git work tree {root}: {_PLAINTEXT}",
        where=str(folder),
        fix=_PLAINTEXT_FIX,
    )


def is_kept_by_git(folder: Path, clusters: Iterable[str]) -> bool:
    """Whether git tracks secrets of clusters in this folder: not all of their paths are ignored."""
    folder = Path(os.path.normpath(folder.absolute()))
    root = find_work_tree(folder)
    if root is None:
        return False
    inside = folder.relative_to(root)
    places = {(inside / path).as_posix() for cluster in clusters for path in secret_places(cluster)}
    return Repository(root).ignored(places) != places
