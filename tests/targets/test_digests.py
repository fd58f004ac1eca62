"""The first line of an encrypted file: no byte below it, and none of it, changes without a trace."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.targets.file_encryption import digest_line, lacks_seal, read_digest

_KEY, _OTHER = b"k" * 32, b"o" * 32
_PLAIN = hashlib.sha256(b"what is encrypted").digest()
_REST = b"data: ENC[AES256_GCM,data:AA]\nsops:\n  age:\n  - recipient: age1x\n"
_TEXT = digest_line(_KEY, _PLAIN, _REST) + _REST


def test_a_line_verifies_with_the_key_that_made_it_and_with_no_other() -> None:
    line = read_digest(_TEXT)
    assert line.is_sealed((_OTHER, _KEY))
    assert line.holds(_PLAIN, (_OTHER, _KEY))
    assert not line.is_sealed((_OTHER,))
    assert not line.holds(_PLAIN, (_OTHER,))
    assert not line.holds(hashlib.sha256(b"else").digest(), (_KEY,))
    assert not line.is_sealed(())
    assert not lacks_seal(_TEXT)


@given(st.integers(0, len(_TEXT) - 1), st.integers(1, 255))
def test_no_byte_can_be_changed(place: int, by: int) -> None:
    changed = bytearray(_TEXT)
    changed[place] ^= by
    line = read_digest(bytes(changed))
    assert not line.is_sealed((_KEY,))


@given(st.binary(max_size=80))
def test_nothing_can_be_added_below_or_above(more: bytes) -> None:
    for text in (_TEXT + more, more + _TEXT, _TEXT.replace(_REST, more + _REST)):
        assert read_digest(text).is_sealed((_KEY,)) == (text == _TEXT)


@given(st.binary(max_size=200))
def test_what_is_no_line_verifies_nothing(text: bytes) -> None:
    line = read_digest(text)
    assert not line
    assert not line.is_sealed((_KEY,))
    assert not line.holds(_PLAIN, (_KEY,))


@pytest.mark.parametrize("content", [b"", b"f" * 64])
def test_a_line_without_its_seal_is_one_of_an_earlier_version(content: bytes) -> None:
    """Whoever takes the seal away gains nothing: such a line lets no data key be kept."""
    line = _TEXT.split(b", seal ")[0]
    text = (line[:-64] + content if content else line) + b"\n" + _REST
    assert lacks_seal(text)
    assert not read_digest(text).is_sealed((_KEY,))
    assert read_digest(text).holds(_PLAIN, (_KEY,)) == (not content)


def test_a_seal_made_of_the_first_digest_is_none() -> None:
    """Both are made with the same key, and neither passes for the other."""
    line = read_digest(_TEXT)
    assert line.content != line.seal
    forged = _TEXT.replace(line.seal, line.content)
    assert not read_digest(forged).is_sealed((_KEY,))
