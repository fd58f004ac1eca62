"""TOML 1.0 as plain data, in time that grows with the text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError

MOST_PARTS: Final = 100
"""How many parts a dotted key may have: tomllib takes the square of their number in time and memory."""
_MOST_NESTED: Final = 100

_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
# What stands in strings and comments is passed over. Nothing is read twice.
_TOKEN: Final = re.compile(
    rf"""(?P<long>{_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}})
    |\"{{3}}(?:[^\\"]|\\.|"(?!""))*+(?:\"{{3}}|\Z)|'{{3}}(?:[^']|'(?!''))*+(?:'{{3}}|\Z)
    |"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|\#[^\n]*+|[A-Za-z0-9_-]++|(?P<open>[\[{{])|(?P<close>[\]}}])""",
    re.VERBOSE | re.DOTALL,
)


class TomlError(ValueError):
    """A text that is no TOML, or nests deeper than is read; its words are tomllib's, or ours."""


def read_toml(text: str, parse_float: Callable[[str], float] = float) -> dict[str, Any]:
    """The document as plain data; ``parse_float`` reads the spelling of a float. Raises TomlError."""
    _check_nesting(text)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None
    except GoError:
        raise
    except ValueError:  # an integer of thousands of digits
        raise TomlError("a number has too many digits") from None


def _check_nesting(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token["long"]:
            line = text.count("\n", 0, token.start()) + 1
            raise TomlError(f"a key has more than {MOST_PARTS} parts (at line {line}, column 1)")
        if token["open"]:
            depth += 1
            if depth > _MOST_NESTED:
                line = text.count("\n", 0, token.start()) + 1
                raise TomlError(f"values are nested more than {_MOST_NESTED} deep (at line {line}, column 1)")
        elif token["close"]:
            depth -= 1
