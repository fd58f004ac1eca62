"""New recipients, or new data keys, for files that are encrypted already (``osm-gitops rekey``).

Files of ours are written anew, under a new data key where somebody was removed: they may have kept the
old one. Of all others only the map ``sops`` is replaced, so that comments and layout of people stay.
Everything is made before anything is written: one file that cannot be opened, and all stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.errors import EncryptionError, InputError, OsmGitopsError, Problem, TargetError
from osm_gitops.model.objects import Json
from osm_gitops.model.progress import Advance, unwatched
from osm_gitops.plan.compare import is_ours
from osm_gitops.sops.document import decrypt, is_encrypted, recipients_of, rekey, rotate
from osm_gitops.sops.rules import FILE_NAME, Rule
from osm_gitops.targets.files import drop_staged, place_file, read_file, stage_file
from osm_gitops.targets.sealing import Sealing
from osm_gitops.yamldoor.emit import dump
from osm_gitops.yamldoor.kubernetes import Document, load_documents

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_SIGN = b"ENC[AES256_GCM,"


@dataclass(frozen=True, slots=True)
class RekeyedFile:
    """A file that gets other recipients, or a new data key, and its new bytes.

    ``known``: somebody who was removed may have kept the data key, under which later values are encrypted too.
    """

    path: Path
    before: tuple[str, ...]
    after: tuple[str, ...]
    content: bytes
    known: bool = False


def rekeyed_files(
    paths: Iterable[Path], sealing: Sealing, *, rotated: bool, advance: Advance = unwatched
) -> tuple[RekeyedFile, ...]:
    """Every SOPS file below ``paths`` whose recipients are not those of its rule; with ``rotated`` every one.

    Nothing is written; ``advance`` counts the files. OsmGitopsError with the problems of all files that cannot be
    made anew.
    """
    made: list[RekeyedFile] = []
    problems: list[Problem] = []
    files = list(_encrypted_files(paths))
    for done, path in enumerate(files, start=1):
        try:
            found = _rekeyed(path, sealing, rotated=rotated)
        except OsmGitopsError as error:
            problems += (problem.at(where=str(path)) for problem in error.problems)
        else:
            made += [found] if found else []
        advance(done, len(files))
    if problems:
        raise EncryptionError(problems)
    return tuple(made)


def write_rekeyed(files: Sequence[RekeyedFile]) -> None:
    """Put all files in place, each in one move, with the mode that it had; none where one cannot be written."""
    staged: dict[Path, Path] = {}
    try:
        for file in files:
            staged[file.path] = stage_file(file.path, file.content, _mode(file.path))
    except BaseException:
        drop_staged(staged.values())
        raise
    for path, temporary in staged.items():
        place_file(temporary, path)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError as fault:
        what = f"cannot be read any more: {fault.strerror}"
        raise TargetError([Problem(what, where=str(path), fix="Nothing was written. Run again")]) from fault


def _encrypted_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise InputError([Problem("there is no such file or folder", where=str(path))])
        for file in sorted(_files(path)):
            text = read_file(file) if file.is_file() and not file.is_symlink() else None
            if text is not None and _SIGN in text:
                yield file


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(folder, name) for name in names if Path(name).suffix in _SUFFIXES)


def _rekeyed(path: Path, sealing: Sealing, *, rotated: bool) -> RekeyedFile | None:
    text = read_file(path) or b""
    documents = load_documents(text, str(path))
    bodies: list[Mapping[str, Json]] = [document.value for document in documents]
    if not bodies or not all(map(is_encrypted, bodies)):
        return None
    rule = _rule(path, sealing)
    before = recipients_of(bodies[0])
    if set(before) == set(rule.recipients) and not rotated:
        return None
    removed = not set(before) <= set(rule.recipients)
    if len(bodies) == 1 and is_ours(bodies[0]):
        content = _anew(bodies[0], rule, sealing, rotated=rotated or removed)
        return RekeyedFile(path, before, rule.recipients, content)
    if rotated:
        what = "osm-gitops did not write this file, and would not keep its comments"
        raise EncryptionError([Problem(what, fix=f"Run sops rotate --in-place {path}")])
    return RekeyedFile(path, before, rule.recipients, _with_new_map(text, documents, rule, sealing), known=removed)


def _rule(path: Path, sealing: Sealing) -> Rule:
    rule = sealing.rule_of_any(path)
    if rule is None:
        what = f"it is encrypted, and neither --age-recipient nor a {FILE_NAME} says for whom it should be"
        raise InputError([Problem(what, fix=f"Add a {FILE_NAME} with a creation rule")])
    return rule


def _anew(body: Mapping[str, Json], rule: Rule, sealing: Sealing, *, rotated: bool) -> bytes:
    if rotated:
        (sealed,) = rotate([body], rule.recipients, now=sealing.now, keyring=sealing.keyring)
    else:
        (sealed,) = rekey([body], rule.recipients, keyring=sealing.keyring)
    (plain,) = decrypt([body], sealing.keyring)
    return sealing.with_digest(plain, sealed)


def _with_new_map(text: bytes, documents: Sequence[Document], rule: Rule, sealing: Sealing) -> bytes:
    """The text with other maps ``sops``; each ends where the next line begins that is not indented."""
    bodies = [document.value for document in documents]
    sealed = rekey(bodies, rule.recipients, keyring=sealing.keyring)
    lines = text.decode().splitlines(keepends=True)
    for document, body in reversed(list(zip(documents, sealed, strict=True))):
        start = (document.lines.get("sops") or 0) - 1
        if start < 0 or not re.match(r"sops:\s*$", lines[start]):
            raise _unusual_layout()
        end = next((at for at in range(start + 1, len(lines)) if lines[at][:1] not in " \n"), len(lines))
        lines[start:end] = [dump({"sops": body["sops"]})]
    changed = "".join(lines).encode()
    again = [document.value for document in load_documents(changed, "")]
    if [{**body, "sops": None} for body in again] != [{**body, "sops": None} for body in bodies]:
        raise _unusual_layout()
    return changed


def _unusual_layout() -> EncryptionError:
    return EncryptionError([Problem("its layout is not that of sops", fix="Run sops updatekeys on it")])
