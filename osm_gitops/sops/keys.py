"""The age identities at hand, found where sops finds them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.bounded.programs import Limits, ProgramLimitError, run_program
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.sops.identities import Identity, Unusable, age_identities, is_locked, ssh_identity

_SSH_FILES: Final = ("id_ed25519", "id_rsa")
_DIGEST_INFO: Final = b"osm-gitops digest v1"
_DIGEST_BYTES: Final = 32
COMMAND_LIMITS: Final = Limits(seconds=120, most=SMALL)
"""For commands that print a key, which may ask for a passphrase or a touch."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """The identities at hand; falsy without any. ``notes`` are sentences on keys that were found and cannot be used."""

    identities: tuple[Identity, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

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

        first = [identity.opener for identity in self.identities if identity.recipient == recipient]
        others = [identity.opener for identity in self.identities if identity.recipient != recipient]
        try:
            return bytes(pyrage.decrypt(enc.encode(), first + others))
        except pyrage.DecryptError as error:
            if "No matching keys" in str(error):
                return None
            raise ValueError("no age file") from None


def find_keys(environment: Mapping[str, str]) -> Keyring:
    """Collect the identities from every place where sops looks; ``environment`` is the process's.

    These are SOPS_AGE_SSH_PRIVATE_KEY_FILE, SOPS_AGE_SSH_PRIVATE_KEY_CMD, ``~/.ssh/id_ed25519`` and ``id_rsa``,
    SOPS_AGE_KEY, SOPS_AGE_KEY_FILE, SOPS_AGE_KEY_CMD, and sops' own file in the user's configuration folder.
    The commands run once, without SOPS_AGE_RECIPIENT. Raises InputError with all places that were named and
    hold no readable key; a key that only a passphrase, a plugin or a later age can use becomes a note.
    """
    search = _Search()
    for place in _places(environment):
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


def _places(environment: Mapping[str, str]) -> Iterator[_Place]:
    def named(variable: str, read: Callable[[str, str], str], **options: bool) -> Iterator[_Place]:
        value = environment.get(variable)
        if value:
            yield _Place(variable, lambda: read(variable, value), **options)

    def command(variable: str, line: str) -> str:
        return _output(variable, line, environment)

    yield from named("SOPS_AGE_SSH_PRIVATE_KEY_FILE", _named_file, ssh=True)
    yield from named("SOPS_AGE_SSH_PRIVATE_KEY_CMD", command, ssh=True)
    home = _home(environment)
    if home:
        for path in (home / ".ssh" / name for name in _SSH_FILES):
            yield _Place(str(path), _reader(path), ssh=True, optional=True)
    yield from named("SOPS_AGE_KEY", lambda _, text: text, several_in_line=True)
    yield from named("SOPS_AGE_KEY_FILE", _named_file)
    yield from named("SOPS_AGE_KEY_CMD", command)
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
