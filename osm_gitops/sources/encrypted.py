"""SOPS-encrypted documents of a source: opened with the keys of the run, or read with stand-ins without (design.md,
"Encryption in git")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from osm_gitops.errors import Code, EncryptionError, Problem
from osm_gitops.model.desired import MANAGED_BY, MANAGED_BY_LABEL
from osm_gitops.model.objects import Json, Manifest, ObjectRef, Origin
from osm_gitops.sops.document import decrypt, is_encrypted
from osm_gitops.sops.envelope import FIELD
from osm_gitops.sops.leaves import sealed_type
from osm_gitops.sops.search import KeySearch
from osm_gitops.sources.encrypted_texts import encrypted_texts, secrets_in_plain_text
from osm_gitops.sources.manifests import MACHINE, PROFILE, RawObject, identify, raw_objects
from osm_gitops.sources.placeholders import with_stand_ins
from osm_gitops.yaml.kubernetes import Document

_NAMED: Final = 10
_NAMELESS: Final = Problem(
    Code.UNCODED,
    "its kind or its name is encrypted too, so nobody can tell without a key whether it is needed",
    fix="Encrypt it anew with encrypted_regex: ^(data|stringData)$ in .sops.yaml, which leaves names readable",
)


class Seal(Enum):
    """How a document stands in its file. ``CLOSED`` is encrypted and stays so, because nothing in it is input."""

    NONE = "none"
    OPENED = "opened"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Part:
    """A document as it is read; ``exposed`` are the secrets that are not encrypted although their document is: by the
    origin of their object the first field of each.

    ``hides_texts``: something besides the data of Secrets stood encrypted in it.
    """

    document: Document
    seal: Seal = Seal.NONE
    exposed: Mapping[Origin, str] = field(default_factory=dict)
    hides_texts: bool = False

    def exposes(self, loose: RawObject) -> str:
        """The first field of an object with a secret that everybody can read in the file; empty where there is none."""
        return _exposed(loose) if self.seal is Seal.NONE else self.exposed.get(loose.origin, "")


@dataclass(frozen=True, slots=True)
class ReadWithoutKey(Problem):
    """That encrypted documents were not opened, for who asks for no key."""


@dataclass(slots=True)
class Decryption:
    """Opens the encrypted documents of a tree, file by file.

    ``sensitive`` are texts that stood encrypted outside of the data of Secrets; ``stood_in`` counts the documents
    that were read without a key; ``broken`` are MachineDeployments and profiles that could not be opened.
    """

    keys: KeySearch
    management_namespace: str
    sensitive: set[str] = field(default_factory=set)
    stood_in: int = 0
    broken: dict[ObjectRef, list[Problem]] = field(default_factory=dict)
    _refused: dict[Problem, list[Problem]] = field(default_factory=dict)

    def parts(self, documents: Sequence[Document], shown: str) -> list[Part]:
        """The documents of a file, in their order, without those that cannot be opened.

        Raises InputError where a key that is named cannot be read.
        """
        found = {id(document): Part(document) for document in documents}
        for unit in _units(documents):
            wanted = [loose for document in unit for loose in raw_objects(document, shown) if _is_wanted(loose)]
            for document in unit:
                del found[id(document)]
            try:
                found |= zip(map(id, unit), self._opened(unit, wanted), strict=True)
            except EncryptionError as failure:
                self._refuse(failure, unit, wanted)
        return [found[id(document)] for document in documents if id(document) in found]

    def problems(self) -> Iterator[Problem]:
        """What else could not be opened. Of many documents with the same trouble some are named."""
        for problem, placed in self._refused.items():
            yield from placed[:_NAMED]
            if len(placed) > _NAMED:
                yield replace(problem, what=f"the same is true of {len(placed) - _NAMED} more: {problem.what}")

    def warnings(self, tree: str) -> Iterator[Problem]:
        """What the reader of a plan has to know of ``tree``."""
        if self.stood_in:
            count = "1 encrypted document was" if self.stood_in == 1 else f"{self.stood_in} encrypted documents were"
            yield ReadWithoutKey(
                Code.UNCODED,
                f"{count} read without a key: what follows from the values in there is a stand-in",
                where=tree,
            )

    def _opened(self, unit: Sequence[Document], wanted: Sequence[RawObject]) -> list[Part]:
        if not wanted:
            return [Part(document, Seal.CLOSED) for document in unit]
        bodies = [document.value for document in unit]
        if self.keys.without_keys:
            if any(map(_is_nameless, wanted)):
                raise EncryptionError([_NAMELESS])
            self.stood_in += len(unit)
            plain = list(map(with_stand_ins, bodies))
        else:
            plain = decrypt(bodies, self.keys.keyring())
        texts = [set(encrypted_texts(sealed, value)) for sealed, value in zip(bodies, plain, strict=True)]
        self.sensitive.update(*texts)
        exposed = {loose.origin: place for loose in wanted if (place := _exposed(loose))}
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

    def _ref(self, loose: RawObject) -> ObjectRef | None:
        """Which object it is, where that can be told."""
        manifest = identify(loose, self.management_namespace)
        return manifest.ref if isinstance(manifest, Manifest) and not _is_nameless(loose) else None

    def _placed(self, problem: Problem, unit: Sequence[Document], first: RawObject) -> Problem:
        """With file and line, and the object: of several in a file the first, unless the problem tells which."""
        if problem.about:
            return problem.at(where=first.origin.path)
        about = str(self._ref(first) or f"this {'document' if sealed_type(first.kind) else first.kind}")
        is_whole = problem.field.partition(".")[0] in {"", FIELD}
        return problem.at(where=str(first.origin) if is_whole else _line_of(unit[0], problem.field, first), about=about)


def _units(documents: Sequence[Document]) -> list[list[Document]]:
    """Documents that were encrypted together: the same map ``sops`` stands in each, with one key and MAC for all."""
    units: dict[str, list[Document]] = {}
    for document in documents:
        if is_encrypted(document.value):
            units.setdefault(repr(document.value[FIELD]), []).append(document)
    return list(units.values())


def is_ours(loose: RawObject) -> bool:
    """Whether we wrote an object: desired state, which is no input."""
    return loose.labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def _is_wanted(loose: RawObject) -> bool:
    return _is_nameless(loose) or (loose.is_read and not is_ours(loose))


def _is_nameless(loose: RawObject) -> bool:
    """Whether what tells an object apart is encrypted as well."""
    metadata = loose.body.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    told = (*map(loose.body.get, ("apiVersion", "kind")), *map(names.get, ("name", "namespace")))
    return any(map(sealed_type, told))


def _line_of(document: Document, path: str, first: RawObject) -> str:
    origin = Origin(first.origin.path, document.line)
    return Manifest(ObjectRef(first.kind, "", ""), document.value, origin, document.lines).line_of(path)


def _with_value(document: Document, value: Mapping[str, Json]) -> Document:
    """A document with its plain value. Lines stay those of the file, where the same fields stand."""
    entries = value.get("items")
    items = [item for item in document.items if sealed_type(item.value) != "comment"]
    if not isinstance(entries, list) or len(items) != len(entries):
        return replace(document, value=value, items=())
    placed = tuple(replace(item, value=entry) for item, entry in zip(items, entries, strict=True))
    return replace(document, value=value, items=placed)


def _exposed(loose: RawObject) -> str:
    return next(secrets_in_plain_text(loose.body), "")
