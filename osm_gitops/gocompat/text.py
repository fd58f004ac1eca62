"""Go's packages ``unicode``, ``unicode/utf8`` and the parts of ``strings`` that differ from Python's.

A Go string is bytes. Here it is a ``str`` whose bytes that are not UTF-8 are surrogate escapes (U+DC80 to U+DCFF);
every result is again such a ``str``, normalised: escapes that together are valid UTF-8 have become characters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from osm_gitops.gocompat import unicode15

REPLACEMENT: Final = "\ufffd"
"""What Go decodes an invalid byte to."""

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""``unicode.IsSpace``, which knows fewer characters than Python's ``isspace``."""


_ASCII_PUNCTUATION: Final = frozenset("!\"#%&'()*,-./:;?@[\\]_{}")


def to_bytes(text: str) -> bytes:
    """The bytes of a Go string."""
    return text.encode("utf-8", "surrogateescape")


def in_byte_order(texts: Iterable[str]) -> list[str]:
    """The texts as Go sorts them: by their bytes."""
    listed = list(texts)
    return sorted(listed) if all(map(str.isascii, listed)) else sorted(listed, key=to_bytes)


def from_bytes(data: bytes) -> str:
    """The Go string of these bytes."""
    return data.decode("utf-8", "surrogateescape")


def normalise(text: str) -> str:
    """``text`` with escapes that form valid UTF-8 joined to characters."""
    return text if text.isascii() or not has_invalid(text) else from_bytes(to_bytes(text))


def has_invalid(text: str) -> bool:
    """Whether ``text`` has bytes that are not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def runes(text: str) -> str:
    """``text`` as ``[]rune`` and ``range`` see it: U+FFFD for every invalid byte."""
    if text.isascii() or not has_invalid(text):
        return text
    return "".join(REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in normalise(text))


def byte_slice(text: str, start: int, end: int) -> str:
    """``text[start:end]`` by bytes; the caller has checked the bounds as Go would."""
    if text.isascii():
        return text[start:end]
    return from_bytes(to_bytes(text)[start:end])


def byte_len(text: str) -> int:
    """``len(text)`` in bytes."""
    return len(text) if text.isascii() else len(to_bytes(text))


def is_print(char: str) -> bool:
    """``strconv.IsPrint`` and ``unicode.IsPrint``."""
    if char < "\x7f":
        return char >= " "
    return _within(char, "PRINT")


def is_letter(char: str) -> bool:
    """``unicode.IsLetter``."""
    return char.isalpha() if char.isascii() else _within(char, "LETTER")


def is_digit(char: str) -> bool:
    """``unicode.IsDigit`` (category Nd)."""
    return char.isdigit() if char.isascii() else _within(char, "DIGIT")


def is_number(char: str) -> bool:
    """``unicode.IsNumber`` (digits, ``½``, ``Ⅳ`` …)."""
    return char.isdigit() if char.isascii() else _within(char, "NUMBER")


def is_punct(char: str) -> bool:
    """``unicode.IsPunct``, which does not count ``$+<=>^`|~``."""
    return char in _ASCII_PUNCTUATION if char.isascii() else _within(char, "PUNCT")


def is_upper(char: str) -> bool:
    """``unicode.IsUpper``."""
    return char.isupper() if char.isascii() else _within(char, "UPPER")


def is_lower(char: str) -> bool:
    """``unicode.IsLower``."""
    return char.islower() if char.isascii() else _within(char, "LOWER")


def is_title(char: str) -> bool:
    """``unicode.IsTitle`` (``ǅ`` and the like)."""
    return not char.isascii() and _within(char, "TITLE")


def is_space(char: str) -> bool:
    """``unicode.IsSpace``."""
    return char in WHITE_SPACE


def upper(text: str) -> str:
    """``strings.ToUpper``: one character for one, ``ß`` stays; an invalid byte becomes U+FFFD."""
    return text.upper() if text.isascii() else runes(text).translate(_upper_map())


def lower(text: str) -> str:
    """``strings.ToLower``, in the same way."""
    return text.lower() if text.isascii() else runes(text).translate(_lower_map())


def title_case(char: str) -> str:
    """``unicode.ToTitle`` of one character."""
    return char.upper() if char.isascii() else char.translate(_title_map())


def trim_space(text: str) -> str:
    """``strings.TrimSpace``."""
    return text.strip(WHITE_SPACE)


def fields(text: str) -> list[str]:
    """``strings.Fields``."""
    if text.isascii() and not any(char in text for char in "\x1c\x1d\x1e\x1f"):  # blanks for Python alone
        return text.split()
    return _fields_slowly(text)


def title(text: str) -> str:
    """``strings.Title``: every letter after a separator in title case, the others untouched."""
    result: list[str] = []
    previous = " "
    for char in runes(text):
        result.append(title_case(char) if _is_separator(previous) else char)
        previous = char
    return "".join(result)


def _fields_slowly(text: str) -> list[str]:
    parts: list[str] = []
    start = -1
    for position, char in enumerate(text):
        if char in WHITE_SPACE:
            if start >= 0:
                parts.append(text[start:position])
                start = -1
        elif start < 0:
            start = position
    if start >= 0:
        parts.append(text[start:])
    return parts


def _is_separator(char: str) -> bool:
    if char.isascii():
        return not (char.isalnum() or char == "_")
    return not (is_letter(char) or is_digit(char)) and is_space(char)


@lru_cache(maxsize=4096)
def _within(char: str, table: str) -> bool:
    starts, ends = _ranges(table)
    position = bisect_right(starts, ord(char)) - 1
    return position >= 0 and ord(char) < ends[position]


@cache
def _ranges(table: str) -> tuple[list[int], list[int]]:
    numbers = [int(part, 36) for part in getattr(unicode15, table).split()]
    starts: list[int] = []
    ends: list[int] = []
    last = 0
    for distance, length in zip(numbers[::2], numbers[1::2], strict=True):
        starts.append(last + distance)
        last = starts[-1] + length
        ends.append(last)
    return starts, ends


@cache
def _upper_map() -> dict[int, int]:
    return _case_map(unicode15.TO_UPPER, "abcdefghijklmnopqrstuvwxyz", -32)


@cache
def _lower_map() -> dict[int, int]:
    return _case_map(unicode15.TO_LOWER, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 32)


@cache
def _title_map() -> dict[int, int]:
    return _upper_map() | _case_map(unicode15.TO_TITLE_UNLIKE_UPPER, "", 0)


def _case_map(runs: str, ascii_letters: str, ascii_distance: int) -> dict[int, int]:
    mapped = {ord(char): ord(char) + ascii_distance for char in ascii_letters}
    for run in runs.split():
        start, count, stride, distance = run.split(",")
        first = int(start, 16)
        for char in range(first, first + int(count) * int(stride), int(stride)):
            mapped[char] = char + int(distance)
    return mapped
