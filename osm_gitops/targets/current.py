"""What a folder holds for one cluster, as the plan compares it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PurePosixPath

from osm_gitops.errors import Code, Problem, TargetError
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Desired, DesiredObject, Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.packed import Packer, likeness
from osm_gitops.model.plan import Advance, CurrentObject, CurrentState, unwatched
from osm_gitops.plan.compare import is_ours
from osm_gitops.targets.file_encryption import DIGEST_KEY, FileEncryption, Opened, Origin, is_sealed_text, lacks_seal
from osm_gitops.targets.files import (
    KUSTOMIZATION,
    SECRET_KINDS,
    TEMPORARY_PREFIX,
    holds_secrets,
    named_files,
    object_folders,
    owned_path,
    paths_of,
    read_file,
)

# Kinds by the folder that holds them.
_KINDS = {
    "operatingsystemprofiles": "OperatingSystemProfile",
    "operatingsystemconfigs": "OperatingSystemConfig",
    "secrets": "Secret",
}
# What a plan says of a file whose data key is not kept.
_NEW_KEY = {
    Origin.FORMER: "its digest is of an earlier version: gets a new data key",
    Origin.UNVERIFIED: "no key at hand verifies its digest: replaced, with a new data key",
    Origin.FOREIGN: "not written by osm-gitops: replaced, with a new data key",
}


def read_folder(root: Path, desired: Desired, sealing: FileEncryption, advance: Advance = unwatched) -> CurrentState:
    """What a folder holds for one cluster.

    Files that hold the desired text are not parsed, so an unchanged folder costs only its bytes.
    TargetError where files are encrypted and nothing at hand can compare them.
    """
    refuse_links(root, desired.cluster)
    paths = paths_of(desired.cluster, (wanted.ref for wanted in desired.objects))
    wanted = _Wanted(root, sealing)
    for done, item in enumerate(desired.objects, start=1):
        wanted.read(item, paths[item.ref])
        advance(done, len(desired.objects))
    strays = _Strays(root, desired.cluster, frozenset(paths.values()), sealing)
    strays.read()
    wanted.refuse_closed()
    return CurrentState(
        objects=wanted.objects | strays.objects,
        identical=frozenset(wanted.identical),
        unreadable=tuple(strays.unreadable),
        warnings=(*wanted.warnings(), *strays.warnings()),
    )


def refuse_links(root: Path, cluster: str) -> None:
    """Refuse an owned path that leads elsewhere through a symbolic link."""
    owned = root / owned_path(cluster)
    folders = [owned, *(owned / folder for folder in object_folders()), *(owned / side.value for side in Side)]
    for folder in folders:
        if folder.is_symlink():
            raise TargetError(
                [
                    Problem(
                        Code.TARGET_SYMLINK,
                        "is a symbolic link; osm-gitops writes only below the target path",
                        where=str(folder),
                    )
                ]
            )


class _Wanted:
    """Files of desired objects: identical, or read."""

    def __init__(self, root: Path, sealing: FileEncryption) -> None:
        self._root, self._sealing = root, sealing
        self.objects: dict[ObjectRef, CurrentObject] = {}
        self.identical: set[ObjectRef] = set()
        self._closed: list[PurePosixPath] = []
        self._others: list[PurePosixPath] = []
        self._former: list[PurePosixPath] = []
        self._sealed = False
        # Encrypted files that no key opens, and whether any file's digest fits.
        self._hidden, self._known = False, False
        self._packer = Packer()

    def read(self, wanted: DesiredObject, path: PurePosixPath) -> None:
        place, secret = self._root / path, holds_secrets(wanted)
        encrypts = self._sealing.rule(place, secret=secret) is not None
        self._sealed = self._sealed or encrypts
        text = read_file(place)
        if text is None:
            return
        if not self._sealing.is_for(place, text, secret=secret):
            self._others.append(path)
        if self._sealing.holds(place, text, wanted):
            self.identical.add(wanted.ref)
            self._known = self._known or secret
            if encrypts and lacks_seal(text):
                self._former.append(path)
            return
        found = self._sealing.open(place, text, secret=secret)
        self._hidden = self._hidden or found.hidden
        if found.hidden and not self._sealing.can_tell:
            self._closed.append(path)
        origin = self._sealing.origin(text, None if found.hidden else found.body) if encrypts else Origin.PLAIN
        if origin is Origin.FORMER:
            self._former.append(path)
        # A plain or a verified file whose digest is another nearly always differs, which the comparison finds anyway.
        if origin not in {Origin.PLAIN, Origin.VERIFIED} and found.shows(wanted):
            self.identical.add(wanted.ref)
            return
        if found.body is not None:
            found = replace(found, body=self._packer.pack_json(found.body, likeness(wanted.body, wanted.ref.kind)))
        self.objects[wanted.ref] = _current(wanted.ref, wanted.side, found, path, _NEW_KEY.get(origin, ""))

    def refuse_closed(self) -> None:
        if not self._closed:
            return
        raise TargetError(
            [
                Problem(
                    Code.FILES_NOT_COMPARABLE,
                    f"{named_files(self._closed)} cannot be compared: there is no private key at hand that opens them, "
                    f"and no {DIGEST_KEY} that they were written with",
                    where=str(self._root),
                    fix=f"Set SOPS_AGE_KEY_FILE or SOPS_AGE_KEY, or for runs without a private key {DIGEST_KEY}",
                )
            ]
        )

    def warnings(self) -> list[Problem]:
        found = []
        if self._hidden and not self._known:
            what = (
                f"no file has a digest that was made with this {DIGEST_KEY}: all of them changed, or it is another key"
            )
            found.append(
                Problem(Code.DIGEST_KEY_CHANGED, what, where=str(self._root), fix="Give the key that the last run had")
            )
        if self._others:
            what = f"{named_files(self._others)} are encrypted for others than the rules name"
            found.append(Problem(Code.RECIPIENTS_CHANGED, what, where=str(self._root), fix="Run osm-gitops rekey"))
        if self._former:
            what = (
                f"{named_files(self._former)}: written by a version of osm-gitops that kept the data key of any file "
                "that it found, so a data key may be known to somebody who only has write access to the repository"
            )
            found.append(
                Problem(Code.DATA_KEY_NOT_OURS, what, where=str(self._root), fix="Run osm-gitops rekey --rotate once")
            )
        if self._sealed and not self._sealing.can_compare:
            found.append(
                Problem(
                    Code.NO_KEY_FOR_NEXT_RUN,
                    "encrypts for others only: the next run will not be able to tell what changed",
                    where=str(self._root),
                    fix=f"Give every run a private key, or the same {DIGEST_KEY}",
                )
            )
        return found


class _Strays:
    """Files in a cluster's folders that are not desired: ours, unreadable, or of others."""

    def __init__(self, root: Path, cluster: str, wanted: frozenset[PurePosixPath], sealing: FileEncryption) -> None:
        self._root, self._cluster, self._wanted, self._sealing = root, cluster, wanted, sealing
        self.objects: dict[ObjectRef, CurrentObject] = {}
        self.unreadable: list[Problem] = []
        self._foreign: list[PurePosixPath] = []
        self._planted: list[PurePosixPath] = []

    def read(self) -> None:
        owned = owned_path(self._cluster)
        known = {f"{owned}/{side.value}/{KUSTOMIZATION}" for side in Side} | {str(path) for path in self._wanted}
        for folder, folders, names in os.walk(self._root / owned):
            folders.sort()
            here = PurePosixPath(Path(folder).relative_to(self._root).as_posix())
            for name in sorted(names):
                if f"{here}/{name}" not in known and not name.startswith(TEMPORARY_PREFIX):
                    self._stray(here / name)

    def warnings(self) -> list[Problem]:
        found = []
        if self._foreign:
            what = f"files that osm-gitops did not write are left alone: {named_files(self._foreign)}"
            found.append(Problem(Code.FILES_OF_OTHERS, what, where=str(self._root)))
        if self._planted:
            names = named_files(self._planted)
            what = f"encrypted files that osm-gitops did not write have names that its own may get: {names}"
            fix = "Remove them. When a pool needs the name, the file is replaced, with a new data key"
            found.append(Problem(Code.DATA_KEY_NOT_OURS, what, where=str(self._root), fix=fix))
        return found

    def _stray(self, path: PurePosixPath) -> None:
        place = self._place(path)
        text = read_file(self._root / path) if place and not (self._root / path).is_symlink() else None
        if text is None or place is None:
            self._foreign.append(path)
            return
        if MANAGED_BY_LABEL.encode() not in text or MANAGED_BY.encode() not in text:
            self._leave(path, text)
            return
        found = self._sealing.open(self._root / path, text, secret=place.kind in SECRET_KINDS)
        if found.body is None:
            self.unreadable.append(
                Problem(Code.MANIFEST_UNREADABLE, "is no readable manifest", where=str(path), fix="Repair or remove it")
            )
            self.objects[place] = _current(place, self._side(path), found, path)
            return
        metadata = found.body.get("metadata") or {}
        ref = ObjectRef(str(found.body.get("kind")), str(metadata.get("namespace", "")), str(metadata.get("name")))
        if not is_ours(found.body) or (ref.kind, ref.name) != (place.kind, place.name):
            self._leave(path, text)
            return
        self.objects[ref] = _current(ref, self._side(path), found, path)

    def _leave(self, path: PurePosixPath, text: bytes) -> None:
        """A file of others that has a name which an object of ours may get."""
        self._foreign.append(path)
        if is_sealed_text(text):
            self._planted.append(path)

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


def _current(ref: ObjectRef, side: Side, found: Opened, path: PurePosixPath, new_key: str = "") -> CurrentObject:
    return CurrentObject(
        ref,
        side,
        found.body,
        str(path),
        hidden=found.hidden,
        rewrite=found.rewrite,
        trouble=found.trouble,
        new_key=new_key,
    )
