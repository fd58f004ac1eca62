"""Sprig's URLs."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.functions import urls
from osm_gitops.gotemplate.values import NamedString
from tests.gotemplate.functions.go_vectors import disagreements


def test_the_functions_do_what_sprig_does() -> None:
    assert disagreements("urls", urls.FUNCTIONS) == []


def test_a_url_is_put_together_from_what_it_was_taken_apart_into() -> None:
    text = "https://u:p%40@host:1/a%20b?q=1#f"
    assert urls.join(urls.parse(text)) == text
    assert urls.join({}) == ""
    assert urls.join({"scheme": NamedString("http"), "host": "h"}) == "http://h"


@pytest.mark.parametrize("value", [1, None, ["h"]])
def test_parts_of_a_url_must_be_strings(value: object) -> None:
    with pytest.raises(GoError, match="the key host of a URL must be a string"):
        urls.join({"host": value})
