"""The functions that text/template brings itself, but for ``and`` and ``or`` (osm-behaviour.md, "Template language").

``slice`` is not here: sprig's hides it.
"""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import REPLACEMENT, is_print, normalise
from osm_gitops.gocompat.url import query_escape
from osm_gitops.gotemplate import access, compare
from osm_gitops.gotemplate.functions.signature import GoFunction
from osm_gitops.gotemplate.printing import printable, sprint, sprintf, sprintln
from osm_gitops.gotemplate.values import go_type

_HTML: Final = str.maketrans(
    {"\0": REPLACEMENT, '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"},
)
_JS: Final = {
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "<": "\\u003C",
    ">": "\\u003E",
    "&": "\\u0026",
    "=": "\\u003D",
}


def html(*args: Any) -> str:
    return _escaping_text(args).translate(_HTML)


def js(*args: Any) -> str:
    """Escape for a string in JavaScript."""
    return "".join(map(_js_char, normalise(_escaping_text(args))))


def urlquery(*args: Any) -> str:
    return query_escape(_escaping_text(args))


def negate(value: Any) -> bool:
    return not value


def call(function: Any, *_: Any) -> Any:
    """``call`` needs a value that is a function; the data has none."""
    raise GoError("call of nil" if function is None else f"non-function of type {go_type(function)}")


def _escaping_text(args: tuple[Any, ...]) -> str:
    """The operands of an escaping function as one text; pointers are followed."""
    if len(args) == 1 and type(args[0]) is str:
        return args[0]
    return sprint([printable(each) for each in args])


def _js_char(char: str) -> str:
    if char in _JS:
        return _JS[char]
    if char < " ":
        return f"\\u{ord(char):04X}"
    if char.isascii() or is_print(char) or "\udc80" <= char <= "\udcff":
        return char
    return f"\\u{ord(char):04X}"


def _print(*args: Any) -> str:
    return sprint(args)


def _println(*args: Any) -> str:
    return sprintln(args)


def _printf(template: str, *args: Any) -> str:
    return sprintf(template, args)


FUNCTIONS: Final = (
    GoFunction("print", "any…", _print, returns="string"),
    GoFunction("println", "any…", _println, returns="string"),
    GoFunction("printf", "string any…", _printf, returns="string"),
    GoFunction("html", "any…", html, returns="string"),
    GoFunction("js", "any…", js, returns="string"),
    GoFunction("urlquery", "any…", urlquery, returns="string"),
    GoFunction("len", "any", access.length, returns="int"),
    GoFunction("index", "any any…", access.index),
    GoFunction("not", "any", negate, returns="bool"),
    GoFunction("call", "any any…", call),
    GoFunction("eq", "any any…", compare.eq, returns="bool"),
    GoFunction("ne", "any any", compare.ne, returns="bool"),
    GoFunction("lt", "any any", compare.lt, returns="bool"),
    GoFunction("le", "any any", compare.le, returns="bool"),
    GoFunction("gt", "any any", compare.gt, returns="bool"),
    GoFunction("ge", "any any", compare.ge, returns="bool"),
)
