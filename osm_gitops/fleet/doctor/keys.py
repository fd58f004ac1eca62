"""Private keys: which are found and where; never what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from osm_gitops.errors import InputError
from osm_gitops.fleet.doctor.finding import Finding, found, note, ok
from osm_gitops.sops.keys import Keyring, default_key_file, find_keys
from osm_gitops.sops.recipients import shown
from osm_gitops.targets.sealing import DIGEST_KEY, Sealing

_AREA = "keys"


def look_at_keys(environment: Mapping[str, str]) -> tuple[Keyring, list[Finding]]:
    """The keys at hand, and a line on each."""
    try:
        keyring = find_keys(environment)
    except InputError as failure:
        return Keyring(), list(found(_AREA, failure.problems))
    return keyring, [*_found(keyring, environment), *_digest_key(environment)]


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


def _digest_key(environment: Mapping[str, str]) -> Iterator[Finding]:
    if not environment.get(DIGEST_KEY):
        return
    try:
        if Sealing(environment).can_compare:
            yield ok(_AREA, f"{DIGEST_KEY} is set: what no key opens can be compared")
    except InputError as failure:
        yield from found(_AREA, failure.problems)
