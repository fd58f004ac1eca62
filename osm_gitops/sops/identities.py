"""Private keys as text: key files of age, private keys of ssh."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from osm_gitops.errors import Code, input_error

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
