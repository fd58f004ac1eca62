"""Encrypt and decrypt the values of documents, with the bytes of their MAC. Unchanged values keep their ciphertext,
which is known by digests: of earlier documents neither values nor texts stay in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256, sha512
from typing import TYPE_CHECKING, Any, Final

from osm_gitops.errors import Code, Problem
from osm_gitops.sops.leaves import COMMENT, BrokenLeaf, clear_form, meaning, plain_form, seal, unseal
from osm_gitops.sops.rules import Selector

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


Json = Any
Trail = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

MAC_SEED: Final = sha256(b"sops").digest()
"""The start of a MAC over encrypted values only."""


@dataclass(frozen=True, slots=True)
class SealedLeaf:
    """An encrypted value: ``path`` is what it is bound to, ``text`` the ENC[…]."""

    trail: Trail
    path: str
    kind: str
    plain: bytes = field(repr=False)
    text: str


_VALUE_BYTES: Final = 16
_PLACE_BYTES: Final = 8
_LEAF_BYTES: Final = _VALUE_BYTES + _PLACE_BYTES


def leaf_digests(leaves: Iterable[SealedLeaf]) -> bytes:
    """What :func:`texts_by_digest` must know of encrypted values, in their order: a few bytes for each."""
    return b"".join([_value(each.path, each.kind, each.plain) + _place(each.trail) for each in leaves])


TextsByDigest = Mapping[bytes, Mapping[bytes, str]]
"""Encrypted texts by the digests of their value and of their place."""


def texts_by_digest(digests: bytes, texts: Sequence[str]) -> dict[bytes, dict[bytes, str]]:
    """The encrypted ``texts`` of the values whose digests these are, in the same order."""
    found: dict[bytes, dict[bytes, str]] = {}
    for number, text in enumerate(texts):
        start = number * _LEAF_BYTES
        value = digests[start : start + _VALUE_BYTES]
        found.setdefault(value, {})[digests[start + _VALUE_BYTES : start + _LEAF_BYTES]] = text
    return found


def count_of(digests: bytes) -> int:
    """The number of values whose digests these are."""
    return len(digests) // _LEAF_BYTES


def _value(path: str, kind: str, plain: bytes) -> bytes:
    """A digest of a value with its type and what it is bound to: ciphertext fits only there."""
    return blake2b(b"%d %s %s " % (len(path), path.encode(), kind.encode()) + plain, digest_size=_VALUE_BYTES).digest()


def _place(trail: Trail) -> bytes:
    """A digest of a place, to prefer the text that was there; two places may have the same."""
    return (hash(trail) & (1 << 64) - 1).to_bytes(_PLACE_BYTES)


@dataclass(slots=True)
class Opening:
    """Decrypts the documents of a file, in order.

    ``counted`` are the bytes of the MAC. Undecryptable values are problems, and ``None`` in the result. ``sealed``, if
    a list, collects all encrypted values.
    """

    cipher: AESGCM
    selector: Selector
    only_encrypted: bool
    sealed: list[SealedLeaf] | None = None
    counted: list[bytes] = field(default_factory=list, repr=False)
    problems: list[Problem] = field(default_factory=list)
    trail: list[str | int] = field(default_factory=list)

    def document(self, body: Mapping[str, Json]) -> dict[str, Json]:
        return self.mapping(body, "", self.selector.outside)

    def mapping(self, value: Mapping[str, Json], path: str, hidden: bool) -> dict[str, Json]:
        outside, chosen = self.selector.outside, self.selector.chosen
        result = {}
        for key, member in value.items():
            self.trail.append(key)
            inside = hidden if hidden is not outside or not chosen(key) else not outside
            found = self.value(member, f"{path}{key}:", inside)
            if found is COMMENT:
                self.fault("a comment is used as a value")
            result[key] = found
            self.trail.pop()
        return result

    def sequence(self, value: Sequence[Json], path: str, hidden: bool) -> list[Json]:
        result = []
        for index, member in enumerate(value):
            self.trail.append(index)
            found = self.value(member, path, hidden)
            if found is not COMMENT:  # sops keeps comments of encrypted lists as entries
                result.append(found)
            self.trail.pop()
        return result

    def value(self, value: Json, path: str, hidden: bool) -> Json:
        kind = value.__class__  # fast path: isinstance() of an abstract class is slow
        if kind is str:
            return self.leaf(value, path, hidden)
        if kind is dict or isinstance(value, Mapping):
            return self.mapping(value, path, hidden)
        if kind is list or isinstance(value, tuple):
            return self.sequence(value, path, hidden)
        return None if value is None else self.leaf(value, path, hidden)

    def leaf(self, value: Json, path: str, hidden: bool) -> Json:
        try:
            if hidden:
                return self.opened(value, path)
            if not self.only_encrypted:
                self.counted.append(clear_form(value))
        except BrokenLeaf as broken:
            self.fault(str(broken))
            return None
        return value

    def opened(self, value: Json, path: str) -> Json:
        if value == "" and isinstance(value, str):
            return value
        if not isinstance(value, str):
            raise BrokenLeaf("the value must be encrypted, but is not")
        plain, kind = unseal(self.cipher, value, path)
        found, counted = meaning(plain, kind)
        self.counted.append(counted)
        if self.sealed is not None:
            self.sealed.append(SealedLeaf(tuple(self.trail), path, kind, plain, value))
        return found

    def fault(self, what: str) -> None:
        fix = "Take the value as it was before from git, or encrypt the document again"
        self.problems.append(Problem(Code.SOPS_DAMAGED, what, field=shown_trail(self.trail), fix=fix))

    def mac(self) -> str:
        return digest(self.counted, only_encrypted=self.only_encrypted)


def digest(counted: Sequence[bytes], *, only_encrypted: bool) -> str:
    """The plain MAC: SHA-512 in upper-case hexadecimal."""
    return sha512((MAC_SEED if only_encrypted else b"") + b"".join(counted)).hexdigest().upper()


def shown_trail(trail: Sequence[str | int]) -> str:
    """``spec.files[0].path``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in trail)
    return text.removeprefix(".")


