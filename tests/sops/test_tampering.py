"""What was changed after encryption is noticed, and no message tells what is inside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from osm_gitops.errors import ClosedError, Code, EncryptionError, InputError, Problem
from osm_gitops.sops.document import decrypt, encrypt, recipients_of, rekey, rotate
from osm_gitops.sops.keys import Keyring, find_keys
from osm_gitops.sops.rules import Rule, Selection
from tests.faults import Expected, placed, refused
from tests.sops.scenes import (
    ANNA,
    BERT,
    LATER,
    NOW,
    OURS,
    SECRET,
    UNHURRIED,
    VECTOR_KEYS,
    Trail,
    flattened,
    is_sealed,
    replaced,
)

Json = Any

_SEALED = encrypt(SECRET, ANNA.rule(), now=NOW)
_TEXTS = {trail: value for trail, value in flattened(_SEALED) if is_sealed(value)}
_INSIDE = ("geheim", "dG9wLXNlY3JldA==", "first line", "second line", "still", "SECRET-KEY")
_MAC = Expected(Code.SOPS_DAMAGED, "sops.mac")


def _refusal(*bodies: Mapping[str, Json], keyring: Keyring = ANNA.keyring) -> list[Problem]:
    """The problems of ``bodies``, by everything that opens them."""
    with pytest.raises(EncryptionError) as caught:
        decrypt(bodies, keyring)
    with pytest.raises(EncryptionError, match=re.escape(str(caught.value))):
        rekey(bodies, [BERT.recipient], keyring=keyring)
    with pytest.raises(EncryptionError, match=re.escape(str(caught.value))):
        rotate(bodies, [ANNA.recipient], now=LATER, keyring=keyring)
    assert not [text for text in _INSIDE if text in str(caught.value) + repr(caught.value)]
    return list(caught.value.problems)


@UNHURRIED
@given(st.sampled_from(sorted(_TEXTS, key=str)), st.data())
def test_no_character_of_a_ciphertext_can_be_changed(trail: Trail, data: st.DataObject) -> None:
    text = _TEXTS[trail]
    place = data.draw(st.integers(0, len(text) - 1))
    char = data.draw(st.sampled_from("AZaz09+/=,:[]\n ") | st.characters(exclude_categories=["Cs"]))
    changed = text[:place] + char + text[place + 1 :]
    assume(changed != text and not _spare_bits(text, place))
    _refusal(replaced(_SEALED, trail, changed))


def _spare_bits(text: str, place: int) -> bool:
    """Whether the last character before a padding changed: base64 has bits there that say nothing; or the type did."""
    return text[place + 1 : place + 2] == "=" or place >= text.index(",type:")


@pytest.mark.parametrize("kind", ["int", "bool", "float", "time", "comment", "secret"])
def test_another_type_is_noticed(kind: str) -> None:
    text = _SEALED["data"]["other"].replace("type:str", f"type:{kind}")
    assert placed(_refusal(replaced(_SEALED, ("data", "other"), text))) == [(Code.SOPS_DAMAGED, "data.other")]


def test_a_ciphertext_opens_in_its_own_place_alone() -> None:
    swapped = replaced(_SEALED, ("data", "other"), _SEALED["data"]["token"])
    assert Expected(Code.SOPS_DAMAGED, "data.other") in _refusal(swapped)
    other = encrypt(SECRET, ANNA.rule(), now=NOW)
    assert Expected(Code.SOPS_DAMAGED, "data.token") in _refusal(
        replaced(_SEALED, ("data", "token"), other["data"]["token"])
    )


def test_all_damaged_values_are_named_at_once() -> None:
    broken = replaced(_SEALED, ("data", "token"), "in the clear")
    broken = replaced(broken, ("stringData", "list", 6, 1, "er"), "ENC[AES256_GCM,data:é,iv:A,tag:A,type:str]")
    broken = replaced(broken, ("data", "empty"), 5)
    assert placed(_refusal(broken)) == [
        (Code.SOPS_DAMAGED, "data.empty"),
        (Code.SOPS_DAMAGED, "data.token"),
        (Code.SOPS_DAMAGED, "stringData.list[6][1].er"),
    ]


def _without(body: Mapping[str, Json], *names: str) -> dict[str, Json]:
    return {key: value for key, value in body.items() if key not in names}


_DATA = _SEALED["data"]


@pytest.mark.parametrize(
    "tampered",
    [
        _SEALED | {"metadata": {"name": "other"}},
        _SEALED | {"metadata": SECRET["metadata"] | {"namespace": "added"}},
        _SEALED | {"data": _without(_DATA, "token")},
        _SEALED | {"data": _DATA | {"other": ""}},
        dict(reversed(_SEALED.items())),
        replaced(_SEALED, ("stringData", "list"), list(reversed(_SEALED["stringData"]["list"]))),
        _without(_SEALED, "data"),
    ],
    ids=["clear value", "added clear value", "removed", "emptied", "order", "order of a list", "removed all"],
)
def test_the_mac_tells_of_what_no_ciphertext_tells(tampered: Mapping[str, Json]) -> None:
    assert _MAC in _refusal(tampered)


def test_a_mac_over_encrypted_values_alone_leaves_clear_ones_free() -> None:
    sealed = encrypt(SECRET, ANNA.rule(Selection("^data$", mac_only_encrypted=True)), now=NOW)
    (opened,) = decrypt([sealed | {"kind": "Other"}], ANNA.keyring)
    assert opened == SECRET | {"kind": "Other"}
    assert _MAC in _refusal(sealed | {"data": _without(sealed["data"], "other")})
    assert _MAC in _refusal(replaced(sealed, ("sops", "mac_only_encrypted"), new=False))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"mac": ""}, Expected(Code.SOPS_DAMAGED, "sops.mac")),
        ({"mac": _DATA["token"]}, Expected(Code.SOPS_DAMAGED, "sops.mac", "lastmodified")),
        ({"lastmodified": LATER}, Expected(Code.SOPS_DAMAGED, "sops.mac")),
        ({"lastmodified": "yesterday"}, Expected(Code.SOPS_DAMAGED, "sops.lastmodified", "2026-01-31T12:00:00Z")),
        ({"encrypted_regex": ""}, Expected(Code.SOPS_DAMAGED, "apiVersion")),
        ({"encrypted_regex": "^data$"}, _MAC),
        ({"encrypted_regex": "("}, Expected(Code.SOPS_RULE_INVALID)),
        ({"unencrypted_suffix": "x"}, Expected(Code.SOPS_DAMAGED, "encrypted_regex", "unencrypted_suffix")),
        ({"encrypted_comment_regex": "x"}, Expected(Code.SOPS_UNSUPPORTED, "sops.encrypted_comment_regex")),
        ({"mac_only_encrypted": "yes"}, Expected(Code.SOPS_DAMAGED, "sops.mac_only_encrypted")),
        ({"version": 3}, Expected(Code.SOPS_DAMAGED, "sops.version")),
        ({"age": []}, Expected(Code.SOPS_DAMAGED, "sops.age")),
        ({"age": [{"recipient": "x"}, 5]}, Expected(Code.SOPS_DAMAGED, "sops.age[0]")),
        ({"age": "x"}, Expected(Code.SOPS_DAMAGED, "sops.age[0]")),
        (
            {"age": [{"recipient": "age1x", "enc": "x"}]},
            Expected(Code.SOPS_DAMAGED, "sops.age", "age1x"),
        ),
        ({"age": None, "key_groups": 5}, Expected(Code.SOPS_DAMAGED, "sops.key_groups")),
        ({"age": None, "key_groups": [{}, {}]}, Expected(Code.SOPS_UNSUPPORTED, "sops.key_groups", "2")),
    ],
)
def test_what_is_wrong_with_the_map_of_sops_is_said(change: dict[str, Json], fault: Expected) -> None:
    assert fault in _refusal(_SEALED | {"sops": _SEALED["sops"] | change})


def test_a_map_of_sops_that_is_none_opens_nothing() -> None:
    assert placed(_refusal(_SEALED | {"sops": "ENC"})) == [(Code.SOPS_DAMAGED, "sops")]


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(list(_TEXTS.values())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@UNHURRIED
@given(st.dictionaries(st.sampled_from([*_SEALED["sops"], "pgp", "key_groups", "encrypted_suffix"]), _json), _json)
def test_no_map_of_sops_leads_to_anything_but_sentences(change: dict[str, Json], enc: Json) -> None:
    (entry,) = _SEALED["sops"]["age"]
    for sops in (_SEALED["sops"] | change, _SEALED["sops"] | {"age": [entry | {"enc": enc}]}, change, enc):
        try:
            decrypt([_SEALED | {"sops": sops}], ANNA.keyring)
        except EncryptionError:
            continue
        assert sops["mac"] == _SEALED["sops"]["mac"]


def test_a_file_for_others_names_them_and_says_where_keys_are_looked_for() -> None:
    sealed = encrypt(SECRET, Rule((ANNA.recipient, BERT.recipient), OURS), now=NOW)
    assert list(_refusal(sealed, keyring=VECTOR_KEYS)) == [Expected(Code.NO_KEY_OPENS, ANNA.recipient, BERT.recipient)]
    noted = find_keys({"SOPS_AGE_KEY": "AGE-PLUGIN-YUBIKEY-1QQQ"})
    with refused(Code.NO_KEY_OPENS, kind=ClosedError):
        decrypt([sealed], noted)


def test_a_file_without_age_recipients_names_its_keys_and_the_way_out() -> None:
    sops = _SEALED["sops"] | {"age": None, "pgp": [{"fp": "1234", "enc": "x"}], "kms": [{"arn": "x"}]}
    assert list(_refusal(_SEALED | {"sops": sops})) == [Expected(Code.NO_KEY_OPENS, "PGP", "AWS", "KMS")]


def test_a_file_for_more_than_age_recipients_opens_and_is_not_written() -> None:
    both = _SEALED | {"sops": _SEALED["sops"] | {"pgp": [{"fp": "1234", "enc": "x"}]}}
    assert decrypt([both], ANNA.keyring) == [SECRET]
    why = "the document is also encrypted with PGP keys, and osm-gitops writes for age recipients only"
    with refused(Expected(Code.SOPS_OTHER_KEYS, why), kind=EncryptionError):
        rekey([both], [BERT.recipient], keyring=ANNA.keyring)
    with refused(Expected(Code.SOPS_OTHER_KEYS, why), kind=EncryptionError):
        rotate([both], [ANNA.recipient], now=LATER, keyring=ANNA.keyring)
    for keyring in (ANNA.keyring, Keyring()):
        with refused(Expected(Code.SOPS_OTHER_KEYS, why), kind=EncryptionError):
            encrypt(SECRET, ANNA.rule(), now=LATER, previous=both, keyring=keyring)


def test_a_private_key_among_recipients_is_told_and_not_shown() -> None:
    key = ANNA.key.splitlines()[-1]
    with pytest.raises(InputError) as caught:
        encrypt(SECRET, Rule((key,), OURS), now=NOW)
    assert Expected(Code.PRIVATE_KEY_AS_RECIPIENT) in caught.value.problems
    assert not _pieces([key]) & _pieces([str(caught.value), repr(caught.value)])


def _pieces(texts: Sequence[str]) -> set[str]:
    return {text[start : start + 12] for text in texts for start in range(len(text) - 11)} - {"AGE-SECRET-KEY-"[:12]}


def test_a_traceback_with_all_its_values_shows_no_key_and_nothing_of_what_is_inside() -> None:
    seen: list[str] = []
    broken = replaced(_SEALED, ("stringData", "list", 1), "ENC[]")
    with pytest.raises(EncryptionError) as caught:
        rotate([broken], recipients_of(broken), now=LATER, keyring=ANNA.keyring)
    step = caught.tb
    while step is not None:
        if "/osm_gitops/sops/" in step.tb_frame.f_code.co_filename:
            seen += [repr(value) for name, value in step.tb_frame.f_locals.items() if name not in {"values", "key"}]
        step = step.tb_next  # type: ignore[assignment]
    assert "Opening(" in "".join(seen)
    assert not [text for text in _INSIDE if text in "".join(seen)]
    assert not _pieces([ANNA.key.splitlines()[-1]]) & _pieces(seen)
