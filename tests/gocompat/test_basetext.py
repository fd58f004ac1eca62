"""Base64 as Go's ``StdEncoding`` decodes it; verdicts observed from Go 1.26."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.basetext import decode_base64, encode_base64


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("YQ==", b"a"),
        ("Y\r\nQ=\n=\n", b"a"),
        ("YR==", b"a"),
        ("null", b"\x9e\xe9\x65"),
        ("+/+/", b"\xfb\xff\xbf"),
    ],
)
def test_line_ends_count_for_nothing(text: str, data: bytes) -> None:
    assert decode_base64(text) == data


@pytest.mark.parametrize(
    "text", ["YQ", "YQ=", "Y Q==", "YQ==YQ==", "-_-_", "a", "====", "YQ===", "YWJj=", "ä", "\udcff"]
)
def test_padding_is_demanded_and_nothing_else_allowed(text: str) -> None:
    assert decode_base64(text) is None


@given(st.binary())
def test_what_was_encoded_is_decoded(data: bytes) -> None:
    assert encode_base64(data) == base64.b64encode(data).decode()
    assert decode_base64(encode_base64(data)) == data
