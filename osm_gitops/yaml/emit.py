"""JSON data as canonical YAML: equal data gives equal bytes, and all YAML readers read the same data.

Block style, two spaces, sorted keys. Multi-line texts are literal blocks, so that a diff shows the changed line. Texts
are quoted only if YAML 1.1 or 1.2 need it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from string import ascii_letters
from typing import Any, Final

from osm_gitops.gocompat.gojson import encode

Json = Any

_STEP: Final = "  "
LONGEST_KEY: Final = 1000  # YAML's limit is 1,024 characters, including quotes

# Texts that start with a digit, a sign or a dot are always quoted, since they may be numbers or dates.
_SIMPLE: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+=@-]*")
# All quantifiers are possessive: the time is linear in the text.
PLAIN: Final = re.compile(r'[A-Za-z_/](?:[!-9;-~]++|:(?=[!-~])|\ ++(?=[!-"$-9;-~]))*+')
_WORDS: Final = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"}
)
_LONGEST_WORD: Final = 8
_FIRST: Final = frozenset(ascii_letters + "_/")
_CONTROL: Final = tuple(char for char in map(chr, (*range(0x20), 0x7F)) if char not in "\t\n")
_SHORT: Final = 64
_BREAKS_BLOCK: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_SHORT_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Kept(dict[str, Json]):
    """A mapping that is an entry of lists in many documents. Its lines are cached, so it must not change after the
    first dump."""

    __slots__ = ("_entries",)

    def entry(self, margin: str) -> str:
        """Its lines as an entry of a list at ``margin``, including the dash."""
        entries: dict[str, str] = getattr(self, "_entries", None) or {}
        if margin not in entries:
            parts = [margin, "-"]
            _beside_dash(self, margin + _STEP, parts)
            entries[margin] = "".join(parts)
            self._entries = entries
        return entries[margin]


def dump(value: Json) -> str:
    """``value`` as one YAML document that ends in a newline.

    Takes mappings with string keys, lists, tuples, strings, numbers, booleans and ``None``. Raises ValueError for
    infinite numbers and for text that is not UTF-8, TypeError for other types.
    """
    parts: list[str] = []
    if _is_block(value):
        _block(value, "", parts)
    else:
        parts += (_scalar(value, _STEP), "\n")
    return "".join(parts)


def _is_block(value: Json) -> bool:
    kind = type(value)
    if kind is str:
        return False
    if kind is dict or kind is list:  # fast path: isinstance() of an abstract class is slow
        return bool(value)
    return isinstance(value, Mapping | list | tuple) and len(value) > 0


def _block(value: Json, margin: str, parts: list[str]) -> None:
    """A non-empty collection, with each line at ``margin``."""
    inner = margin + _STEP
    if type(value) is dict or isinstance(value, Mapping):
        for key in sorted(value):
            item, name = value[key], _in_line(key)
            parts += (margin, name, ":") if len(name) <= LONGEST_KEY else (margin, "? ", name, "\n", margin, ":")
            if type(item) is str:
                parts += (" ", _text(item, inner), "\n")
            elif _is_block(item):
                parts.append("\n")
                _block(item, inner if type(item) is dict or isinstance(item, Mapping) else margin, parts)
            else:
                parts += (" ", _scalar(item, inner), "\n")
        return
    for item in value:
        if type(item) is Kept and item:
            parts.append(item.entry(margin))
            continue
        parts += (margin, "-")
        if _is_block(item):
            _beside_dash(item, inner, parts)
        else:
            parts += (" ", _scalar(item, inner), "\n")


def _beside_dash(value: Json, margin: str, parts: list[str]) -> None:
    """A collection as an entry of a list: its first line follows the dash."""
    start = len(parts)
    _block(value, margin, parts)
    parts[start] = " "


def is_one_word(text: str) -> bool:
    """Whether a text without control characters is plain and has no blanks, as base64 and encrypted values. A pattern
    takes many times as long for tens of kilobytes."""
    return text[:1] in _FIRST and text.isascii() and not (" " in text or "\t" in text or text[-1] == ":")


def has_control(text: str) -> bool:
    """Whether ASCII has characters that are not printable, other than line feeds and tabs. To look for each of them is
    faster than to look at each character."""
    return any(map(text.__contains__, _CONTROL))


def _is_plain(text: str) -> bool:
    """Whether all readers read ``text`` without quotes as this string."""
    if len(text) > _SHORT and is_one_word(text):
        return "\n" not in text and not has_control(text)
    if not (_SIMPLE.fullmatch(text) or PLAIN.fullmatch(text)):
        return False
    return len(text) > _LONGEST_WORD or text.lower() not in _WORDS


def _text(text: str, margin: str) -> str:
    if len(text) <= _SHORT:
        return _in_line(text) if "\n" not in text else _long(text, margin)
    return text if _is_plain(text) else _long(text, margin)


@lru_cache(maxsize=2048)  # keys, modes, versions, paths: a fleet's documents have few different ones
def _in_line(text: str) -> str:
    return text if _is_plain(text) else quoted(text)


def _long(text: str, margin: str) -> str:
    """A text that is not plain."""
    return _literal(text, margin) if _fits_block(text) else quoted(text)


def _scalar(value: Json, margin: str) -> str:
    """A scalar or an empty collection; ``margin`` indents the lines of a block."""
    if isinstance(value, str):
        return _text(value, margin)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    raise TypeError(f"{type(value).__name__} is not JSON")


def _fits_block(text: str) -> bool:
    return "\n" in text and fits_block(text)


def fits_block(text: str) -> bool:
    """Whether ``text`` can be a literal block: its first line is not blank, and all its characters are allowed."""
    if not text.lstrip("\n").partition("\n")[0].strip(" \t"):
        return False
    return not has_control(text) if text.isascii() else _BREAKS_BLOCK.search(text) is None


def _literal(text: str, margin: str) -> str:
    digit = "2" if text[0] in " \t\n" else ""
    chomping = "-" if text[-1] != "\n" else "+" if text.endswith("\n\n") else ""
    body = text.removesuffix("\n").replace("\n", "\n" + margin)
    blank = f"\n{margin}\n"
    body = body.replace(blank, "\n\n").replace(blank, "\n\n")  # twice: matches next to each other share a line break
    first = "" if body.startswith("\n") else margin
    return f"|{digit}{chomping}\n{first}{body.removesuffix(margin) if text.endswith(chr(10) * 2) else body}"


def quoted(text: str) -> str:
    """``text`` in double quotes. Raises ValueError for text that is not UTF-8."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError("the text is not UTF-8 and cannot be written as YAML")
    short = _SHORT_ESCAPES.get(char)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _float(value: float) -> str:
    """As Go prints it; YAML 1.1 needs a point in a float."""
    text = encode(value)
    if text == "-0":
        return "-0.0"
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else text
