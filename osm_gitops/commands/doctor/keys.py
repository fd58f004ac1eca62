"""Private keys: which are found and where; never what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from osm_gitops.commands.doctor.finding import Finding, found, note, ok
from osm_gitops.errors import InputError
from osm_gitops.sops.keys import Keyring, default_key_file
from osm_gitops.sops.recipients import shown
from osm_gitops.sops.search import KeySearch
from osm_gitops.targets.file_encryption import DIGEST_KEY, FileEncryption

_AREA = "keys"


@dataclass(frozen=True, slots=True)
class Keys:
    """What a run encrypts and decrypts with. One search serves all that is looked at, as in a run."""

    search: KeySearch
    recipients: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def keyring(self) -> Keyring:
        """The keys at hand; none where one that was named cannot be read."""
        try:
            return self.search.keyring()
        except InputError:
            return Keyring()

    def sealing(self) -> FileEncryption:
        """Encryption in a target."""
        return FileEncryption(self.environment, self.recipients, self.search)


def look_at_keys(keys: Keys) -> Iterator[Finding]:
    """A line on each key, on what cannot be used, and on the key of digests."""
    try:
        yield from _found(keys.search.keyring(), keys.environment)
    except InputError as failure:
        yield from found(_AREA, failure.problems)
    yield from _digest_key(keys)


def _found(keyring: Keyring, environment: Mapping[str, str]) -> Iterator[Finding]:
    for identity in keyring.identities:
        yield ok(_AREA, f"{shown(identity.recipient)}: its private key is in {identity.place}")
    for text in keyring.notes:
        yield note(_AREA, text)
    if not keyring:
        place = default_key_file(environment)
        yield note(
            _AREA,
            "no private key is where sops finds one, so nothing that is encrypted can be read",
            f"Put yours into {place}, or name its file in SOPS_AGE_KEY_FILE" if place else "Set SOPS_AGE_KEY_FILE",
        )


def _digest_key(keys: Keys) -> Iterator[Finding]:
    if not keys.environment.get(DIGEST_KEY):
        return
    try:
        if keys.sealing().can_compare:
            yield ok(_AREA, f"{DIGEST_KEY} is set: what no key opens can be compared")
    except InputError as failure:
        yield from found(_AREA, failure.problems)
