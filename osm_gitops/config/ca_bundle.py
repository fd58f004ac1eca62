"""CA bundles: whether a text has a certificate that Go would load (osm-behaviour.md, "Flags").

Go's ``AppendCertsFromPEM`` skips PEM blocks of other types or with headers, and certificates that it cannot parse.
Only the outer structure of a certificate is checked here (RFC 5280 §4.1), which distinguishes it from anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from osm_gitops.gocompat.basetext import decode_base64

# A block without headers: there is only base64 and white space between its markers.
_LINE_END: Final = r"[ \t]*(?:\r?\n|\Z)"
_BLOCK: Final = re.compile(
    rf"^-----BEGIN CERTIFICATE-----{_LINE_END}([A-Za-z0-9+/=\s]*?)^-----END CERTIFICATE-----{_LINE_END}", re.MULTILINE
)
_BLANKS: Final = str.maketrans("", "", " \t")
_INTEGER, _BIT_STRING, _SEQUENCE, _VERSION = 0x02, 0x03, 0x30, 0xA0
_BODY: Final = (_INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE, _SEQUENCE, _SEQUENCE)
"""Serial number, signature algorithm, issuer, validity, subject and public key."""


def has_certificate(text: str) -> bool:
    """Whether ``text`` has at least one PEM block with a certificate."""
    return any(_is_certificate(data) for data in _blocks(text))


def _blocks(text: str) -> Iterator[bytes]:
    for match in _BLOCK.finditer(text):
        data = decode_base64(match[1].translate(_BLANKS))
        if data is not None:
            yield data


def _is_certificate(data: bytes) -> bool:
    try:
        (outer,) = _elements(data)
        if outer[0] != _SEQUENCE:
            return False
        body, algorithm, signature = _elements(outer[1])
        fields = [tag for tag, _ in _elements(body[1])]
    except ValueError:
        return False
    if fields[:1] == [_VERSION]:
        fields = fields[1:]
    tags = (body[0], algorithm[0], signature[0])
    return tags == (_SEQUENCE, _SEQUENCE, _BIT_STRING) and tuple(fields[:6]) == _BODY


def _elements(data: bytes) -> list[tuple[int, bytes]]:
    """The DER elements of ``data`` as tag and content. Raises ValueError if they do not fill it exactly."""
    elements = []
    position = 0
    while position < len(data):
        start, length = _length(data, position + 1)
        end = start + length
        if end > len(data):
            raise ValueError("an element is longer than what holds it")
        elements.append((data[position], data[start:end]))
        position = end
    return elements


def _length(data: bytes, position: int) -> tuple[int, int]:
    """Start and length of an element's content. DER requires the shortest form of a length."""
    first = int.from_bytes(data[position : position + 1])
    if position >= len(data):
        raise ValueError("an element without a length")
    if first < 0x80:
        return position + 1, first
    start = position + 1 + (first & 0x7F)
    length = int.from_bytes(data[position + 1 : start])
    if start > len(data) or length < 0x80 or data[position + 1] == 0:
        raise ValueError("a length that is not in its shortest form")
    return start, length
