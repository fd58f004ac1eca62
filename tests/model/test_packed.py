"""Bodies as compressed texts: the same bytes come back, and what resembles each other takes little memory."""

from __future__ import annotations

import pickle
import random
from base64 import b64encode
from hashlib import sha256

import pytest

from osm_gitops.model.packed import PackedBody, Packer, parsed, text_of, yaml_digest
from osm_gitops.yaml.compact_json import dump_json
from osm_gitops.yaml.emit import dump

_KIB = 1 << 10


def _size(packed: PackedBody) -> int:
    return sum(map(len, packed._segments))


def _noise(seed: int, size: int) -> bytes:
    return b64encode(random.Random(seed).randbytes(size))


@pytest.mark.parametrize("size", [0, 1, 28 * _KIB - 1, 28 * _KIB, 28 * _KIB + 1, 300 * _KIB])
@pytest.mark.parametrize("first", [0, 5, 30 * _KIB, 300 * _KIB])
def test_the_same_bytes_come_back_however_long_the_first_text_was(first: int, size: int) -> None:
    packer = Packer()
    texts = [_noise(1, first), _noise(2, size), _noise(1, size), _noise(1, first + 3)]
    packed = [packer.pack(text, "one kind") for text in texts]
    assert [each.text for each in packed] == texts
    sent = pickle.loads(pickle.dumps(packed))
    assert [each.text for each in sent] == texts
    for each in packed:
        each.settle()
    assert [each.text for each in packed] == texts
    assert packed == sent


def test_the_last_texts_are_not_compressed() -> None:
    packer = Packer()
    packed = [packer.pack(_noise(4, 1000 * _KIB) + b"%d" % number, "one kind") for number in range(6)]
    assert [_size(each) > 0 for each in packed] == [True] * 3 + [False] * 3  # of 4 MiB
    assert all(each.text.endswith(b"%d" % number) for number, each in enumerate(packed))


def test_texts_that_differ_in_little_take_little_memory_however_long_they_are() -> None:
    packer, common = Packer(), _noise(3, 3000 * _KIB)
    for number in range(9):  # with names of all lengths, so that Base64 is shifted
        packer.pack(b"name: %s\n" % (b"n" * number) + common, "one kind")
    packed = packer.pack(b"name: other\n" + common, "one kind")
    packed.compress()
    assert _size(packed) < len(common) / 50


def test_the_text_of_a_body_is_yaml_however_it_is_kept() -> None:
    body = {"kind": "Secret", "metadata": {"name": "n"}, "data": {"b": "x: y\n", "a": ""}}
    for text in (dump(body).encode(), dump_json(body)):
        packed = Packer().pack(text, "")
        assert text_of(packed) == dump(body).encode()


def test_a_number_that_only_a_lying_server_sends_is_kept_as_kubernetes_would_read_it() -> None:
    assert Packer().pack_json({"n": 2**70}, "").parsed() == {"n": float(2**70)}


def test_the_digest_of_a_body_is_that_of_its_yaml_however_it_is_kept() -> None:
    body = {"kind": "Secret", "data": {"b": "x: y\n", "a": ""}}
    texts = (dump(body).encode(), dump_json(body))
    digests = {yaml_digest(each) for each in (body, *(Packer().pack(text, "") for text in texts))}
    assert digests == {sha256(dump(body).encode()).digest()}


def test_a_body_is_what_its_text_says_and_equal_to_what_says_the_same() -> None:
    body = {"kind": "Secret", "data": {"a": "x: y\n"}, "metadata": {"name": "n", "labels": None}, "n": 1}
    packer = Packer()
    packed = packer.pack(dump(body).encode(), "")
    as_json = packer.pack_json(body, "")
    assert parsed(packed) == parsed(as_json) == dict(packed) == body
    assert packed == as_json == body
    assert packed != packer.pack_json({**body, "n": 2}, "")
    assert text_of(packed) == text_of(body) == text_of(dict(as_json))


def test_texts_are_in_no_representation() -> None:
    assert "secret" not in repr(Packer().pack(b"data: secret\n", ""))
