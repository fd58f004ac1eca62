"""The age identities at hand (key files of age, private keys of ssh), found where sops finds them, when something
encrypted first asks for them.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.bounded.programs import Limits, ProgramLimitError, run_program
from osm_gitops.errors import Code, InputError, Problem, input_error

_AGE_FILE_STARTS: Final = (b"age-encryption.org/", b"-----BEGIN AGE ENCRYPTED FILE-----")
_UNUSABLE: Final = {
    "AGE-PLUGIN-": "an identity of an age plugin, which osm-gitops cannot use",
    "AGE-SECRET-KEY-PQ-": "a post-quantum identity, which osm-gitops cannot use",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """One private key: what opens, its secret bytes, its public side, and the variable or file that it is from."""

    opener: Any = field(repr=False)
    secret: bytes = field(repr=False)
    recipient: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Unusable:
    """A key that is whole and that osm-gitops cannot use; ``why`` is a part of a sentence."""

    why: str


def is_locked(text: bytes) -> bool:
    """Whether a key file is encrypted itself, with a passphrase."""
    return text.startswith(_AGE_FILE_STARTS)


def age_identities(text: str, name: str, *, several_in_line: bool = False) -> Iterator[Identity | Unusable]:
    """The keys of a key file, one a line; blank lines and lines that start with # are passed over.

    ``several_in_line`` takes every word of a line for a key. Raises InputError with ``name`` and line, never the text.
    """
    if is_locked(text.encode()):
        yield Unusable("the key file is encrypted with a passphrase, for which osm-gitops does not ask")
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        for word in line.split() if several_in_line else [line.strip()]:
            yield _age_identity(word, f"{name}:{number}")


def _age_identity(word: str, where: str) -> Identity | Unusable:
    import pyrage  # noqa: PLC0415 - loaded only for encrypted documents

    for start, why in _UNUSABLE.items():
        if word.startswith(start):
            return Unusable(why)
    try:
        identity = pyrage.x25519.Identity.from_str(word)
    except pyrage.IdentityError:
        raise input_error(
            Code.AGE_KEY_INVALID,
            "this line is no age identity",
            where=where,
            fix="A key file has a line that starts with AGE-SECRET-KEY-1",
        ) from None
    return Identity(identity, str(identity).encode(), str(identity.to_public()))


def ssh_identity(text: str, name: str) -> Identity | Unusable:
    """A private key of ssh (ed25519 or RSA); raises InputError for what is none."""
    import pyrage  # noqa: PLC0415

    key = _private_key(text.encode(), name)
    if isinstance(key, Unusable):
        return key
    secret, recipient = key
    try:
        return Identity(pyrage.ssh.Identity.from_buffer(text.encode()), secret, recipient)
    except pyrage.IdentityError:
        return Unusable("the ssh key is of a kind for which age has no use")


def _private_key(data: bytes, name: str) -> Unusable | tuple[bytes, str]:
    """The key itself, the same however its file is written, and its public side as ``authorized_keys`` has it."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - slow, and seldom needed
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415

    read = form.load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else form.load_pem_private_key
    try:
        key = read(data, password=None)
        public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    except TypeError:
        return Unusable("the ssh key has a passphrase, for which osm-gitops does not ask")
    except UnsupportedAlgorithm:
        return Unusable("the ssh key is of a kind for which age has no use")
    except ValueError:
        raise input_error(Code.AGE_KEY_INVALID, "the file holds no private ssh key", where=name) from None
    secret = key.private_bytes(form.Encoding.DER, form.PrivateFormat.PKCS8, form.NoEncryption())
    return secret, public.decode("ascii")


