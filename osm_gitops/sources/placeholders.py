"""Encrypted documents without a key: every encrypted value gives way to a stand-in that follows from its ciphertext.

The same ciphertext has the same stand-in, in every run, so two trees that are read so can be compared: for pull
requests from forks, whose runs get no keys. What is rendered from stand-ins is for reports alone. No MAC is verified.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from osm_gitops.model.objects import Json
from osm_gitops.sops.document import hidden
from osm_gitops.sops.leaves import sealed_type

_LATE: Final = "2099-01-01T00:00:00Z"


def with_stand_ins(body: Mapping[str, Json]) -> dict[str, Json]:
    """An encrypted document with stand-ins in the place of its ciphertexts, and without its map ``sops``."""
    return _object(hidden(body), "")


def _object(body: Mapping[str, Json], listed: str) -> dict[str, Json]:
    """``listed`` is the kind of the entries where a typed list (``SecretList``) says it."""
    kind = body.get("kind", listed)
    result: dict[str, Json] = {}
    for key, value in body.items():
        if key == "items" and isinstance(value, list):
            entries = kind.removesuffix("List") if isinstance(kind, str) else ""
            result[key] = [_object(item, entries) if isinstance(item, dict) else item for item in _values(value)]
        elif key in {"data", "stringData"} and isinstance(value, dict):
            encoded = kind == "Secret" and key == "data"
            result[key] = {name: _datum(name, each, encoded=encoded) for name, each in value.items()}
        else:
            result[key] = _value(value)
    return result


def _values(sequence: list[Json]) -> list[Json]:
    """Without the comments that sops keeps as entries."""
    return [value for value in sequence if sealed_type(value) != "comment"]


def _value(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_value(inner) for inner in _values(value)]
    match sealed_type(value):
        case "":
            return value
        case "bool":
            return False
        case "int":
            return int(_digest(value), 16) % 1000
        case "float":
            return int(_digest(value), 16) % 1000 + 0.5
        case "time":
            return _LATE
        case _:
            return _text(value)


def _datum(key: str, value: Json, *, encoded: bool) -> Json:
    """A value of a Secret or ConfigMap. Some readers want it in a form of its own, and the key tells which."""
    if not sealed_type(value):
        return _value(value)
    text = _form(key, value)
    return b64encode(text.encode()).decode() if encoded else text


def _form(key: str, sealed: str) -> str:
    text = _text(sealed)
    login = {"username": text, "password": text}
    if key == "expiration":
        return _LATE
    if key == "kubeconfig":
        name = _digest(sealed)  # no word of a language: what is in here is masked wherever it occurs
        cluster = {"server": f"https://{name}.invalid:6443", "certificate-authority-data": text}
        users = [{"name": name, "user": {"token": text}}]
        return json.dumps({"clusters": [{"name": name, "cluster": cluster}], "users": users})
    if key == ".dockerconfigjson":
        return json.dumps({"auths": {f"{_digest(sealed)}.invalid": login}})
    if "." in key:  # a registry's host, with its credential (``--node-registry-credentials-secret``)
        return json.dumps(login)
    return text


def _text(sealed: str) -> str:
    """The base64 of a JSON object, as which it also passes for a service account of Google's, or a kubeconfig."""
    return b64encode(json.dumps({"encrypted": _digest(sealed)}).encode()).decode()


def _digest(sealed: str) -> str:
    return sha256(sealed.encode()).hexdigest()[:12]
