"""List the simple commands of a script in the order of its text: each with its words, and what decides whether it runs.

Quicker than following all paths (``osm_gitops.shell.follow``); a statement that many scripts share is listed once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from osm_gitops.shell.state import State, clean, unknown
from osm_gitops.shell.statements import (
    MOST_COMMANDS,
    MOST_NESTED,
    MOST_WORK,
    Arrays,
    Pairs,
    SimpleCommand,
    listed_statement,
)
from osm_gitops.shell.syntax import Node, is_deeper, line_of, parse, text_of

__all__ = ["Listing", "SimpleCommand", "simple_commands"]

_LARGEST: Final = 1 << 19


@dataclass(frozen=True, slots=True)
class Listing:
    """The commands of a script. ``functions`` are those that it defines; it is not ``complete`` if it is too large.
    ``unreachable`` is the first line behind an ``exit`` or ``exec`` that always runs; 0 if there is none."""

    commands: tuple[SimpleCommand, ...] = ()
    functions: frozenset[str] = frozenset()
    complete: bool = True
    unreachable: int = 0
    by_name: Mapping[str, Sequence[SimpleCommand]] = field(default_factory=dict, compare=False)


@lru_cache(maxsize=512)
def simple_commands(text: str) -> Listing:
    """The commands of a script. Scripts of many pools consist of the same statements, so these are listed once."""
    if len(text) > _LARGEST:
        return Listing(complete=False)
    root = parse(clean(text))
    if is_deeper(root, MOST_NESTED):
        return Listing(complete=False)
    script = _Script()
    complete = all(map(script.add, [root] if root.has_error else root.children))
    by_name: dict[str, list[SimpleCommand]] = {}
    for command in script.found:
        by_name.setdefault(command.name, []).append(command)
    unreachable = 0 if root.has_error else _unreachable(root)
    return Listing(tuple(script.found), frozenset(script.functions), complete, unreachable, by_name)


_ENDING: Final = re.compile(r"exit(?:\s.*)?|exec\s+[^\s<>&0-9{].*", re.DOTALL)


def _unreachable(root: Node) -> int:
    statements = [node for node in root.children if node.is_named and node.type not in _NO_STATEMENTS]
    for node, following in pairwise(statements):
        if node.type == "command" and _ENDING.fullmatch(text_of(node)):
            return line_of(following)
    return 0


_NO_STATEMENTS: Final = frozenset({"comment", "function_definition"})


@dataclass(slots=True)
class _Script:
    """A script so far: what its statements run, and what they leave to the next ones. ``functions`` have the text of
    their definition and its line."""

    found: list[SimpleCommand] = field(default_factory=list)
    functions: dict[str, tuple[str, int]] = field(default_factory=dict)
    _state: State = field(default_factory=lambda: State(arguments=(unknown("$@"),)))
    _work: int = 0

    def add(self, node: Node) -> bool:
        """Add a statement; return whether it and the script are small enough."""
        if not node.is_named or node.type == "comment":
            return True
        first, text = line_of(node), text_of(node)
        variables, arrays, functions = self._used(text)
        listed = listed_statement(text, variables, arrays, self._state.arguments, functions)
        for command, function in listed.found:
            before = (self.functions[function][1] if function else first) - 1
            line, called = command.line + before, command.called + first - 1
            self.found.append(replace(command, line=line, called=called if function or command.called else line))
        self.functions |= {name: (body, line + first - 1) for name, body, line in listed.functions}
        left = {name: value for name, value in self._state.variables.items() if name not in listed.unset}
        self._state = replace(
            self._state,
            variables={**left, **dict(listed.variables)},
            arrays={**self._state.arrays, **dict(listed.arrays)},
            arguments=listed.arguments,
        )
        self._work += listed.work
        return listed.complete and self._work <= MOST_WORK and len(self.found) <= MOST_COMMANDS

    def _used(self, text: str) -> tuple[Pairs, Arrays, Pairs]:
        """The variables, arrays and functions that a statement may use, also in functions that it calls."""
        names, waiting = {"PWD"}, [text]
        while waiting:
            for name in _names(waiting.pop()) - names:
                names.add(name)
                if name in self.functions:
                    waiting.append(self.functions[name][0])
                if name in self._state.variables:
                    waiting.append(self._state.variables[name])
        variables = tuple((name, value) for name, value in self._state.variables.items() if name in names)
        arrays = tuple((name, value) for name, value in self._state.arrays.items() if name in names)
        functions = tuple((name, value[0]) for name, value in self.functions.items() if name in names)
        return variables, arrays, functions


@lru_cache(maxsize=4096)
def _names(text: str) -> frozenset[str]:
    """The words of a text that may be names of variables and functions."""
    return frozenset(re.findall(r"[\w-]+", text)) | frozenset(re.findall(r"\w+", text))
