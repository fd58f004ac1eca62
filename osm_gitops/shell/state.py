"""The state of the interpreter, and its results.

An unknown part of a text is between two private-use characters, as the shell wrote it. So texts can be joined, cut and
compared as usual, and unknown parts stay visible.
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
    """A text from outside, without these characters."""
    return text.translate(_MARKS)


def unknown(shown: str) -> str:
    """An unknown part, and how to show it."""
    return f"{_OPEN}{shown.translate(_MARKS)}{_CLOSE}"


def is_known(text: str) -> bool:
    """Whether a text has no unknown part."""
    return _OPEN not in text


def shown(text: str) -> str:
    """The text to show, with unknown parts as the shell wrote them."""
    return _PART.sub(r"\1", text)


def unknown_parts(text: str) -> tuple[str, ...]:
    """The unknown parts of a text."""
    return tuple(dict.fromkeys(_PART.findall(text)))


def known_length(text: str) -> int:
    """The length of the known parts."""
    return len(_PART.sub("", text))


def fields(text: str) -> list[str]:
    """The text split at blanks, as the shell splits words; an unknown part is not split."""
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
"""The nesting of calls of scripts and functions."""

LONGEST: Final = 1 << 16
"""Longer texts become unknown, in characters."""
_TOO_LONG: Final = "a text that is too long"


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the script calls, in line ``line`` (from 1) of the file ``path``; ``given`` is its standard input,
    if known."""

    words: tuple[str, ...]
    path: str
    line: int
    given: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A text that the script writes into the file ``target``."""

    target: str
    text: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """A place where the script cannot be followed, and why."""

    why: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Host:
    """What is known of the machine: ``files`` by path, ``answers`` of commands by their words, and the variables that
    other files set (``/etc/os-release``), by path."""

    files: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    sourced: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """The position of the interpreter: the file, and the depth of calls. ``shift`` is the line before the text;
    ``called_from`` the path and line of the outermost call of a function, which has the arguments."""

    path: str
    depth: int = 0
    shift: int = 0
    called_from: tuple[str, int] | None = None

    def spot(self, line: int) -> tuple[str, int]:
        """The path and line to show for a line of the text."""
        return self.called_from or (self.path, line + self.shift)


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and the place of its definition."""

    body: Node
    place: Place


def bounded(text: str) -> str:
    """The text, or an unknown one if it is too long for a boot script."""
    return text if len(text) <= LONGEST else too_long()


def too_long() -> str:
    """The unknown text for one that is longer than :data:`LONGEST`."""
    return unknown(_TOO_LONG)


def joined(parts: Iterable[str]) -> str:
    """The parts as one text; stops at :data:`LONGEST`."""
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
    """One possible state. ``status`` is whether the last command succeeded, ``None`` if not known; ``exported`` are the
    variables that commands get; ``flow`` is a pending ``return``, ``break`` or ``exit``; ``out`` is the output so far
    while ``captured``; ``given`` is the standard input, if known."""

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
        """The state with a variable set."""
        return replace(self, variables={**self.variables, name: bounded(value)})

    def export(self, names: Iterable[str]) -> State:
        """The state with variables exported."""
        return replace(self, exported=self.exported | set(names))

    def for_command(self) -> State:
        """The state that a started command gets."""
        exported = {name: value for name, value in self.variables.items() if name in self.exported}
        return replace(self, variables=exported, arrays={}, functions={}, flow="", status=None)

    def ended(self, *, ok: bool | None) -> State:
        """The state after a command that succeeded, failed, or of which this is not known."""
        return replace(self, status=ok)

    def printed(self, text: str) -> State:
        """The state after a command that printed this and succeeded."""
        return replace(self, status=True, out=bounded(self.out + text) if self.captured else "")

    @property
    def size(self) -> int:
        """The number of entries to copy and compare."""
        return len(self.variables) + len(self.arrays) + len(self.functions) + len(self.arguments)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for states that continue in the same way."""
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
