"""Re-encrypt SOPS files for other recipients, or with new data keys."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from osm_gitops.errors import Code, EncryptionError, OsmGitopsError, Problem, input_error, target_error
from osm_gitops.model.objects import Json
from osm_gitops.model.plan import Advance, unwatched
from osm_gitops.plan.compare import is_ours
from osm_gitops.sops.document import decrypt, hidden, is_encrypted, recipients_of, rotate, rotate_texts
from osm_gitops.sops.document import rekey as rekey_documents
from osm_gitops.sops.rules import FILE_NAME, Rule
from osm_gitops.targets.file_encryption import FileEncryption
from osm_gitops.targets.files import (
    drop_staged,
    place_file,
    read_file,
    remove_temporary_beside,
    stage_file,
)
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import Document, load_documents

# Files of osm-gitops are encrypted again: under a new data key if a recipient was removed, who may know the old one, or
# if nothing proves that osm-gitops made the old one. In other files only the map sops is replaced, and with a new data
# key the encrypted values: comments and layout stay. All files are prepared before the first is written: if one cannot
# be decrypted, none changes.

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_SIGN = b"ENC[AES256_GCM,"
_ENCRYPTED = re.compile(r"ENC\[AES256_GCM,[^]]*\]")


@dataclass(frozen=True, slots=True)
class RekeyedFile:
    """A file that gets other recipients or a new data key, and its new content.

    ``known``: a removed recipient may know the data key, which also encrypts later values.
    """

    path: Path
    before: tuple[str, ...]
    after: tuple[str, ...]
    content: bytes
    known: bool = False


@dataclass(frozen=True, slots=True)
class Rekeying:
    """The result of a re-encryption before it is written.

    ``unverified``: unchanged files of osm-gitops whose data key others may have made. ``kept``: files that osm-gitops
    did not write, which keep their data key although ``--rotate`` is set.
    """

    files: tuple[RekeyedFile, ...]
    unverified: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Rotation:
    """Which files get a new data key: ``all_ours``, and other files at or below the paths ``included``."""

    all_ours: bool = False
    included: tuple[Path, ...] = ()

    def includes(self, path: Path) -> bool:
        """Whether a file is at or below an included path."""
        here = path.resolve()
        return any(here == each or each in here.parents for each in map(Path.resolve, self.included))


def rekeyed_files(
    paths: Iterable[Path], encryption: FileEncryption, rotation: Rotation, *, advance: Advance = unwatched
) -> Rekeying:
    """Re-encrypt SOPS files below ``paths`` whose recipients differ from their rule, and the files of ``rotation``.

    ``advance`` counts the files. Raises EncryptionError with the problems of all files that fail. Writes nothing.
    """
    rekeyed: list[RekeyedFile] = []
    unverified: list[Path] = []
    kept: list[Path] = []
    problems: list[Problem] = []
    files = list(dict.fromkeys(_encrypted_files([*paths, *rotation.included])))
    for done, path in enumerate(files, start=1):
        try:
            text = read_file(path) or b""
            file = _read(path, text)
            found = _rekeyed(file, encryption, rotation) if file else None
        except OsmGitopsError as error:
            problems += (problem.at(where=str(path)) for problem in error.problems)
        else:
            rekeyed += [found] if found else []
            if file and file.ours and found is None and not encryption.is_sealed(text):
                unverified.append(path)
            if file and not file.ours and rotation.all_ours and not rotation.includes(path):
                kept.append(path)
        advance(done, len(files))
    if problems:
        raise EncryptionError(problems)
    return Rekeying(tuple(rekeyed), tuple(unverified), tuple(kept))


def write_rekeyed(files: Sequence[RekeyedFile]) -> None:
    """Replace all files atomically and keep their modes; if one cannot be written, replace none.

    Removes temporary files of a killed run first.
    """
    remove_temporary_beside(file.path for file in files)
    staged: dict[Path, Path] = {}
    try:
        for file in files:
            staged[file.path] = stage_file(file.path, file.content, _mode(file.path))
        for path, temporary in staged.items():
            place_file(temporary, path)
    except BaseException:
        drop_staged(staged.values())
        raise


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError as fault:
        what = f"can no longer be read: {fault.strerror}"
        raise target_error(Code.FILE_UNREADABLE, what, where=str(path), fix="Nothing was written. Run again") from fault


def _encrypted_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise input_error(Code.FILE_UNREADABLE, "no such file or folder", where=str(path))
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


@dataclass(frozen=True, slots=True)
class _File:
    """An encrypted file as it is on disk."""

    path: Path
    text: bytes
    documents: Sequence[Document]

    @property
    def bodies(self) -> list[Mapping[str, Json]]:
        return [document.value for document in self.documents]

    @property
    def ours(self) -> bool:
        return len(self.documents) == 1 and is_ours(self.documents[0].value)


def _read(path: Path, text: bytes) -> _File | None:
    """Read a file; ``None`` if not all of its documents are encrypted."""
    documents = load_documents(text, str(path))
    if not documents or not all(is_encrypted(document.value) for document in documents):
        return None
    return _File(path, text, documents)


def _rekeyed(file: _File, encryption: FileEncryption, rotation: Rotation) -> RekeyedFile | None:
    rule = _rule(file.path, encryption)
    before = recipients_of(file.bodies[0])
    rotated = rotation.all_ours if file.ours else rotation.includes(file.path)
    if sorted(before) == sorted(rule.recipients) and not rotated:
        return None
    removed = not set(before) <= set(rule.recipients)
    if file.ours:
        # A key entry may be labelled with the name of another recipient: only the seal proves who made the data key.
        new_key = rotated or removed or not encryption.is_sealed(file.text)
        content = _encrypted_again(file.bodies[0], rule, encryption, rotated=new_key)
        return RekeyedFile(file.path, before, rule.recipients, content)
    content = _with_new_texts(file, rule, encryption, rotated=rotated)
    return RekeyedFile(file.path, before, rule.recipients, content, known=removed and not rotated)


def _rule(path: Path, encryption: FileEncryption) -> Rule:
    rule = encryption.rule_of_any(path)
    if rule is None:
        what = f"the file is encrypted, and neither --age-recipient nor a {FILE_NAME} names its recipients"
        raise input_error(Code.NO_SOPS_RULE_MATCHES, what, fix=f"Add a {FILE_NAME} with a creation rule")
    return rule


def _encrypted_again(body: Mapping[str, Json], rule: Rule, encryption: FileEncryption, *, rotated: bool) -> bytes:
    if rotated:
        (sealed,) = rotate([body], rule.recipients, now=encryption.now, keyring=encryption.keyring)
    else:
        (sealed,) = rekey_documents([body], rule.recipients, keyring=encryption.keyring)
    (plain,) = decrypt([body], encryption.keyring)
    return encryption.with_digest(plain, sealed)


def _with_new_texts(file: _File, rule: Rule, encryption: FileEncryption, *, rotated: bool) -> bytes:
    """The text of a file with a new map ``sops`` in each document, and with new encrypted values if ``rotated``.

    A map ends at the next line that is not indented.
    """
    if rotated:
        comments = [text for text in _ENCRYPTED.findall(file.text.decode()) if text.endswith(",type:comment]")]
        result = rotate_texts(file.bodies, rule.recipients, comments, now=encryption.now, keyring=encryption.keyring)
        texts, maps = result.texts, [result.envelope] * len(file.bodies)
    else:
        documents = rekey_documents(file.bodies, rule.recipients, keyring=encryption.keyring)
        texts, maps = {}, [body["sops"] for body in documents]
    lines = file.text.decode().splitlines(keepends=True)
    ends = [_map_lines(document, lines) for document in file.documents]
    before = 0
    changed: list[str] = []
    for (start, end), envelope in zip(ends, maps, strict=True):
        changed += (_renewed(line, texts, rotated=rotated) for line in lines[before:start])
        changed.append(dump({"sops": envelope}))
        before = end
    changed += (_renewed(line, texts, rotated=rotated) for line in lines[before:])
    content = "".join(changed).encode()
    again = [hidden(document.value) for document in load_documents(content, "")]
    if again != [_with_texts(hidden(body), texts) for body in file.bodies]:
        raise _unusual_layout(rotated=rotated)
    return content


def _map_lines(document: Document, lines: Sequence[str]) -> tuple[int, int]:
    """The first line of the map ``sops`` of a document, and the line after its last."""
    start = (document.lines.get("sops") or 0) - 1
    if start < 0 or not re.match(r"sops:\s*$", lines[start]):
        raise _unusual_layout()
    end = next((at for at in range(start + 1, len(lines)) if lines[at][:1] not in " \n"), len(lines))
    return start, end


def _renewed(line: str, texts: Mapping[str, str], *, rotated: bool) -> str:
    """A line with its values and comments encrypted with the new data key."""
    if not rotated or _SIGN.decode() not in line:
        return line

    def new_text(found: re.Match[str]) -> str:
        text = texts.get(found[0])
        if text is None:
            raise _unusual_layout(rotated=True)
        return text

    return _ENCRYPTED.sub(new_text, line)


def _with_texts(value: Json, texts: Mapping[str, str]) -> Json:
    if isinstance(value, Mapping):
        return {key: _with_texts(inner, texts) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_texts(inner, texts) for inner in value]
    return texts.get(value, value) if isinstance(value, str) else value


def _unusual_layout(*, rotated: bool = False) -> EncryptionError:
    if rotated:
        what = "the file has an encrypted comment that cannot be decrypted, or a layout that sops does not write"
        return EncryptionError(
            [Problem(Code.SOPS_LAYOUT, what, fix="Run sops rotate --in-place on it, and leave it out here")]
        )
    return EncryptionError(
        [Problem(Code.SOPS_LAYOUT, "the layout is not one that sops writes", fix="Run sops updatekeys on it")]
    )
