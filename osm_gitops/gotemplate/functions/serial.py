"""Sprig's text formats: JSON, YAML, TOML, base64, base32, digests (osm-behaviour.md, "Template functions").

The ``from…`` functions return Go's error text as a value. Where that text is not known here, the template is refused
instead. The error of ``b64dec`` and ``b32dec`` is their result.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, cast

from osm_gitops.gocompat import gojson, toml, yaml3
from osm_gitops.gocompat.basetext import encode_base64, read_base32, read_base64
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import Fields, NestedTooDeep
from osm_gitops.gocompat.text import byte_len, from_bytes, normalise, to_bytes
from osm_gitops.gocompat.times import Moment
from osm_gitops.gocompat.yaml3_reader import LIST, MAP, UnsupportedYaml, load_v3
from osm_gitops.gotemplate.bounds import budget, new_bytes
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.functions.dates import Time
from osm_gitops.gotemplate.printing import to_string
from osm_gitops.gotemplate.values import (
    IP,
    NO_VALUE,
    AnyKeyMap,
    Duration,
    MapList,
    MetaDuration,
    Nil,
    NilDict,
    NilList,
    Pointer,
    Struct,
    Uint64,
)

_DEEPEST: Final = 100
_CHARS: Final = 6
"""Binary logarithm of the characters that take a step to write."""
_LEADING_CAPITALS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]+")
_TEXTS: Final = frozenset({"semver.Version"})
"""Structs that write themselves as text."""
_COMPLETE: Final = frozenset({"providerconfig.NetworkConfig", "providerconfig.DNSConfig"})
"""Structs whose JSON has all fields, including empty ones."""


class Plain:
    """One conversion. It counts what it makes, as a value that is used twice is written twice.

    ``indent`` is the least number of blanks per level in the text to come.
    """

    indent = 0

    def __init__(self) -> None:
        self.size = 0

    def convert(self, value: Any, depth: int = 0) -> Any:
        """Plain data for ``value``, whose type decides.

        Raises GoError where Go's encoder has an error, Refused for what has no text that is known, BoundExceeded for
        too much.
        """
        self.count(value, depth)
        if value is None or value is NO_VALUE:
            return None
        if isinstance(value, str):
            return normalise(value)
        if isinstance(value, Duration):
            return self.duration(value)
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, Pointer):
            return self.convert(value.elem, depth)
        if isinstance(value, Nil):
            return self.nil(value)
        return self.compound(value, depth)

    def compound(self, value: Any, depth: int) -> Any:
        if isinstance(value, IP):
            return value.text
        if isinstance(value, Time):
            return value.moment
        if isinstance(value, Struct):
            return to_string(value) if value.go_type in _TEXTS else self.struct(value, depth)
        if isinstance(value, AnyKeyMap):
            self.check_keys(value)
        if isinstance(value, dict):
            return {self.convert(key, depth): self.convert(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list):
            return [self.convert(each, depth + 1) for each in value]
        raise GoError("a complex number cannot be written")

    def count(self, value: Any, depth: int) -> None:
        """Add to the budget what writing ``value`` itself takes at least."""
        if depth > _DEEPEST:
            raise BoundExceeded(f"a value is nested more than {_DEEPEST} deep, or holds itself; make it flatter")
        lines = 1
        if isinstance(value, str):
            self.size += len(value)
            budget().step(len(value) >> _CHARS)
            lines += value.count("\n")
        self.size += 1 + depth * self.indent * lines
        spent = budget()
        spent.size(self.size)
        spent.step(2)

    def duration(self, value: Duration) -> Any:
        return value.String()

    def nil(self, value: Nil) -> Any:
        """The nil of a map or slice type."""
        del value

    def check_keys(self, value: AnyKeyMap) -> None:
        """Raise GoError if keys that are no strings cannot be written."""

    def struct(self, value: Struct, depth: int) -> Any:
        return Fields(
            (self.field_name(field.name), self.convert(getattr(value, field.name), depth + 1))
            for field in fields(cast("Any", value))
        )

    def field_name(self, name: str) -> str:
        return name


class JsonPlain(Plain):
    """For ``encoding/json``: durations are numbers, struct fields have the names of the Kubernetes API."""

    def duration(self, value: Duration) -> Any:
        return int(value)

    def check_keys(self, value: AnyKeyMap) -> None:
        raise GoError(f"json: unsupported type: {value.go_type}")

    def struct(self, value: Struct, depth: int) -> Any:
        if isinstance(value, MetaDuration):
            return value.Duration.String()
        plain = super().struct(value, depth)
        if value.go_type not in _COMPLETE and not all(plain.values()):
            raise Refused(
                f"the JSON of a {value.go_type} is not known where fields are empty; write its fields one by one"
            )
        return plain

    def field_name(self, name: str) -> str:
        """``RHSMOfflineToken`` → ``rhsmOfflineToken``."""
        return _LEADING_CAPITALS.sub(lambda match: match[0].lower(), name, count=1)


class PrettyJsonPlain(JsonPlain):
    indent = 2


class YamlPlain(Plain):
    """For yaml.v3: struct fields in lower case, a nil map or slice as an empty one."""

    indent = 2

    def nil(self, value: Nil) -> Any:
        return {} if isinstance(value, dict) else []

    def field_name(self, name: str) -> str:
        return name.lower()


class TomlPlain(Plain):
    """For BurntSushi/toml, which knows maps with text as keys only."""

    def check_keys(self, value: AnyKeyMap) -> None:
        raise Refused(f"toToml is given a {value.go_type}; in Go, an error text would be its result")


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
        document = toml.decode(text)
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

    The value of a YAML alias is created each time.
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


def base64_text(text: str) -> str:
    budget().size(byte_len(text) * 4 // 3)
    return encode_base64(to_bytes(text))


def base32_text(text: str) -> str:
    budget().size(byte_len(text) * 8 // 5)
    return base64.b32encode(to_bytes(text)).decode()


def decoded_base64(text: str) -> str:
    """``b64dec``: the text, or the sentence on what is wrong with it."""
    try:
        return from_bytes(read_base64(text))
    except GoError as fault:
        return str(fault)


def decoded_base32(text: str) -> str:
    """``b32dec``, in the same way."""
    try:
        return from_bytes(read_base32(text))
    except GoError as fault:
        return str(fault)


def sha1(text: str) -> str:
    return hashlib.sha1(to_bytes(text), usedforsecurity=False).hexdigest()


def sha256(text: str) -> str:
    return hashlib.sha256(to_bytes(text)).hexdigest()


def sha512(text: str) -> str:
    return hashlib.sha512(to_bytes(text)).hexdigest()


def adler32(text: str) -> str:
    """``adler32sum``: a decimal number."""
    return str(zlib.adler32(to_bytes(text)))


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
    GoFunction("b64enc", "string", base64_text, returns="string"),
    GoFunction("b64dec", "string", decoded_base64, returns="string"),
    GoFunction("b32enc", "string", base32_text, returns="string"),
    GoFunction("b32dec", "string", decoded_base32, returns="string"),
    GoFunction("sha1sum", "string", sha1, returns="string"),
    GoFunction("sha256sum", "string", sha256, returns="string"),
    GoFunction("sha512sum", "string", sha512, returns="string"),
    GoFunction("adler32sum", "string", adler32, returns="string"),
)
