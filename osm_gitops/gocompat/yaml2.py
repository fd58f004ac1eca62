"""``sigs.k8s.io/yaml`` ``Marshal``: JSON data in yaml.v2's layout, as client-go writes kubeconfigs (osm-behaviour.md,
"Kubeconfig text").

The Go library writes JSON, reads that as YAML, and writes the result; what this does to numbers and to rare characters
is part of the result.
"""

from __future__ import annotations

import re
from typing import Any, Final

from osm_gitops.gocompat import gojson
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import format_float
from osm_gitops.gocompat.text import runes
from osm_gitops.gocompat.yaml3 import STRING, looks_sexagesimal, resolve
from osm_gitops.gocompat.yamlemit import Emitter, Scalar, Shape, sorted_members

_LONGEST_KEY: Final = 1024
_FOLD: Final = re.compile(" *\x85[ \x85]*")
_NOT_READABLE: Final = re.compile("[\x7f-\x84\x86-\x9f\ufffe\uffff]")


def encode(value: Any) -> str:
    """The document, with its final line break.

    ``value`` is JSON data: ``dict`` with string keys, ``list``, ``str``, ``int``, ``float``, ``bool``,
    ``None``. Raises GoError for NaN, infinities, and characters that YAML cannot read.
    """
    return _Emitter2(_shape).document(value)


class _Emitter2(Emitter):
    """yaml.v2's differences: two blanks per level, lists in line with their key, folded lines."""

    step = 2
    width = 80
    tabs_are_plain_in_blocks = False

    def sequence_indent(self, within: str) -> int:
        indentless = within in {"key", "member"} and not self.indention
        return self.indent if indentless else self.deeper(within)

    def begin_literal(self) -> None:
        self.line_break()
        self.whitespace = True

    def begin_line(self) -> None:
        super().begin_line()
        self.indention = True


def _shape(value: Any) -> Shape:
    if isinstance(value, dict):
        return Shape(members=sorted_members({_key(key): item for key, item in value.items()}, old=True))
    if isinstance(value, list):
        return Shape(items=value)
    if isinstance(value, str):
        return Shape(_string(value))
    return Shape(Scalar(_plain(value)))


def _key(text: str) -> str:
    if "\x85" in text or len(gojson.encode(text)) > _LONGEST_KEY:
        raise GoError("yaml: a key with a line break U+0085, or longer than 1024 characters")
    return _read_back(text)


def _plain(value: float | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    read = resolve(gojson.encode(value), old=True)[1]
    return format_float(read) if isinstance(read, float) else str(read)


def _string(text: str) -> Scalar:
    text = _read_back(text)
    plain = resolve(text, old=True)[0] == STRING and not looks_sexagesimal(text)
    return Scalar(text, "literal" if "\n" in text else "plain" if plain else "double")


def _read_back(text: str) -> str:
    """What is left of ``text`` after it was JSON and has been read as YAML: U+0085 is a line break there."""
    if _NOT_READABLE.search(text):
        raise GoError("yaml: control characters are not allowed")
    return _FOLD.sub(lambda match: "\n" * (match[0].count("\x85") - 1) or " ", runes(text))
