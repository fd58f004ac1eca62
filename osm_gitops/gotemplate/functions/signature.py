"""How a template function is declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GoFunction:
    """A function as a template sees it.

    ``params`` are Go's parameter types, separated by blanks, in Go's order (the subject
    last): ``string int int64 float64 bool any`` (interface {}), ``any[]`` ([]interface {}),
    ``string[]``, ``map`` (map[string]interface {}); a final ``…`` on the last one makes it
    variadic (``any…``). ``call`` takes the arguments in that order, already checked and
    converted: a pointer that had to be dereferenced is, a missing value is ``None``.
    ``mutates`` marks functions that change an argument (``set``), whose calls must stay in
    Go's order of evaluation. ``returns`` is Go's result type where it is always the same
    and never absent (``string``, ``bool``, ``int``, ``int64``, ``float64``), else empty.
    """

    name: str
    params: str
    call: Callable[..., Any]
    returns: str = ""
    mutates: bool = False

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(part.removesuffix("…") for part in self.params.split())

    @property
    def variadic(self) -> bool:
        return self.params.endswith("…")
