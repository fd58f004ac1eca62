"""The current state of a folder: its files for one cluster, ready for comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from osm_gitops.errors import Code, OsmGitopsError, Problem, target_error
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL, Desired, DesiredObject, Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.packed import PackedBody, Packer, likeness
from osm_gitops.model.plan import Advance, Change, CurrentObject, CurrentState, unwatched
from osm_gitops.plan.compare import Comparison, is_ours
from osm_gitops.targets.file_encryption import (
    DIGEST_KEY,
    FileEncryption,
    Opened,
    Origin,
    is_encrypted_text,
    lacks_seal,
    may_be_encrypted,
)
from osm_gitops.targets.files import (
    KUSTOMIZATION,
    SECRET_KINDS,
    TEMPORARY_PREFIX,
    holds_secrets,
    named_files,
    object_folders,
    owned_path,
    path_of,
    paths_of,
    read_file,
)

# Kinds by the folder that holds them.
_KINDS = {
    "operatingsystemprofiles": "OperatingSystemProfile",
    "operatingsystemconfigs": "OperatingSystemConfig",
    "secrets": "Secret",
}
# Notes of a plan on files that get a new data key.
_NEW_KEY = {
    Origin.FORMER: "its digest is of an earlier version: gets a new data key",
    Origin.UNVERIFIED: "no available key verifies its digest: replaced, with a new data key",
    Origin.FOREIGN: "not written by osm-gitops: replaced, with a new data key",
}


def read_folder(root: Path, desired: Desired, encryption: FileEncryption, advance: Advance = unwatched) -> CurrentState:
    """Read a folder's files of one cluster.

    Files with the desired text are not parsed, so an unchanged folder is only read. Raises TargetError if files are
    encrypted and no available key can compare them.
    """
    return _state(root, desired, _Wanted(root, encryption), {}, advance)


class FolderComparison:
    """Compares objects with their files while others are rendered, so that neither is kept for long. ``shortened`` is
    what stays of a change."""

    def __init__(
        self, root: Path, cluster: str, encryption: FileEncryption, shortened: Callable[[Change], Change]
    ) -> None:
        self._root, self._cluster = root, cluster
        self._wanted = _Wanted(root, encryption)
        self._comparison = Comparison(known=None)
        self._shortened = shortened
        self._compared: dict[ObjectRef, Change] = {}
        self._begun = self._refused = False

    def take(self, objects: Iterable[DesiredObject]) -> None:
        """Compare the objects of a pool. If a file is refused, all of them are left to :meth:`read`."""
        if self._refused:
            return
        try:
            if not self._begun:
                refuse_links(self._root, self._cluster)
                self._begun = True
            for each in objects:
                found = self._wanted.read(each, path_of(self._cluster, each.ref))
                if found is not None:
                    self._compared[each.ref] = self._shortened(self._comparison.change(each, found))
        except OsmGitopsError:
            self._refused = True

    def read(self, desired: Desired, advance: Advance = unwatched) -> CurrentState:
        """As :func:`read_folder`, without the files that were compared."""
        if self._refused:
            return read_folder(self._root, desired, self._wanted.encryption, advance)
        return _state(self._root, desired, self._wanted, self._compared, advance)


def _state(
    root: Path, desired: Desired, wanted: _Wanted, compared: Mapping[ObjectRef, Change], advance: Advance
) -> CurrentState:
    """The state of a folder of which ``wanted`` has read a part."""
    refuse_links(root, desired.cluster)
    paths = paths_of(desired.cluster, (each.ref for each in desired.objects))
    objects = {}
    for done, item in enumerate(desired.objects, start=1):
        if item.ref not in wanted.done:
            found = wanted.read(item, paths[item.ref])
            if found is not None:
                objects[item.ref] = wanted.packed(found, item)
        advance(done, len(desired.objects))
    strays = _Strays(root, desired.cluster, frozenset(paths.values()), wanted.encryption)
    strays.read()
    wanted.sort(paths.values())
    wanted.refuse_closed()
    return CurrentState(
        objects=objects | strays.objects,
        identical=frozenset(wanted.identical),
        compared=compared,
        unreadable=tuple(strays.unreadable),
        warnings=(*wanted.warnings(), *strays.warnings()),
    )


def refuse_links(root: Path, cluster: str) -> None:
    """Raise TargetError if an owned folder is a symbolic link."""
    owned = root / owned_path(cluster)
    folders = [owned, *(owned / folder for folder in object_folders()), *(owned / side.value for side in Side)]
    for folder in folders:
        if folder.is_symlink():
            raise target_error(
                Code.TARGET_SYMLINK,
                "is a symbolic link; osm-gitops writes only below the target path",
                where=str(folder),
            )


class _Wanted:
    """Files of desired objects: identical ones, and the content of others."""

    def __init__(self, root: Path, encryption: FileEncryption) -> None:
        self._root, self.encryption = root, encryption
        self.identical: set[ObjectRef] = set()
        self.done: set[ObjectRef] = set()
        self._closed: list[PurePosixPath] = []
        self._others: list[PurePosixPath] = []
        self._former: list[PurePosixPath] = []
        self._sealed = False
        # Whether a file cannot be decrypted, and whether any file's digest matches.
        self._hidden, self._known = False, False
        self._packer = Packer()

    def read(self, wanted: DesiredObject, path: PurePosixPath) -> CurrentObject | None:
        """The object of a file, or ``None`` if it is the wanted one, or if there is none."""
        self.done.add(wanted.ref)
        place, secret = self._root / path, holds_secrets(wanted)
        encrypts = self.encryption.rule(place, secret=secret) is not None
        self._sealed = self._sealed or encrypts
        text = read_file(place)
        if text is None:
            return None
        if not self.encryption.is_for(place, text, secret=secret):
            self._others.append(path)
        if self.encryption.holds(place, text, wanted):
            self.identical.add(wanted.ref)
            self._known = self._known or secret
            if encrypts and lacks_seal(text):
                self._former.append(path)
            return None
        if not encrypts and not may_be_encrypted(text) and not text.startswith(b"{"):
            # YAML is parsed when it is compared.
            found = Opened(self._packer.pack(text, likeness(wanted.body, wanted.ref.kind)))
            return _current(wanted.ref, wanted.side, found, path)
        found = self.encryption.open(place, text, secret=secret)
        self._hidden = self._hidden or found.hidden
        if found.hidden and not self.encryption.can_tell:
            self._closed.append(path)
        origin = self.encryption.origin(text, None if found.hidden else found.body) if encrypts else Origin.PLAIN
        if origin is Origin.FORMER:
            self._former.append(path)
        # A plain or verified file with another digest almost always differs, which the comparison finds anyway.
        if origin not in {Origin.PLAIN, Origin.VERIFIED} and found.shows(wanted):
            self.identical.add(wanted.ref)
            return None
        return _current(wanted.ref, wanted.side, found, path, _NEW_KEY.get(origin, ""))

    def packed(self, found: CurrentObject, wanted: DesiredObject) -> CurrentObject:
        """The object of a file, for comparison later."""
        if found.body is None or isinstance(found.body, PackedBody):
            return found
        return replace(found, body=self._packer.pack_json(found.body, likeness(wanted.body, wanted.ref.kind)))

    def sort(self, paths: Iterable[PurePosixPath]) -> None:
        """Bring what was noted into the order of ``paths``."""
        noted = [each for each in (self._closed, self._others, self._former) if each]
        places = {path: number for number, path in enumerate(paths)} if noted else {}
        for each in noted:
            each.sort(key=places.__getitem__)

    def refuse_closed(self) -> None:
        if not self._closed:
            return
        raise target_error(
            Code.FILES_NOT_COMPARABLE,
            f"{named_files(self._closed)} cannot be compared: no available private key decrypts them, "
            f"and {DIGEST_KEY} is not set",
            where=str(self._root),
            fix=f"Set SOPS_AGE_KEY_FILE or SOPS_AGE_KEY, or for runs without a private key {DIGEST_KEY}",
        )

    def warnings(self) -> list[Problem]:
        found = []
        if self._hidden and not self._known:
            what = f"no file has a digest made with this {DIGEST_KEY}: all files changed, or the key did"
            found.append(
                Problem(Code.DIGEST_KEY_CHANGED, what, where=str(self._root), fix="Use the key of the last run")
            )
        if self._others:
            what = f"{named_files(self._others)} are encrypted for other recipients than the rules name"
            found.append(Problem(Code.RECIPIENTS_CHANGED, what, where=str(self._root), fix="Run osm-gitops rekey"))
        if self._former:
            what = (
                f"{named_files(self._former)}: written by a version of osm-gitops that kept the data key of any "
                "existing file, so somebody with mere write access to the repository may know a data key"
            )
            fix = "Run osm-gitops rekey --rotate once"
            found.append(Problem(Code.DATA_KEY_NOT_OURS, what, where=str(self._root), fix=fix))
        if self._sealed and not self.encryption.can_compare:
            found.append(
                Problem(
                    Code.NO_KEY_FOR_NEXT_RUN,
                    "no local key can decrypt these files, so the next run cannot compare them",
                    where=str(self._root),
                    fix=f"Set a private key for each run, or the same {DIGEST_KEY}",
                )
            )
        return found


class _Strays:
    """Files in a cluster's folders that are not desired: ours, unreadable, or not written by osm-gitops."""

    def __init__(self, root: Path, cluster: str, wanted: frozenset[PurePosixPath], encryption: FileEncryption) -> None:
        self._root, self._cluster, self._wanted, self._encryption = root, cluster, wanted, encryption
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
            what = f"files that osm-gitops did not write are not changed: {named_files(self._foreign)}"
            found.append(Problem(Code.FILES_OF_OTHERS, what, where=str(self._root)))
        if self._planted:
            names = named_files(self._planted)
            what = f"encrypted files that osm-gitops did not write have names that osm-gitops may need: {names}"
            fix = "Remove them. If a pool needs such a name, the file is replaced, with a new data key"
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
        found = self._encryption.open(self._root / path, text, secret=place.kind in SECRET_KINDS)
        if found.body is None:
            what = "is not a readable manifest"
            problem = Problem(Code.MANIFEST_UNREADABLE, what, where=str(path), fix="Repair or remove it")
            self.unreadable.append(problem)
            self.objects[place] = _current(place, self._side(path), found, path)
            return
        if not is_ours(found.body):
            self._leave(path, text)
            return
        metadata = found.body["metadata"]
        ref = ObjectRef(str(found.body.get("kind")), str(metadata.get("namespace", "")), str(metadata.get("name")))
        if (ref.kind, ref.name) != (place.kind, place.name):
            self._leave(path, text)
            return
        self.objects[ref] = _current(ref, self._side(path), found, path)

    def _leave(self, path: PurePosixPath, text: bytes) -> None:
        """Note a file that osm-gitops did not write, but whose name an object of ours may get."""
        self._foreign.append(path)
        if is_encrypted_text(text):
            self._planted.append(path)

    def _place(self, path: PurePosixPath) -> ObjectRef | None:
        """The object that belongs at a path; ``None`` if it is not a path for objects of ours."""
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
