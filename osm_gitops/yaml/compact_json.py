"""Values of ours as compact JSON, for memory, pipes and API servers: it is read five times as fast as YAML.

What others wrote is read by ``bounded.json_values``, which has limits and stricter rules.
"""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

Json = Any

_LARGE: Final = "64-bit"
"""In what orjson says of an integer that it cannot write."""


def dump_json(value: Json, *, sort_keys: bool = False) -> bytes:
    """JSON in UTF-8 without blanks. Takes mappings with string keys, lists, tuples, strings, numbers, booleans and
    ``None``. Infinite numbers become ``null``.

    Raises TypeError for other types, and for text that is not UTF-8.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except TypeError as error:
        if _LARGE not in str(error):
            raise
        # API servers have none, but what answers in the place of one may send anything.
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=sort_keys).encode()


def load_json(text: bytes) -> Json:
    """The value of a text that :func:`dump_json` wrote. Integers of more than 64 bits become floating point numbers, as
    in Kubernetes."""
    return orjson.loads(text)
