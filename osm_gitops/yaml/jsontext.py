"""JSON that libyaml cannot read: surrogate pairs as escapes, keys beyond 1,024 characters, documents back to back."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from osm_gitops.errors import Code, input_error

Json = Any

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BLANK: Final = re.compile(r"[ \t\r\n]*")


def json_documents(text: str, name: str, max_depth: int) -> list[tuple[Json, int]] | None:
    """The values of a JSON text, each with its line; ``None`` if the text is not JSON.

    Raises InputError for duplicate keys and for nesting deeper than ``max_depth``.
    """

    def unique(members: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(members)
        if len(found) < len(members):
            raise input_error(Code.DUPLICATE_KEY, "duplicate key in a mapping", where=name, fix="Remove one of them")
        return found

    decoder = json.JSONDecoder(object_pairs_hook=unique, parse_constant=_refuse)
    documents = []
    position = _after_blanks(text, 0)
    line = 1 + text.count("\n", 0, position)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
            cleaned = _cleaned(value, max_depth)
        except RecursionError:
            raise input_error(
                Code.YAML_TOO_COMPLEX, f"lists and mappings are nested more than {max_depth} deep", where=name
            ) from None
        except ValueError:
            return None
        documents.append((cleaned, line))
        following = _after_blanks(text, end)
        line += text.count("\n", position, following)
        position = following
    return documents


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _refuse(_: str) -> Json:
    raise ValueError


def _cleaned(value: Json, depth: int) -> Json:
    """``value`` with U+FFFD for lone surrogates, as in Go. Raises ValueError for infinite numbers."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, float):
        return whole(value)
    if isinstance(value, dict | list) and depth == 0:
        raise RecursionError
    if isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _cleaned(item, depth - 1) for key, item in value.items()}
    return value


def whole(number: float) -> int | float:
    """The number as Go's JSON prints it: whole numbers below 1e21 are integers, except -0.

    Raises ValueError for infinite numbers and NaN.
    """
    if not number.is_integer() or abs(number) >= 1e21:
        if number - number != 0:
            raise ValueError
        return number
    # Go prints the shortest digits, then zeros.
    digits, _, exponent = repr(number).partition("e")
    if exponent:
        mantissa, _, fraction = digits.partition(".")
        return int(mantissa + fraction.ljust(int(exponent), "0"))
    return number if digits == "-0.0" else int(number)
