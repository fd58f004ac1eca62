"""What is known while a script is followed, and what comes out of it.

An unknown part stands in a text between two characters for private use, as the shell wrote it: so texts are joined,
cut and compared as texts, and what is unknown stays visible to the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.shell.syntax import Node

_OPEN: Final = "\ue000"
_CLOSE: Final = "\ue001"
_PART: Final = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_MARKS: Final = str.maketrans("", "", _OPEN + _CLOSE)


def clean(text: str) -> str:
    """A text from outside, which may not bring marks."""
    return text.translate(_MARKS)


def unknown(shown: str) -> str:
    """A part that is not known, to be shown like this."""
    return f"{_OPEN}{shown.translate(_MARKS)}{_CLOSE}"


def is_known(text: str) -> bool:
    """Whether all of it is known."""
    return _OPEN not in text


def shown(text: str) -> str:
    """The text for people, with unknown parts as the shell wrote them."""
    return _PART.sub(r"\1", text)


def unknown_parts(text: str) -> tuple[str, ...]:
    """What is unknown in it."""
    return tuple(dict.fromkeys(_PART.findall(text)))


def known_length(text: str) -> int:
    """How much of it is certain to be there."""
    return len(_PART.sub("", text))


def fields(text: str) -> list[str]:
    """The text split at blanks as the shell splits words; an unknown part is one piece."""
    pieces: list[str] = []
    current = ""
    for index, part in enumerate(re.split(f"({_OPEN}[^{_CLOSE}]*{_CLOSE})", text)):
        if index % 2:
            current += part
            continue
        words = part.split()
        if part[:1].isspace() and current:
            pieces.append(current)
            current = ""
        for number, word in enumerate(words):
            if number:
                pieces.append(current)
                current = ""
            current += word
        if part[-1:].isspace() and current:
            pieces.append(current)
            current = ""
    return [*pieces, current] if current else pieces


DEEPEST: Final = 16
"""How deep scripts and functions may call each other."""

LONGEST: Final = 1 << 16
"""The longest text that is known, in characters."""
_TOO_LONG: Final = "a text that is too long"


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that would run, in line ``line`` (from 1 on) of the file ``path``; ``given`` is its standard input,
    where that is known."""

    words: tuple[str, ...]
    path: str
    line: int
    given: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A text that would be written into the file ``target``."""

    target: str
    text: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Where the script could not be followed, and why, as a clause."""

    why: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Host:
    """What is known of the machine: ``files`` by path, what commands answer by their words, and the variables that
    files which are not rendered set (``/etc/os-release``) by path."""

    files: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    sourced: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the interpreter is: in which file, how deep in calls. ``shift`` is the line before the text's first;
    ``called_from`` the path and line of the outermost call of a function that led here: there the words stand that
    tell what is meant."""

    path: str
    depth: int = 0
    shift: int = 0
    called_from: tuple[str, int] | None = None

    def spot(self, line: int) -> tuple[str, int]:
        """The path and line to tell people for a line of the text."""
        return self.called_from or (self.path, line + self.shift)


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and the place that it was defined in."""

    body: Node
    place: Place


def bounded(text: str) -> str:
    """The text, or an unknown one in the place of what no boot script needs."""
    return text if len(text) <= LONGEST else too_long()


def too_long() -> str:
    """What stands for a text that is longer than :data:`LONGEST`."""
    return unknown(_TOO_LONG)


def joined(parts: Iterable[str]) -> str:
    """The parts as one text; beyond what is kept none is made any more."""
    kept: list[str] = []
    left = LONGEST
    for part in parts:
        left -= len(part)
        if left < 0:
            return too_long()
        kept.append(part)
    return "".join(kept)


@dataclass(frozen=True, slots=True)
class State:
    """One way in which things may stand. ``status`` is how the last command ended, ``None`` where that is not known;
    ``exported`` are the variables that commands get;
    ``flow`` is what is being left (``return``, ``break``, ``exit``); ``out`` is what was printed so far while
    ``captured``, ``given`` the standard input if it is known."""

    variables: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    exported: frozenset[str] = frozenset()
    functions: Mapping[str, Function] = field(default_factory=dict)
    status: bool | None = None
    flow: str = ""
    out: str = ""
    captured: bool = False
    given: str | None = None

    def set(self, name: str, value: str) -> State:
        """With a variable set."""
        return replace(self, variables={**self.variables, name: bounded(value)})

    def export(self, names: Iterable[str]) -> State:
        """With variables that commands get too."""
        return replace(self, exported=self.exported | set(names))

    def for_command(self) -> State:
        """What a command that is started has of it."""
        handed = {name: value for name, value in self.variables.items() if name in self.exported}
        return replace(self, variables=handed, arrays={}, functions={}, flow="", status=None)

    def ended(self, *, ok: bool | None) -> State:
        """After a command that ended well, badly, or nobody knows how."""
        return replace(self, status=ok)

    def printed(self, text: str) -> State:
        """After a command that printed this, and ended well."""
        return replace(self, status=True, out=bounded(self.out + text) if self.captured else "")

    @property
    def size(self) -> int:
        """How much there is to copy and compare."""
        return len(self.variables) + len(self.arrays) + len(self.functions) + len(self.arguments)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for states that go on alike."""
        return (
            tuple(sorted(self.variables.items())),
            tuple(sorted(self.arrays.items())),
            self.arguments,
            self.exported,
            tuple(sorted((name, function.body.id) for name, function in self.functions.items())),
            self.status,
            self.flow,
            self.out,
            self.given,
        )