_COMMANDS: Final = ("SOPS_AGE_SSH_PRIVATE_KEY_CMD", "SOPS_AGE_KEY_CMD")
_SSH_FILES: Final = ("id_ed25519", "id_rsa")
_DIGEST_INFO: Final = b"osm-gitops digest v1"
_DIGEST_BYTES: Final = 32
_MOST_OPENED: Final = 1 << 14
COMMAND_LIMITS: Final = Limits(seconds=120, most=SMALL)
"""For commands that print a key, which may ask for a passphrase or a touch."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """The identities at hand; falsy without any. ``notes`` are sentences on keys that were found and cannot be used."""

    identities: tuple[Identity, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    # What is compared now is written later, with the same data key.
    _opened: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.identities)

    @property
    def recipients(self) -> tuple[str, ...]:
        """The public sides of the identities, as far as they can be told."""
        return tuple(identity.recipient for identity in self.identities if identity.recipient)

    def digest_keys(self) -> tuple[bytes, ...]:
        """A 32-byte key for keyed digests from each identity (HKDF-SHA256); it tells nothing about the identity."""
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - slow, and seldom needed
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

        return tuple(
            HKDF(algorithm=SHA256(), length=_DIGEST_BYTES, salt=None, info=_DIGEST_INFO).derive(identity.secret)
            for identity in self.identities
        )

    def open(self, enc: str, recipient: str) -> bytes | None:
        """What the age file ``enc`` holds; ``None`` if no identity fits. That of ``recipient`` is tried first.

        Raises ValueError for what is no age file.
        """
        import pyrage  # noqa: PLC0415 - loaded only for encrypted documents

        if (known := self._opened.get(enc)) is not None:
            return known
        first = [identity.opener for identity in self.identities if identity.recipient == recipient]
        others = [identity.opener for identity in self.identities if identity.recipient != recipient]
        try:
            key = bytes(pyrage.decrypt(enc.encode(), first + others))
        except pyrage.DecryptError as error:
            if "No matching keys" in str(error):
                return None
            raise ValueError("no age file") from None
        if len(self._opened) < _MOST_OPENED:
            self._opened[enc] = key
        return key


def find_keys(environment: Mapping[str, str], printed: dict[str, str] | None = None) -> Keyring:
    """Collect the identities from every place where sops looks; ``environment`` is the process's. ``printed`` has what
    commands printed before, by their variable, and gets what others print.

    These are SOPS_AGE_SSH_PRIVATE_KEY_FILE, SOPS_AGE_SSH_PRIVATE_KEY_CMD, ``~/.ssh/id_ed25519`` and ``id_rsa``,
    SOPS_AGE_KEY, SOPS_AGE_KEY_FILE, SOPS_AGE_KEY_CMD, and sops' own file in the user's configuration folder.
    The commands run once, without SOPS_AGE_RECIPIENT. Raises InputError with all places that were named and
    hold no readable key; a key that only a passphrase, a plugin or a later age can use becomes a note.
    """
    search = _Search()
    for place in _places(environment, {} if printed is None else printed):
        search.take(place)
    if search.problems:
        raise InputError(search.problems)
    return Keyring(tuple(search.found.values()), tuple(search.notes))


def new_identity() -> tuple[str, str]:
    """A new key: the text of a key file, as age-keygen writes it but without a date, and its recipient."""
    import pyrage  # noqa: PLC0415

    identity = pyrage.x25519.Identity.generate()
    recipient = str(identity.to_public())
    return f"# public key: {recipient}\n{identity}\n", recipient


def add_identity(path: Path, text: str) -> None:
    """Append a key to a key file, which only its owner may read then. Raises InputError for a file that is none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0), 0o600)
    with os.fdopen(descriptor, "rb+", buffering=0) as file:
        try:
            before = read_file(path, SMALL)
        except OSError as fault:
            raise input_error(
                Code.FILE_UNREADABLE, f"the key file cannot be read: {fault.strerror}", where=str(path)
            ) from None
        if is_locked(before) or b"\0" in before:
            raise input_error(
                Code.AGE_KEY_INVALID,
                "the key file is encrypted or no text, so no key can be added to it",
                where=str(path),
                fix="Make a key with age-keygen and give its public side as --age-recipient",
            )
        file.write((b"\n" if before and not before.endswith(b"\n") else b"") + text.encode())
        os.fsync(file.fileno())
    path.chmod(0o600)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where keys may be: ``read`` gives their text, or ``None`` where nothing is."""

    name: str
    read: Callable[[], str | None]
    ssh: bool = False
    several_in_line: bool = False
    optional: bool = False


@dataclass(slots=True)
class _Search:
    found: dict[bytes, Identity] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def take(self, place: _Place) -> None:
        try:
            text = place.read()
            if text is None:
                return
            keys = list(self.read(text, place))
            if not keys:
                self.notes.append(f"{place.name}: it holds no key")
            for found in keys:
                if isinstance(found, Unusable):
                    self.notes.append(f"{place.name}: {found.why}")
                else:
                    self.found.setdefault(found.secret, replace(found, place=place.name))
        except InputError as error:
            if place.optional and place.ssh:
                self.notes.extend(problem.sentence for problem in error.problems)
            else:
                self.problems.extend(error.problems)

    def read(self, text: str, place: _Place) -> Iterator[Identity | Unusable]:
        if place.ssh:
            yield ssh_identity(text, place.name)
            return
        yield from age_identities(text, place.name, several_in_line=place.several_in_line)


def _places(environment: Mapping[str, str], printed: dict[str, str]) -> Iterator[_Place]:
    def named(variable: str, read: Callable[[str, str], str], **options: bool) -> Iterator[_Place]:
        value = environment.get(variable)
        if value:
            yield _Place(variable, lambda: read(variable, value), **options)

    def command(variable: str, line: str) -> str:
        if variable not in printed:
            printed[variable] = _output(variable, line, environment)
        return printed[variable]

    yield from named("SOPS_AGE_SSH_PRIVATE_KEY_FILE", _named_file, ssh=True)
    yield from named(_COMMANDS[0], command, ssh=True)
    home = _home(environment)
    if home:
        for path in (home / ".ssh" / name for name in _SSH_FILES):
            yield _Place(str(path), _reader(path), ssh=True, optional=True)
    yield from named("SOPS_AGE_KEY", lambda _, text: text, several_in_line=True)
    yield from named("SOPS_AGE_KEY_FILE", _named_file)
    yield from named(_COMMANDS[1], command)
    default = default_key_file(environment)
    if default is not None:
        yield _Place(str(default), _reader(default), optional=True)


def default_key_file(environment: Mapping[str, str], platform: str = sys.platform) -> Path | None:
    """The file that sops reads without being told; ``None`` where the user has no configuration folder."""
    folder = _configuration_folder(environment, platform)
    return folder / "sops" / "age" / "keys.txt" if folder else None


def _configuration_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """Go's ``os.UserConfigDir``, with XDG_CONFIG_HOME on macOS too."""
    if platform == "win32":
        data = environment.get("AppData") or environment.get("APPDATA")
        return Path(data) if data else None
    chosen = environment.get("XDG_CONFIG_HOME")
    if chosen:
        return Path(chosen) if platform == "darwin" or chosen.startswith("/") else None
    home = _home(environment)
    if not home:
        return None
    return home / "Library" / "Application Support" if platform == "darwin" else home / ".config"


