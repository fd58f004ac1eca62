"""Digests of inputs: equal for equal values of equal types."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def digest_of(*values: Any) -> str:
    """The SHA-256 of plain values, and of records with them."""
    digest = hashlib.sha256()
    for part in _parts(values):
        # With its length: neighbouring texts cannot be read as others.
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[str | bytes]:
    if isinstance(value, Enum):
        yield str(value)
    elif isinstance(value, str | bytes):
        yield "t" if isinstance(value, str) else "b"
        yield value
    elif isinstance(value, Mapping):
        yield f"m{len(value)}"
        for key, each in value.items():
            yield from _parts(key)
            yield from _parts(each)
    elif isinstance(value, list | tuple):
        yield f"l{len(value)}"
        for each in value:
            yield from _parts(each)
    elif isinstance(value, set | frozenset):
        yield f"s{len(value)}"
        yield from sorted(repr(each) for each in value)
    elif is_dataclass(value):
        yield f"r{type(value).__qualname__}"
        for each in fields(value):
            yield from _parts(getattr(value, each.name))
    else:
        yield f"{type(value).__name__} {value!r}"
