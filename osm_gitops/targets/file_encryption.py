"""Secrets in a target: for whom they are encrypted, how they are read back, and how to tell that nothing changed.

An encrypted file never comes out the same twice, so files are compared by keyed digests (HMAC-SHA256) in their first
line. The key is ``OSM_GITOPS_DIGEST_KEY``, or is derived from a private key at hand (design.md, "Encryption in git").
Without it nothing can be learned from the line, not even whether a guess is right. The first digest covers the digest
of the plain text and the rest of the file: it tells whether the file holds a wanted object without decryption, and a
file that anybody edited is decrypted and compared for real.

SOPS does not tell who wrote a file: it authenticates neither its data key nor its recipients. The second digest, the
seal, covers the first and the rest of the file, and with it the entries of all recipients: it tells without the plain
text whether osm-gitops made this data key for exactly these entries. Only then the data key is kept; all other files
get a new one when they are written. Lines of earlier versions have no seal. Those versions kept the data key of
whatever file they found, so such a line verifies the content and says nothing about the origin of the data key.
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

from osm_gitops.errors import ClosedError, Code, EncryptionError, InputError, Problem, TargetError
from osm_gitops.model.desired import DesiredObject
from osm_gitops.model.objects import Json, value_at
from osm_gitops.model.packed import PackedBody, parsed, text_of
from osm_gitops.model.span import rfc3339
from osm_gitops.sops.document import decrypt, encrypt, hidden, is_encrypted, recipients_of, refuse_other_keys
from osm_gitops.sops.keys import Keyring, KeySearch
from osm_gitops.sops.rules import CreationRules, Rule, Selection
from osm_gitops.targets.files import holds_secrets
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents

_START = b"# Encrypted by osm-gitops, digest "
_LINE = re.compile(re.escape(_START) + rb"([0-9a-f]{64})(?:, seal ([0-9a-f]{64}))?\n")
_SEAL_DOMAIN = b"osm-gitops seal v2\0"


@dataclass(frozen=True, slots=True)
class DigestLine:
    """A line as it was found; ``seal`` is empty in lines of earlier versions. ``rest`` is the rest of the file, hashed.

    ``content`` is empty where the file has no such line.
    """

    content: bytes
    seal: bytes
    rest: bytes

    def __bool__(self) -> bool:
        return bool(self.content)

    def holds(self, plain: bytes, keys: tuple[bytes, ...]) -> bool:
        """Whether the file holds the text with the SHA-256 ``plain``, by a line that one of ``keys`` made."""
        return bool(self) and any(hmac.compare_digest(self.content, _content(key, plain, self.rest)) for key in keys)

    def is_sealed(self, keys: tuple[bytes, ...]) -> bool:
        """Whether a holder of one of ``keys`` wrote the file as it is, data key and recipients included."""
        return bool(self.seal) and any(
            hmac.compare_digest(self.seal, _seal(key, self.content, self.rest)) for key in keys
        )


def read_digest(text: bytes) -> DigestLine:
    """The digest line of a file."""
    found = _LINE.match(text)
    if found is None:
        return DigestLine(b"", b"", hashlib.sha256(text).digest())
    return DigestLine(found[1], found[2] or b"", hashlib.sha256(memoryview(text)[found.end() :]).digest())


def lacks_seal(text: bytes) -> bool:
    """Whether a file has a line of an earlier version."""
    found = _LINE.match(text)
    return found is not None and not found[2]


def digest_line(key: bytes, plain: bytes, rest: bytes) -> bytes:
    """The line to write above ``rest``, which encrypts the text with the SHA-256 ``plain``."""
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
_MAP = b"\nsops:\n"
_INDENTED = re.compile(rb"(?:[ -].*\n)*")
_RECIPIENT = re.compile(rb"^ *(?:- )?recipient: (.+)$", re.MULTILINE)
# Where in each kind secrets may stand; all else is clear, for people, kustomize and Flux.
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
    """What a file holds. ``body`` is ``None`` where it cannot be read, and ``trouble`` says why then;
    ``hidden``: no key opens it, and what is encrypted stands in ``body`` as it is; ``rewrite``: why
    its bytes should change although its content need not."""

    body: Mapping[str, Json] | None = field(repr=False)
    hidden: bool = False
    rewrite: str = ""
    trouble: str = ""

    def shows(self, wanted: DesiredObject) -> bool:
        """Whether it is the wanted object to the byte, and may stay as it is."""
        if self.body is None or self.hidden or self.rewrite:
            return False
        return _digest_of(self.body) == _plain_digest(wanted)


class Origin(Enum):
    """What is known of who made the data key of an encrypted file.

    ``VERIFIED``: osm-gitops, with a key at hand. ``FORMER``: an earlier version, which may have taken over a data key
    that somebody had planted. ``UNVERIFIED``: the file has a digest that no key at hand verifies. ``FOREIGN``: it has
    none. ``PLAIN``: nothing in it is encrypted.
    """

    VERIFIED = "verified"
    FORMER = "former"
    UNVERIFIED = "unverified"
    FOREIGN = "foreign"
    PLAIN = "plain"


class FileEncryption:
    """Encryption in a target's files: rules, keys and digests. Keys are looked for when a file asks for one.

    ``recipients`` win over the rules of ``.sops.yaml``. ``keys`` is the search that a run shares with its sources.
    With ``writes_plain`` nothing is encrypted.
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
        self.now = rfc3339(datetime.now(UTC))

    def anew(self, top: Path | None = None) -> FileEncryption:
        """The same with rules that are read again, and are not looked for above ``top``."""
        other = copy(self)
        other._rules = CreationRules(top or self._rules.top, self._rules.allows)
        return other

    def within(self, allows: Callable[[Path], bool]) -> FileEncryption:
        """The same with rules of those ``.sops.yaml`` alone that may be read."""
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
            raise InputError(
                [
                    Problem(
                        Code.DIGEST_KEY_TOO_SHORT,
                        f"a digest key of less than {_SHORTEST_DIGEST_KEY} characters can be guessed",
                        where=DIGEST_KEY,
                        fix="Make one with openssl rand -hex 32",
                    )
                ]
            )
        return key

    @cached_property
    def _digest_keys(self) -> tuple[bytes, ...]:
        """The key to write digests with comes first. A given one alone counts: others may not have our private key."""
        return (self._given_key,) if self._given_key else self.keyring.digest_keys()

    @property
    def _authors(self) -> tuple[bytes, ...]:
        """The keys of digests that nobody else has: here, who made a file counts, not who else can verify it."""
        derived = self.keyring.digest_keys()
        return (self._given_key, *derived) if self._given_key else derived

    @property
    def can_compare(self) -> bool:
        """Whether a later run with the same keys can tell what changed."""
        return bool(self._digest_keys)

    def rule(self, path: Path, *, secret: bool = True) -> Rule | None:
        """For whom a file is encrypted; ``None``: it is written as it is. InputError for a rule that cannot be kept."""
        if self._writes_plain or not secret:
            return None
        rule = self.rule_of_any(path)
        return _with_names(rule) if rule else None

    def rule_of_any(self, path: Path) -> Rule | None:
        """The rule of a file that need not be ours, as it stands."""
        return self._given or self._rules.rule_for(path)

    def rule_file(self, folder: Path) -> Path | None:
        """The ``.sops.yaml`` that says for whom files in ``folder`` are encrypted; ``None`` where a flag does, or none
        is there. Raises InputError where it cannot be read."""
        return None if self._given else self._rules.file_for(folder)

    def holds(self, path: Path, text: bytes, wanted: DesiredObject) -> bool:
        """Whether a file is seen to hold an object without being read."""
        if self.rule(path, secret=holds_secrets(wanted)) is None:
            return _plain_digest(wanted) == hashlib.sha256(text).digest()
        return read_digest(text).holds(_plain_digest(wanted), self._digest_keys)

    def is_sealed(self, text: bytes) -> bool:
        """Whether a holder of one of our keys wrote this encrypted file as it is, its data key included."""
        line = read_digest(text)
        # The given key first: another is looked for in vain by runs that have no private key.
        return bool(self._given_key and line.is_sealed((self._given_key,))) or line.is_sealed(self._authors)

    def origin(self, text: bytes, plain: Mapping[str, Json] | None = None) -> Origin:
        """What is known of who made the data key of a file. ``plain`` is its content, where a key opens it."""
        if not is_sealed_text(text):
            return Origin.PLAIN
        if self.is_sealed(text):
            return Origin.VERIFIED
        line = read_digest(text)
        if not line:
            return Origin.FOREIGN
        if not line.seal and plain is not None and line.holds(_digest_of(plain), self._authors):
            return Origin.FORMER
        return Origin.UNVERIFIED

    def open(self, path: Path, text: bytes, *, secret: bool) -> Opened:
        """Read a file, decrypted where a key is at hand."""
        try:
            body = _only_document(text, path)
        except InputError as error:
            return Opened(None, trouble=error.problems[0].what)
        if not is_encrypted(body):
            return Opened(body, rewrite="in plain text so far" if self.rule(path, secret=secret) else "")
        try:
            (plain,) = decrypt([body], self.keyring)
        except ClosedError:
            return Opened(hidden(body), hidden=True)
        except EncryptionError as error:
            return Opened(None, trouble=error.problems[0].what)
        gaps = _shows_secrets(body) and self.rule(path, secret=secret) is not None
        return Opened(plain, rewrite=self._why_rewrite(text, plain, gaps=gaps))

    def _why_rewrite(self, text: bytes, plain: Mapping[str, Json], *, gaps: bool) -> str:
        if gaps:
            return "a part of its secrets in plain text so far"
        stale = self._given_key and not read_digest(text).holds(_digest_of(plain), (self._given_key,))
        return f"its digest was not made with this {DIGEST_KEY}" if stale else ""

    @property
    def can_tell(self) -> bool:
        """Whether files that no key opens can at least be compared: what this digest key does not fit differs."""
        return bool(self._given_key)

    def content(self, path: Path, wanted: DesiredObject, there: bytes | None) -> bytes:
        """The bytes to write. Of what is there, all that is still true is kept, ciphertext and data key included,
        if the seal of the file verifies; else all is new.

        TargetError where a rule would leave a secret in plain text, or hide a name.
        """
        rule = self.rule(path, secret=holds_secrets(wanted))
        if rule is None:
            return text_of(wanted.body)
        return self._sealed(path, wanted.body, rule, self._previous(path, there, wanted.body))

    def _sealed(self, path: Path, body: Mapping[str, Json], rule: Rule, previous: Mapping[str, Json] | None) -> bytes:
        """A body as an encrypted file with its digest. Raises EncryptionError, InputError and TargetError."""
        with _naming(path):
            sealed = encrypt(parsed(body), rule, now=self.now, previous=previous, keyring=self.keyring)
        _refuse_gaps(path, sealed, rule)
        return self.with_digest(body, sealed)

    def with_digest(self, plain: Mapping[str, Json], sealed: Mapping[str, Json]) -> bytes:
        """The text of an encrypted body, under the digest of what it holds: only for bodies whose data key is ours.

        No digest where secrets stand in plain text: such a file is not to pass for one that is as it should be.
        """
        rest = dump(sealed).encode()
        keys = () if _shows_secrets(sealed) else self._digest_keys
        return (digest_line(keys[0], _digest_of(plain), rest) if keys else b"") + rest

    def is_for(self, path: Path, text: bytes, *, secret: bool = True) -> bool:
        """Whether the recipients of an encrypted file are those that the rules name."""
        rule = self.rule(path, secret=secret)
        if rule is None:
            return True
        found = _recipients(text)
        return not found or found == sorted(rule.recipients)

    def _previous(self, path: Path, there: bytes | None, body: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """What is there, if its data key may encrypt ``body``: osm-gitops made it, and for the same object."""
        if there is None:
            return None
        try:
            previous = _only_document(there, path)
        except InputError:
            return None
        if not is_encrypted(previous):
            return None
        if self.is_sealed(there) and _identity(previous) == _identity(body):
            return previous
        if read_digest(there):
            # It may be ours, and got other keys with sops since.
            with _naming(path):
                refuse_other_keys(previous)
        return None


NO_SEALING = FileEncryption({}, writes_plain=True)


@lru_cache(maxsize=64)
def _with_names(rule: Rule) -> Rule:
    """A rule that says nothing of what to encrypt leaves names readable; sops' own default hides them."""
    if rule.selection.selector != Selection().selector:
        return rule
    return replace(rule, selection=replace(rule.selection, encrypted_regex=HIDDEN))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except EncryptionError as error:
        raise EncryptionError(problem.at(where=str(path)) for problem in error.problems) from None


def is_sealed_text(text: bytes) -> bool:
    """Whether a file has encrypted values, seen without parsing it."""
    return _SIGN in text


def _identity(body: Mapping[str, Json]) -> tuple[Json, ...]:
    metadata = body.get("metadata")
    names = (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, Mapping) else ()
    return (body.get("apiVersion"), body.get("kind"), *names)


def _recipients(text: bytes) -> list[str]:
    """For whom a file is encrypted, sorted, seen without parsing it: a folder has thousands of them."""
    start = text.find(_MAP) + len(_MAP)
    lines = _INDENTED.match(text, start) if start >= len(_MAP) else None
    return sorted(name.decode().strip("'\"\r") for name in _RECIPIENT.findall(lines[0])) if lines else []


def repeats_recipients(path: Path, text: bytes) -> bool:
    """Whether an encrypted file has several entries for one recipient, however it is spelled as YAML."""
    try:
        names = recipients_of(_only_document(text, path))
    except (InputError, EncryptionError):
        return False
    return len(names) != len(set(names))


def _only_document(text: bytes, path: Path) -> Mapping[str, Json]:
    documents = load_documents(text, str(path))
    if len(documents) != 1 or not isinstance(documents[0].value, Mapping):
        raise InputError([Problem(Code.MANIFEST_UNREADABLE, "it is not one manifest", where=str(path))])
    value: Mapping[str, Json] = documents[0].value
    return value


def _plain_digest(wanted: DesiredObject) -> bytes:
    return wanted.digest or _digest_of(wanted.body)


def _digest_of(body: Mapping[str, Json]) -> bytes:
    """The SHA-256 of a body's canonical text."""
    return body.digest if isinstance(body, PackedBody) else hashlib.sha256(dump(body).encode()).digest()


def _refuse_gaps(path: Path, sealed: Mapping[str, Json], rule: Rule) -> None:
    """Refuse what a creation rule of the user's would leave in plain text, or hide from everybody."""
    names = [sealed.get("apiVersion"), sealed.get("kind"), *_texts(sealed.get("metadata"))]
    problems = []
    if _shows_secrets(sealed):
        problems.append("leaves secrets in plain text")
    if any(name.startswith("ENC[") for name in names if isinstance(name, str)):
        problems.append("encrypts names or metadata, which people, kustomize and Flux have to read")
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
    """Whether a value stands in plain text where in this kind secrets may stand."""
    parts = _SECRET_PARTS.get(str(sealed.get("kind")), ())
    return any(True for part in parts for _ in _clear_leaves(value_at(sealed, part)))


def _clear_leaves(value: Json) -> Iterator[str]:
    """What is not encrypted: an empty text and null never are."""
    return (text for text in _texts(value) if text and not text.startswith("ENC["))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)
