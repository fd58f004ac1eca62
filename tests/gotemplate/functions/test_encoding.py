"""Sprig's encodings and digests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gocompat.text import from_bytes
from osm_gitops.gotemplate.bounds import Bounds, Spending
from osm_gitops.gotemplate.faults import BoundExceeded
from osm_gitops.gotemplate.functions import serial
from tests.gotemplate.functions.go_vectors import disagreements, vectors

_FORMATS = {
    *("toYaml", "fromYaml", "fromYamlArray", "toJson", "mustToJson", "toPrettyJson", "mustToPrettyJson", "toRawJson"),
    *("mustToRawJson", "fromJson", "fromJsonArray", "mustFromJson", "toToml", "fromToml"),
}
"""The functions of test_serial.py."""


def test_the_functions_do_what_sprig_does() -> None:
    assert disagreements("encoding", serial.FUNCTIONS) == []
    assert {name for name, _, _ in vectors("encoding")} == {
        function.name for function in serial.FUNCTIONS if function.name not in _FORMATS
    }


@given(st.binary())
def test_what_is_encoded_can_be_decoded(data: bytes) -> None:
    text = from_bytes(data)
    assert serial.decoded_base64(serial.base64_text(text)) == text
    assert serial.decoded_base32(serial.base32_text(text)) == text


@pytest.mark.parametrize(
    ("text", "place"), [("!", 0), ("eA=", 3), ("eA", 0), ("eA==x", 4), ("eA=\nx", 3), ("QUJD\nRA", 5)]
)
def test_the_error_of_a_decoder_is_its_result(text: str, place: int) -> None:
    assert serial.decoded_base64(text) == f"illegal base64 data at input byte {place}"


def test_encoding_is_bounded() -> None:
    for encode in (serial.base64_text, serial.base32_text):
        with Spending(Bounds(output_bytes=100)), pytest.raises(BoundExceeded):
            encode("x" * 90)
