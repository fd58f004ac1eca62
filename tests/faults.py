"""What tests say of problems: their codes, their places and the values that they name. The words are for people, and
may change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar, overload

import pytest

from osm_gitops.errors import Code, InputError, OsmGitopsError, Problem

_Error = TypeVar("_Error", bound=OsmGitopsError)
_LINE: Final = re.compile(r"(?:Error|Warning): (.*) \[(OG[0-9]{4})\]")
_SHORT: Final = 3


class Expected:
    """Equals each problem of this code that names these places and values, and its line on stderr (:func:`told`)."""

    def __init__(self, code: Code, *names: object) -> None:
        self.code = code
        self.names = tuple(map(str, names))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Problem):
            code, sentence = other.code, other.sentence
        elif isinstance(other, tuple):
            code, sentence = other
        else:
            return NotImplemented
        return code is self.code and all(_names(sentence, name) for name in self.names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Expected({', '.join((self.code.name, *map(repr, self.names)))})"


def _names(sentence: str, name: str) -> bool:
    """Whether ``sentence`` has ``name``; short ones, such as a number, as a word of their own."""
    if len(name) > _SHORT or not name.isalnum():
        return name in sentence
    return re.search(rf"(?<![\w.]){name}(?!\w)", sentence) is not None


def placed(problems: Iterable[Problem]) -> list[tuple[Code, str]]:
    """The code of each problem, and its place: file and line, object and field, as far as it names them."""
    return [(each.code, ": ".join(part for part in (each.where, each.about, each.field) if part)) for each in problems]


def told(stderr: str) -> list[tuple[Code, str]]:
    """The code and the sentence of each error and warning on stderr."""
    return [(Code(code), sentence) for sentence, code in _LINE.findall(stderr)]


@overload
def refused(*faults: Code | Expected) -> AbstractContextManager[pytest.ExceptionInfo[InputError]]: ...


@overload
def refused(*faults: Code | Expected, kind: type[_Error]) -> AbstractContextManager[pytest.ExceptionInfo[_Error]]: ...


@contextmanager
def refused(*faults: Code | Expected, kind: type[OsmGitopsError] = InputError) -> Iterator[pytest.ExceptionInfo[Any]]:
    """An error of this kind, with one problem for each of these codes, in order."""
    with pytest.raises(kind) as caught:
        yield caught
    assert list(caught.value.problems) == [each if isinstance(each, Expected) else Expected(each) for each in faults]