@dataclass(frozen=True, slots=True)
class _Pending:
    """A value to encrypt, and its place in the new document."""

    holder: Any = field(repr=False)
    step: str | int
    trail: Trail
    path: str
    kind: str
    plain: bytes = field(repr=False)


@dataclass(slots=True)
class DocumentEncryption:
    """Encrypts documents, with sorted keys.

    ``counted`` are the bytes of the MAC. :meth:`fill` inserts the encrypted values.
    """

    selector: Selector
    only_encrypted: bool
    counted: list[bytes] = field(default_factory=list, repr=False)
    problems: list[Problem] = field(default_factory=list)
    pending: list[_Pending] = field(default_factory=list)
    trail: list[str | int] = field(default_factory=list)

    def document(self, body: Mapping[str, Json]) -> dict[str, Json]:
        return self.mapping(body, "", self.selector.outside)

    def mapping(self, value: Mapping[str, Json], path: str, hidden: bool) -> dict[str, Json]:
        outside, chosen = self.selector.outside, self.selector.chosen
        result: dict[str, Json] = {}
        for key in sorted(value):
            self.trail.append(key)
            inside = hidden if hidden is not outside or not chosen(key) else not outside
            result[key] = None
            self.put(value[key], result, f"{path}{key}:", inside)
            self.trail.pop()
        return result

    def sequence(self, value: Sequence[Json], path: str, hidden: bool) -> list[Json]:
        result: list[Json] = [None] * len(value)
        for index, member in enumerate(value):
            self.trail.append(index)
            self.put(member, result, path, hidden)
            self.trail.pop()
        return result

    def put(self, value: Json, holder: Any, path: str, hidden: bool) -> None:
        step = self.trail[-1]
        kind = value.__class__  # fast path: isinstance() of an abstract class is slow
        if kind is str:
            holder[step] = value
            self.leaf(value, holder, path, hidden)
        elif kind is dict or isinstance(value, Mapping):
            holder[step] = self.mapping(value, path, hidden)
        elif kind is list or isinstance(value, tuple):
            holder[step] = self.sequence(value, path, hidden)
        elif value is not None:
            holder[step] = value
            self.leaf(value, holder, path, hidden)

    def leaf(self, value: Json, holder: Any, path: str, hidden: bool) -> None:
        if hidden and value == "" and isinstance(value, str):
            return
        try:
            plain, kind = plain_form(value)
        except BrokenLeaf as broken:
            self.problems.append(Problem(Code.VALUE_NOT_ENCRYPTABLE, str(broken), field=shown_trail(self.trail)))
            return
        if hidden:
            self.pending.append(_Pending(holder, self.trail[-1], tuple(self.trail), path, kind, plain))
        if hidden or not self.only_encrypted:
            self.counted.append(plain)

    def fill(self, cipher: AESGCM, before: TextsByDigest) -> None:
        """Encrypt pending values. Values in ``before`` with the same key, path, type and bytes keep their text."""
        kept = _kept(self.pending, before)
        for leaf, text in zip(self.pending, kept, strict=True):
            leaf.holder[leaf.step] = text or seal(cipher, leaf.plain, leaf.path, leaf.kind)

    def mac(self) -> str:
        return digest(self.counted, only_encrypted=self.only_encrypted)


def _kept(pending: Sequence[_Pending], before: TextsByDigest) -> list[str | None]:
    """The earlier encrypted text of each value: from its place, else from another (lists shift), each used once."""
    if not before:
        return [None] * len(pending)
    spare = {value: dict(texts) for value, texts in before.items()}
    choices = [spare.get(_value(leaf.path, leaf.kind, leaf.plain), {}) for leaf in pending]
    kept = [texts.pop(_place(leaf.trail), None) for texts, leaf in zip(choices, pending, strict=True)]
    return [
        texts.pop(next(iter(texts))) if text is None and texts else text
        for texts, text in zip(choices, kept, strict=True)
    ]
