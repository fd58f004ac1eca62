"""The guises in which a value can stand in a text: escaped, percent-encoded, in base64."""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

# Most tokens consist of characters that no encoder touches.
_UNCHANGED_EVERYWHERE = re.compile(r"[A-Za-z0-9_.-]+")
# What encoders leave alone in percent-encoding: Ignition's (osm-behaviour.md, "Ignition user-data"), Go's path and
# query, RFC 3986.
_UNRESERVED = ("-_.!~*'()", "-_.~$&+=:@", "-_.~", "/-_.~")
_YAML_SHORT = {
    "\0": "\\0", "\a": "\\a", "\x1b": "\\e", "\x0b": "\\v",
    "\x85": "\\N", "\xa0": "\\_", "\u2028": "\\L", "\u2029": "\\P",
}  # fmt: skip
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SHELL_SPECIAL = frozenset("|&;<>()$`\\\"' \t*?[]#~=%{}!^,")


def escaped_forms(value: str) -> set[str]:
    """The value itself and every spelling by which JSON, YAML, TOML, shells and URLs write it."""
    if _UNCHANGED_EVERYWHERE.fullmatch(value):
        return {value}
    return {value, *_quoted(value), *_shell(value), *_percent(value)}


def base64_forms(value: bytes) -> Iterator[bytes]:
    """What is certain to occur in the base64 of any text with ``value`` in it, at the three offsets."""
    for offset in range(3):
        # The first and last characters also encode neighbouring bytes, so they are cut away.
        first = (offset * 8 + 5) // 6
        last = (offset + len(value)) * 8 // 6
        inner = b64encode(b"\0" * offset + value)[first:last]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def _quoted(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        plain = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield plain
        yield plain.replace("/", "\\/")
        # Go writes these three so in JSON.
        yield plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    for width, short in ((2, _SHORT | _YAML_SHORT), (4, _SHORT), (4, {'"': '\\"', "\\": "\\\\"})):
        for highest in (0x7E, 0xFFFF, 0x10FFFF):
            yield "".join(_character(char, short, width, highest) for char in value)
    yield value.replace("'", "''")
    yield value.replace("\\", "\\\\")
    yield value.replace('"', '\\"')


def _character(char: str, short: dict[str, str], width: int, highest: int) -> str:
    """One character as a quoted string has it that writes characters above ``highest`` as escapes."""
    if char in short:
        return short[char]
    code = ord(char)
    if 32 <= code < 127 or 160 <= code <= highest:
        return char
    if code < 256 and width == 2:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _shell(value: str) -> Iterator[str]:
    yield shlex.quote(value).removeprefix("'").removesuffix("'")
    yield value.replace("'", "'\\''")
    yield "".join(f"\\{char}" if char in '$`"\\!' else char for char in value)
    yield "".join(f"\\{char}" if char in '$`"\\' else char for char in value)
    yield "".join(f"\\{char}" if char in _SHELL_SPECIAL else char for char in value)


def _percent(value: str) -> Iterator[str]:
    for safe in _UNRESERVED:
        encoded = quote(value, safe=safe, errors="surrogatepass")
        yield encoded
        yield _lower_hex(encoded)
    plus = quote_plus(value, errors="surrogatepass")
    yield plus
    yield _lower_hex(plus)


def _lower_hex(encoded: str) -> str:
    head, *rest = encoded.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)
