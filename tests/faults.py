"""What tests say of problems: their codes and their places. The words are for people, and may change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from osm_gitops.errors import Code, InputError, Problem

_LINE: Final = re.compile(r"(?:Error|Warning): (.*) \[(OG[0-9]{4})\]")


def placed(problems: Iterable[Problem]) -> list[tuple[Code, str]]:
    """The code of each problem, and its place: file and line, object and field, as far as it names them."""
    return [(each.code, ": ".join(part for part in (each.where, each.about, each.field) if part)) for each in problems]


def told(stderr: str) -> list[tuple[Code, str]]:
    """The code and the sentence of each error and warning on stderr."""
    return [(Code(code), sentence) for sentence, code in _LINE.findall(stderr)]


@contextmanager
def refused(*codes: Code) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """An input is refused, with one problem of each of these codes."""
    with pytest.raises(InputError) as caught:
        yield caught
    assert tuple(problem.code for problem in caught.value.problems) == codes
