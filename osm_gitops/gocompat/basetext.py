"""``encoding/base64`` and ``encoding/base32`` (``StdEncoding``), with Go's errors."""

from __future__ import annotations

import base64
import re
from typing import Final

import pybase64

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import to_bytes


def encode_base64(data: bytes) -> str:
    """``base64.StdEncoding.EncodeToString``."""
    return pybase64.b64encode_as_string(data)


def decode_base64(text: str) -> bytes | None:
    """The bytes, or ``None`` for invalid base64. Line ends are ignored, padding is required."""
    if "\n" in text or "\r" in text:
        text = text.replace("\r", "").replace("\n", "")
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError:
        return None


_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE32: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_LINE_ENDS: Final = re.compile(rb"[\r\n]")
_PAD: Final = ord("=")
_UNDECODABLE: Final = frozenset({1, 3, 6})
"""Numbers of characters in a group of eight that are not whole bytes."""


def read_base64(text: str) -> bytes:
    """``base64.StdEncoding.DecodeString``; line ends count for nothing.

    Raises :class:`GoError`: ``illegal base64 data at input byte 4``.
    """
    decoded = decode_base64(text)
    if decoded is None:
        raise GoError(f"illegal base64 data at input byte {_base64_fault(to_bytes(text))}")
    return decoded


def read_base32(text: str) -> bytes:
    """``base32.StdEncoding.DecodeString``; line ends count for nothing, nor does what follows the padding.

    Raises :class:`GoError`: ``illegal base32 data at input byte 1``.
    """
    data = _LINE_ENDS.sub(b"", to_bytes(text))
    letters = next((place for place, byte in enumerate(data) if byte not in _BASE32), len(data))
    place = _base32_fault(data, letters)
    if place >= 0:
        raise GoError(f"illegal base32 data at input byte {place}")
    return base64.b32decode(data[:letters] + b"=" * (-letters % 8))


def _base64_fault(data: bytes) -> int:
    """The place where Go stops reading invalid base64."""
    in_group = 0
    for place, byte in enumerate(data):
        if byte in _BASE64:
            in_group = (in_group + 1) % 4
        elif byte == _PAD and in_group >= 2:
            return _padding_fault(data, place, in_group)
        elif byte not in b"\r\n":
            return place
    return len(data) - in_group if in_group else -1


def _padding_fault(data: bytes, place: int, in_group: int) -> int:
    after = _behind_line_ends(data, place + 1)
    if in_group == 2:
        if after == len(data):
            return after
        if data[after] != _PAD:
            return after - 1
        after = _behind_line_ends(data, after + 1)
    return after if after < len(data) else -1


def _behind_line_ends(data: bytes, place: int) -> int:
    while place < len(data) and data[place] in b"\r\n":
        place += 1
    return place


def _base32_fault(data: bytes, letters: int) -> int:
    """Where Go stops reading; -1 if all is well."""
    in_group = letters % 8
    left = len(data) - letters
    if left == 0:
        return letters - in_group if in_group else -1
    if data[letters] != _PAD or in_group < 2 or left > 8:
        return letters
    if left - 1 + in_group < 7:
        return len(data)
    for number in range(7 - in_group):
        if data[letters + 1 + number] != _PAD:
            return letters + number
    return letters if in_group in _UNDECODABLE else -1
