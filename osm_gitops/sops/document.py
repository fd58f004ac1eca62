"""SOPS documents: JSON trees whose values are encrypted one by one, with a map ``sops`` beside them.

The format is that of sops 3.13 with age keys: an AES-256-GCM text per value, bound to the keys above it,
one random data key per file, encrypted for every recipient, and a MAC over the values in the order in which they are
written. What is encrypted here has sorted keys, as :func:`osm_gitops.yaml.emit.dump` writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import urandom
from typing import TYPE_CHECKING, Any, Final

from osm_gitops.errors import Code, EncryptionError, Problem
from osm_gitops.sops.encryption import (
    DocumentEncryption,
    Opening,
    SealedLeaf,
    TextsByDigest,
    count_of,
    leaf_digests,
    texts_by_digest,
)
from osm_gitops.sops.envelope import FIELD, Envelope, read_envelope
from osm_gitops.sops.keys import Keyring
from osm_gitops.sops.leaves import BrokenLeaf, go_time, seal, unseal
from osm_gitops.sops.recipients import Stanza, shown, wrap
from osm_gitops.sops.rules import Rule, Selection, compile_selection
from osm_gitops.yaml.emit import dump

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Json = Any

_KEY_BYTES: Final = 32
_FROM_GIT: Final = "Take the file as it was before from git, or encrypt it again"


@dataclass(frozen=True, slots=True)
class _Opened:
    """The content of an encrypted file; ``mac`` is decrypted and verified."""

    envelope: Envelope
    key: bytes = field(repr=False)
    values: list[dict[str, Json]] = field(repr=False)
    sealed: Sequence[SealedLeaf]
    mac: str


@dataclass(frozen=True, slots=True)
class _Lock:
    """The key for encryption; ``before`` are values that this key encrypted earlier."""

    key: bytes = field(repr=False)
    stanzas: tuple[Stanza, ...]
    before: TextsByDigest = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """Encrypted documents of a file, and their content."""

    bodies: Sequence[Mapping[str, Json]]
    opened: _Opened

    def holds(self, written: Sequence[Mapping[str, Json]], selection: Selection, mac: str) -> bool:
        """Whether ``written`` is the content, in an order that matches the MAC."""
        there = self.opened.envelope.selection
        same = (there.selector, there.mac_only_encrypted) == (selection.selector, selection.mac_only_encrypted)
        if not same or mac != self.opened.mac or list(written) != list(map(hidden, self.bodies)):
            return False
        # In Python, true equals 1, and a MAC without plain values does not show the difference.
        return not selection.mac_only_encrypted or all(map(_same_text, written, self.bodies))

    def under(self, stanzas: tuple[Stanza, ...]) -> list[dict[str, Json]]:
        """The documents with other recipients only."""
        envelope = self.opened.envelope
        if stanzas == envelope.stanzas:
            return [dict(body) for body in self.bodies]
        changed = replace(envelope, stanzas=stanzas).written()
        return [{**body, FIELD: changed} for body in self.bodies]


def is_encrypted(body: Json) -> bool:
    """Whether ``body`` is a document of sops, valid or damaged."""
    return isinstance(body, Mapping) and FIELD in body


def recipients_of(body: Mapping[str, Json]) -> tuple[str, ...]:
    """The age recipients that the entries of an encrypted document name. This is not verified: an entry may be for
    another key, and an age file may have several recipients. Raises EncryptionError for a damaged map."""
    return read_envelope(body).recipients


def refuse_other_keys(body: Mapping[str, Json]) -> None:
    """Raise EncryptionError if other than age keys decrypt the document: their owners would lose access with a new data
    key. A damaged map is accepted, since no key decrypts it."""
    try:
        envelope = read_envelope(body)
    except EncryptionError:
        return
    _refuse_other_keys(envelope)


def hidden(body: Mapping[str, Json]) -> dict[str, Json]:
    """An encrypted document without its map ``sops``, with ciphertext values."""
    return {key: value for key, value in body.items() if key != FIELD}


def decrypt(bodies: Sequence[Mapping[str, Json]], keyring: Keyring) -> list[dict[str, Json]]:
    """Decrypt the documents of one file, in order.

    Raises EncryptionError for values that cannot be decrypted, if no key of ``keyring`` is a recipient, and if the MAC
    does not match (values were added, removed, moved or changed).
    """
    return _open(bodies, keyring).values


def encrypt(
    body: Mapping[str, Json],
    rule: Rule,
    *,
    now: str,
    previous: Mapping[str, Json] | None = None,
    keyring: Keyring | None = None,
) -> dict[str, Json]:
    """Encrypt ``body`` by ``rule``; ``now`` is an RFC 3339 time.

    ``previous`` is the current document of the file. If ``keyring`` decrypts it and its recipients are those of the
    rule, each once, then its data key and the ciphertext of unchanged values are kept, and the whole document if
    nothing changed. The format does not authenticate the data key: pass only a ``previous`` that is verified by other
    means. Raises EncryptionError for values without a type in sops, and if ``previous`` has other than age keys, whose
    owners would lose access; InputError for invalid recipients.
    """
    opened = _reusable(previous, rule, keyring) if previous is not None else None
    if opened is None or previous is None:
        return _write([body], rule.selection, _fresh_lock(rule.recipients), now)[0]
    before = texts_by_digest(leaf_digests(opened.sealed), [leaf.text for leaf in opened.sealed])
    lock = _Lock(opened.key, opened.envelope.stanzas, before)
    return _write([body], rule.selection, lock, now, _Earlier([previous], opened))[0]


@dataclass(frozen=True, slots=True)
class OpenedBefore:
    """What a new version of a document can take from the one that was opened: the data key, and which value each of its
    encrypted texts has, by digests."""

    envelope: Envelope
    key: bytes = field(repr=False)
    digests: bytes = field(repr=False)

    def encrypt(
        self, body: Mapping[str, Json], rule: Rule, texts: Sequence[str], *, now: str
    ) -> dict[str, Json] | None:
        """As :func:`encrypt` with the document as ``previous``, which is not parsed and decrypted again. ``body`` is
        not the same. ``texts`` are all its encrypted texts, in order, that of the MAC among them.

        ``None`` if they are not those of the document, or if its data key is not for the recipients of the rule.
        """
        envelope = self.envelope
        _refuse_other_keys(envelope)
        values = [text for text in texts if text != envelope.mac]
        if len(values) != count_of(self.digests) or sorted(envelope.recipients) != sorted(rule.recipients):
            return None
        lock = _Lock(self.key, envelope.stanzas, texts_by_digest(self.digests, values))
        return _write([body], rule.selection, lock, now)[0]


def open_for_change(body: Mapping[str, Json], keyring: Keyring) -> tuple[dict[str, Json], OpenedBefore]:
    """Decrypt a document that may get a new version. Raises as :func:`decrypt`."""
    opened = _open([body], keyring, record=True)
    return opened.values[0], OpenedBefore(opened.envelope, opened.key, leaf_digests(opened.sealed))


def rekey(
    bodies: Sequence[Mapping[str, Json]], recipients: Sequence[str], *, keyring: Keyring
) -> list[dict[str, Json]]:
    """Change only the recipients of an encrypted file, as ``sops updatekeys``.

    A removed recipient may have kept the data key: :func:`rotate` protects later values. Raises EncryptionError and
    InputError as :func:`decrypt` and :func:`encrypt`, and EncryptionError for two entries of one name, of which one
    must be for another key.
    """
    opened = _open(bodies, keyring)
    _refuse_other_keys(opened.envelope)
    _refuse_repeated(opened.envelope)
    held = {stanza.recipient: stanza for stanza in opened.envelope.stanzas}
    added = {each.recipient: each for each in wrap(opened.key, [name for name in recipients if name not in held])}
    return _Earlier(bodies, opened).under(tuple(held.get(name) or added[name] for name in recipients))


def rotate(
    bodies: Sequence[Mapping[str, Json]], recipients: Sequence[str], *, now: str, keyring: Keyring
) -> list[dict[str, Json]]:
    """Encrypt a file with a new data key: the same values are encrypted, with new ciphertext."""
    opened = _open(bodies, keyring)
    _refuse_other_keys(opened.envelope)
    return _write(opened.values, opened.envelope.selection, _fresh_lock(recipients), now)


@dataclass(frozen=True, slots=True)
class RotatedTexts:
    """New ciphertext for the text of a file that a user wrote.

    ``texts`` maps each encrypted value to its new text, ``envelope`` is the new map ``sops``.
    """

    texts: Mapping[str, str]
    envelope: Mapping[str, Json]


def rotate_texts(
    bodies: Sequence[Mapping[str, Json]],
    recipients: Sequence[str],
    comments: Sequence[str],
    *,
    now: str,
    keyring: Keyring,
) -> RotatedTexts:
    """Encrypt a file with a new data key, for replacement of values in its text. Raises as :func:`rotate`.

    ``comments`` are encrypted comments, which the MAC does not cover; undecryptable ones are skipped.
    """
    opened = _open(bodies, keyring, record=True)
    _refuse_other_keys(opened.envelope)
    lock = _fresh_lock(recipients)
    old, new = _cipher(opened.key), _cipher(lock.key)
    modified = go_time(now)
    mac = seal(new, opened.mac.encode(), modified, "str")
    envelope = replace(opened.envelope, stanzas=lock.stanzas, modified=modified, mac=mac)
    texts = {leaf.text: seal(new, leaf.plain, leaf.path, leaf.kind) for leaf in opened.sealed}
    # Comments are bound to the path of their value.
    paths = {leaf.path[: end + 1] for leaf in opened.sealed for end, char in enumerate(leaf.path) if char == ":"}
    for comment in comments:
        for path in (":", *sorted(paths)):
            try:
                plain, kind = unseal(old, comment, path)
            except BrokenLeaf:
                continue
            texts[comment] = seal(new, plain, path, kind)
            break
    return RotatedTexts(texts, envelope.written())


def _open(bodies: Sequence[Mapping[str, Json]], keyring: Keyring, *, record: bool = False) -> _Opened:
    envelope = read_envelope(bodies[0])
    key = envelope.data_key(keyring)
    cipher = _cipher(key)
    sealed: list[SealedLeaf] | None = [] if record else None
    selector = compile_selection(envelope.selection)
    opening = Opening(cipher, selector, envelope.selection.mac_only_encrypted, sealed)
    values, problems = [], []
    for number, body in enumerate(bodies, start=1):
        values.append(opening.document(hidden(body)))
        problems += [problem.at(about=_numbered(number, bodies)) for problem in opening.problems]
        opening.problems.clear()
    if problems:
        raise EncryptionError(problems)
    mac = _mac(envelope, cipher)
    if mac != opening.mac():
        raise _faulty("its MAC does not match: values were added, removed, moved or changed after encryption", "mac")
    return _Opened(envelope, key, values, sealed or (), mac)


def _numbered(number: int, bodies: Sequence[Mapping[str, Json]]) -> str:
    return f"document {number}" if len(bodies) > 1 else ""


def _mac(envelope: Envelope, cipher: AESGCM) -> str:
    if not envelope.mac:
        raise _faulty("it has no MAC, so its values cannot be verified", "mac")
    try:
        return unseal(cipher, envelope.mac, envelope.modified)[0].decode("ascii", "replace")
    except BrokenLeaf:
        raise _faulty("the MAC cannot be decrypted: it or lastmodified was changed", "mac") from None


def _reusable(previous: Mapping[str, Json], rule: Rule, keyring: Keyring | None) -> _Opened | None:
    """The content of ``previous``, if its data key can be reused."""
    try:
        envelope = read_envelope(previous)
    except EncryptionError:
        return None
    _refuse_other_keys(envelope)
    if not keyring or sorted(envelope.recipients) != sorted(rule.recipients):
        return None
    try:
        return _open([previous], keyring, record=True)
    except EncryptionError:  # tampered files are written with a new key
        return None


def _same_text(written: Mapping[str, Json], encrypted: Mapping[str, Json]) -> bool:
    return dump(written) == dump(hidden(encrypted))


def _write(
    bodies: Sequence[Mapping[str, Json]], selection: Selection, lock: _Lock, now: str, earlier: _Earlier | None = None
) -> list[dict[str, Json]]:
    encryption = DocumentEncryption(compile_selection(selection), selection.mac_only_encrypted)
    for body in bodies:
        if is_encrypted(body):
            raise _faulty("the document has a field of this name, as encrypted ones have", "")
    written = [encryption.document(body) for body in bodies]
    if encryption.problems:
        raise EncryptionError(encryption.problems)
    cipher = _cipher(lock.key)
    encryption.fill(cipher, lock.before)
    mac = encryption.mac()
    if earlier and earlier.holds(written, selection, mac):
        return earlier.under(lock.stanzas)
    modified = go_time(now)
    envelope = Envelope(lock.stanzas, modified, seal(cipher, mac.encode(), modified, "str"), selection)
    return [{**body, FIELD: envelope.written()} for body in written]


def _fresh_lock(recipients: Sequence[str]) -> _Lock:
    key = urandom(_KEY_BYTES)
    return _Lock(key, wrap(key, recipients))


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - slow

    try:
        return AESGCM(key)
    except ValueError:
        raise _faulty("its data key has an invalid length", "age") from None


def _refuse_other_keys(envelope: Envelope) -> None:
    if envelope.other_keys:
        raise EncryptionError(
            [
                Problem(
                    Code.SOPS_OTHER_KEYS,
                    f"the document is also encrypted with {' and '.join(envelope.other_keys)}, "
                    "and osm-gitops writes for age recipients only: owners of these keys would lose access",
                    field=FIELD,
                    fix="Remove those keys with `sops updatekeys`, or the file itself",
                )
            ]
        )


def _refuse_repeated(envelope: Envelope) -> None:
    repeated = [name for name, count in Counter(envelope.recipients).items() if count > 1]
    if repeated:
        what = f"several entries are for {shown(repeated[0])}: one of them may be for another key"
        fix = "Check who wrote the file, then give it a new data key with osm-gitops rekey --include FILE"
        raise EncryptionError([Problem(Code.SOPS_REPEATED_RECIPIENT, what, field=f"{FIELD}.age", fix=fix)])


def _faulty(what: str, name: str) -> EncryptionError:
    return EncryptionError(
        [Problem(Code.SOPS_DAMAGED, what, field=f"{FIELD}.{name}" if name else FIELD, fix=_FROM_GIT)]
    )
