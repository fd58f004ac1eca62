"""Jinja2's operators with bounds: no text, list or number grows without end."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from jinja2 import Undefined

from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.faults import BoundExceeded, TemplateFault
from osm_gitops.gotemplate.printing import to_text
from osm_gitops.gotemplate.values import Pointer, go_type
from osm_gitops.gotemplate.weighing import new_bytes

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_LARGEST: Final = 1 << 63


def apply(symbol: str, left: Any, right: Any) -> Any:
    """``left symbol right`` for numbers, and ``+`` and ``*`` for texts and lists."""
    left, right = plain(left), plain(right)
    if _is_number(left) and _is_number(right):
        return _calculated(symbol, left, right)
    if symbol == "+" and _joinable(left, right):
        _check(len(left) + len(right), left)
        return _made(left + right)
    if symbol == "*" and isinstance(left, str | list) and _is_number(right):
        _check(len(left) * max(int(right), 0), left)
        return _made(left * right)
    raise TemplateFault(f"{symbol} does not work on values of the types {go_type(left)} and {go_type(right)}")


def plain(value: Any) -> Any:
    """What a pointer points to; other values as they are."""
    while isinstance(value, Pointer):
        value = value.elem
    return value


def join(*values: Any) -> str:
    """``~``: the printed values side by side."""
    texts = [to_text(each) for each in values]
    size = sum(map(len, texts))
    _check(size, "")
    return str(_made("".join(texts)))


def part(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """``value[start:stop:step]``."""
    if isinstance(value, Undefined):
        return value[start:stop:step]  # raises what it says about itself
    if not isinstance(value, str | list | tuple):
        raise TemplateFault(f"a value of the type {go_type(value)} has no parts that [:] could take")
    _check(len(value), value)
    return _made(value[start:stop:step])


def _check(length: int, like: Any) -> None:
    """Count a text or list of ``length`` before it is made: its size, and the time that copying takes."""
    spent = budget()
    spent.size(length)
    spent.step(length >> (12 if isinstance(like, str) else 8))


def _made(value: Any) -> Any:
    budget().make(new_bytes(value))
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _joinable(left: Any, right: Any) -> bool:
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in (str, list))


def _calculated(symbol: str, left: Any, right: Any) -> Any:
    if symbol == "**" and (abs(right) > 64 or abs(left) >= _LARGEST):
        raise BoundExceeded("the power would be a number of more than 64 bits")
    try:
        result = OPERATORS[symbol](left, right)
    except ZeroDivisionError:
        raise TemplateFault("division by zero") from None
    if isinstance(result, int) and not -_LARGEST <= result < _LARGEST:
        raise BoundExceeded("the result is a number of more than 64 bits")
    if isinstance(result, complex):
        raise TemplateFault("the root of a negative number")
    return result
