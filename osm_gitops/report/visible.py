"""Text that is safe to show on a terminal, and tables of it. Every start imports this module, so it imports little."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

# Control characters act on a terminal and break lines of reports. Lone surrogates cannot be encoded, except those with
# which Python represents bytes of file names.
_CONTROL = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udc7f\udd00-\udfff]"
)


def visible(text: str) -> str:
    """A text with its control characters escaped, so it stays on its line and does not control a terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def many(number: int, noun: str) -> str:
    """A number with its noun: ``1 pool``, ``2 pools``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Rows as lines with aligned columns; the last cell of a row is not padded."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """An empty line, a title, and the indented lines; nothing if there are no lines."""
    inside = list(lines)
    if inside:
        yield ""
        yield title
        yield from (f"  {line}" for line in inside)
