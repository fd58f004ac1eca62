"""BurntSushi/toml."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat import toml
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.gojson import Fields
from osm_gitops.gocompat.times import STRING_LAYOUT, format_time
from tests.gocompat.vector_data import differences


def test_it_writes_what_go_writes() -> None:
    assert differences("toml", toml.encode) == []


def test_the_containerd_layout_has_no_indentation() -> None:
    config = {
        "plugins": {"io.containerd.cri.v1.images": {"a": True, "registry": {"config_path": "/etc"}}},
        "version": 3,
    }
    assert toml.encode(config, indent="") == (
        "version = 3\n\n"
        "[plugins]\n"
        '[plugins."io.containerd.cri.v1.images"]\n'
        "a = true\n"
        '[plugins."io.containerd.cri.v1.images".registry]\n'
        'config_path = "/etc"\n'
    )


@pytest.mark.parametrize(
    ("part", "written"),
    [("a-b_9", "a-b_9"), ("", '""'), ("gcr.io", '"gcr.io"'), ("é", '"é"'), ('a"\n', '"a\\"\\n"')],
)
def test_a_key_is_bare_or_quoted(part: str, written: str) -> None:
    assert toml.key(part) == written


def test_a_string_is_escaped_on_one_line() -> None:
    assert toml.string('\b\t\n\f\r"\\\x00\x1f\x7f\u2028é') == r'"\b\t\n\f\r\"\\\u0000\u001f\u007f' + '\u2028é"'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("s", '"s"'),
        ([1, 2.0, "a"], '[1, 2.0, "a"]'),
        ({"z": None}, ""),
        ({"b": [{"x": 1}, {"y": [1]}]}, "[[b]]\n  x = 1\n\n[[b]]\n  y = [1]\n"),
        ({"a": [{"x": None, "y": None}, 1]}, "a = [{}, 1]\n"),
        ({"a": [{"x": 1, "y": None}, 1]}, "a = [{x = 1, }, 1]\n"),
        (Fields(CIDR="", DNS=Fields(Servers=None), IPFamily="IPv4"), 'CIDR = ""\nIPFamily = "IPv4"\n\n[DNS]\n'),
        ([1, Fields(A=1, T=Fields(), Z=2)], "[1, {A = 1, Z = 2T = {}, }]"),
        ([1e30, float("inf"), float("-inf"), float("nan")], "[1e+30, inf, -inf, nan]"),
    ],
)
def test_the_layout_of_single_values(value: Any, text: str) -> None:
    assert toml.encode(value) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, None], "toml: cannot encode array with nil element"),
        ({"a": [[None]]}, "toml: cannot encode array with nil element"),
        ([{"a": 1}], "toml: top-level values must be Go maps or structs"),
    ],
)
def test_what_toml_cannot_hold_is_an_error_in_gos_words(value: Any, message: str) -> None:
    with pytest.raises(GoError) as caught:
        toml.encode(value)
    assert str(caught.value) == message


_VALUES = st.recursive(
    st.text(st.characters(codec="utf-8"))
    | st.integers(-(2**63), 2**63 - 1)
    | st.booleans()
    | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), _VALUES, max_size=4))
def test_what_is_written_is_toml_of_the_same_value(value: dict[str, Any]) -> None:
    assert tomllib.loads(toml.encode(value)) == value


def test_times_are_read_with_their_kind() -> None:
    document = toml.decode("a = 2026-01-02\nb = 2026-01-02T03:04:05.5\nc = 03:04:05\nd = 2026-01-02T03:04:05+01:00")
    assert {key: format_time(moment, STRING_LAYOUT) for key, moment in document.items()} == {
        "a": "2026-01-02 00:00:00 +0000 date-local",
        "b": "2026-01-02 03:04:05.5 +0000 datetime-local",
        "c": "0000-01-01 03:04:05 +0000 time-local",
        "d": "2026-01-02 03:04:05 +0100 +0100",
    }
    assert toml.encode(document) == (
        "a = 2026-01-02\nb = 2026-01-02T03:04:05.5\nc = 03:04:05\nd = 2026-01-02T03:04:05+01:00\n"
    )


@pytest.mark.parametrize(
    "text", ["a", "a = 1\na = 2", "a = 9223372036854775808", "a = 1e400", "a = \udcff", "[" * 5000]
)
def test_what_go_cannot_read_is_an_error(text: str) -> None:
    with pytest.raises(GoError):
        toml.decode(text)
