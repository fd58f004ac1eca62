"""toYaml, fromJson and their kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import Bounds, Spending
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.functions.serial import FUNCTIONS
from osm_gitops.gotemplate.values import (
    IP,
    AnyKeyMap,
    BoolMap,
    Duration,
    DurationPointer,
    IPList,
    MapList,
    NilDict,
    NilList,
    NilStringList,
    NilStringMap,
    Pointer,
    StringList,
    Struct,
    Uint64,
    nil,
)

CALL = {function.name: function.call for function in FUNCTIONS}


@dataclass(frozen=True)
class DNSConfig(Struct):
    go_type = "providerconfig.DNSConfig"
    Servers: Any


@dataclass(frozen=True)
class NetworkConfig(Struct):
    go_type = "providerconfig.NetworkConfig"
    CIDR: str
    DNS: DNSConfig
    IPFamily: str


@dataclass(frozen=True)
class RhelConfig(Struct):
    go_type = "rhel.Config"
    RHSMOfflineToken: str
    RHELUseSatelliteServer: bool


def _cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = value
    return value


NETWORK = Pointer(NetworkConfig("", DNSConfig(NilStringList()), "IPv4"), "providerconfig.NetworkConfig")
RHEL = RhelConfig("t", RHELUseSatelliteServer=True)
NINETY_MINUTES = 90 * 60 * 10**9


@pytest.mark.parametrize(
    ("value", "json", "yaml", "toml"),
    [
        ({"b": 1, "a": [1.0, "x"]}, '{"a":[1,"x"],"b":1}', "a:\n    - 1\n    - x\nb: 1", 'a = [1.0, "x"]\nb = 1\n'),
        ("a\n", '"a\\n"', "|\n    a", '"a\\n"'),
        (NilStringMap(), "null", "{}", ""),
        (NilList(), "null", "[]", "[]"),
        ({"l": NilStringList(), "d": NilDict()}, '{"d":null,"l":null}', "d: {}\nl: []", ""),
        (nil("string"), "null", "null", ""),
        (Pointer("<", "string"), '"\\u003c"', "<", '"<"'),
        (IPList([IP("::1"), IP("10.0.0.1")]), '["::1","10.0.0.1"]', "- ::1\n- 10.0.0.1", '["::1", "10.0.0.1"]'),
        (Duration(NINETY_MINUTES), "5400000000000", "1h30m0s", '"1h30m0s"'),
        (DurationPointer(NINETY_MINUTES), '"1h30m0s"', "duration: 1h30m0s", 'Duration = "1h30m0s"\n'),
        (BoolMap(B=False, A=True), '{"A":true,"B":false}', "A: true\nB: false", "A = true\nB = false\n"),
        (
            NETWORK,
            '{"cidr":"","dns":{"servers":null},"ipFamily":"IPv4"}',
            'cidr: ""\ndns:\n    servers: []\nipfamily: IPv4',
            'CIDR = ""\nIPFamily = "IPv4"\n\n[DNS]\n',
        ),
        (RHEL, '{"rhsmOfflineToken":"t","rhelUseSatelliteServer":true}', None, None),
        (float("inf"), "", ".inf", "inf"),
        ({"m": AnyKeyMap({1: 2})}, "", "m:\n    1: 2", None),
        ([1, None], "[1,null]", "- 1\n- null", "toml: cannot encode array with nil element"),
    ],
)  # fmt: skip
def test_values_are_written_as_their_go_types(value: Any, json: str, yaml: str | None, toml: str | None) -> None:
    assert CALL["toJson"](value) == json
    assert yaml is None or CALL["toYaml"](value) == yaml
    assert toml is None or CALL["toToml"](value) == toml


def test_nil_is_null_but_no_toml() -> None:
    assert (CALL["toJson"](None), CALL["toYaml"](None)) == ("null", "null")
    with pytest.raises(GoError):
        CALL["toToml"](None)


def test_raw_and_pretty_json() -> None:
    assert CALL["toRawJson"]({"a": "<"}) == CALL["mustToRawJson"]({"a": "<"}) == '{"a":"<"}'
    assert CALL["toPrettyJson"]({"a": [1]}) == CALL["mustToPrettyJson"]({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'


@pytest.mark.parametrize("name", ["mustToJson", "mustToPrettyJson", "mustToRawJson", "toRawJson"])
def test_what_json_cannot_hold_stops_a_strict_function(name: str) -> None:
    with pytest.raises(GoError):
        CALL[name](float("nan"))


def test_json_with_fields_that_may_be_left_out_is_refused_by_name() -> None:
    with pytest.raises(Refused, match=r"rhel\.Config"):
        CALL["toJson"](RhelConfig("", RHELUseSatelliteServer=True))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("fromYaml", "a: {1: x}\nb: 18446744073709551615", {"a": AnyKeyMap({1: "x"}), "b": Uint64(2**64 - 1)}),
        ("fromYaml", "", {}),
        ("fromYaml", "a: [", {"Error": "yaml: line 1: did not find expected node content"}),
        (
            "fromYaml",
            "a: {b: 1, b: 2}\nc: 3",
            {"c": 3, "Error": 'yaml: unmarshal errors:\n  line 1: mapping key "b" already defined at line 1'},
        ),
        ("fromYamlArray", "[1, a]", [1, "a"]),
        ("fromYamlArray", "", []),
        ("fromYamlArray", "a: [", ["yaml: line 1: did not find expected node content"]),
        ("fromJson", '{"a": 1}', {"a": 1.0}),
        ("fromJson", "[1]", {"Error": "json: cannot unmarshal array into Go value of type map[string]interface {}"}),
        ("fromJson", "{", {"Error": "unexpected end of JSON input"}),
        (
            "fromJson",
            '{"a": 1e400}',
            {"a": None, "Error": "json: cannot unmarshal number 1e400 into Go value of type float64"},
        ),
        ("fromJsonArray", "[1]", [1.0]),
        ("fromJsonArray", "true", ["json: cannot unmarshal bool into Go value of type []interface {}"]),
        ("fromJsonArray", "x", ["invalid character 'x' looking for beginning of value"]),
        ("mustFromJson", '"a"', "a"),
        ("fromToml", "[t]\na = 1\nb = [{c = 1.0}]", {"t": {"a": 1, "b": [{"c": 1.0}]}}),
        ("fromToml", "[[x]]\na = 1", {"x": MapList([{"a": 1}])}),
    ],
)
def test_texts_are_read_as_go_values(name: str, text: str, value: Any) -> None:
    read = CALL[name](text)
    assert (read, repr(_types(read))) == (value, repr(_types(value)))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("fromYaml", "~", NilDict),
        ("fromJson", "null", NilDict),
        ("fromYamlArray", "~", NilList),
        ("fromJsonArray", "null", NilList),
    ],
)
def test_null_is_a_nil_map_or_list(name: str, text: str, kind: type) -> None:
    assert type(CALL[name](text)) is kind


@pytest.mark.parametrize("text", ["a: 2020-01-01", "a: 2020-01-01T00:00:00Z"])
def test_a_date_in_yaml_is_a_go_time(text: str) -> None:
    value = CALL["fromYaml"](text)
    assert value["a"].String() == "2020-01-01 00:00:00 +0000 UTC"
    assert CALL["toJson"](value) == '{"a":"2020-01-01T00:00:00Z"}'
    assert CALL["toYaml"](value) == "a: 2020-01-01T00:00:00Z"
    assert CALL["toToml"](value) == "a = 2020-01-01T00:00:00Z\n"


@pytest.mark.parametrize(
    ("name", "text"), [("fromYaml", "a: !!int x"), ("fromYamlArray", "- &x [*x]"), ("fromToml", "a")]
)
def test_an_error_text_that_is_not_known_is_refused_by_the_functions_name(name: str, text: str) -> None:
    with pytest.raises(Refused, match=name):
        CALL[name](text)


def test_a_map_with_keys_that_are_no_strings_is_refused_as_toml() -> None:
    with pytest.raises(Refused, match="interface"):
        CALL["toToml"]([AnyKeyMap({1: 2})])


@pytest.mark.parametrize("name", ["toYaml", "toToml", "mustToJson"])
def test_a_complex_number_stops_the_template(name: str) -> None:
    with pytest.raises(GoError):
        CALL[name]([1j])


def test_bad_json_stops_must_from_json() -> None:
    with pytest.raises(GoError):
        CALL["mustFromJson"]("{")


@pytest.mark.parametrize("name", ["toJson", "toYaml", "toToml"])
def test_a_value_that_holds_itself_is_too_deep(name: str) -> None:
    with pytest.raises(BoundExceeded):
        CALL[name](_cyclic())


@pytest.mark.parametrize("name", ["toJson", "toYaml", "toToml"])
def test_a_value_that_is_used_often_counts_as_often(name: str) -> None:
    value: dict[str, Any] = {"a": 1}
    for _ in range(40):
        value = {"a": value, "b": value}
    with Spending(Bounds(output_bytes=10_000)), pytest.raises(BoundExceeded):
        CALL[name](value)


@pytest.mark.parametrize("name", ["fromJson", "fromJsonArray", "mustFromJson"])
def test_endless_nesting_stops_the_template(name: str) -> None:
    with pytest.raises((BoundExceeded, GoError)):
        CALL[name]("[" * 100_000)


def test_a_string_list_is_a_list() -> None:
    assert CALL["toYaml"](StringList(["a", "1"])) == '- a\n- "1"'


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return type(value), {key: _types(each) for key, each in value.items()}
    if isinstance(value, list):
        return type(value), [_types(each) for each in value]
    return type(value)
