"""The functions that Go's text/template brings itself, and the table of all functions."""

from __future__ import annotations

import re
from pathlib import Path

from osm_gitops.gotemplate.functions import FUNCTIONS, REFUSED, builtins
from osm_gitops.gotemplate.values import Pointer
from tests.gotemplate.go_templates import disagreements, render

_REFERENCE = (Path(__file__).parents[3] / "docs" / "reference" / "profiles.md").read_text("utf-8")
_GO = "call eq ge gt html index js le len lt ne not print printf println urlquery"


def test_the_functions_are_those_of_the_reference_and_no_function_of_osm_is_missing() -> None:
    blocks = re.findall(r"<!-- (?:functions|refused) -->(.*?)<!-- end -->", _REFERENCE, re.DOTALL)
    names = {name for block in blocks for name in re.findall(r"`(\w+)`", block)}
    assert len(blocks) == 2
    assert {*FUNCTIONS, *REFUSED} == names
    assert len(names - set(_GO.split())) >= 217
    assert not FUNCTIONS.keys() & REFUSED.keys()


def test_a_function_is_in_the_table_under_its_own_name() -> None:
    assert all(name == function.name for name, function in FUNCTIONS.items())


def test_clock_chance_environment_and_network_are_refused() -> None:
    for name in ("now", "randAlpha", "uuidv4", "genCA", "env", "getHostByName", "htpasswd"):
        assert name in REFUSED
        assert render(f"{{{{ {name} }}}}") is None


def test_builtins_are_as_in_go() -> None:
    assert disagreements("builtins") == []


def test_escaping_follows_pointers() -> None:
    assert builtins.html(Pointer("<a href='&'>", "string")) == "&lt;a href=&#39;&amp;&#39;&gt;"
    assert builtins.urlquery("a b&ü") == "a+b%26%C3%BC"
    assert builtins.js("'<\n\u2028é") == "\\'\\u003C\\u000A\\u2028é"
    assert builtins.html(None) == "&lt;no value&gt;"
