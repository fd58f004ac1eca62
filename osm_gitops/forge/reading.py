"""Values of answers, whatever a server sends: a missing or strange one is an empty one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from osm_gitops.errors import Code, ForgeError, Problem
from osm_gitops.forge.forge import Comment, PullRequest

Json = Any


def text(body: Json, key: str) -> str:
    """A text of a mapping, or an empty one."""
    value = body.get(key) if isinstance(body, Mapping) else None
    return value if isinstance(value, str) else ""


def number(body: Json, key: str) -> int:
    """The number by which later requests name an object. Raises ForgeError if there is none."""
    value = body.get(key) if isinstance(body, Mapping) else None
    if not isinstance(value, int) or isinstance(value, bool):
        what = f"the answer of the forge has no {key}"
        fix = "Check --forge and --forge-api: this is not the API of that forge"
        raise ForgeError([Problem(Code.NOT_A_FORGE, what, fix=fix)])
    return value


def mappings(values: Json) -> Iterator[Mapping[str, Json]]:
    """The mappings of a list."""
    for each in values if isinstance(values, Iterable) and not isinstance(values, str | Mapping) else ():
        if isinstance(each, Mapping):
            yield each


def named(values: Json, *path: str) -> frozenset[str]:
    """The names that mappings of a list have at ``path``."""
    found = set()
    for each in mappings(values):
        value: Json = each
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, str) and value:
            found.add(value)
    return frozenset(found)


def comment_of(body: Json, author: str, name: str) -> Comment:
    """A comment whose ``author`` is a mapping with a ``name``."""
    return Comment(number(body, "id"), text(body.get(author), name), text(body, "body"))


def first_match(requests: Iterable[PullRequest]) -> PullRequest | None:
    """The open one of pull requests that are sorted from the newest to the oldest, else the first."""
    found = list(requests)
    return next((each for each in found if each.is_open), found[0] if found else None)


def split_draft(title: str, prefixes: Iterable[str]) -> tuple[str, str]:
    """The prefix that marks a draft, if the title has one, and the rest of the title."""
    for prefix in prefixes:
        if title.lower().startswith(prefix.lower()):
            rest = title[len(prefix) :].lstrip()
            return title[: len(title) - len(rest)], rest
    return "", title
