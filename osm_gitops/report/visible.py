"""Texts that may be shown, whatever they hold. What ends every start needs it, so it comes with nothing else."""

from __future__ import annotations

import re

# Control characters would act on a terminal, and break the lines of any other report. Half surrogate pairs cannot be
# written at all, but for those that Python has in the place of bytes of file names.
_CONTROL = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udc7f\udd00-\udfff]"
)


def visible(text: str) -> str:
    """A text whose control characters are written out, so it stays on its line and acts on no terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
