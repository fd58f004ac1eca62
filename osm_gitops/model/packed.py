"""Manifests in memory as compressed text: serialised once, and parsed on demand."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Final
from weakref import ReferenceType, ref

from osm_gitops.model.objects import Json
from osm_gitops.yaml.canonical import SharedEntries
from osm_gitops.yaml.compact_json import dump_json, load_json
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_manifest

_LEVEL: Final = 3
_RAW: Final = -15  # zlib without header and checksum
_SEGMENT: Final = 28 << 10
"""Bytes per segment: with the same segment of a similar text they fit into zlib's window of 32 KiB."""
_DRIFT: Final = 2 << 10  # bytes by which similar texts may be shifted
_PERIOD: Final = 3
"""Base64 of shifted texts is equal only if the shift is a multiple of three bytes."""
_PLAIN: Final = 4 << 20
"""Bytes of texts that a packer leaves as they are: the last ones, which are needed soon, and may be dropped soon."""


class _Reference:
    """A text by which others are packed: itself at first, compressed once it stays or goes to another process."""

    __slots__ = ("_packed", "_text")

    def __init__(self, text: bytes) -> None:
        self._text: bytes | None = text
        self._packed = b""

    @property
    def text(self) -> bytes:
        return _inflated(self._packed) if self._text is None else self._text

    def settle(self) -> None:
        if self._text is not None:
            self._packed, self._text = zlib.compress(self._text, _LEVEL), None

    def __getstate__(self) -> bytes:
        self.settle()
        return self._packed

    def __setstate__(self, packed: bytes) -> None:
        self._text, self._packed = None, packed


class PackedBody(Mapping[str, Json]):
    """A manifest's body as compressed text. Two are equal if their texts are.

    Each access may parse the text: use :meth:`parsed` once for several parts, and do not change the result. It raises
    InputError for the text of a file that is no manifest.
    """

    __slots__ = ("__weakref__", "_digest", "_plain", "_reference", "_segments", "is_json", "like")

    def __init__(self, text: bytes, reference: _Reference, like: Hashable) -> None:
        self._plain: bytes | None = text
        self._segments: tuple[bytes, ...] = ()
        self._reference = reference
        self._digest = b""
        self.is_json = text.startswith(b"{")
        self.like = like
        """The key of similar texts."""

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the text."""
        if not self._digest:
            self._digest = sha256(self.text).digest()
        return self._digest

    @property
    def text(self) -> bytes:
        """The text that was packed."""
        if self._plain is not None:
            return self._plain
        found, reference = [], self._reference.text
        for number, data in enumerate(self._segments):
            inflate = zlib.decompressobj(_RAW, zdict=_beside(reference, number))
            found.append(inflate.decompress(data) + inflate.flush())
        return b"".join(found)

    def settle(self) -> None:
        """Take less memory, because it stays for long."""
        self.compress()
        self._reference.settle()

    def compress(self) -> None:
        """Keep only the compressed text."""
        if self._plain is None:
            return
        reference, text = self._reference.text, self._plain
        self._segments = tuple(
            _deflated(text[start : start + _SEGMENT], _beside(reference, number))
            for number, start in enumerate(range(0, len(text), _SEGMENT))
        )
        self._plain = None

    def __getstate__(self) -> object:
        self.compress()
        return super().__getstate__()

    def parsed(self) -> dict[str, Json]:
        """The parsed body. The last few are cached."""
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


@lru_cache(maxsize=32)  # those of the objects of some profiles
def _inflated(reference: bytes) -> bytes:
    return zlib.decompress(reference)


_entries: Final = SharedEntries()  # pools of a profile have most files in common


@lru_cache(maxsize=4)  # the objects of one pool
def _parsed(packed: PackedBody) -> dict[str, Json]:
    if packed.is_json:
        found: dict[str, Json] = load_json(packed.text)
        return found
    return load_manifest(packed.text, "a manifest", _entries)


@dataclass(slots=True)
class Packer:
    """Packs texts, with the first of several similar texts as the dictionary for the others.

    Pools of a fleet are similar: ten thousand of them, half a gigabyte of text, take about ten megabytes.
    """

    _references: dict[Hashable, _Reference] = field(default_factory=dict)
    _last: deque[tuple[ReferenceType[PackedBody], int]] = field(default_factory=deque)
    _plain: int = 0

    def pack(self, text: bytes, like: Hashable) -> PackedBody:
        """Pack ``text``, the YAML or JSON of a manifest. ``like`` is equal for similar texts."""
        key = (like, len(text) % _PERIOD)
        if key not in self._references:
            self._references[key] = _Reference(text)
        packed = PackedBody(text, self._references[key], like)
        self._last.append((ref(packed), len(text)))
        self._plain += len(text)
        while self._plain > _PLAIN:
            find, size = self._last.popleft()
            self._plain -= size
            body = find()
            if body is not None:
                body.compress()
        return packed

    def pack_json(self, body: Mapping[str, Json], like: Hashable) -> PackedBody:
        """Pack a body as JSON, which is faster than YAML."""
        return self.pack(dump_json(dict(body), sort_keys=True), ("json", like))


def _beside(reference: bytes, number: int) -> bytes:
    """The part of a reference that corresponds to a segment."""
    start = number * _SEGMENT
    return reference[max(0, start - _DRIFT) : start + _SEGMENT + _DRIFT]


def _deflated(text: bytes, dictionary: bytes) -> bytes:
    deflate = zlib.compressobj(_LEVEL, wbits=_RAW, zdict=dictionary)
    return deflate.compress(text) + deflate.flush()


def text_of(body: Mapping[str, Json]) -> bytes:
    """The canonical YAML text of a body."""
    if isinstance(body, PackedBody) and not body.is_json:
        return body.text
    return dump(parsed(body)).encode()


def yaml_digest(body: Mapping[str, Json]) -> bytes:
    """The SHA-256 of the canonical YAML text of a body."""
    if isinstance(body, PackedBody) and not body.is_json:
        return body.digest
    return sha256(text_of(body)).digest()


def likeness(body: Mapping[str, Json], kind: str) -> Hashable:
    """The key of bodies of this kind that are similar to ``body``."""
    return body.like if isinstance(body, PackedBody) else kind


def parsed(body: Mapping[str, Json]) -> Mapping[str, Json]:
    """The parsed body, for access to several parts."""
    return body.parsed() if isinstance(body, PackedBody) else body
