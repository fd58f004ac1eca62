"""How much a template may use, and how much values take (design.md, "Success and refusal").

Work is counted in steps, memory in bytes made. Both are counted by what a template does, never by what happens to be
cached, so that the same template with the same data meets a bound always or never. Comparing, sorting, hashing and
printing walk through values: a list that holds another list twice is walked through twice there, and counts so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from osm_gitops.gotemplate.faults import BoundExceeded
from osm_gitops.gotemplate.values import IntList, Pointer, StringList, Struct, members

MADE_PER_OUTPUT: Final = 128
"""Bytes that one rendering may make in all, for each byte that it may print."""
TOKENS: Final = 64_000
"""Words and signs of one template: 50 times what the largest known profile has. Compiling takes 3 KB for each."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits per MachineDeployment and file; every one can be raised by a setting."""

    output_bytes: int = 1 << 20
    loop_steps: int = 1_000_000
    depth: int = 1_000

    @property
    def made_bytes(self) -> int:
        return self.output_bytes * MADE_PER_OUTPUT


class Budget:
    """What one rendering has used so far. A fleet has tens of thousands of renderings, so little is set for each."""

    steps = 0
    made = 0
    depth = 0

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._most_steps = bounds.loop_steps
        self._most_made = bounds.output_bytes * MADE_PER_OUTPUT

    @cached_property
    def modules(self) -> dict[Any, Any]:
        """The templates that it has imported."""
        return {}

    def step(self, count: int = 1) -> None:
        """Count loop steps, of at most a few microseconds each; call before the work is done."""
        self.steps += count
        if self.steps > self._most_steps:
            raise BoundExceeded(
                f"it takes more than {self.bounds.loop_steps} loop steps; "
                "make the loop shorter, or raise --max-loop-steps"
            )

    @contextmanager
    def level(self) -> Iterator[None]:
        """Count a template that is called inside of another."""
        self.step()
        self.depth += 1
        if self.depth > self.bounds.depth:
            raise BoundExceeded(f"templates call each other more than {self.bounds.depth} levels deep")
        try:
            yield
        finally:
            self.depth -= 1

    def size(self, count: int) -> None:
        """Refuse a text or list of ``count`` bytes or elements; call before it is made."""
        if count > self.bounds.output_bytes:
            raise BoundExceeded(
                f"it would make a value of more than {self.bounds.output_bytes} bytes; "
                "make it smaller, or raise --max-output-bytes"
            )

    def make(self, count: int) -> None:
        """Count bytes of new values, which a template may hold to its end."""
        self.made += count
        if self.made > self._most_made:
            raise BoundExceeded(
                f"its values take more than {self._most_made} bytes in all; "
                "make them smaller or fewer, or raise --max-output-bytes"
            )

    def text(self, text: str) -> str:
        """Count and return a new text."""
        self.size(len(text))
        self.make(text_bytes(text))
        return text


LIST_BYTES: Final = 64
ITEM_BYTES: Final = 8
NUMBER_BYTES: Final = 40
MEMBER_BYTES: Final = 104


def text_bytes(text: str) -> int:
    """Memory of a text, at most."""
    return 64 + (len(text) if text.isascii() else 4 * len(text))


_CURRENT: ContextVar[Budget] = ContextVar("budget")


def budget() -> Budget:
    """The budget of the rendering under way; outside of one, a fresh default budget."""
    return _CURRENT.get(None) or Budget(Bounds())


class Spending:
    """Makes a fresh budget current for the rendering inside the ``with`` block. A class, because a generator takes as
    long as a small template."""

    __slots__ = ("_budget", "_token")

    def __init__(self, allowed: Bounds) -> None:
        self._budget = Budget(allowed)

    def __enter__(self) -> Budget:
        self._token = _CURRENT.set(self._budget)
        return self._budget

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


_DEEPEST: Final = 1_000
_CHARS: Final = 6
"""Binary logarithm of the characters that count as one element."""
_PER_STEP: Final = 3
_OPEN: Final = -1


def weigh(value: Any) -> int:
    """Elements of ``value`` all the way down, long texts as several. Raises BoundExceeded for what holds itself."""
    if isinstance(value, str):
        return len(value) >> _CHARS
    if isinstance(value, list | dict | tuple | Struct | Pointer):
        return _expanded(value, {}, 0)
    return 0


def compared(*values: Any) -> None:
    """Count steps for comparing, hashing or walking through values; call before Python does it."""
    weight = 0
    for value in values:
        weight += weigh(value)
    if weight >> _PER_STEP:
        budget().step(weight >> _PER_STEP)


def _expanded(value: Any, known: dict[int, int], depth: int) -> int:
    key = id(value)
    found = known.get(key)
    if found is not None:
        if found == _OPEN:
            raise BoundExceeded("a value holds itself, so it has no end; make it flatter")
        return found
    if depth > _DEEPEST:
        raise BoundExceeded(f"a value is nested more than {_DEEPEST} deep; make it flatter")
    known[key] = _OPEN
    total = 1
    for each in _parts(value):
        total += 1
        if isinstance(each, str):
            total += len(each) >> _CHARS
        elif isinstance(each, list | dict | tuple | Struct | Pointer):
            total += _expanded(each, known, depth + 1)
    known[key] = total
    return total


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return (*value, *value.values())
    if isinstance(value, list):
        return members(value)
    if isinstance(value, Pointer):
        return (value.elem,)
    if isinstance(value, Struct):
        return [getattr(value, name) for name in value.field_names()]
    return value  # type: ignore[no-any-return]


def new_bytes(value: Any) -> int:
    """Memory of a new value itself; of a list of texts or numbers with its elements, which are as new."""
    if isinstance(value, str):
        return text_bytes(value)
    if isinstance(value, list):
        if isinstance(value, StringList):
            return LIST_BYTES + sum(map(text_bytes, members(value)))
        return LIST_BYTES + len(value) * (NUMBER_BYTES if isinstance(value, IntList) else ITEM_BYTES)
    if isinstance(value, dict):
        return LIST_BYTES + len(value) * MEMBER_BYTES
    if isinstance(value, tuple):
        return LIST_BYTES + len(value) * ITEM_BYTES
    return LIST_BYTES