def _home(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    return Path(home) if home else None


def _named_file(variable: str, path: str) -> str:
    text = _reader(Path(path))()
    if text is None:
        raise input_error(
            Code.FILE_UNREADABLE,
            f"the key file {path} is not there",
            where=variable,
            fix=f"Correct {variable}, or unset it",
        )
    return text


def _reader(path: Path) -> Callable[[], str | None]:
    def read() -> str | None:
        try:
            return read_file(path, SMALL).decode()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise input_error(Code.FILE_UNREADABLE, f"the key file cannot be read: {reason}", where=str(path)) from None

    return read


def _output(variable: str, line: str, environment: Mapping[str, str]) -> str:
    """What the command prints; its words split as in a shell, but no shell runs."""
    try:
        words = shlex.split(line)
        done = run_program(words, environment, COMMAND_LIMITS, terminal=True)
        text = done.out.decode()
    except (OSError, ValueError, IndexError):
        raise input_error(
            Code.AGE_KEY_COMMAND, "the command cannot be run", where=variable, fix=f"Correct {variable}, or unset it"
        ) from None
    except ProgramLimitError as limit:
        raise input_error(
            Code.AGE_KEY_COMMAND, f"the command {limit}", where=variable, fix="Run it by itself to see why"
        ) from None
    if done.status:
        raise input_error(
            Code.AGE_KEY_COMMAND,
            f"the command ended with exit code {done.status}",
            where=variable,
            fix="Run it by itself to see why",
        )
    return text


class KeySearch:
    """Looks for keys once a run, whatever comes of it: a command that prints a key (SOPS_AGE_KEY_CMD) runs one time.

    ``environment`` is the process's. ``without_keys`` says that this run reads encrypted documents without opening
    them (``plan --without-keys``); readers must check this first.
    """

    def __init__(self, environment: Mapping[str, str], *, without_keys: bool = False) -> None:
        self.without_keys = without_keys
        self._environment = environment
        self._found: Keyring | InputError | None = None
        self._printed: dict[str, str] = {}

    def __getstate__(self) -> dict[str, object]:
        """For another process, which looks for the keys itself. It gets what commands print, so that no command runs
        twice."""
        if not self.without_keys and any(map(self._environment.get, _COMMANDS)):
            with suppress(InputError):  # the readers report it
                self.keyring()
        return {**self.__dict__, "_found": None}

    def keyring(self) -> Keyring:
        """The identities at hand; raises InputError, the same each time, where a key that is named cannot be read."""
        if self._found is None:
            try:
                self._found = find_keys(self._environment, self._printed)
            except InputError as failure:
                self._found = failure
        if isinstance(self._found, InputError):
            raise self._found
        return self._found
