"""Lines of fields, computed when an error message needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

import yaml
from yaml.events import (
    CollectionStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
)

MOST_PATHS: Final = 32 << 20
"""Approximate memory limit for the paths of a text, in bytes: each path repeats its parents."""
_ENTRY: Final = 64


class Lines(Mapping[str, int]):
    """Field path → line (1-based) of a YAML text whose first line is number ``offset + 1`` of its file.

    The text is read on first use. Paths look like ``spec.files[0].path``; the line of an entry is that of its key;
    ``PATH|`` is the first line of a literal block's text. Fields after a syntax error, or beyond :data:`MOST_PATHS`,
    have no lines.
    """

    IS_DATA: ClassVar = True  # for answers of workers
    __slots__ = ("_found", "_offset", "_text")

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._found: dict[str, int] | None = None

    def __getitem__(self, path: str) -> int:
        return self._all()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, int]:
        if self._found is None:
            self._found = {}
            walk = _Walk(yaml.CSafeLoader(self._text), self._offset + 1, self._found)
            try:
                walk.document()
            except (yaml.YAMLError, _TooManyPaths):
                return self._found
        return self._found


class _TooManyPaths(Exception):
    """The paths take too much memory."""


class _Walk:
    __slots__ = ("first", "found", "left", "next")

    def __init__(self, parser: yaml.CSafeLoader, first: int, found: dict[str, int]) -> None:
        self.next: Any = parser.get_event
        self.first = first
        self.found = found
        self.left = MOST_PATHS

    def add(self, path: str, line: int) -> None:
        self.left -= len(path) + _ENTRY
        if self.left < 0:
            raise _TooManyPaths
        self.found[path] = line

    def document(self) -> None:
        event = self.next()
        while event is not None and not isinstance(event, CollectionStartEvent):
            event = self.next()
        if event is not None:
            self.collection(event, "")

    def collection(self, start: Any, path: str) -> None:
        if isinstance(start, MappingStartEvent):
            self.mapping(path)
        else:
            self.sequence(path)

    def mapping(self, path: str) -> None:
        while not isinstance(key := self.next(), MappingEndEvent):
            name = key.value if isinstance(key, ScalarEvent) else ""
            field = f"{path}.{name}" if path else name
            self.add(field, key.start_mark.line + self.first)
            if isinstance(key, CollectionStartEvent):
                self.collection(key, field)
            self.value(self.next(), field)

    def sequence(self, path: str) -> None:
        index = 0
        while not isinstance(event := self.next(), SequenceEndEvent):
            field = f"{path}[{index}]"
            self.add(field, event.start_mark.line + self.first)
            self.value(event, field)
            index += 1

    def value(self, event: Any, path: str) -> None:
        if isinstance(event, CollectionStartEvent):
            self.collection(event, path)
        elif getattr(event, "style", None) == "|":
            self.add(f"{path}|", event.start_mark.line + self.first + 1)
