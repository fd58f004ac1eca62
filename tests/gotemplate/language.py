"""A small language for tests of the translator: few functions, few fields."""

from __future__ import annotations

from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.emit import Language, Translation, translate
from osm_gitops.gotemplate.expressions import Schema
from osm_gitops.gotemplate.parser import parse

ROOT = {
    "Name": "string",
    "Provider": "model.Provider",
    "Proxy": "*string",
    "External": "bool",
    "Pods": "*int32",
    "Addresses": "[]net.IP",
    "Gates": "map[string]bool",
    "Reserved": "*map[string]string",
    "System": "model.System",
}
SCHEMA = Schema(ROOT, {"model.System": {"Upgrade": "bool"}}, frozenset({"string", "model.Provider"}))


def _nothing(*_args: object) -> None:
    """Tests of the translator call no function."""


def _function(name: str, params: str, returns: str = "") -> GoFunction:
    return GoFunction(name, params, _nothing, returns)


FUNCTIONS = {
    each.name: each
    for each in (
        _function("indent", "int string", "string"),
        _function("upper", "string", "string"),
        _function("list", "any…"),
        _function("dict", "any…"),
        _function("print", "any…", "string"),
        _function("eq", "any any…", "bool"),
        _function("ne", "any any", "bool"),
        _function("not", "any", "bool"),
        _function("add", "any…", "int64"),
        _function("round", "any int float64…", "float64"),
        _function("wide", "int64"),
        _function("default", "any any…"),
    )
}
REFUSED = {"now": "it depends on the time"}
NAMES = frozenset({*FUNCTIONS, *REFUSED, "and", "or"})
LANGUAGE = Language(FUNCTIONS, REFUSED, SCHEMA)


def translated(text: str, *snippets: str) -> Translation:
    """A Go template in Jinja2."""
    return translate("/t", parse("/t", text, NAMES), LANGUAGE, snippets=snippets)


def jinja(text: str, *snippets: str) -> str:
    return translated(text, *snippets).text
