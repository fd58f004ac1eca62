"""Values of secrets are found in files that every user can read, however they are encoded."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from urllib.parse import quote

import pytest

from osm_gitops.lint.rules.secrets import check_secret_values, forms
from osm_gitops.model.profile import ConfigHalf, File
from tests.lint.rules.documents import document

_SECRET = 'a-made-up"secret/ü'


def _lines(text: str, permissions: int = 644, path: str = "/etc/a", secret: str = _SECRET) -> list[str]:
    half = ConfigHalf(files=(File(path, text, permissions),))
    made = document({"provisioning": half}, {"bootstrap": b"", "provisioning": b""})
    return [finding.where for finding in check_secret_values(replace(made, secrets=frozenset({secret})))]


@pytest.mark.parametrize(
    "encoded",
    [
        _SECRET,
        json.dumps(_SECRET),
        quote(_SECRET, safe=""),
        _SECRET.encode().hex(),
        *(
            b64encode(f"{'x' * before}{_SECRET}{'y' * after}".encode()).decode()
            for before in range(4)
            for after in range(4)
        ),
    ],
)
def test_a_secret_is_found_in_each_encoding_at_its_line(encoded: str) -> None:
    assert _lines(f"first\nsecond {encoded} and more\n") == ["/etc/a:2"]


def test_other_texts_have_no_finding() -> None:
    assert _lines("a-made-up\n", secret=_SECRET) == []
    assert _lines(b64encode(b"another text of the same length or so").decode()) == []
    assert _lines("short", secret="short") == []


@pytest.mark.parametrize(("permissions", "found"), [(600, 0), (640, 0), (700, 0), (644, 1), (755, 1), (604, 1)])
def test_only_a_file_that_every_user_can_read_is_told(permissions: int, found: int) -> None:
    assert len(_lines(_SECRET, permissions)) == found


def test_what_the_words_of_a_file_give_away_is_told_once() -> None:
    assert _lines(f"password: {_SECRET}\n") == []


def test_each_form_is_long_enough_to_mean_the_secret() -> None:
    assert all(len(form) >= 6 for form in forms("secret"))
