"""Sprig's base64, base32 and digests (osm-behaviour.md, "Template functions"); the error of a decoder is its result."""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import Final

from osm_gitops.gocompat.basetext import decode_base32, decode_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import byte_len, from_bytes, to_bytes
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.functions.signature import GoFunction


def encode_base64(text: str) -> str:
    budget().size(byte_len(text) * 4 // 3)
    return base64.b64encode(to_bytes(text)).decode()


def encode_base32(text: str) -> str:
    budget().size(byte_len(text) * 8 // 5)
    return base64.b32encode(to_bytes(text)).decode()


def decoded_base64(text: str) -> str:
    """``b64dec``: the text, or the sentence on what is wrong with it."""
    try:
        return from_bytes(decode_base64(text))
    except GoError as fault:
        return str(fault)


def decoded_base32(text: str) -> str:
    """``b32dec``, in the same way."""
    try:
        return from_bytes(decode_base32(text))
    except GoError as fault:
        return str(fault)


def sha1(text: str) -> str:
    return hashlib.sha1(to_bytes(text), usedforsecurity=False).hexdigest()


def sha256(text: str) -> str:
    return hashlib.sha256(to_bytes(text)).hexdigest()


def sha512(text: str) -> str:
    return hashlib.sha512(to_bytes(text)).hexdigest()


def adler32(text: str) -> str:
    """``adler32sum``: a decimal number."""
    return str(zlib.adler32(to_bytes(text)))


FUNCTIONS: Final = tuple(
    GoFunction(name, "string", call, returns="string")
    for name, call in (
        ("b64enc", encode_base64),
        ("b64dec", decoded_base64),
        ("b32enc", encode_base32),
        ("b32dec", decoded_base32),
        ("sha1sum", sha1),
        ("sha256sum", sha256),
        ("sha512sum", sha512),
        ("adler32sum", adler32),
    )
)
