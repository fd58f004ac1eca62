"""Unified diffs of the texts inside objects."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from difflib import Match, SequenceMatcher
from functools import lru_cache
from sys import intern
from typing import Final

from osm_gitops.model.plan import TextChange, TextDiff
from osm_gitops.model.profile import OVERLAY_BASE_ANNOTATION
from osm_gitops.plan.variants import alike_at_ends
from osm_gitops.render.manifests import ANNOTATIONS_HASH, TEMPLATE_DIGEST

# With more pairs of lines a comparison takes seconds.
_PAIRS = 4_000_000
# So does one with fewer pairs if too many are equal, in a text that repeats a few lines.
_EQUAL_PAIRS = 100_000
_NO_NEWLINE = "\\ No newline at end of file"
_Lines = tuple[str, ...]

DIGESTS: Final = (ANNOTATIONS_HASH, TEMPLATE_DIGEST, OVERLAY_BASE_ANNOTATION)
"""Annotations whose values are not readable; the reason of the change names them."""

_DIGEST_LINE: Final = re.compile(rf"annotations\.({'|'.join(map(re.escape, DIGESTS))}): .*")
_ONLY_DIGESTS: Final = "only digests changed"


def text_diff(change: TextChange, context: int = 3) -> TextDiff:
    """The diff of one text; ``state`` is ``changed``, ``new`` or ``gone``."""
    state = "new" if change.before is None else "gone" if change.after is None else "changed"
    before, after = change.before or "", change.after or ""
    if change.name == "metadata":
        context = 0  # the neighbours of a fact do not explain it
        before, after = _without_digests(before, after)
        if before == after:
            return TextDiff(change.name, state, (), 0, 0, _ONLY_DIGESTS)
    lines = _hunks(before, after, context)
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return TextDiff(change.name, state, lines, added, removed)


def _without_digests(before: str, after: str) -> tuple[str, str]:
    """Both texts of metadata without the digests that both have; a new or removed digest is shown."""
    both = _digests(before) & _digests(after)

    def kept(text: str) -> str:
        return "\n".join(line for line in text.split("\n") if _digest_of(line) not in both)

    return kept(before), kept(after)


def _digests(text: str) -> set[str]:
    return {_digest_of(line) for line in text.split("\n")} - {""}


def _digest_of(line: str) -> str:
    """The annotation of a line of metadata, if it is a digest."""
    found = _DIGEST_LINE.fullmatch(line)
    return found[1] if found else ""


# Pools often share a file and its change.
@lru_cache(maxsize=1024)
def _hunks(before: str, after: str, context: int) -> _Lines:
    # A missing newline at the end matters only if the other side has one.
    mark = before.endswith("\n") or after.endswith("\n")
    old, new = _split(before, mark=mark), _split(after, mark=mark)
    start, end = (max(0, alike - context) for alike in alike_at_ends(old, new))
    lines = changed_lines(old[start : len(old) - end], new[start : len(new) - end], context, start)
    return tuple(map(intern, lines))  # in texts that differ in names, the other lines are the same


def _split(text: str, *, mark: bool) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    if not last:
        return lines
    return [*lines, f"{last}\n{_NO_NEWLINE}" if mark else last]


def changed_lines(old: list[str], new: list[str], context: int, offset: int = 0) -> Iterator[str]:
    """Hunks in unified form. ``offset`` is the number of lines before ``old`` and ``new``, which both have."""
    for group in _Blocks(old, new).get_grouped_opcodes(context):
        _, old_start, _, new_start, _ = group[0]
        old_end, new_end = group[-1][2], group[-1][4]
        old_range = _range(offset + old_start, old_end - old_start)
        yield f"@@ -{old_range} +{_range(offset + new_start, new_end - new_start)} @@"
        for tag, first_old, last_old, first_new, last_new in group:
            if tag == "equal":
                yield from _marked(" ", old[first_old:last_old])
            else:
                yield from _marked("-", old[first_old:last_old])
                yield from _marked("+", new[first_new:last_new])


class _Blocks(SequenceMatcher[str]):
    """The lines that two texts share. Texts that take long to compare are first split at lines that are unique in both,
    as far as these have the same order; parts that still take long are shown one after the other."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__(None, (), (), autojunk=False)
        self._found: list[Match] = []
        for block in _shared_blocks(old, new):
            last = self._found[-1] if self._found else None
            if last is not None and (last.a + last.size, last.b + last.size) == (block.a, block.b):
                self._found[-1] = Match(last.a, last.b, last.size + block.size)
            else:
                self._found.append(block)
        self._found.append(Match(len(old), len(new), 0))

    def get_matching_blocks(self) -> list[Match]:
        return self._found


def _shared_blocks(old: list[str], new: list[str]) -> Iterator[Match]:
    if not _takes_long(old, new):
        yield from SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()[:-1]
        return
    old_at, new_at = 0, 0
    for old_next, new_next in [*_anchors(old, new), (len(old), len(new))]:
        old_part, new_part = old[old_at:old_next], new[new_at:new_next]
        if not _takes_long(old_part, new_part):
            for block in SequenceMatcher(None, old_part, new_part, autojunk=False).get_matching_blocks()[:-1]:
                yield Match(old_at + block.a, new_at + block.b, block.size)
        if old_next < len(old):
            yield Match(old_next, new_next, 1)
        old_at, new_at = old_next + 1, new_next + 1


def _takes_long(old: list[str], new: list[str]) -> bool:
    if len(old) * len(new) > _PAIRS:
        return True
    counts = Counter(new)
    return sum(count * counts[line] for line, count in Counter(old).items()) > _EQUAL_PAIRS


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """The positions of lines that are unique in both texts: the longest selection with the same order in both."""
    old_once = {line for line, count in Counter(old).items() if count == 1}
    places = {line: at for at, line in enumerate(new) if line in old_once}
    both = places.keys() & {line for line, count in Counter(new).items() if count == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if line in both]
    # The longest increasing subsequence: for each length the pair that ends the lowest such sequence.
    ends: list[int] = []  # of new, for bisection
    last: list[int] = []  # indices into pairs
    before: list[int] = []
    for index, (_, at) in enumerate(pairs):
        length = bisect_left(ends, at)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [at]
        last[length : length + 1] = [index]
    chosen = []
    index = last[-1] if last else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


def _range(start: int, length: int) -> str:
    # An empty range names the line before it, as in unified diffs.
    return f"{start + 1 if length else start},{length}" if length != 1 else str(start + 1)


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield from f"{mark}{line}".split("\n")
