"""Single values: their bytes in sops, and ``ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]``."""

from __future__ import annotations

from functools import lru_cache
from os import urandom
from typing import TYPE_CHECKING, Any, Final, NoReturn

from osm_gitops.gocompat.basetext import decode_base64, encode_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import format_float, parse_bool, parse_float, parse_int
from osm_gitops.gocompat.text import from_bytes, runes
from osm_gitops.gocompat.times import format_time, parse_time
from osm_gitops.yaml.jsontext import whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Json = Any

_IV_BYTES: Final = 32
_TAG_BYTES: Final = 16
_BEYOND_INT: Final = 1 << 63
_MARK: Final = "ENC[AES256_GCM"
_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_RFC3339_NANO: Final = "2006-01-02T15:04:05.999999999Z07:00"


class BrokenLeaf(Exception):
    """A value cannot be decrypted or encrypted. The message does not contain the value."""


class Commentary:
    """A comment that sops stores as an encrypted entry of a list."""


COMMENT: Final = Commentary()


def plain_form(value: Json) -> tuple[bytes, str]:
    """The bytes of a scalar for encryption and MAC in sops, and its type. Raises BrokenLeaf for values without a type
    in sops."""
    kind = value.__class__
    if kind is str:
        try:
            return value.encode(), "str"
        except UnicodeEncodeError:
            raise BrokenLeaf("the text is not UTF-8 and cannot be written as YAML") from None
    if kind is bool:
        return (b"True" if value else b"False"), "bool"
    if kind is int:
        if not -_BEYOND_INT <= value < _BEYOND_INT:
            raise BrokenLeaf("the number does not fit into a signed 64-bit integer, as sops needs")
        return b"%d" % value, "int"
    if kind is float:
        return format_float(value, "f").encode(), "float"
    if isinstance(value, str):
        return plain_form(str(value))
    raise BrokenLeaf(f"{kind.__name__} is not JSON")


def clear_form(value: Json) -> bytes:
    """The bytes of a plain value in the MAC; ``value`` is from the YAML loader."""
    if value.__class__ is int:
        return b"%d" % value  # beyond 64 bits, the loader keeps the digits of a float
    return plain_form(value)[0]


def sealed_type(value: Json) -> str:
    """The declared type of an encrypted value (``str``, ``int``, ``comment``); empty for other values."""
    pieces = _pieces(value) if isinstance(value, str) else None
    return pieces[3] if pieces else ""


def seal(cipher: AESGCM, plain: bytes, path: str, kind: str) -> str:
    """Encrypt ``plain`` with a new IV, bound to ``path``; ``cipher`` has the data key."""
    iv = urandom(_IV_BYTES)
    data = cipher.encrypt(iv, plain, path.encode())
    return (
        f"ENC[AES256_GCM,data:{encode_base64(data[:-_TAG_BYTES])},iv:{encode_base64(iv)},"
        f"tag:{encode_base64(data[-_TAG_BYTES:])},type:{kind}]"
    )


def unseal(cipher: AESGCM, text: str, path: str) -> tuple[bytes, str]:
    """Decrypt ``text`` to bytes and type. Raises BrokenLeaf."""
    pieces = _pieces(text)
    if not pieces:
        raise BrokenLeaf("the value is not encrypted, or its ENC[…] is damaged")
    data, nonce, tag = map(decode_base64, pieces[:3])
    if data is None or nonce is None or tag is None:
        raise BrokenLeaf("the base64 inside of ENC[…] is damaged")
    return _decrypt(cipher, nonce, data + tag, path.encode()), pieces[3]


def _pieces(text: str) -> tuple[str, str, str, str] | None:
    """Data, IV, tag and type of an ENC[…], or ``None``. Without regular expressions, which are slow on long texts."""
    pieces = text.split(",", 5)
    if len(pieces) != 5 or pieces[0] != _MARK:
        return None
    _, data, iv, tag, kind = pieces
    if data[:5] != "data:" or iv[:3] != "iv:" or tag[:4] != "tag:" or kind[:5] != "type:" or kind[-1:] != "]":
        return None
    return data[5:], iv[3:], tag[4:], kind[5:-1]


def _decrypt(cipher: AESGCM, nonce: bytes, sealed: bytes, path: bytes) -> bytes:
    try:
        return cipher.decrypt(nonce, sealed, path)
    except (_invalid_tag(), ValueError):  # ValueError for an IV of invalid length
        raise BrokenLeaf("the value was changed, comes from another file, or was moved to another key") from None


def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - slow, and loaded only for encrypted documents

    return InvalidTag


def meaning(plain: bytes, kind: str) -> tuple[Json, bytes]:
    """The value of ``plain``, as the YAML loader returns it, and its bytes in the MAC. Raises BrokenLeaf for unknown
    types and invalid text."""
    if kind in {"str", "bytes"}:
        return _text(plain), plain
    if kind == "comment":
        return COMMENT, b""
    reader = _READERS.get(kind)
    if not reader:
        raise BrokenLeaf("the encrypted value has an unknown type")
    try:
        value: Json = reader(plain.decode())
    except (GoError, ValueError):
        _mistyped(kind)
    if kind == "time":
        return value, value.encode()
    return value, plain_form(value)[0] if kind == "bool" else clear_form(value)


@lru_cache(maxsize=256)  # files of one run share their time
def go_time(text: str, *, fraction: bool = False) -> str:
    """An RFC 3339 time as Go prints it. Raises GoError."""
    return format_time(parse_time(_RFC3339, text), _RFC3339_NANO if fraction else _RFC3339)


def _mistyped(kind: str) -> NoReturn:
    raise BrokenLeaf(f"the encrypted value is not of its declared type {kind}") from None


def _text(plain: bytes) -> str:
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return runes(from_bytes(plain))


_READERS: Final[dict[str, Any]] = {
    "int": parse_int,
    "float": lambda text: whole(parse_float(text)),
    "bool": parse_bool,
    "time": lambda text: go_time(text, fraction=True),
}
