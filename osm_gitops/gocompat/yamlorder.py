"""The order in which go-yaml writes the keys of a map: numbers in it count, letters come after everything else."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any, Final

from osm_gitops.gocompat.text import is_digit, is_letter, runes, to_bytes

_INT64: Final = 1 << 64
_LASTING: Final = 64
"""Digits that are left of a longer number in 64 bits, as 10**64 is a multiple of 2**64."""
_KINDS: Final = {bool: 1, int: 2, float: 14, type(None): 20}
_STRING_KIND: Final = 24
_STRUCT_KIND: Final = 25


def sorted_members(members: dict[Any, Any], *, old: bool) -> list[tuple[Any, Any]]:
    """The members of a map in order of their keys; ``old`` as yaml.v2, else as yaml.v3.

    Go's comparison is not transitive for some odd sets of keys, and Go's order is then
    random; here it always is the same.
    """

    def compare(first: tuple[Any, Any], second: tuple[Any, Any]) -> int:
        if _less(first[0], second[0], old=old):
            return -1
        return 1 if _less(second[0], first[0], old=old) else 0

    bytewise = sorted(members.items(), key=lambda member: to_bytes(str(member[0])))
    return sorted(bytewise, key=cmp_to_key(compare))


def _less(first: Any, second: Any, *, old: bool) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        return _text_less(runes(first), runes(second), old=old)
    if _kind(first) in {1, 2, 14} and _kind(second) in {1, 2, 14} and first != second:
        return bool(first < second)
    return _kind(first) < _kind(second)


def _kind(key: Any) -> int:
    return _STRING_KIND if isinstance(key, str) else _KINDS.get(type(key), _STRUCT_KIND)


def _text_less(first: str, second: str, *, old: bool) -> bool:
    position = _common(first, second)
    if position == min(len(first), len(second)):
        return len(first) < len(second)
    a, b = first[position], second[position]
    letters = is_letter(a), is_letter(b)
    if all(letters):
        return a < b
    if any(letters):
        after_digit = position > 0 and is_digit(first[position - 1]) and not old
        return letters[0] if after_digit else letters[1]
    return _number_less(first, second, position)


def _common(first: str, second: str) -> int:
    """How many characters two texts have in common at their start."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _number_less(first: str, second: str, position: int) -> bool:
    """Compare where two keys differ in characters that are no letters: by their runs of digits, then by character."""
    leading = 0
    if "0" in {first[position], second[position]} and _significant_digit_before(first, position):
        leading = 1
    number_a, end_a = _digits(first, position, leading)
    number_b, end_b = _digits(second, position, leading)
    if number_a != number_b:
        return number_a < number_b
    if end_a != end_b:
        return end_a < end_b
    return first[position] < second[position]


def _significant_digit_before(text: str, position: int) -> bool:
    """Whether the digits right before ``position`` hold one other than zero."""
    while position > 0 and is_digit(text[position - 1]):
        position -= 1
        if text[position] != "0":
            return True
    return False


def _digits(text: str, position: int, number: int) -> tuple[int, int]:
    """The int64 that the digits from ``position`` on append to ``number`` (it overflows as in Go), and their end."""
    start = position
    while position < len(text) and is_digit(text[position]):
        position += 1
    for digit in text[max(start, position - _LASTING) : position]:
        number = (number * 10 + ord(digit) - ord("0")) % _INT64
    return number - _INT64 if number >= _INT64 // 2 else number, position
