"""Texts of profiles, and what they are compiled into, as bytes that another process or a later run can load.

Apart from the engine: a run finds out what to ask for without importing Jinja2.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Final, NamedTuple

JINJA: Final = re.compile(r"\{[{%#]|\r")
"""What Jinja2 acts on; it makes a bare line feed of other line ends."""


class TextSource(NamedTuple):
    """All that a compiled text depends on. ``snippets`` are the names of templates that a Go file may print."""

    name: str
    text: str
    snippets: tuple[str, ...] = ()
    jinja: bool = False


Compiled = Mapping[TextSource, bytes]
"""Compiled texts, as :meth:`CompiledText.saved` gives them."""


@dataclass(frozen=True, slots=True)
class CompiledText:
    """``lines`` maps lines of a translated text to lines of its Go template. ``reads`` are the data's fields that it
    may use, ``includes`` its snippets, ``defines`` the names of templates that a Go text has."""

    code: CodeType
    lines: Mapping[int, int]
    reads: frozenset[str]
    includes: frozenset[str]
    defines: tuple[str, ...] = ()

    def saved(self) -> bytes:
        """The text as bytes for the same version of Python, and of this program."""
        return marshal.dumps((self.code, dict(self.lines), self.reads, self.includes, self.defines))

    @classmethod
    def load(cls, saved: bytes) -> CompiledText:
        """What was saved. It is code: ``saved`` has to come from :meth:`saved`, by a way that nobody else can write
        to."""
        return cls(*marshal.loads(saved))  # noqa: S302 - see above


def texts_to_compile(
    templates: Mapping[str, str], files: Sequence[tuple[str, str]], *, jinja: bool
) -> Iterator[TextSource]:
    """The texts of one half that are more than text: ``templates`` by name, ``files`` as path and text."""
    names = () if jinja else tuple(templates)
    everything = (*((name, text, ()) for name, text in templates.items()), *((*file, names) for file in files))
    for name, text, snippets in everything:
        if JINJA.search(text) if jinja else "{{" in text:
            yield TextSource(name, text, snippets, jinja)
