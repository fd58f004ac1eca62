"""Manifests as text in memory: each is serialised once, kept compressed, and parsed where it is looked into."""

from __future__ import annotations

import json
import zlib
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Final

from osm_gitops.model.objects import Json
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents

_LEVEL: Final = 3
_RAW: Final = -15  # zlib without header and checksum
_SEGMENT: Final = 28 << 10
"""Bytes that are compressed at a time: with what a text like it has in the same place, they fit into zlib's window of
32 KiB."""
_DRIFT: Final = 2 << 10  # bytes by which a text may be ahead of the one like it, or behind
_PERIOD: Final = 3
"""Base64 of texts that differ in length is the same again only where the lengths differ by three bytes."""


class PackedBody(Mapping[str, Json]):
    """A manifest's body as its text, compressed. Two are equal where their texts are.

    Each look into it may parse the text: take :meth:`parsed` once where several parts are needed, and change nothing
    in it.
    """

    __slots__ = ("_reference", "_segments", "digest", "like")

    def __init__(self, segments: tuple[bytes, ...], reference: bytes, digest: bytes, like: Hashable) -> None:
        self._segments = segments
        self._reference = reference
        self.digest = digest
        """The SHA-256 of the text."""
        self.like = like
        """What texts that resemble it have in common."""

    @property
    def text(self) -> bytes:
        """The text that was packed."""
        found = []
        for number, data in enumerate(self._segments):
            inflate = zlib.decompressobj(_RAW, zdict=_beside(self._reference, number))
            found.append(inflate.decompress(data) + inflate.flush())
        return b"".join(found)

    def parsed(self) -> dict[str, Json]:
        """The body; the same object while it is one of the last that were asked for."""
        return _parsed(self)

    def __getitem__(self, key: str) -> Json:
        return _parsed(self)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_parsed(self))

    def __len__(self) -> int:
        return len(_parsed(self))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedBody) and self.digest == other.digest:
            return True
        return isinstance(other, Mapping) and _parsed(self) == dict(other)

    __hash__ = object.__hash__


@lru_cache(maxsize=4)  # the objects of one pool
def _parsed(packed: PackedBody) -> dict[str, Json]:
    text = packed.text
    if text.startswith(b"{"):
        found: dict[str, Json] = json.loads(text)
        return found
    (document,) = load_documents(text, "a rendered manifest")
    value: dict[str, Json] = document.value
    return value


@dataclass(slots=True)
class Packer:
    """Packs texts: the first of several that resemble each other is what the others are compressed by.

    The pools of a fleet differ in little, so ten thousand of them, half a gigabyte of texts, take some ten megabytes.
    """

    _references: dict[Hashable, bytes] = field(default_factory=dict)

    def pack(self, text: bytes, like: Hashable) -> PackedBody:
        """``text``, the YAML or JSON of a manifest. ``like`` is the same for texts that resemble each other."""
        reference = self._references.setdefault((like, len(text) % _PERIOD), text)
        segments = tuple(
            _deflated(text[start : start + _SEGMENT], _beside(reference, number))
            for number, start in enumerate(range(0, len(text), _SEGMENT))
        )
        return PackedBody(segments, reference, sha256(text).digest(), like)

    def pack_json(self, body: Mapping[str, Json], like: Hashable) -> PackedBody:
        """A body that is no text yet, as JSON: it takes less time than YAML to write and to read."""
        return self.pack(json.dumps(dict(body), sort_keys=True).encode(), ("json", like))


def _beside(reference: bytes, number: int) -> bytes:
    """What a reference has where a text has its segment of this number."""
    start = number * _SEGMENT
    return reference[max(0, start - _DRIFT) : start + _SEGMENT + _DRIFT]


def _deflated(text: bytes, dictionary: bytes) -> bytes:
    deflate = zlib.compressobj(_LEVEL, wbits=_RAW, zdict=dictionary)
    return deflate.compress(text) + deflate.flush()


def text_of(body: Mapping[str, Json]) -> bytes:
    """The canonical YAML text of a body."""
    return body.text if isinstance(body, PackedBody) else dump(body).encode()


def likeness(body: Mapping[str, Json], kind: str) -> Hashable:
    """What the bodies that resemble ``body``, of an object of this kind, have in common."""
    return body.like if isinstance(body, PackedBody) else kind


def parsed(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """A body that is parsed, for whoever looks into several parts of it."""
    return body.parsed() if isinstance(body, PackedBody) else body
