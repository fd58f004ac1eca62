"""The map ``sops`` of a document: its recipients, and the selection of encrypted values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from osm_gitops.errors import ClosedError, Code, EncryptionError, InputError, Problem
from osm_gitops.gocompat.fault import GoError
from osm_gitops.sops.keys import Keyring
from osm_gitops.sops.leaves import go_time
from osm_gitops.sops.recipients import Stanza, shown
from osm_gitops.sops.rules import COMMENT_SELECTORS, SELECTORS, Selection, compile_selection

Json = Any

FIELD: Final = "sops"
FORMAT_VERSION: Final = "3.13.3"
"""The version of sops that the format was tested with."""

_OTHER_KEYS: Final = {
    "pgp": "PGP keys",
    "kms": "AWS KMS",
    "gcp_kms": "GCP KMS",
    "hckms": "Huawei Cloud KMS",
    "azure_kv": "Azure Key Vault",
    "hc_vault": "HashiCorp Vault",
}
_RESTORE: Final = "Take the file as it was before from git, or encrypt it again"


@dataclass(frozen=True, slots=True)
class Envelope:
    """``stanzas`` have the data key; ``other_keys`` are names of other kinds of keys.

    ``modified`` is an RFC 3339 time as Go prints it; ``mac`` is encrypted, or empty if it is missing.
    """

    stanzas: tuple[Stanza, ...]
    modified: str
    mac: str
    selection: Selection
    other_keys: tuple[str, ...] = ()
    version: str = FORMAT_VERSION

    @property
    def recipients(self) -> tuple[str, ...]:
        return tuple(stanza.recipient for stanza in self.stanzas)

    def written(self) -> dict[str, Json]:
        """The map as JSON, without ``other_keys``."""
        name, text = self.selection.selector
        return {
            "age": [{"enc": stanza.enc, "recipient": stanza.recipient} for stanza in self.stanzas],
            "lastmodified": self.modified,
            "mac": self.mac,
            **({"mac_only_encrypted": True} if self.selection.mac_only_encrypted else {}),
            name: text,
            "version": self.version,
        }

    def data_key(self, keyring: Keyring) -> bytes:
        """The data key. Raises ClosedError with the recipients if ``keyring`` does not decrypt it."""
        known = set(keyring.recipients)
        damaged: list[Problem] = []
        for stanza in sorted(self.stanzas, key=lambda stanza: stanza.recipient not in known):
            try:
                key = keyring.open(stanza.enc, stanza.recipient)
            except ValueError:
                what = f"the data key that was encrypted for {shown(stanza.recipient)} is damaged"
                damaged.append(_fault(what, "age"))
                continue
            if key is not None:
                return key
        raise EncryptionError(damaged) if damaged else self._closed(keyring)

    def _closed(self, keyring: Keyring) -> ClosedError:
        names = [*map(shown, self.recipients), *self.other_keys]
        what = f"no available key decrypts the document, which is encrypted for {_listed(names)}"
        if keyring.notes:
            what += f" ({'; '.join(keyring.notes)})"
        if not self.recipients:
            fix = "Add an age recipient to it with sops: osm-gitops decrypts only with age keys"
        else:
            fix = (
                "Give the private key of one of them as to sops: SOPS_AGE_KEY_FILE names a file, SOPS_AGE_KEY holds it"
            )
        return ClosedError([Problem(Code.NO_KEY_OPENS, what, field=FIELD, fix=fix)])


def read_envelope(body: Mapping[str, Json]) -> Envelope:
    """The envelope of an encrypted document. Raises EncryptionError with all problems."""
    raw = body.get(FIELD)
    if not isinstance(raw, Mapping):
        raise EncryptionError([_fault("it is not a map of sops, so the values cannot be decrypted", "")])
    problems: list[Problem] = []
    group = _group(raw, problems)
    envelope = Envelope(
        stanzas=tuple(_stanzas(group.get("age") or [], problems)),
        modified=_modified(raw, problems),
        mac=_text(raw, "mac", problems),
        selection=_selection(raw, problems),
        other_keys=tuple(name for kind, name in _OTHER_KEYS.items() if group.get(kind)),
        version=_text(raw, "version", problems),
    )
    if problems:
        raise EncryptionError(problems)
    return envelope


def _group(raw: Mapping[str, Json], problems: list[Problem]) -> Mapping[str, Json]:
    """The mapping with the keys: the map itself, or its only key group."""
    if any(raw.get(kind) for kind in ("age", *_OTHER_KEYS)):
        return raw
    groups = raw.get("key_groups") or [{}]
    if not isinstance(groups, list) or not all(isinstance(group, Mapping) for group in groups):
        problems.append(_fault("it is not a list of key groups", "key_groups"))
        return {}
    if len(groups) > 1:
        what = f"the data key is split among {len(groups)} key groups, which osm-gitops does not support"
        fix = "Encrypt the file with sops for one group of keys"
        problems.append(Problem(Code.SOPS_UNSUPPORTED, what, field=f"{FIELD}.key_groups", fix=fix))
    elif not any(groups[0].values()):
        problems.append(_fault("it names no recipients", "age"))
    first: Mapping[str, Json] = groups[0]
    return first


def _stanzas(entries: Json, problems: list[Problem]) -> Iterator[Stanza]:
    for place, entry in enumerate(entries if isinstance(entries, list) else [entries]):
        fields = entry if isinstance(entry, Mapping) else {}
        recipient, enc = fields.get("recipient"), fields.get("enc")
        if isinstance(recipient, str) and isinstance(enc, str):
            yield Stanza(recipient, enc)
        else:
            problems.append(_fault("an entry lacks recipient or enc", f"age[{place}]"))


def _modified(raw: Mapping[str, Json], problems: list[Problem]) -> str:
    text = _text(raw, "lastmodified", problems)
    try:
        return go_time(text)
    except GoError:
        problems.append(_fault("it is not a time as sops writes it (2026-01-31T12:00:00Z)", "lastmodified"))
        return ""


def _selection(raw: Mapping[str, Json], problems: list[Problem]) -> Selection:
    chosen = {name: text for name in SELECTORS if (text := _text(raw, name, problems))}
    comments = [name for name in COMMENT_SELECTORS if raw.get(name)]
    if comments:
        what = "it selects by comments, which osm-gitops does not read"
        problems.append(
            Problem(
                Code.SOPS_UNSUPPORTED,
                what,
                field=f"{FIELD}.{comments[0]}",
                fix="Encrypt the file again with encrypted_regex",
            )
        )
    if len(chosen) + len(comments) > 1:
        problems.append(_fault(f"only one of {_listed([*chosen, *comments])} can say what is encrypted", ""))
        return Selection()
    only_encrypted = raw.get("mac_only_encrypted") or False
    if not isinstance(only_encrypted, bool):
        problems.append(_fault("it is neither true nor false", "mac_only_encrypted"))
    selection = Selection(**chosen, mac_only_encrypted=only_encrypted is True)
    try:
        compile_selection(selection)
    except InputError as error:
        problems.extend(problem.at(field=FIELD) for problem in error.problems)
    return selection


def _text(raw: Mapping[str, Json], name: str, problems: list[Problem]) -> str:
    value = raw.get(name)
    if value is None or isinstance(value, str):
        return value or ""
    problems.append(_fault("it is not a text", name))
    return ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


def _fault(what: str, name: str) -> Problem:
    return Problem(Code.SOPS_DAMAGED, what, field=f"{FIELD}.{name}" if name else FIELD, fix=_RESTORE)
