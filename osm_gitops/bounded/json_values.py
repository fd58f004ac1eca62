"""Parse JSON of servers, programs and files strictly, with a limit of nesting."""

from __future__ import annotations

import json
import re
from math import isinf
from typing import Any, Final, NoReturn

Json = Any

DEEPEST: Final = 150
"""Limit of nesting. Manifests have at most 100; servers add managed fields."""

_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: bytes | str, deepest: int = DEEPEST) -> Json:
    """The value of a JSON text. Raises ValueError with a message that follows the subject ("is not JSON").

    Refused are text that is not UTF-8, NaN and infinite numbers, lone surrogates, and nesting deeper than ``deepest``.
    The caller limits the length.
    """
    try:
        plain = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    too_deep = f"is nested more than {deepest} deep"
    try:
        value = json.loads(plain, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError(too_deep) from None
    except ValueError:
        raise ValueError("is not JSON") from None
    if plain.count("{") + plain.count("[") > deepest and _is_deeper(value, deepest):
        raise ValueError(too_deep)
    if _HALF.search(plain) and not _is_text(value):
        raise ValueError("contains a lone surrogate (\\ud800 to \\udfff)")
    return value


def _is_deeper(value: Json, deepest: int) -> bool:
    level = [value]
    for _ in range(deepest + 1):
        level = [inner for each in level for inner in _inside(each) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def line_of_fault(error: ValueError | RecursionError, text: str) -> int:
    """The line (from 1) of a JSON syntax error, the same on each version of Python.

    For a trailing comma, Python 3.13 and newer report the place of the comma, older versions the place after it.
    """
    if not isinstance(error, json.JSONDecodeError):
        return 1
    position = error.pos
    if error.msg.startswith("Illegal trailing comma"):
        position = len(text) - len(text[position + 1 :].lstrip())
    return text.count("\n", 0, position) + 1


def _inside(value: Json) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _is_text(value: Json) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError
    return number
