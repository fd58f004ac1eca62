"""SOPS-encrypted documents of a source (design.md, "Encryption in git"): decrypted with the keys of the run, or without
keys with a placeholder for each encrypted value.

A placeholder is derived from its ciphertext, the same in each run, so that two such trees can be compared: for pull
requests from forks, whose runs get no keys. What is rendered from placeholders is for reports only. No MAC is verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import sha256
from typing import Final

from osm_gitops.errors import Code, EncryptionError, Problem
from osm_gitops.gocompat.basetext import encode_base64
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.plan.sensitive import inline_credentials, provider_spec_of
from osm_gitops.sops.document import decrypt, hidden, is_encrypted
from osm_gitops.sops.envelope import FIELD
from osm_gitops.sops.keys import KeySearch
from osm_gitops.sops.leaves import sealed_type
from osm_gitops.sources.manifests import MACHINE, PROFILE, RawObject, identify, raw_objects
from osm_gitops.yaml.kubernetes import Document

SECRET_DATA: Final = frozenset({"data", "stringData"})
# Shown in each report, encrypted or not.
_VISIBLE: Final = frozenset({"apiVersion", "kind", "type"})


def encrypted_texts(sealed: Mapping[str, Json], plain: Mapping[str, Json]) -> Iterator[str]:
    """The texts of ``plain``, a document or an entry of a list, that are encrypted in ``sealed``.

    Without names and labels, which reports show, and without the data of Secrets, which is always secret
    (``plan.sensitive``).
    """
    is_secret = plain.get("kind") == "Secret"
    for key, value in plain.items():
        before = sealed.get(key)
        if key in _VISIBLE or (is_secret and key in SECRET_DATA):
            continue
        if key == "metadata" and isinstance(value, dict) and isinstance(before, dict):
            yield from _texts(before.get("annotations"), value.get("annotations"))
        elif key == "items" and isinstance(value, list) and isinstance(before, list):
            for inner, entry in _paired(before, value):
                if isinstance(inner, dict) and isinstance(entry, dict):
                    yield from encrypted_texts(inner, entry)
        else:
            yield from _texts(before, value)


def secrets_in_plain_text(body: Mapping[str, Json]) -> Iterator[str]:
    """The fields of a Secret or MachineDeployment in a file that contain a secret in plain text."""
    if body.get("kind") == "Secret":
        for name in sorted(SECRET_DATA):
            values = body.get(name)
            for key, value in values.items() if isinstance(values, dict) else ():
                if value and not sealed_type(value):
                    yield f"{name}.{key}"
    elif body.get("kind") == MACHINE:
        credentials = inline_credentials(provider_spec_of(body))
        yield from (f"{PROVIDER_CONFIG_FIELD}.{path}" for path in credentials)


def holds_ciphertext(value: Json) -> bool:
    """Whether it contains an encrypted value."""
    if isinstance(value, dict):
        return any(map(holds_ciphertext, value.values()))
    if isinstance(value, list):
        return any(map(holds_ciphertext, value))
    return bool(sealed_type(value))


def _texts(sealed: Json, plain: Json) -> Iterator[str]:
    if isinstance(plain, dict) and isinstance(sealed, dict):
        for key, value in plain.items():
            yield from _texts(sealed.get(key), value)
    elif isinstance(plain, list) and isinstance(sealed, list):
        for inner, value in _paired(sealed, plain):
            yield from _texts(inner, value)
    elif sealed_type(sealed) not in {"", "bool"}:
        yield str(plain)


def _paired(sealed: Sequence[Json], plain: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    """Pairs of entries, without the comments that sops stores as entries."""
    return zip((value for value in sealed if sealed_type(value) != "comment"), plain, strict=False)


_LATE: Final = "2099-01-01T00:00:00Z"


def with_placeholders(body: Mapping[str, Json]) -> dict[str, Json]:
    """An encrypted document with placeholders for its ciphertexts, and without its map ``sops``."""
    return _object(hidden(body), "")


def _object(body: Mapping[str, Json], listed: str) -> dict[str, Json]:
    """``listed`` is the kind of entries of a typed list (``SecretList``)."""
    kind = body.get("kind", listed)
    result: dict[str, Json] = {}
    for key, value in body.items():
        if key == "items" and isinstance(value, list):
            entries = kind.removesuffix("List") if isinstance(kind, str) else ""
            result[key] = [_object(item, entries) if isinstance(item, dict) else item for item in _values(value)]
        elif key in {"data", "stringData"} and isinstance(value, dict):
            encoded = kind == "Secret" and key == "data"
            result[key] = {name: _datum(name, each, encoded=encoded) for name, each in value.items()}
        else:
            result[key] = _value(value)
    return result


def _values(sequence: list[Json]) -> list[Json]:
    """The entries without the comments that sops stores as entries."""
    return [value for value in sequence if sealed_type(value) != "comment"]


def _value(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_value(inner) for inner in _values(value)]
    match sealed_type(value):
        case "":
            return value
        case "bool":
            return False
        case "int":
            return int(_digest(value), 16) % 1000
        case "float":
            return int(_digest(value), 16) % 1000 + 0.5
        case "time":
            return _LATE
        case _:
            return _text(value)


def _datum(key: str, value: Json, *, encoded: bool) -> Json:
    """A placeholder for a value of a Secret or ConfigMap, in the format that the key implies."""
    if not sealed_type(value):
        return _value(value)
    text = _form(key, value)
    return encode_base64(text.encode()) if encoded else text


def _form(key: str, sealed: str) -> str:
    text = _text(sealed)
    login = {"username": text, "password": text}
    if key == "expiration":
        return _LATE
    if key == "kubeconfig":
        name = _digest(sealed)  # not a natural word: it is masked wherever it occurs
        cluster = {"server": f"https://{name}.invalid:6443", "certificate-authority-data": text}
        users = [{"name": name, "user": {"token": text}}]
        return json.dumps({"clusters": [{"name": name, "cluster": cluster}], "users": users})
    if key == ".dockerconfigjson":
        return json.dumps({"auths": {f"{_digest(sealed)}.invalid": login}})
    if "." in key:  # a registry's host, with its credential (``--node-registry-credentials-secret``)
        return json.dumps(login)
    return text


def _text(sealed: str) -> str:
    """The base64 of a JSON object, which is also accepted as a Google service account or a kubeconfig."""
    return encode_base64(json.dumps({"encrypted": _digest(sealed)}).encode())


def _digest(sealed: str) -> str:
    return sha256(sealed.encode()).hexdigest()[:12]


_NAMED: Final = 10
_NAMELESS: Final = Problem(
    Code.ENCRYPTED_NAME,
    "its kind or name is encrypted too, so without a key it is unknown whether it is needed",
    fix="Encrypt it again with encrypted_regex: ^(data|stringData)$ in .sops.yaml, which leaves names readable",
)


class Seal(Enum):
    """The state of a document in its file. ``CLOSED``: encrypted, and not decrypted since nothing in it is input."""

    NONE = "none"
    OPENED = "opened"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Part:
    """A document. ``exposed`` are objects of encrypted documents with a secret in plain text: by origin, the first
    field of each. ``hides_texts``: more than the data of Secrets was encrypted.
    """

    document: Document
    seal: Seal = Seal.NONE
    exposed: Mapping[Origin, str] = field(default_factory=dict)
    hides_texts: bool = False

    def exposes(self, raw: RawObject) -> str:
        """The first field of an object with a secret in plain text, or an empty text."""
        return _exposed(raw) if self.seal is Seal.NONE else self.exposed.get(raw.origin, "")


@dataclass(slots=True)
class Decryption:
    """Decrypts the documents of a tree, file by file.

    ``sensitive`` are texts that were encrypted outside of the data of Secrets. ``placeholder_documents`` counts
    documents that were read without a key. ``broken`` are MachineDeployments and profiles that could not be decrypted.
    """

    keys: KeySearch
    management_namespace: str
    sensitive: set[str] = field(default_factory=set)
    placeholder_documents: int = 0
    broken: dict[ObjectRef, list[Problem]] = field(default_factory=dict)
    _refused: dict[Problem, list[Problem]] = field(default_factory=dict)

    def parts(self, documents: Sequence[Document], shown: str) -> list[Part]:
        """The documents of a file, in order, without those that cannot be decrypted. Raises InputError if a configured
        key is unreadable."""
        found = {id(document): Part(document) for document in documents}
        for unit in _units(documents):
            wanted = [raw for document in unit for raw in raw_objects(document, shown) if _is_wanted(raw)]
            for document in unit:
                del found[id(document)]
            try:
                found |= zip(map(id, unit), self._opened(unit, wanted), strict=True)
            except EncryptionError as failure:
                self._refuse(failure, unit, wanted)
        return [found[id(document)] for document in documents if id(document) in found]

    def problems(self) -> Iterator[Problem]:
        """Problems of documents that could not be decrypted. Of equal problems, only some are listed."""
        for problem, placed in self._refused.items():
            yield from placed[:_NAMED]
            if len(placed) > _NAMED:
                yield replace(problem, what=f"the same is true of {len(placed) - _NAMED} more: {problem.what}")

    def warnings(self, tree: str) -> Iterator[Problem]:
        """Warnings about ``tree`` for a plan."""
        if self.placeholder_documents:
            count = (
                "1 encrypted document was"
                if self.placeholder_documents == 1
                else f"{self.placeholder_documents} encrypted documents were"
            )
            yield Problem(
                Code.READ_WITHOUT_KEY,
                f"{count} read without a key: placeholders are used for encrypted values",
                where=tree,
            )

    def _opened(self, unit: Sequence[Document], wanted: Sequence[RawObject]) -> list[Part]:
        if not wanted:
            return [Part(document, Seal.CLOSED) for document in unit]
        bodies = [document.value for document in unit]
        if self.keys.without_keys:
            if any(map(_is_nameless, wanted)):
                raise EncryptionError([_NAMELESS])
            self.placeholder_documents += len(unit)
            plain = list(map(with_placeholders, bodies))
        else:
            plain = decrypt(bodies, self.keys.keyring())
        texts = [set(encrypted_texts(sealed, value)) for sealed, value in zip(bodies, plain, strict=True)]
        self.sensitive.update(*texts)
        exposed = {raw.origin: place for raw in wanted if (place := _exposed(raw))}
        return [
            Part(_with_value(document, value), Seal.OPENED, exposed, bool(hidden))
            for document, value, hidden in zip(unit, plain, texts, strict=True)
        ]

    def _refuse(self, failure: EncryptionError, unit: Sequence[Document], wanted: Sequence[RawObject]) -> None:
        refs = list(map(self._ref, wanted))
        placed = [self._placed(problem, unit, wanted[0]) for problem in failure.problems]
        for ref in refs:
            if ref and ref.kind in {MACHINE, PROFILE}:
                self.broken.setdefault(ref, []).extend(placed)
        if all(ref and ref.kind in {MACHINE, PROFILE} for ref in refs):
            return
        for problem, place in zip(failure.problems, placed, strict=True):
            self._refused.setdefault(replace(problem, about="", field=""), []).append(place)

    def _ref(self, raw: RawObject) -> ObjectRef | None:
        """The object, if it is known."""
        manifest = identify(raw, self.management_namespace)
        return manifest.ref if isinstance(manifest, Manifest) and not _is_nameless(raw) else None

    def _placed(self, problem: Problem, unit: Sequence[Document], first: RawObject) -> Problem:
        """The problem with file, line and object: the first of the file, unless the problem names one."""
        if problem.about:
            return problem.at(where=first.origin.path)
        about = str(self._ref(first) or f"this {'document' if sealed_type(first.kind) else first.kind}")
        is_whole = problem.field.partition(".")[0] in {"", FIELD}
        return problem.at(where=str(first.origin) if is_whole else _line_of(unit[0], problem.field, first), about=about)


def _units(documents: Sequence[Document]) -> list[list[Document]]:
    """Documents that were encrypted together: they have the same map ``sops`` with one key and MAC."""
    units: dict[str, list[Document]] = {}
    for document in documents:
        if is_encrypted(document.value):
            units.setdefault(repr(document.value[FIELD]), []).append(document)
    return list(units.values())


def is_ours(raw: RawObject) -> bool:
    """Whether osm-gitops wrote an object: desired state, which is not an input."""
    return raw.labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def _is_wanted(raw: RawObject) -> bool:
    return _is_nameless(raw) or (raw.is_read and not is_ours(raw))


def _is_nameless(raw: RawObject) -> bool:
    """Whether the kind or name of an object is encrypted."""
    metadata = raw.body.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    told = (*map(raw.body.get, ("apiVersion", "kind")), *map(names.get, ("name", "namespace")))
    return any(map(sealed_type, told))


def _line_of(document: Document, path: str, first: RawObject) -> str:
    origin = Origin(first.origin.path, document.line)
    return Manifest(ObjectRef(first.kind, "", ""), document.value, origin, document.lines).line_of(path)


def _with_value(document: Document, value: Mapping[str, Json]) -> Document:
    """A document with its plain value. Lines are those of the file."""
    entries = value.get("items")
    items = [item for item in document.items if sealed_type(item.value) != "comment"]
    if not isinstance(entries, list) or len(items) != len(entries):
        return replace(document, value=value, items=())
    placed = tuple(replace(item, value=entry) for item, entry in zip(items, entries, strict=True))
    return replace(document, value=value, items=placed)


def _exposed(raw: RawObject) -> str:
    return next(secrets_in_plain_text(raw.body), "")
