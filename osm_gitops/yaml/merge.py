"""Three-way merge: the difference of two texts of a library, before and after an edit, into the user's original.

The layout of the library (indentation, spaces, line endings) is not a part of the edit. So both texts first get the
layout of the original's lines. Then lines are merged, and words if lines conflict. If words conflict too, the edit
wins: the caller must check that all comments are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from difflib import SequenceMatcher
from typing import Final

_Parts = Sequence[str]
_Texts = tuple[_Parts, _Parts, _Parts]  # base, edit, original
_Places = dict[int, int]

_WORDS: Final = re.compile(r'\s+|[|>][-+0-9]+|"(?:[^"\\\n]|\\.)*+"|\w+|[^\w\s]')
_INDICATOR: Final = re.compile(r"(?:^|[:-]\s+(?:[&!]\S+\s+)*)[|>]([1-9])[-+]?\s*(?:\s#.*)?$")
_MOST_WORDS: Final = 20_000
"""Limit of words in conflicting lines: the time for comparison grows faster than their number."""


def merge_texts(base: str, after: str, original: str) -> str:
    """``original`` with the differences between ``base`` and ``after``. All three end with a line break."""
    if base == original:
        return after
    before: _Parts
    edited: _Parts
    before, edited, lines = (text.removesuffix("\n").split("\n") for text in (base, after, original))
    kept = _aligned(before, edited)
    at = _aligned(*(["".join(line.split()) for line in each] for each in (before, lines)))
    before, edited = _laid_out((before, edited, lines), kept, at)
    at = {i: k for i, k in at.items() if before[i : i + 1] == lines[k : k + 1]}
    merged = _merge((before, edited, lines), kept, at, _merge_words)
    return "\n".join(merged) + "\n"


def keeps_lines(text: str, original: str, changing: Container[int]) -> bool:
    """Whether ``text`` has all lines of ``original`` in the same order, except ``changing`` (counted from 0)."""
    lines = iter(text.split("\n"))
    return all(line in lines for number, line in enumerate(original.split("\n")) if number not in changing)


def _laid_out(texts: _Texts, kept: _Places, at: _Places) -> tuple[_Parts, _Parts]:
    """Lines of base and edit with the layout of the original. Lines that the edit does not change are the
    original's."""
    before, after, original = texts
    laid = list(before)
    for i in range(len(before)):
        if i in at:
            laid[i] = original[at[i]] if i in kept else _between(before[i], original[at[i]])
    end = "\r" if any(line.endswith("\r") for line in original) else ""
    edited: list[str] = []
    i = 0
    for here in sorted(kept):
        # The shift of each indentation: that of the replaced lines, else that of lines nearby.
        moves: dict[int, int] = {}
        for near in (*range(i, here), i - 1, here):
            if near in at and near < len(before) and before[near].strip():
                moves.setdefault(_indent(before[near]), _indent(laid[near]) - _indent(before[near]))
        for line in after[len(edited) : kept[here]]:
            known = max((level for level in moves if level <= _indent(line)), default=min(moves, default=0))
            indent = max(0, _indent(line) + moves.get(known, 0)) if line.strip() else 0
            edited.append(" " * indent + line.lstrip(" ") + end)
        edited += laid[here : here + 1]
        i = here + 1
    return _with_indicators(before, laid), _with_indicators(after, edited)


def _with_indicators(lines: _Parts, laid: _Parts) -> _Parts:
    """``laid``, with correct indentation indicators (``|2``) of blocks that moved differently from their keys."""
    result = list(laid)
    body = 0  # the shift of the next line with words
    for i, (line, new) in reversed([*enumerate(zip(lines, laid, strict=True))]):
        if not line.strip():
            continue
        move = _indent(new) - _indent(line)
        found = _INDICATOR.search(new)
        digit = int(found[1]) + body - move if found else 0
        if found and 0 < digit < 10:
            result[i] = f"{new[: found.start(1)]}{digit}{new[found.end(1) :]}"
        body = move
    return result


def _between(line: str, other: str) -> str:
    """The words of a line with the surrounding spaces of the other one."""
    content = other.strip()
    start = other.index(content)
    return other[:start] + line.strip() + other[start + len(content) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _aligned(one: _Parts, other: _Parts) -> _Places:
    """Places of equal entries in both, including the ends."""
    blocks = SequenceMatcher(str.isspace, one, other).get_matching_blocks()
    return {i + step: j + step for i, j, size in blocks for step in range(size or 1)}


def _merge(texts: _Texts, kept: _Places, at: _Places, resolve: Callable[[_Texts], _Parts]) -> _Parts:
    """Merge entries: the change of either side, or the result of ``resolve`` if both changed the same place."""
    before, after, original = texts
    merged: list[str] = []
    i = j = k = 0
    for here in sorted(kept.keys() & at.keys()):
        part = before[i:here], after[j : kept[here]], original[k : at[here]]
        i, j, k = here + 1, kept[here] + 1, at[here] + 1
        chosen = _choose(*part)
        merged += resolve(part) if chosen is None else chosen
        merged += original[k - 1 : k]
    return merged


def _choose(before: _Parts, after: _Parts, original: _Parts) -> _Parts | None:
    """The change of one side; ``None`` if both changed."""
    if after == original:
        return original
    for one, other in ((original, after), (after, original)):
        # The changes do not overlap.
        kept = _common(before, other)
        if kept + _common(before[::-1], one[::-1]) >= len(before):
            return [*one[: len(one) - len(before) + kept], *other[kept:]]
    if not len(before) == len(after) == len(original):
        return None
    # Each entry is changed by at most one side, such as spaces around a word.
    triples = list(zip(before, after, original, strict=True))
    if any(old not in (new, there) and new != there for old, new, there in triples):
        return None
    return [there if old == new else new for old, new, there in triples]


def _common(one: _Parts, other: _Parts) -> int:
    """The number of equal entries at the start."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (mine, theirs) in enumerate(pairs) if mine != theirs), min(len(one), len(other)))


def _merge_words(texts: _Texts) -> _Parts:
    words = [_WORDS.findall("\n".join(lines)) for lines in texts]
    if sum(map(len, words)) > _MOST_WORDS:
        return texts[1]
    base, edited, original = words
    merged = _merge((base, edited, original), _aligned(base, edited), _aligned(base, original), lambda part: part[1])
    return "".join(merged).split("\n")
