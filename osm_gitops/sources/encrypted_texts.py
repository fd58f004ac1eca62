"""Which texts of an object stand encrypted in its file, and which secrets in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from osm_gitops.model.objects import Json
from osm_gitops.model.provider import PROVIDER_CONFIG_FIELD
from osm_gitops.plan.sensitive import inline_credentials, provider_spec_of
from osm_gitops.sops.leaves import sealed_type
from osm_gitops.sources.manifests import MACHINE

SECRET_DATA: Final = frozenset({"data", "stringData"})
# What every report tells of an object, encrypted or not.
_TOLD: Final = frozenset({"apiVersion", "kind", "type"})


def encrypted_texts(sealed: Mapping[str, Json], plain: Mapping[str, Json]) -> Iterator[str]:
    """The texts of ``plain``, a document or an entry of a list, that are encrypted in ``sealed``.

    Names and labels are told all the same, and the data of Secrets is secret by itself (``plan.sensitive``).
    """
    is_secret = plain.get("kind") == "Secret"
    for key, value in plain.items():
        before = sealed.get(key)
        if key in _TOLD or (is_secret and key in SECRET_DATA):
            continue
        if key == "metadata" and isinstance(value, dict) and isinstance(before, dict):
            yield from _texts(before.get("annotations"), value.get("annotations"))
        elif key == "items" and isinstance(value, list) and isinstance(before, list):
            for inner, entry in _paired(before, value):
                if isinstance(inner, dict) and isinstance(entry, dict):
                    yield from encrypted_texts(inner, entry)
        else:
            yield from _texts(before, value)


def secrets_in_plain_text(body: Mapping[str, Json]) -> Iterator[str]:
    """The fields of a Secret or MachineDeployment, as it stands in a file, with a secret that is not encrypted."""
    if body.get("kind") == "Secret":
        for name in sorted(SECRET_DATA):
            values = body.get(name)
            for key, value in values.items() if isinstance(values, dict) else ():
                if value and not sealed_type(value):
                    yield f"{name}.{key}"
    elif body.get("kind") == MACHINE:
        credentials = inline_credentials(provider_spec_of(body))
        yield from (f"{PROVIDER_CONFIG_FIELD}.{path}" for path in credentials)


def holds_ciphertext(value: Json) -> bool:
    """Whether a value in here is encrypted."""
    if isinstance(value, dict):
        return any(map(holds_ciphertext, value.values()))
    if isinstance(value, list):
        return any(map(holds_ciphertext, value))
    return bool(sealed_type(value))


def _texts(sealed: Json, plain: Json) -> Iterator[str]:
    if isinstance(plain, dict) and isinstance(sealed, dict):
        for key, value in plain.items():
            yield from _texts(sealed.get(key), value)
    elif isinstance(plain, list) and isinstance(sealed, list):
        for inner, value in _paired(sealed, plain):
            yield from _texts(inner, value)
    elif sealed_type(sealed) not in {"", "bool"}:
        yield str(plain)


def _paired(sealed: Sequence[Json], plain: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    """Entries side by side; the comments that sops keeps between them have no counterpart."""
    return zip((value for value in sealed if sealed_type(value) != "comment"), plain, strict=False)
