"""Encryption of a target's files: recipients, decryption, and the digests that show whether a file has changed.

Encryption gives different bytes each time, so files are compared by keyed digests (HMAC-SHA256) in their first line.
The key is ``OSM_GITOPS_DIGEST_KEY``, or is derived from an available private key (design.md, "Encryption in git").
Without the key the line reveals nothing, and a guess of the content cannot be verified. The first digest covers the
digest of the plain text and the rest of the file: it shows without decryption whether the file has the desired
content. A file that was edited is decrypted and compared.

SOPS does not authenticate the author of a file: neither its data key nor its recipients. The second digest, the seal,
covers the first digest and the rest of the file, including the entries of all recipients: it shows without decryption
that osm-gitops created this data key for exactly these entries. Only then the data key is reused; all other files get
a new one when they are written. Lines of earlier versions have no seal. Those versions reused the data key of any
existing file, so such a line verifies the content, but not the origin of the data key.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path

from osm_gitops.errors import ClosedError, Code, EncryptionError, InputError, Problem, TargetError, input_error
from osm_gitops.model.desired import DesiredObject
from osm_gitops.model.objects import Json, value_at
from osm_gitops.model.packed import parsed, text_of, yaml_digest
from osm_gitops.model.span import rfc3339
from osm_gitops.sops.document import (
    OpenedBefore,
    decrypt,
    encrypt,
    hidden,
    is_encrypted,
    open_for_change,
    recipients_of,
    refuse_other_keys,
)
from osm_gitops.sops.keys import Keyring, KeySearch
from osm_gitops.sops.rules import CreationRules, Rule, Selection
from osm_gitops.targets.files import holds_secrets
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_manifest

_START = b"# Encrypted by osm-gitops, digest "
_LINE = re.compile(re.escape(_START) + rb"([0-9a-f]{64})(?:, seal ([0-9a-f]{64}))?\n")
_SEAL_DOMAIN = b"osm-gitops seal v2\0"


@dataclass(frozen=True, slots=True)
class DigestLine:
    """The digests of a file's first line, and ``rest``, the SHA-256 of the rest of the file.

    ``seal`` is empty in lines of earlier versions, ``content`` in files without such a line.
    """

    content: bytes
    seal: bytes
    rest: bytes

    def __bool__(self) -> bool:
        return bool(self.content)

    def holds(self, plain: bytes, keys: tuple[bytes, ...]) -> bool:
        """Whether one of ``keys`` verifies that the file contains the text with the SHA-256 ``plain``."""
        return bool(self) and any(hmac.compare_digest(self.content, _content(key, plain, self.rest)) for key in keys)

    def is_sealed(self, keys: tuple[bytes, ...]) -> bool:
        """Whether one of ``keys`` verifies the whole file, including data key and recipients."""
        return bool(self.seal) and any(
            hmac.compare_digest(self.seal, _seal(key, self.content, self.rest)) for key in keys
        )


# A file that changes is asked about several times in a row.
@lru_cache(maxsize=4)
def read_digest(text: bytes) -> DigestLine:
    """The digest line of a file."""
    found = _LINE.match(text)
    if found is None:
        return DigestLine(b"", b"", hashlib.sha256(text).digest())
    return DigestLine(found[1], found[2] or b"", hashlib.sha256(memoryview(text)[found.end() :]).digest())


def lacks_seal(text: bytes) -> bool:
    """Whether a file has a digest line of an earlier version."""
    found = _LINE.match(text)
    return found is not None and not found[2]


def digest_line(key: bytes, plain: bytes, rest: bytes) -> bytes:
    """The digest line for ``rest``, the encryption of the text with the SHA-256 ``plain``."""
    hashed = hashlib.sha256(rest).digest()
    content = _content(key, plain, hashed)
    return _START + content + b", seal " + _seal(key, content, hashed) + b"\n"


def _content(key: bytes, plain: bytes, rest: bytes) -> bytes:
    return hmac.new(key, plain + rest, hashlib.sha256).hexdigest().encode()


def _seal(key: bytes, content: bytes, rest: bytes) -> bytes:
    return hmac.new(key, _SEAL_DOMAIN + content + rest, hashlib.sha256).hexdigest().encode()


DIGEST_KEY = "OSM_GITOPS_DIGEST_KEY"
HIDDEN = "^(data|stringData|bootstrapConfig|provisioningConfig|cloudProvider)$"
_SHORTEST_DIGEST_KEY = 16
_SIGN = b"ENC[AES256_GCM,"
_METADATA = b"sops"
_MAP = b"\nsops:\n"
_INDENTED = re.compile(rb"(?:[ -].*\n)*")
_RECIPIENT = re.compile(rb"^ *(?:- )?recipient: (.+)$", re.MULTILINE)
_ENCRYPTED = re.compile(rb"ENC\[AES256_GCM,[^\]]*\]")
# Parts of each kind that may contain secrets. All others stay readable for people, kustomize and Flux.
_SECRET_PARTS = {
    "Secret": (("data",), ("stringData",)),
    "OperatingSystemProfile": (("spec", "bootstrapConfig"), ("spec", "provisioningConfig")),
    "OperatingSystemConfig": (
        ("spec", "bootstrapConfig"),
        ("spec", "provisioningConfig"),
        ("spec", "cloudProvider"),
    ),
}


@dataclass(frozen=True, slots=True)
class Opened:
    """The content of a file. ``body`` is ``None`` if the file is unreadable, and ``trouble`` is the reason. ``hidden``:
    no key decrypts it, and ``body`` has the encrypted values. ``rewrite``: why to write the file although its content
    is right."""

    body: Mapping[str, Json] | None = field(repr=False)
    hidden: bool = False
    rewrite: str = ""
    trouble: str = ""

    def shows(self, wanted: DesiredObject) -> bool:
        """Whether it is exactly the wanted object, and need not be written."""
        if self.body is None or self.hidden or self.rewrite:
            return False
        return yaml_digest(self.body) == _plain_digest(wanted)


class Origin(Enum):
    """The origin of an encrypted file's data key.

    ``VERIFIED``: osm-gitops, verified by an available key. ``FORMER``: an earlier version, which may have reused a
    planted data key. ``UNVERIFIED``: the file has a digest that no available key verifies. ``FOREIGN``: the file has no
    digest. ``PLAIN``: nothing in the file is encrypted.
    """

    VERIFIED = "verified"
    FORMER = "former"
    UNVERIFIED = "unverified"
    FOREIGN = "foreign"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class _Verified:
    """A file of ours that was opened to be compared, and may be written: the digest of its ``rest``, the object in it,
    and what its new content can take from it."""

    rest: bytes
    identity: tuple[Json, ...]
    opened: OpenedBefore


class FileEncryption:
    """Rules, keys and digests for a target's files. Keys are searched for when the first file needs one.

    ``recipients`` take precedence over the rules of ``.sops.yaml``. ``keys`` is the key search that a run shares with
    its sources. With ``writes_plain`` nothing is encrypted.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        recipients: tuple[str, ...] = (),
        keys: KeySearch | None = None,
        *,
        writes_plain: bool = False,
    ) -> None:
        self._environment = environment
        self._keys = keys or KeySearch(environment)
        self._given = Rule(tuple(dict.fromkeys(recipients)), Selection(), "--age-recipient") if recipients else None
        self._rules = CreationRules()
        self._writes_plain = writes_plain
        self._verified: dict[Path, _Verified] = {}
        self.now = rfc3339(datetime.now(UTC))

    def reloaded(self, top: Path | None = None) -> FileEncryption:
        """A copy that reads the rules again, and does not search for them above ``top``."""
        other = copy(self)
        other._rules = CreationRules(top or self._rules.top, self._rules.allows)
        return other

    def within(self, allows: Callable[[Path], bool]) -> FileEncryption:
        """A copy that reads only those ``.sops.yaml`` that ``allows`` accepts."""
        other = copy(self)
        other._rules = CreationRules(self._rules.top, allows)
        return other

    @property
    def keyring(self) -> Keyring:
        return self._keys.keyring()

    @cached_property
    def _given_key(self) -> bytes:
        key = self._environment.get(DIGEST_KEY, "").strip().encode()
        if key and len(key) < _SHORTEST_DIGEST_KEY:
            raise input_error(
                Code.DIGEST_KEY_TOO_SHORT,
                f"the digest key is shorter than {_SHORTEST_DIGEST_KEY} characters, so it can be guessed",
                where=DIGEST_KEY,
                fix="Generate one with openssl rand -hex 32",
            )
        return key

    @cached_property
    def _digest_keys(self) -> tuple[bytes, ...]:
        """Keys that verify digests; the first one creates them. ``OSM_GITOPS_DIGEST_KEY`` replaces all others, since
        other runs may not have our private key."""
        return (self._given_key,) if self._given_key else self.keyring.digest_keys()

    @cached_property
    def _authors(self) -> tuple[bytes, ...]:
        """Keys that prove the author of a file."""
        derived = self.keyring.digest_keys()
        return (self._given_key, *derived) if self._given_key else derived

    @property
    def can_compare(self) -> bool:
        """Whether a later run with the same keys can compare files."""
        return bool(self._digest_keys)

    def rule(self, path: Path, *, secret: bool = True) -> Rule | None:
        """The creation rule of a file; ``None``: it is written in plain text. Raises InputError for an unusable
        rule."""
        if self._writes_plain or not secret:
            return None
        rule = self.rule_of_any(path)
        return _with_names(rule) if rule else None

    def rule_of_any(self, path: Path) -> Rule | None:
        """The creation rule of any file, as written."""
        return self._given or self._rules.rule_for(path)

    def rule_file(self, folder: Path) -> Path | None:
        """The ``.sops.yaml`` for files in ``folder``; ``None`` if a flag names the recipients, or if there is no such
        file. Raises InputError if it is unreadable."""
        return None if self._given else self._rules.file_for(folder)

    def holds(self, path: Path, text: bytes, wanted: DesiredObject) -> bool:
        """Whether a file contains an object, without decryption or parsing."""
        if self.rule(path, secret=holds_secrets(wanted)) is None:
            return _plain_digest(wanted) == hashlib.sha256(text).digest()
        return read_digest(text).holds(_plain_digest(wanted), self._digest_keys)

    def is_sealed(self, text: bytes) -> bool:
        """Whether one of our keys verifies this encrypted file, including its data key."""
        line = read_digest(text)
        # The given key first: runs without a private key need not search for one.
        return bool(self._given_key and line.is_sealed((self._given_key,))) or line.is_sealed(self._authors)

    def origin(self, text: bytes, plain: Mapping[str, Json] | None = None) -> Origin:
        """The origin of a file's data key. ``plain`` is its content if a key decrypts it."""
        if not is_encrypted_text(text):
            return Origin.PLAIN
        if self.is_sealed(text):
            return Origin.VERIFIED
        line = read_digest(text)
        if not line:
            return Origin.FOREIGN
        if not line.seal and plain is not None and line.holds(yaml_digest(plain), self._authors):
            return Origin.FORMER
        return Origin.UNVERIFIED

    def open(self, path: Path, text: bytes, *, secret: bool) -> Opened:
        """Read a file, and decrypt it if a key is available."""
        try:
            body = load_manifest(text, str(path))
        except InputError as error:
            return Opened(None, trouble=error.problems[0].what)
        if not is_encrypted(body):
            return Opened(body, rewrite="in plain text so far" if self.rule(path, secret=secret) else "")
        try:
            plain = self._decrypted(path, text, body)
        except ClosedError:
            return Opened(hidden(body), hidden=True)
        except EncryptionError as error:
            return Opened(None, trouble=error.problems[0].what)
        gaps = _shows_secrets(body) and self.rule(path, secret=secret) is not None
        rewrite = self._why_rewrite(text, plain, gaps=gaps)
        if rewrite:  # perhaps with the same values, of which only a comparison with the document can tell
            self._verified.pop(path, None)
        return Opened(plain, rewrite=rewrite)

    def _decrypted(self, path: Path, text: bytes, body: Mapping[str, Json]) -> Mapping[str, Json]:
        """The content of an encrypted file; of one of ours it is kept what :meth:`content` can use."""
        if not self.is_sealed(text):
            return decrypt([body], self.keyring)[0]
        plain, opened = open_for_change(body, self.keyring)
        self._verified[path] = _Verified(read_digest(text).rest, _identity(body), opened)
        return plain

    def _why_rewrite(self, text: bytes, plain: Mapping[str, Json], *, gaps: bool) -> str:
        if gaps:
            return "a part of its secrets in plain text so far"
        stale = self._given_key and not read_digest(text).holds(yaml_digest(plain), (self._given_key,))
        return f"its digest was not made with this {DIGEST_KEY}" if stale else ""

    @property
    def can_tell(self) -> bool:
        """Whether files that no key decrypts can be compared by a given digest key."""
        return bool(self._given_key)

    def content(self, path: Path, wanted: DesiredObject, there: bytes | None) -> bytes:
        """The bytes to write. If the seal of the existing file ``there`` verifies, its data key and the ciphertext of
        unchanged values are kept.

        Raises TargetError for a rule that would leave a secret in plain text, or encrypt a name.
        """
        rule = self.rule(path, secret=holds_secrets(wanted))
        if rule is None:
            return text_of(wanted.body)
        with _naming(path):
            sealed = self._changed(path, wanted.body, rule, there)
            if sealed is None:
                previous = self._previous(path, there, wanted.body)
                body = parsed(wanted.body)
                sealed = encrypt(body, rule, now=self.now, previous=previous, keyring=self.keyring)
        _refuse_gaps(path, sealed, rule)
        return _with_line(self._digest_keys, _plain_digest(wanted), sealed)

    def _changed(
        self, path: Path, body: Mapping[str, Json], rule: Rule, there: bytes | None
    ) -> Mapping[str, Json] | None:
        """The new content of a file that was opened when it was compared, and is still the same; else ``None``."""
        known = self._verified.pop(path, None) if there is not None else None
        if known is None or there is None or read_digest(there).rest != known.rest or not self.is_sealed(there):
            return None
        body = parsed(body)
        if known.identity != _identity(body):
            return None
        texts = [text.decode() for text in _ENCRYPTED.findall(there)]
        return known.opened.encrypt(body, rule, texts, now=self.now)

    def with_digest(self, plain: Mapping[str, Json], sealed: Mapping[str, Json]) -> bytes:
        """The text of an encrypted body with its digest line: only for bodies with a data key of ours.

        There is no digest if secrets are in plain text, so that the file counts as different.
        """
        return _with_line(() if _shows_secrets(sealed) else self._digest_keys, yaml_digest(plain), sealed)

    def is_for(self, path: Path, text: bytes, *, secret: bool = True) -> bool:
        """Whether an encrypted file has the recipients that the rules name."""
        rule = self.rule(path, secret=secret)
        if rule is None:
            return True
        found = _recipients(text)
        return not found or found == sorted(rule.recipients)

    def _previous(self, path: Path, there: bytes | None, body: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """The existing document if its data key may encrypt ``body``: osm-gitops created it for the same object."""
        if there is None:
            return None
        try:
            previous = load_manifest(there, str(path))
        except InputError:
            return None
        if not is_encrypted(previous):
            return None
        if self.is_sealed(there) and _identity(previous) == _identity(body):
            return previous
        if read_digest(there):
            # It may be ours, and was given other keys with sops since.
            refuse_other_keys(previous)
        return None


NO_ENCRYPTION = FileEncryption({}, writes_plain=True)


@lru_cache(maxsize=64)
def _with_names(rule: Rule) -> Rule:
    """The rule, with a default that keeps names readable. The default of sops would encrypt them."""
    if rule.selection.selector != Selection().selector:
        return rule
    return replace(rule, selection=replace(rule.selection, encrypted_regex=HIDDEN))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except EncryptionError as error:
        raise EncryptionError(problem.at(where=str(path)) for problem in error.problems) from None


def is_encrypted_text(text: bytes) -> bool:
    """Whether a file has encrypted values, found without parsing."""
    return _SIGN in text


def may_be_encrypted(text: bytes) -> bool:
    """Whether a file may have the metadata of SOPS, found without parsing."""
    return _METADATA in text


def _identity(body: Mapping[str, Json]) -> tuple[Json, ...]:
    metadata = body.get("metadata")
    names = (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, Mapping) else ()
    return (body.get("apiVersion"), body.get("kind"), *names)


def _recipients(text: bytes) -> list[str]:
    """The sorted recipients of a file, found without parsing: a folder has thousands of files."""
    start = text.find(_MAP) + len(_MAP)
    lines = _INDENTED.match(text, start) if start >= len(_MAP) else None
    return sorted(name.decode().strip("'\"\r") for name in _RECIPIENT.findall(lines[0])) if lines else []


def repeats_recipients(path: Path, text: bytes) -> bool:
    """Whether an encrypted file names a recipient twice, in any YAML notation."""
    try:
        names = recipients_of(load_manifest(text, str(path)))
    except (InputError, EncryptionError):
        return False
    return len(names) != len(set(names))


def _with_line(keys: tuple[bytes, ...], digest: bytes, sealed: Mapping[str, Json]) -> bytes:
    """The text of an encrypted body, with a line by the first of the keys for the ``digest`` of the plain one."""
    rest = dump(sealed).encode()
    return (digest_line(keys[0], digest, rest) if keys else b"") + rest


def _plain_digest(wanted: DesiredObject) -> bytes:
    return wanted.digest or yaml_digest(wanted.body)


def _refuse_gaps(path: Path, sealed: Mapping[str, Json], rule: Rule) -> None:
    """Raise TargetError for a creation rule that leaves secrets in plain text, or encrypts names."""
    names = [sealed.get("apiVersion"), sealed.get("kind"), *_texts(sealed.get("metadata"))]
    problems = []
    if _shows_secrets(sealed):
        problems.append("leaves secrets in plain text")
    if any(name.startswith("ENC[") for name in names if isinstance(name, str)):
        problems.append("encrypts names or metadata, which people, kustomize and Flux must read")
    if problems:
        raise TargetError(
            [
                Problem(
                    Code.SOPS_RULE_TOO_NARROW,
                    f"this rule {what} of {sealed['kind']} files such as {path}",
                    where=rule.where,
                    fix=f"Give it encrypted_regex: {HIDDEN}",
                )
                for what in problems
            ]
        )


def _shows_secrets(sealed: Mapping[str, Json]) -> bool:
    """Whether a value is in plain text in a part of this kind that may contain secrets."""
    parts = _SECRET_PARTS.get(str(sealed.get("kind")), ())
    return any(_is_clear(value_at(sealed, part)) for part in parts)


def _is_clear(value: Json) -> bool:
    """Whether it has a value in plain text, other than empty texts and null, which are never encrypted."""
    kind = value.__class__  # fast path: isinstance() of an abstract class is slow
    if kind is str:
        return value != "" and not value.startswith("ENC[")
    if kind is dict or isinstance(value, Mapping):
        return any(map(_is_clear, value.values()))
    if kind is list or isinstance(value, tuple):
        return any(map(_is_clear, value))
    return value is not None


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)
