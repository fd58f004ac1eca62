"""unicode, utf8 and strings: every expectation was given by Go 1.26 (Unicode 15)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat import text as go


@pytest.mark.parametrize(
    ("text", "upper", "lower"),
    [
        ("Straße", "STRAßE", "straße"),
        ("ŉﬁΐᾳ", "ŉﬁΐᾼ", "ŉﬁΐᾳ"),
        ("İı", "İI", "iı"),
        ("ǆǅ", "ǄǄ", "ǆǆ"),
        ("ſΣς", "SΣΣ", "ſσς"),
        ("ა", "Ა", "ა"),
        ("a\udc80", "A\ufffd", "a\ufffd"),
    ],
)
def test_case_is_mapped_one_character_for_one(text: str, upper: str, lower: str) -> None:
    assert go.upper(text) == upper
    assert go.lower(text) == lower


def test_title_case_is_for_letters_after_a_separator() -> None:
    assert go.title("hello wORLD o'neil x-y a_b 9z") == "Hello WORLD O'Neil X-Y A_b 9z"
    assert go.title("ǆx éa 。b") == "ǅx Éa 。b"
    assert go.title_case("ა") == "ა"


def test_white_space_is_go_s_not_python_s() -> None:
    assert go.trim_space("\u2003\x85 a\x1c\u3000\n") == "a\x1c"
    assert go.fields("a\x1cb\u3000c \n d") == ["a\x1cb", "c", "d"]
    assert go.fields(" \t ") == []


@pytest.mark.parametrize(
    ("char", "classes"),
    [
        ("é", "print letter lower"),
        ("ǅ", "print letter title"),
        ("٣", "print digit number"),
        ("½", "print number"),
        ("_", "print punct"),
        ("$", "print"),
        ("。", "print punct"),
        ("\xa0", "space"),
        ("\xad", ""),
        ("\U0001df25", "print letter lower"),
        ("\U0002ebf0", ""),
        ("\u1c89", ""),
    ],
)
def test_classes_are_those_of_unicode_15(char: str, classes: str) -> None:
    names = ("print", "letter", "digit", "number", "punct", "upper", "lower", "title", "space")
    assert " ".join(name for name in names if getattr(go, f"is_{name}")(char)) == classes


def test_a_string_is_its_bytes() -> None:
    assert go.byte_len("é😀") == 6
    assert go.byte_slice("é😀", 1, 4) == "\udca9\udcf0\udc9f"
    assert go.normalise("\udcc3" + "\udca9") == "é"
    assert go.runes("a\udc80\ufffd") == "a\ufffd\ufffd"


@given(st.binary())
def test_any_bytes_survive(data: bytes) -> None:
    text = go.from_bytes(data)
    assert go.to_bytes(text) == data
    assert go.normalise(text) == text
    assert go.runes(text) == data.decode("utf-8", "replace") or go.has_invalid(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_case_mapping_never_changes_the_number_of_characters(text: str) -> None:
    assert len(go.upper(text)) == len(go.lower(text)) == len(go.title(text)) == len(text)
