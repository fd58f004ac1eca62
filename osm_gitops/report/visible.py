"""Text that may be shown on a terminal, whatever it holds, and columns of it. Every start imports this module, so it
imports nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

# Control characters would act on a terminal, and break the lines of any other report. Half surrogate pairs cannot be
# written at all, but for those that Python has in the place of bytes of file names.
_CONTROL = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udc7f\udd00-\udfff]"
)


def visible(text: str) -> str:
    """A text whose control characters are written out, so it stays on its line and acts on no terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


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
