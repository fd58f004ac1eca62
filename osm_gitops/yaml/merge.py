"""Three-way merge of a text that a library has written twice, before and after an edit, into a person's original.

The layout that the library prefers (indentation, blanks, line ends) is no part of the edit. So both of its texts first
get the layout of the original's lines; then lines are merged, and words where lines conflict. Where words conflict too,
the edit wins: whether all comments are still there is for the caller to see.
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
"""Of lines that conflict: comparing them takes time that grows faster than their number."""


def merge_texts(base: str, after: str, original: str) -> str:
    """``original`` with what differs between ``base`` and ``after``.

    All three end with a line break.
    """
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
    """Whether all lines of ``original`` but these, counted from 0, are in ``text`` in the same order."""
    lines = iter(text.split("\n"))
    return all(line in lines for number, line in enumerate(original.split("\n")) if number not in changing)


def _laid_out(texts: _Texts, kept: _Places, at: _Places) -> tuple[_Parts, _Parts]:
    """The lines of base and edit with the layout of the original's; lines that the edit leaves are the original's."""
    before, after, original = texts
    laid = list(before)
    for i in range(len(before)):
        if i in at:
            laid[i] = original[at[i]] if i in kept else _between(before[i], original[at[i]])
    end = "\r" if any(line.endswith("\r") for line in original) else ""
    edited: list[str] = []
    i = 0
    for here in sorted(kept):
        # By how much lines of an indentation move: as those that they replace, else as their neighbours.
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
    """``laid``, with the indentation indicators of blocks (``|2``) whose lines have moved otherwise than their key."""
    result = list(laid)
    body = 0  # by how much the next line with words has moved
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
    """The words of a line with what is around those of the other one."""
    content = other.strip()
    start = other.index(content)
    return other[:start] + line.strip() + other[start + len(content) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _aligned(one: _Parts, other: _Parts) -> _Places:
    """Which entries are the same in both; the ends of both are."""
    blocks = SequenceMatcher(str.isspace, one, other).get_matching_blocks()
    return {i + step: j + step for i, j, size in blocks for step in range(size or 1)}


def _merge(texts: _Texts, kept: _Places, at: _Places, resolve: Callable[[_Texts], _Parts]) -> _Parts:
    """Where one of two has changed an entry, its change; where both have, what ``resolve`` makes of it."""
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
    """``None`` where both have changed the same."""
    if after == original:
        return original
    for one, other in ((original, after), (after, original)):
        # The change of the one ends where that of the other begins, or before.
        kept = _common(before, other)
        if kept + _common(before[::-1], one[::-1]) >= len(before):
            return [*one[: len(one) - len(before) + kept], *other[kept:]]
    if not len(before) == len(after) == len(original):
        return None
    # Of each entry at most one may have changed it, as where blanks are around a word.
    triples = list(zip(before, after, original, strict=True))
    if any(old not in (new, there) and new != there for old, new, there in triples):
        return None
    return [there if old == new else new for old, new, there in triples]


def _common(one: _Parts, other: _Parts) -> int:
    """How many entries both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (mine, theirs) in enumerate(pairs) if mine != theirs), min(len(one), len(other)))


def _merge_words(texts: _Texts) -> _Parts:
    words = [_WORDS.findall("\n".join(lines)) for lines in texts]
    if sum(map(len, words)) > _MOST_WORDS:
        return texts[1]
    base, edited, original = words
    merged = _merge((base, edited, original), _aligned(base, edited), _aligned(base, original), lambda part: part[1])
    return "".join(merged).split("\n")
