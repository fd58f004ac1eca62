"""age recipients: validation, and encryption of the data key for the entries of ``sops.age``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from osm_gitops.errors import Code, InputError, Problem


@dataclass(frozen=True, slots=True)
class Stanza:
    """A data key, encrypted for one recipient: ``enc`` is an armoured age file."""

    recipient: str
    enc: str


def recipient_problem(recipient: str) -> Problem | None:
    """Why ``recipient`` cannot be used, or ``None``."""
    try:
        _parse(recipient)
    except InputError as error:
        return error.problems[0]
    return None


def wrap(data_key: bytes, recipients: Sequence[str]) -> tuple[Stanza, ...]:
    """Encrypt the data key for each recipient separately, as sops. Raises InputError for invalid recipients."""
    problems = [problem for recipient in recipients if (problem := recipient_problem(recipient))]
    if problems:
        raise InputError(problems)
    return tuple(_wrapped(data_key, recipient) for recipient in recipients)


def _wrapped(data_key: bytes, recipient: str) -> Stanza:
    import pyrage  # noqa: PLC0415 - loaded only for encrypted documents

    return Stanza(recipient, pyrage.encrypt(data_key, [_parse(recipient)], armored=True).decode("ascii"))


@lru_cache(maxsize=256)
def _parse(recipient: str) -> Any:
    import pyrage  # noqa: PLC0415

    refused = _unsupported(recipient)
    if refused:
        raise InputError([refused])
    kind = pyrage.ssh if recipient.startswith("ssh-") else pyrage.x25519
    try:
        return kind.Recipient.from_str(recipient)
    except pyrage.RecipientError:
        raise InputError([_broken(recipient)]) from None


def _unsupported(recipient: str) -> Problem | None:
    name = shown(recipient)
    if recipient.startswith("AGE-SECRET-KEY-"):
        return Problem(
            Code.PRIVATE_KEY_AS_RECIPIENT,
            "a private age key is used as a recipient",
            fix="Use its public key (age-keygen -y KEYFILE prints it), and replace the key if others could read it",
        )
    if recipient.startswith("age1pq1"):
        return Problem(
            Code.RECIPIENT_UNSUPPORTED,
            f"{name} is a post-quantum recipient, for which osm-gitops cannot encrypt",
            fix="Use an age1… recipient",
        )
    if recipient.startswith("age1") and recipient.count("1") > 1:
        return Problem(
            Code.RECIPIENT_UNSUPPORTED,
            f"{name} is a recipient of an age plugin, for which osm-gitops cannot encrypt",
            fix="Use an age1… recipient without a plugin",
        )
    if not recipient.startswith(("age1", "ssh-ed25519 ", "ssh-rsa ")):
        return Problem(
            Code.RECIPIENT_INVALID, f"{name} is not an age recipient", fix="Use age1……, ssh-ed25519 … or ssh-rsa …"
        )
    return None


def _broken(recipient: str) -> Problem:
    return Problem(
        Code.RECIPIENT_INVALID,
        f"the recipient {shown(recipient)} is damaged",
        fix="Copy it again from where age-keygen or ssh-keygen printed it",
    )


def shown(recipient: str) -> str:
    """A recipient, shortened for messages; it is public."""
    plain = "".join(char if char.isprintable() else "?" for char in recipient)
    return plain if len(plain) <= 80 else f"{plain[:40]}…{plain[-20:]}"
