"""OSM's spelling of flags, converted to ours, so that args can be copied from its Deployment (design.md, "Settings of
a command")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from osm_gitops.config.setting_names import (
    CONNECTION_FLAGS,
    LOG_FORMAT_FLAG,
    PASSED_OVER,
    PASSED_OVER_BOOLEANS,
    SETTINGS_BY_FLAG,
    Kind,
)
from osm_gitops.errors import Code, InputError, Problem, closest
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import parse_bool

_FLAG: Final = re.compile(r"(--?)([a-z][a-z0-9-]*)(?:=(.*))?", re.DOTALL)
_ANY_FLAG: Final = re.compile(r"--?([^-=][^=]*)(?:=(.*))?", re.DOTALL)
_SHORTEST_MISSPELT: Final = 4  # shorter ones may be groups of our one-letter options
_SETTINGS: Final = frozenset(SETTINGS_BY_FLAG)
_BOOLEANS: Final = PASSED_OVER_BOOLEANS | {name for name in _SETTINGS if SETTINGS_BY_FLAG[name].kind is Kind.BOOLEAN}
_KNOWN: Final = _SETTINGS | frozenset(PASSED_OVER) | frozenset((*CONNECTION_FLAGS, LOG_FORMAT_FLAG))
_LOG_FORMATS: Final = {"console": "text"}  # OSM's value → ours


@dataclass(frozen=True, slots=True)
class NormalisedArguments:
    """A command line in our spelling, and a note for each ignored flag."""

    args: tuple[str, ...]
    notes: tuple[str, ...] = ()


def normalise_arguments(args: Sequence[str]) -> NormalisedArguments:
    """Convert OSM's flags among ``args`` to ours; everything else does not change.

    ``-cluster-dns=10.0.0.1`` becomes ``--cluster-dns 10.0.0.1``, ``-external-cloud-provider=f`` becomes
    ``--no-external-cloud-provider``, ignored flags become notes. Raises InputError for what Go's parser refuses, or
    at which it silently stops.
    """
    normaliser = _Normaliser(iter(args))
    normaliser.read()
    if normaliser.problems:
        raise InputError(normaliser.problems)
    return NormalisedArguments(tuple(normaliser.args), tuple(normaliser.notes))


@dataclass(frozen=True, slots=True)
class GivenFlag:
    """A flag as Go's parser reads it; ``at`` is the index of the argument with its value."""

    name: str
    value: str | bool
    at: int


def read_command_line(args: Sequence[str]) -> tuple[GivenFlag, ...]:
    """The flags among OSM's arguments, in order, unknown ones too.

    Raises InputError if Go's parser would refuse them, or silently stop (osm-behaviour.md, "Flags"). Problems contain
    no value, because it may come from a Secret.
    """
    found: list[GivenFlag] = []
    problems: list[Problem] = []
    at = 0
    while at < len(args):
        match = _ANY_FLAG.fullmatch(args[at])
        if match is None:
            problems.append(_end_of_flags(args, at, found[-1].name if found else ""))
            break
        name, value = match[1], match[2]
        if name in _BOOLEANS:
            found.append(GivenFlag(name, _boolean_of(name, value, problems), at))
        elif value is None and _has_value(args, at, name):
            at += 1
            found.append(GivenFlag(name, args[at], at))
        elif value is None and name in _KNOWN:
            problems.append(Problem(Code.INVALID_FLAG, f"-{name} is the last argument and has no value"))
        else:
            found.append(GivenFlag(name, True if value is None else value, at))
        at += 1
    if problems:
        raise InputError(problems)
    return tuple(found)


def _has_value(args: Sequence[str], at: int, name: str) -> bool:
    """Whether the next argument is the value of a flag; for an unknown flag a guess."""
    following = args[at + 1 : at + 2]
    return bool(following) and (name in _KNOWN or not following[0].startswith("-"))


def _boolean_of(name: str, value: str | None, problems: list[Problem]) -> bool:
    try:
        return value is None or parse_bool(value)
    except GoError:
        problems.append(
            Problem(Code.INVALID_FLAG, f"-{name} is neither true nor false", fix="Write true or false after the =")
        )
        return False


def _end_of_flags(args: Sequence[str], at: int, last: str) -> Problem:
    what = "an empty argument" if not args[at] else "an argument that is not a flag"
    behind = f" after -{last}" if last else ""
    ignored = len(args) - at - 1
    lost = f", and ignores the {ignored} after it" if ignored else ""
    return Problem(
        Code.FLAGS_END_EARLY,
        f"argument {at + 1}{behind} is {what}, where Operating System Manager stops reading flags{lost}",
        fix="First correct the arguments of its Deployment, and check what its machines get then",
    )


@dataclass(slots=True)
class _Normaliser:
    """One pass over the arguments; ``last`` is the flag of OSM directly before the current argument, if any."""

    rest: Iterator[str]
    args: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    last: str = ""

    def read(self) -> None:
        for argument in self.rest:
            last, self.last = self.last, ""
            match = _FLAG.fullmatch(argument)
            if argument == "--":
                self.args += [argument, *self.rest]
            elif match is not None and match[2] in _KNOWN:
                self.last = match[2]
                self._read_flag(match[2], match[3])
            elif last and _ends_flags(last, argument):
                self._refuse_end(last, argument)
            elif match is not None and match[1] == "-" and _closest(match[2]):
                self._refuse(Code.INVALID_FLAG, f"unknown flag -{match[2]}", f"Did you mean -{_closest(match[2])}?")
            else:
                self.args.append(argument)

    def _read_flag(self, name: str, value: str | None) -> None:
        if name in _BOOLEANS:
            given = [f"--{name}" if self._boolean(name, value) else f"--no-{name}"]
        else:
            given = [f"--{name}", *([value] if value is not None else islice(self.rest, 1))]
        if name == LOG_FORMAT_FLAG:
            given[1:] = [_LOG_FORMATS.get(each.lower(), each) for each in given[1:]]
        if name in PASSED_OVER:
            self.notes.append(f"-{name} is ignored: {PASSED_OVER[name]}")
        else:
            self.args += given

    def _boolean(self, name: str, value: str | None) -> bool:
        try:
            return value is None or parse_bool(value)
        except GoError:
            self._refuse(Code.INVALID_FLAG, f'-{name} cannot be "{value}"', "Write true or false after the =")
            return False

    def _refuse_end(self, name: str, argument: str) -> None:
        shown = f'"{argument}"' if argument else "an empty argument"
        fix = f"Write -{name}={argument}" if argument else "Remove it; a template may have left it there"
        self._refuse(
            Code.FLAGS_END_EARLY,
            f"-{name} is followed by {shown}, where Operating System Manager stops reading flags",
            fix,
        )

    def _refuse(self, code: Code, what: str, fix: str) -> None:
        self.problems.append(Problem(code, what, where="command line", fix=fix))


def _ends_flags(last: str, argument: str) -> bool:
    """Whether Go's parser would silently stop at an argument after flag ``last``."""
    if not argument:
        return True
    try:
        return last in _BOOLEANS and parse_bool(argument) in {True, False}
    except GoError:
        return False


def _closest(name: str) -> str:
    """The flag of OSM that is most similar to a word after one dash, or an empty text."""
    return closest(name, _KNOWN, 0.8) if len(name) >= _SHORTEST_MISSPELT else ""
