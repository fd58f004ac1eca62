"""Columns of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Rows as lines whose cells stand below each other; the last cell of a row is as wide as it is."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A title with lines below it after an empty line; nothing where there are no lines."""
    inside = list(lines)
    if inside:
        yield ""
        yield title
        yield from (f"  {line}" for line in inside)
