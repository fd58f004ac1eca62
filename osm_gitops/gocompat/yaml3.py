"""``gopkg.in/yaml.v3`` ``Marshal`` for plain data (osm-behaviour.md, "YAML layout")."""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fields import Fields
from osm_gitops.gocompat.numbers import format_float
from osm_gitops.gocompat.text import has_invalid
from osm_gitops.gocompat.timefmt import Moment, format_time
from osm_gitops.gocompat.yamlemit import Emitter, Scalar, Shape
from osm_gitops.gocompat.yamlorder import sorted_members
from osm_gitops.gocompat.yamlscalars import OLD_BOOLS, STRING, base64_lines, looks_sexagesimal, resolve

_RFC3339: Final = "2006-01-02T15:04:05.999999999Z07:00"
_SPECIAL_FLOATS: Final = {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}


def encode(value: Any) -> str:
    """The document, with its final line break.

    ``dict`` is a map (its keys are strings, numbers, booleans or None), :class:`~osm_gitops.gocompat.fields.Fields`
    a struct, ``list`` a slice, :class:`~osm_gitops.gocompat.timefmt.Moment` a ``time.Time``.
    """
    return Emitter(_shape).document(value)


def _shape(value: Any) -> Shape:
    if isinstance(value, Fields):
        return Shape(members=value.items())
    if isinstance(value, dict):
        return Shape(members=sorted_members(value, old=False))
    if isinstance(value, list):
        return Shape(items=value)
    if isinstance(value, str):
        return Shape(_string(value))
    return Shape(Scalar(_plain(value)))


def _plain(value: Any) -> str:
    """A value that is no string and no collection."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = format_float(value)
        return _SPECIAL_FLOATS.get(text, text)
    return format_time(value, _RFC3339) if isinstance(value, Moment) else str(value)


def _string(text: str) -> Scalar:
    tag = ""
    plain = True
    if has_invalid(text):
        text, tag = base64_lines(text), "!!binary"
    else:
        plain = resolve(text)[0] == STRING and text not in OLD_BOOLS and not looks_sexagesimal(text)
    return Scalar(text, "literal" if "\n" in text else "plain" if plain else "double", tag)
