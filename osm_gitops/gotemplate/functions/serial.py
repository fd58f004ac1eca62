"""Template functions that write and read JSON, YAML and TOML (osm-behaviour.md, "Template functions").

The ``from…`` functions return Go's error text as a value. Where that text is not known
here, the template is refused instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from osm_gitops.gocompat import gojson, toml, tomldecode, yaml3
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.jsonsyntax import NestedTooDeep
from osm_gitops.gocompat.timefmt import Moment
from osm_gitops.gocompat.yaml3_reader import LIST, MAP, load_v3
from osm_gitops.gocompat.yaml3_syntax import UnsupportedYaml
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.functions.dates import Time
from osm_gitops.gotemplate.functions.signature import GoFunction
from osm_gitops.gotemplate.plain import JsonPlain, PrettyJsonPlain, TomlPlain, YamlPlain
from osm_gitops.gotemplate.values import AnyKeyMap, MapList, Nil, NilDict, NilList, Pointer, Uint64
from osm_gitops.gotemplate.weighing import new_bytes

_JSON_KINDS: Final = {dict: "object", list: "array", str: "string", bool: "bool", float: "number"}
_TABLE_ARRAY: Final = re.compile(r"^[ \t]*\[\[", re.MULTILINE)
_DOCUMENT_STEPS: Final = 10
"""What reading a document takes however small it is; the steps for its characters are what the densest takes."""
_JSON_CHARS: Final = 1
_DOTS: Final = 8
_MAX_INT64: Final = (1 << 63) - 1


def to_yaml(value: Any) -> str:
    """``toYaml``: without the final line break."""
    return _bounded(yaml3.encode(YamlPlain().convert(value)).removesuffix("\n"))


def from_yaml(text: str) -> dict[str, Any]:
    """``fromYaml``: a map; what goes wrong is under ``Error``."""
    value, message = _load_yaml("fromYaml", text, MAP)
    if value is None and not message:
        return NilDict()
    result: dict[str, Any] = value or {}
    if message:
        result["Error"] = message
    return result


def from_yaml_array(text: str) -> list[Any]:
    """``fromYamlArray``: a list; if anything goes wrong, the message alone."""
    value, message = _load_yaml("fromYamlArray", text, LIST)
    if message:
        return [message]
    return NilList() if value is None else list(value)


def _load_yaml(function: str, text: str, into: str) -> tuple[Any, str]:
    """The decoded document (None for null) and Go's error text."""
    spent = budget()
    spent.step(_DOCUMENT_STEPS + len(text))
    try:
        loaded = load_v3(text, into)
    except UnsupportedYaml as error:
        raise _refused_yaml(function, error) from None
    except GoError as error:
        return None, str(error)
    if not loaded.present:
        return {} if into == MAP else [], ""
    message = loaded.message
    spent.text(message)
    return _go_value(loaded.value), message


def _refused_yaml(function: str, error: GoError) -> Refused:
    return Refused(
        f"{function} is given a text that it cannot read ({error}); in Go, an error text would be its result"
    )


def to_json(value: Any) -> str:
    """``toJson``: nothing for what JSON cannot hold."""
    return _or_nothing(must_to_json, value)


def must_to_json(value: Any) -> str:
    return _bounded(gojson.encode(JsonPlain().convert(value)))


def to_pretty_json(value: Any) -> str:
    return _or_nothing(must_to_pretty_json, value)


def must_to_pretty_json(value: Any) -> str:
    return _bounded(gojson.encode(PrettyJsonPlain().convert(value), indent="  "))


def to_raw_json(value: Any) -> str:
    """``toRawJson``: no HTML escapes; its error stops the template."""
    return _bounded(gojson.encode(JsonPlain().convert(value), escape_html=False))


def _or_nothing(write: Callable[[Any], str], value: Any) -> str:
    try:
        return write(value)
    except GoError:
        return ""


def from_json(text: str) -> dict[str, Any]:
    """``fromJson``: a map; what goes wrong is under ``Error``."""
    value, message = _decode_json("fromJson", text)
    if value is None and not message:
        return NilDict()
    result: dict[str, Any] = {}
    if isinstance(value, dict):
        result = value
    elif value is not None:
        message = _wrong_type(value, MAP)
    if message:
        result["Error"] = message
    return result


