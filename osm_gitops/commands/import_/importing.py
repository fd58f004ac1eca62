"""Manifests of a config repository from a dump: each object in a file of its own, without what servers added."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final

from osm_gitops.commands.init.scaffold import CREDENTIALS, checked_recipients
from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem
from osm_gitops.model.desired import MANAGED_BY
from osm_gitops.model.objects import Manifest, ObjectRef
from osm_gitops.model.server_fields import authored
from osm_gitops.sops.document import encrypt, is_encrypted
from osm_gitops.sops.rules import CreationRules, Rule
from osm_gitops.sops.selection import Selection
from osm_gitops.sources.encrypted import is_ours
from osm_gitops.sources.encrypted_texts import secrets_in_plain_text
from osm_gitops.sources.manifests import MACHINE, PROFILE, RawObject, identify, misspelt, raw_objects
from osm_gitops.targets.file_encryption import HIDDEN
from osm_gitops.targets.files import FileChanges, place_files, read_file, stage_files
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents

_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_SECRET_PARTS: Final = f"{CREDENTIALS}|{HIDDEN}"
_NO_RECIPIENT: Final = (
    "Name recipients in a .sops.yaml of the repository (osm-gitops init writes one), or give --age-recipient"
)


@dataclass(frozen=True, slots=True)
class Import:
    """What to make of a dump. ``folder`` is where files go, ``None`` for a stream; with ``overwrite`` also in the place
    of files that hold something else. ``recipients`` win over ``.sops.yaml``; ``now`` is an RFC 3339 time."""

    folder: Path | None
    namespace: str
    now: str
    recipients: Sequence[str] = ()
    overwrite: bool = False


@dataclass(slots=True)
class Imported:
    """The files by their path in the folder, in the order of names; ``notes`` say what was passed over."""

    files: dict[PurePosixPath, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def import_objects(texts: Iterable[tuple[bytes, str]], wanted: Import) -> Imported:
    """The objects of YAML and JSON texts, each with the name of its file, as the files of a config repository.

    Secrets, and MachineDeployments with credentials, come out encrypted or not at all. What cannot be imported is among
    the problems, and stops nothing else. Raises InputError for recipients that cannot be used.
    """
    imported = Imported()
    passed_over: Counter[str] = Counter()
    found: dict[ObjectRef, Manifest] = {}
    for text, shown in texts:
        try:
            documents = load_documents(text, shown)
        except InputError as failure:
            imported.problems += failure.problems
            continue
        for document in documents:
            if is_encrypted(document.value):
                what = "is encrypted already"
                imported.problems.append(
                    Problem(Code.UNCODED, what, where=f"{shown}:{document.line}", fix="Copy the file as it is")
                )
                continue
            for loose in raw_objects(document, shown):
                _collect(loose, wanted.namespace, found, passed_over, imported)
    imported.notes += [f"{count} {which} passed over" for which, count in sorted(passed_over.items())]
    rule = _given_rule(wanted.recipients)
    rules = CreationRules()
    places: dict[PurePosixPath, Manifest] = {}
    for _, manifest in sorted(found.items()):
        path = _place(manifest.ref)
        if path in places:
            what = f"would be written to {path}, and so would {places[path].ref}"
            imported.problems.append(_about(manifest, what, "Import the two kinds into folders of their own"))
            continue
        places[path] = manifest
        try:
            imported.files[path] = _content(manifest, path, wanted, rule, rules)
        except OsmGitopsError as failure:
            imported.problems += (problem.at(about=str(manifest.ref)) for problem in failure.problems)
    return imported


def write_imported(imported: Imported, wanted: Import) -> tuple[Path, ...]:
    """Write the files into the folder; those that were written. Raises TargetError, and then writes none.

    A file that holds something else stays, and is among the problems.
    """
    if wanted.folder is None:
        return ()
    changed = {}
    for path, content in imported.files.items():
        there = read_file(wanted.folder / path)
        if there == content:
            continue
        if there is not None and not wanted.overwrite:
            what, fix = "is there already with other content", "Add --overwrite, and let git show what changes"
            imported.problems.append(Problem(Code.UNCODED, what, where=str(wanted.folder / path), fix=fix))
            continue
        changed[path] = content
    write = {path: (lambda content=content: content) for path, content in changed.items()}
    place_files(wanted.folder, stage_files(wanted.folder, FileChanges(write=write)))
    return tuple(wanted.folder / path for path in changed)


def _collect(
    loose: RawObject,
    namespace: str,
    found: dict[ObjectRef, Manifest],
    passed_over: Counter[str],
    imported: Imported,
) -> None:
    """Take an object, or say why not."""
    if not loose.is_read:
        problem = misspelt(loose)
        if problem is not None:
            imported.problems.append(problem)
        else:
            passed_over[f"of kind {loose.kind}" if loose.kind else "without apiVersion and kind"] += 1
        return
    if is_ours(loose):
        passed_over[f"of kind {loose.kind}, written by {MANAGED_BY},"] += 1
        return
    manifest = identify(loose, namespace)
    if isinstance(manifest, Problem):
        imported.problems.append(manifest)
        return
    ref = manifest.ref
    if not (_NAME.fullmatch(ref.name) and _NAME.fullmatch(ref.namespace)):
        imported.problems.append(
            _about(manifest, "the API server would refuse this name", "Use small letters, digits and hyphens")
        )
    elif ref in found:
        what = f"is in the input twice: {found[ref].origin} and {manifest.origin}"
        imported.problems.append(_about(manifest, what, "Leave out one of them"))
    elif (loose.body.get("metadata") or {}).get("deletionTimestamp") is not None:
        imported.notes.append(f"{ref} is being deleted, and left out")
    else:
        found[ref] = manifest


def _place(ref: ObjectRef) -> PurePosixPath:
    """Pools and profiles are called as they are; of facts several kinds may have one name."""
    name = ref.name if ref.kind in {MACHINE, PROFILE} else f"{ref.kind.lower()}-{ref.name}"
    return PurePosixPath(ref.namespace, f"{name}.yaml")


def _content(
    manifest: Manifest, path: PurePosixPath, wanted: Import, given: Rule | None, rules: CreationRules
) -> bytes:
    """The text of a file. Raises InputError, EncryptionError where a secret of it cannot be encrypted."""
    body = authored(manifest)
    secret = next(secrets_in_plain_text(body), "")
    if not secret:
        return dump(body).encode()
    rule = given
    if rule is None and wanted.folder is not None:
        rule = rules.rule_for(wanted.folder / path)
    if rule is not None and rule.selection.selector == Selection().selector:
        # What sops does without a selector would hide names too, by which files are found to be needed.
        rule = replace(rule, selection=replace(rule.selection, encrypted_regex=_SECRET_PARTS))
    if rule is None:
        raise InputError(
            [_about(manifest, "is a secret, and nothing says for whom to encrypt it", _NO_RECIPIENT, secret)]
        )
    sealed = encrypt(body, rule, now=wanted.now)
    left = next(secrets_in_plain_text(sealed), "")
    if left:
        needed = CREDENTIALS if manifest.ref.kind == MACHINE else HIDDEN
        fix = f"Give the rule that matches {path} encrypted_regex: {needed}"
        raise InputError([_about(manifest, f"{rule.where} leaves it in plain text", fix, left)])
    return dump(sealed).encode()


def _given_rule(recipients: Sequence[str]) -> Rule | None:
    return Rule(checked_recipients(recipients), Selection(), "--age-recipient") if recipients else None


def _about(manifest: Manifest, what: str, fix: str, at: str = "") -> Problem:
    where = manifest.line_of(at) if at else str(manifest.origin)
    return Problem(Code.UNCODED, what, where=where, about=str(manifest.ref), field=at, fix=fix)
