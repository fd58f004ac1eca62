"""Convert objects of a cluster to files of a config repository."""

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
from osm_gitops.model.objects import Manifest, ObjectRef, authored
from osm_gitops.sops.document import encrypt, is_encrypted
from osm_gitops.sops.rules import CreationRules, Rule, Selection
from osm_gitops.sources.encrypted import is_ours, secrets_in_plain_text
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
    """What to import. ``folder``: where to write, ``None`` for stdout. ``overwrite``: replace files with other content.
    ``recipients`` take precedence over ``.sops.yaml``. ``now`` is an RFC 3339 time."""

    folder: Path | None
    namespace: str
    now: str
    recipients: Sequence[str] = ()
    overwrite: bool = False


@dataclass(slots=True)
class Imported:
    """The files by their path in the folder, sorted by name; ``notes`` say what was skipped."""

    files: dict[PurePosixPath, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def import_objects(texts: Iterable[tuple[bytes, str]], wanted: Import) -> Imported:
    """Convert the objects of YAML and JSON texts, each with its file name, to the files of a config repository.

    Secrets, and MachineDeployments with credentials, are encrypted or left out. An object that cannot be imported adds
    a problem and does not stop the others. Raises InputError for unusable recipients.
    """
    imported = Imported()
    skipped: Counter[str] = Counter()
    found: dict[ObjectRef, Manifest] = {}
    for text, shown in texts:
        try:
            documents = load_documents(text, shown)
        except InputError as failure:
            imported.problems += failure.problems
            continue
        for document in documents:
            if is_encrypted(document.value):
                where = f"{shown}:{document.line}"
                problem = Problem(
                    Code.ALREADY_ENCRYPTED, "is already encrypted", where=where, fix="Copy the file as it is"
                )
                imported.problems.append(problem)
                continue
            for raw in raw_objects(document, shown):
                _collect(raw, wanted.namespace, found, skipped, imported)
    imported.notes += [f"{count} {which} skipped" for which, count in sorted(skipped.items())]
    rule = None
    if wanted.recipients:
        rule = Rule(checked_recipients(wanted.recipients), Selection(), "--age-recipient")
    rules = CreationRules()
    places: dict[PurePosixPath, Manifest] = {}
    for _, manifest in sorted(found.items()):
        path = _place(manifest.ref)
        if path in places:
            what = f"has the same file {path} as {places[path].ref}"
            imported.problems.append(
                _about(manifest, Code.FILES_COLLIDE, what, "Import the two kinds into separate folders")
            )
            continue
        places[path] = manifest
        try:
            imported.files[path] = _content(manifest, path, wanted, rule, rules)
        except OsmGitopsError as failure:
            imported.problems += (problem.at(about=str(manifest.ref)) for problem in failure.problems)
    return imported


def write_imported(imported: Imported, wanted: Import) -> tuple[Path, ...]:
    """Write the files that differ, and return their paths. Raises TargetError, and then writes none.

    Without ``overwrite``, a file with other content is not changed and adds a problem.
    """
    if wanted.folder is None:
        return ()
    changed = {}
    for path, content in imported.files.items():
        existing = read_file(wanted.folder / path)
        if existing == content:
            continue
        if existing is not None and not wanted.overwrite:
            what, fix = "exists with other content", "Add --overwrite, then review the change with git diff"
            imported.problems.append(Problem(Code.FILE_EXISTS, what, where=str(wanted.folder / path), fix=fix))
            continue
        changed[path] = content
    write = {path: (lambda content=content: content) for path, content in changed.items()}
    place_files(wanted.folder, stage_files(wanted.folder, FileChanges(write=write)))
    return tuple(wanted.folder / path for path in changed)


def _collect(
    raw: RawObject,
    namespace: str,
    found: dict[ObjectRef, Manifest],
    skipped: Counter[str],
    imported: Imported,
) -> None:
    """Add an object to ``found``, or say why it is skipped."""
    if not raw.is_read:
        problem = misspelt(raw)
        if problem is not None:
            imported.problems.append(problem)
        else:
            skipped[f"of kind {raw.kind}" if raw.kind else "without apiVersion and kind"] += 1
        return
    if is_ours(raw):
        skipped[f"of kind {raw.kind}, written by {MANAGED_BY},"] += 1
        return
    manifest = identify(raw, namespace)
    if isinstance(manifest, Problem):
        imported.problems.append(manifest)
        return
    ref = manifest.ref
    if not (_NAME.fullmatch(ref.name) and _NAME.fullmatch(ref.namespace)):
        imported.problems.append(
            _about(
                manifest,
                Code.OBJECT_NAME_REFUSED,
                "the API server would refuse this name",
                "Use small letters, digits and hyphens",
            )
        )
    elif ref in found:
        what = f"is in the input twice: {found[ref].origin} and {manifest.origin}"
        imported.problems.append(_about(manifest, Code.DUPLICATE_OBJECT, what, "Remove one of them"))
    elif (raw.body.get("metadata") or {}).get("deletionTimestamp") is not None:
        imported.notes.append(f"{ref} is being deleted: skipped")
    else:
        found[ref] = manifest


def _place(ref: ObjectRef) -> PurePosixPath:
    """The path of an object's file. Facts of several kinds may have the same name, so theirs starts with the kind."""
    name = ref.name if ref.kind in {MACHINE, PROFILE} else f"{ref.kind.lower()}-{ref.name}"
    return PurePosixPath(ref.namespace, f"{name}.yaml")


def _content(
    manifest: Manifest, path: PurePosixPath, wanted: Import, given: Rule | None, rules: CreationRules
) -> bytes:
    """The text of a file. Raises InputError or EncryptionError if a secret in it cannot be encrypted."""
    body = authored(manifest)
    secret = next(secrets_in_plain_text(body), "")
    if not secret:
        return dump(body).encode()
    rule = given
    if rule is None and wanted.folder is not None:
        rule = rules.rule_for(wanted.folder / path)
    if rule is not None and rule.selection.selector == Selection().selector:
        # Without a selector sops encrypts names too, but names are needed to find which files a run needs.
        rule = replace(rule, selection=replace(rule.selection, encrypted_regex=_SECRET_PARTS))
    if rule is None:
        raise InputError(
            [
                _about(
                    manifest,
                    Code.SECRET_NOT_ENCRYPTED,
                    "is a secret, and there is no recipient to encrypt it for",
                    _NO_RECIPIENT,
                    secret,
                )
            ]
        )
    sealed = encrypt(body, rule, now=wanted.now)
    left = next(secrets_in_plain_text(sealed), "")
    if left:
        needed = CREDENTIALS if manifest.ref.kind == MACHINE else HIDDEN
        fix = f"Set encrypted_regex: {needed} in the rule that matches {path}"
        what = f"{rule.where} leaves it in plain text"
        raise InputError([_about(manifest, Code.SECRET_NOT_ENCRYPTED, what, fix, left)])
    return dump(sealed).encode()


def _about(manifest: Manifest, code: Code, what: str, fix: str, at: str = "") -> Problem:
    where = manifest.line_of(at) if at else str(manifest.origin)
    return Problem(code, what, where=where, about=str(manifest.ref), field=at, fix=fix)