def from_json_array(text: str) -> list[Any]:
    """``fromJsonArray``: a list; if anything goes wrong, the message alone."""
    value, message = _decode_json("fromJsonArray", text)
    if value is not None and not isinstance(value, list):
        message = _wrong_type(value, LIST)
    if message:
        return [message]
    return NilList() if value is None else list(value)


def must_from_json(text: str) -> Any:
    """``mustFromJson``: any value; its error stops the template."""
    budget().step(len(text) >> _JSON_CHARS)
    return _counted(gojson.decode(text))


def _decode_json(function: str, text: str) -> tuple[Any, str]:
    budget().step(len(text) >> _JSON_CHARS)
    try:
        return _counted(gojson.decode(text)), ""
    except gojson.NumberRange as error:
        return _counted(error.value), str(error)
    except NestedTooDeep as error:
        raise BoundExceeded(f"{function} is given {error}; make it flatter") from None
    except GoError as error:
        return None, str(error)


def _wrong_type(value: Any, wanted: str) -> str:
    return f"json: cannot unmarshal {_JSON_KINDS[type(value)]} into Go value of type {wanted}"


def to_toml(value: Any) -> str:
    """``toToml``: an error's text is the result; nil stops the template, a nil pointer or map writes nothing."""
    if value is None:
        raise GoError("there is no value to write as TOML")
    while isinstance(value, Pointer):
        if value.elem is None:
            return ""
        value = value.elem
    if isinstance(value, Nil):
        return "" if isinstance(value, dict) else "[]"
    plain = TomlPlain().convert(value)
    try:
        return _bounded(toml.encode(plain))
    except GoError as error:
        return str(error)


def from_toml(text: str) -> dict[str, Any]:
    """``fromToml``: a map."""
    dots = max(line.count(".") for line in text.split("\n"))  # a key of n parts is read in n² steps
    budget().step(_DOCUMENT_STEPS + (len(text) >> 1) + (dots * text.count(".") >> _DOTS))
    try:
        document = tomldecode.decode(text)
    except GoError as error:
        raise _refused_yaml("fromToml", error) from None
    tables = _TABLE_ARRAY.search(text) is not None
    return {key: _go_value(value, tables=tables) for key, value in document.items()}


def _counted(value: Any) -> Any:
    """A decoded value, counted with all that is in it."""
    waiting, spent = [value], budget()
    while waiting:
        each = waiting.pop()
        spent.make(new_bytes(each))
        if isinstance(each, dict):
            waiting.extend(each)
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return value


def _go_value(value: Any, *, tables: bool = False) -> Any:
    """Decoded data as Go values; ``tables`` makes a list that holds maps only a ``[]map[string]interface {}``.

    What an alias of YAML stands for is made every time.
    """
    spent = budget()
    spent.step()
    spent.make(new_bytes(value))
    if isinstance(value, dict):
        converted = {_go_value(key): _go_value(each, tables=tables) for key, each in value.items()}
        return converted if type(value) is dict else AnyKeyMap(converted)
    if isinstance(value, list):
        items = [_go_value(each, tables=tables) for each in value]
        return MapList(items) if tables and items and all(type(each) is dict for each in items) else items
    if isinstance(value, Moment):
        return Time(value)
    if type(value) is int and value > _MAX_INT64:
        return Uint64(value)
    return value


def _bounded(text: str) -> str:
    budget().size(len(text))
    return text


FUNCTIONS: Final = (
    GoFunction("toYaml", "any", to_yaml, "string"),
    GoFunction("fromYaml", "string", from_yaml),
    GoFunction("fromYamlArray", "string", from_yaml_array),
    GoFunction("toJson", "any", to_json, "string"),
    GoFunction("mustToJson", "any", must_to_json, "string"),
    GoFunction("toPrettyJson", "any", to_pretty_json, "string"),
    GoFunction("mustToPrettyJson", "any", must_to_pretty_json, "string"),
    GoFunction("toRawJson", "any", to_raw_json, "string"),
    GoFunction("mustToRawJson", "any", to_raw_json, "string"),
    GoFunction("fromJson", "string", from_json),
    GoFunction("fromJsonArray", "string", from_json_array),
    GoFunction("mustFromJson", "string", must_from_json),
    GoFunction("toToml", "any", to_toml, "string"),
    GoFunction("fromToml", "string", from_toml),
)
