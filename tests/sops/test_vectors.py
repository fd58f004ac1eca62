"""Files of the real sops, opened without it."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.errors import Code, EncryptionError
from osm_gitops.sops.document import decrypt, encrypt, recipients_of
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.yaml.emit import dump
from osm_gitops.yaml.kubernetes import load_documents
from tests.faults import placed
from tests.sops.scenes import LATER, VECTOR_KEYS, VECTORS


def _read(name: str) -> list[Any]:
    return [document.value for document in load_documents((VECTORS / name).read_bytes(), name)]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("default.yaml", "values.yaml"),
        ("encrypted-suffix.yaml", "values.yaml"),
        ("unencrypted-suffix.yaml", "values.yaml"),
        ("unencrypted-regex.yaml", "values.yaml"),
        ("mac-only.yaml", "values.yaml"),
        ("one-group.yaml", "secret.yaml"),
        ("secrets.yaml", "secrets.yaml"),
        ("secret.json", "secret.json"),
    ],
)
def test_a_file_of_sops_opens_to_what_sops_makes_of_it(name: str, plain: str) -> None:
    opened = decrypt(_read(name), VECTOR_KEYS)
    assert list(map(dump, opened)) == list(map(dump, _read(f"plain/{plain}")))


@pytest.mark.parametrize(
    ("name", "field"),
    [("groups.yaml", "sops.key_groups"), ("comments.yaml", "sops.encrypted_comment_regex")],
)
def test_what_is_not_read_of_sops_is_refused_with_its_place(name: str, field: str) -> None:
    with pytest.raises(EncryptionError) as caught:
        decrypt(_read(name), VECTOR_KEYS)
    assert placed(caught.value.problems) == [(Code.SOPS_UNSUPPORTED, field)]


def test_a_file_of_sops_keeps_its_data_key_and_its_texts_when_a_value_changes() -> None:
    (there,) = _read("mac-only.yaml")
    (plain,) = decrypt([there], VECTOR_KEYS)
    plain["spec"]["bootstrapConfig"]["files"][0]["path"] = "/etc/changed"
    selection = Selection(encrypted_regex="^(bootstrapConfig)$", mac_only_encrypted=True)
    rule = Rule(recipients_of(there), selection)
    now = encrypt(plain, rule, now=LATER, previous=there, keyring=VECTOR_KEYS)
    assert now["sops"]["age"] == there["sops"]["age"]
    before, after = (body["spec"]["bootstrapConfig"]["files"] for body in (there, now))
    assert after[1]["path"] == before[2]["path"]  # before it stands a comment, which ours do not have
    assert after[0]["path"] != before[1]["path"]
