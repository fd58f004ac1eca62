"""What is encrypted comes back, and only what changed gets new ciphertext."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from osm_gitops.errors import ClosedError, Code, EncryptionError, InputError
from osm_gitops.sops.document import decrypt, encrypt, hidden, is_encrypted, recipients_of, rekey, rotate
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.faults import Expected, refused
from tests.sops.scenes import (
    ANNA,
    BERT,
    CLEO,
    LATER,
    NOW,
    OURS,
    SECRET,
    UNHURRIED,
    VECTOR_KEYS,
    VECTORS,
    Trail,
    documents,
    flattened,
    is_sealed,
    replaced,
    scalars,
    selections,
)

Json = Any


def _sealed(body: Mapping[str, Json] = SECRET, selection: Selection = OURS) -> dict[str, Json]:
    return encrypt(body, ANNA.rule(selection), now=NOW)


def _again(body: Mapping[str, Json], previous: Mapping[str, Json], rule: Rule | None = None) -> dict[str, Json]:
    return encrypt(body, rule or ANNA.rule(), now=LATER, previous=previous, keyring=ANNA.keyring)


def _changed(before: Mapping[str, Json], after: Mapping[str, Json]) -> set[Trail]:
    """Where two encrypted bodies differ."""
    left, right = ({trail: repr(value) for trail, value in flattened(body)} for body in (before, after))
    return {trail for trail in left.keys() | right.keys() if left.get(trail) != right.get(trail)}


def _vector(name: str) -> list[Json]:
    return [document.value for document in load_documents((VECTORS / name).read_bytes(), name)]


_STAMP: set[Trail] = {("sops", "mac"), ("sops", "lastmodified")}


@UNHURRIED
@given(documents, selections)
def test_what_was_encrypted_and_written_comes_back(body: dict[str, Json], selection: Selection) -> None:
    text = dump(_sealed(body, selection))
    (opened,) = decrypt([document.value for document in load_documents(text, "a.yaml")], ANNA.keyring)
    assert dump(opened) == dump(body)


def _chosen(trail: Trail, selection: Selection) -> bool:
    keys = [key for key in trail if isinstance(key, str)]
    if selection.encrypted_regex:
        return any(re.search(selection.encrypted_regex, key) for key in keys)
    if selection.unencrypted_regex:
        return not any(re.search(selection.unencrypted_regex, key) for key in keys)
    if selection.encrypted_suffix:
        return any(key.endswith(selection.encrypted_suffix) for key in keys)
    return not any(key.endswith(selection.unencrypted_suffix or "_unencrypted") for key in keys)


@UNHURRIED
@given(documents, selections)
def test_every_value_below_a_chosen_key_is_encrypted_and_no_other(body: dict[str, Json], selection: Selection) -> None:
    there = dict(flattened(hidden(_sealed(body, selection))))
    for trail, value in flattened(body):
        kept = value is None or value in ("", {}, []) or not _chosen(trail, selection)
        assert dump(there[trail]) == dump(value) if kept else is_sealed(there[trail])


@UNHURRIED
@given(documents, selections)
def test_the_same_content_later_leaves_the_body_as_it_is(body: dict[str, Json], selection: Selection) -> None:
    before = _sealed(body, selection)
    assert _again(body, before, ANNA.rule(selection)) == before


@UNHURRIED
@given(documents, selections, scalars, st.data())
def test_a_changed_value_changes_itself_the_mac_and_the_date(
    body: dict[str, Json], selection: Selection, new: Json, data: st.DataObject
) -> None:
    leaves = [trail for trail, value in flattened(body) if not isinstance(value, dict | list)]
    assume(leaves)
    trail = data.draw(st.sampled_from(leaves))
    changed = replaced(body, trail, new)
    assume(dump(changed) != dump(body))
    before = _sealed(body, selection)
    after = _again(changed, before, ANNA.rule(selection))
    assert _changed(before, after) == {trail, *_STAMP}
    assert dump(decrypt([after], ANNA.keyring)[0]) == dump(changed)


@UNHURRIED
@given(documents, st.text("abc:", min_size=1), scalars)
def test_an_added_or_removed_key_changes_no_other_value(body: dict[str, Json], key: str, new: Json) -> None:
    assume(key not in body)
    more = body | {key: {"data": new}}
    less, full = _sealed(body), _sealed(more)
    assert _changed(less, _again(more, less)) == {(key, "data"), *_STAMP}
    assert _changed(full, _again(body, full)) == {(key, "data"), *_STAMP}


def test_values_that_move_in_a_list_keep_their_ciphertext() -> None:
    before = _sealed()
    longer = replaced(SECRET, ("stringData", "list"), ["new", *SECRET["stringData"]["list"]])
    after = _again(longer, before)
    assert after["stringData"]["list"][1:] == before["stringData"]["list"]
    assert is_sealed(after["stringData"]["list"][0])


def test_equal_values_never_share_a_ciphertext() -> None:
    data = _again(SECRET | {"data": {"a": ["x", "x", "x"]}}, _sealed(SECRET | {"data": {"a": ["x"]}}))["data"]["a"]
    assert len(set(data)) == 3


def test_two_encryptions_of_one_document_have_nothing_in_common() -> None:
    texts = [[value for _, value in flattened(_sealed()) if is_sealed(value)] for _ in range(2)]
    assert set(texts[0]).isdisjoint(texts[1])


def _all_new(before: Mapping[str, Json], after: Mapping[str, Json]) -> bool:
    texts = {value for _, value in flattened(before) if is_sealed(value)}
    return bool(texts) and texts.isdisjoint(value for _, value in flattened(after))


def test_nothing_is_kept_for_other_recipients_without_a_key_or_of_a_damaged_file() -> None:
    before = _sealed()
    both = Rule((ANNA.recipient, BERT.recipient), OURS)
    assert _all_new(before, _again(SECRET, before, both))
    assert _all_new(before, encrypt(SECRET, ANNA.rule(), now=LATER, previous=before))
    assert _all_new(before, encrypt(SECRET, ANNA.rule(), now=LATER, previous=before, keyring=BERT.keyring))
    assert _all_new(before, _again(SECRET, replaced(before, ("metadata", "name"), "other")))
    assert _all_new(before, _again(SECRET, replaced(before, ("sops", "age"), "gone")))
    assert is_encrypted(_again(SECRET, SECRET))


def test_another_order_of_the_recipients_is_no_change() -> None:
    before = encrypt(SECRET, Rule((ANNA.recipient, BERT.recipient), OURS), now=NOW)
    assert _again(SECRET, before, Rule((BERT.recipient, ANNA.recipient), OURS)) == before


def test_another_selection_is_written_under_the_same_key() -> None:
    before = _sealed()
    after = _again(SECRET, before, ANNA.rule(Selection(unencrypted_suffix="ata")))
    assert after["sops"]["age"] == before["sops"]["age"]
    assert is_sealed(after["kind"])
    assert after["data"] == SECRET["data"]
    assert decrypt([after], ANNA.keyring) == [SECRET]


def test_a_document_in_another_order_is_written_sorted_and_keeps_its_ciphertext() -> None:
    (before,) = _vector("one-group.yaml")
    rule = Rule(recipients_of(before), Selection())
    (plain,) = decrypt([before], VECTOR_KEYS)
    after = encrypt(plain, rule, now=LATER, previous=before, keyring=VECTOR_KEYS)
    assert list(after["metadata"]) == sorted(before["metadata"]) != list(before["metadata"])
    assert _changed(before, after) == {("stringData", "date"), *_STAMP}  # a time of YAML, which is text to Kubernetes


def test_true_is_not_one_even_where_the_mac_does_not_tell() -> None:
    selection = Selection(encrypted_regex="^data$", mac_only_encrypted=True)
    before = _sealed({"data": "x", "spec": 1}, selection)
    assert _again({"data": "x", "spec": True}, before, ANNA.rule(selection))["spec"] is True


def test_every_recipient_opens_a_document_alone() -> None:
    sealed = encrypt(SECRET, Rule((ANNA.recipient, BERT.recipient), OURS), now=NOW)
    assert recipients_of(sealed) == (ANNA.recipient, BERT.recipient)
    for person in (ANNA, BERT):
        assert decrypt([sealed], person.keyring) == [SECRET]
    with pytest.raises(ClosedError):
        decrypt([sealed], CLEO.keyring)


def test_the_map_beside_the_values_is_that_of_sops() -> None:
    there = encrypt(SECRET, ANNA.rule(), now="2026-02-01T10:30:00.25+01:00")["sops"]
    assert list(there) == ["age", "lastmodified", "mac", "encrypted_regex", "version"]
    assert there["lastmodified"] == "2026-02-01T10:30:00+01:00"
    assert there["encrypted_regex"] == OURS.encrypted_regex
    assert there["age"][0]["enc"].startswith("-----BEGIN AGE ENCRYPTED FILE-----\n")
    everything = encrypt(SECRET, ANNA.rule(Selection(mac_only_encrypted=True)), now=NOW)["sops"]
    assert everything["unencrypted_suffix"] == "_unencrypted"
    assert everything["mac_only_encrypted"] is True


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"data": {"sops": 1}, "sops": {}}, Expected(Code.SOPS_DAMAGED, "sops")),
        ({"data": [0, 1 << 63]}, Expected(Code.VALUE_NOT_ENCRYPTABLE, "data[1]", "64")),
        ({"spec": {"clear": -(1 << 63) - 1}}, Expected(Code.VALUE_NOT_ENCRYPTABLE, "spec.clear", "64")),
        ({"data": {"text": "\ud800"}}, Expected(Code.VALUE_NOT_ENCRYPTABLE, "data.text")),
        ({"data": {"blob": b"x"}}, Expected(Code.VALUE_NOT_ENCRYPTABLE, "data.blob")),
    ],
)
def test_what_sops_has_no_type_for_is_refused_by_its_place(body: dict[str, Json], fault: Expected) -> None:
    with pytest.raises(EncryptionError) as caught:
        encrypt(body, ANNA.rule(), now=NOW)
    assert fault in caught.value.problems


def test_all_recipients_that_cannot_be_used_are_named_at_once() -> None:
    recipients = (ANNA.recipient, "age1pq1qqq", "age1yubikey1qqq", "somebody", ANNA.recipient[:-1], "ssh-rsa AAAA")
    with pytest.raises(InputError) as caught:
        encrypt(SECRET, Rule(recipients, OURS), now=NOW)
    assert list(caught.value.problems) == [
        Expected(Code.RECIPIENT_UNSUPPORTED, "age1pq1qqq"),
        Expected(Code.RECIPIENT_UNSUPPORTED, "age1yubikey1qqq"),
        Expected(Code.RECIPIENT_INVALID, "somebody"),
        Expected(Code.RECIPIENT_INVALID, ANNA.recipient[:-1]),
        Expected(Code.RECIPIENT_INVALID, "ssh-rsa AAAA"),
    ]


def test_rekey_adds_and_removes_recipients_and_leaves_all_else() -> None:
    before = encrypt(SECRET, Rule((ANNA.recipient, BERT.recipient), OURS), now=NOW)
    (after,) = rekey([before], [CLEO.recipient, ANNA.recipient], keyring=ANNA.keyring)
    assert _changed(before, after) <= {
        ("sops", "age", place, name) for place in (0, 1) for name in ("enc", "recipient")
    }
    assert after["sops"]["age"][1] == before["sops"]["age"][0]
    assert decrypt([after], CLEO.keyring) == [SECRET]
    with pytest.raises(ClosedError):
        decrypt([after], BERT.keyring)
    assert rekey([after], [CLEO.recipient, ANNA.recipient], keyring=CLEO.keyring) == [after]


def test_rotate_makes_everything_new() -> None:
    before = _sealed()
    (after,) = rotate([before], [BERT.recipient], now=LATER, keyring=ANNA.keyring)
    assert _all_new(before, after)
    assert after["sops"]["age"][0]["enc"] != before["sops"]["age"][0]["enc"]
    assert decrypt([after], BERT.keyring) == [SECRET]


def test_several_documents_of_a_file_share_a_key_and_a_mac() -> None:
    there = _vector("secrets.yaml")
    plain = decrypt(there, VECTOR_KEYS)
    written = rotate(there, [ANNA.recipient], now=NOW, keyring=VECTOR_KEYS)
    assert decrypt(written, ANNA.keyring) == plain
    assert written[0]["sops"] == written[1]["sops"]
    for cut in (written[:1], written[1:], written[::-1]):
        with refused(Code.SOPS_DAMAGED, kind=EncryptionError):
            decrypt(cut, ANNA.keyring)
    (one, two) = rekey(written, [BERT.recipient], keyring=ANNA.keyring)
    assert _changed(written[1], two) == {("sops", "age", 0, "enc"), ("sops", "age", 0, "recipient")}
    assert decrypt([one, two], BERT.keyring) == plain
