"""The functions that text/template brings itself, but for ``and`` and ``or``, and sprig's for values of any type:
defaults, decisions, Go types (osm-behaviour.md, "Template language" and "Template functions").

``slice`` is not here: sprig's hides it. Python's truth is Go's."""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gocompat.fault import GoError, Stopped
from osm_gitops.gocompat.net import query_escape
from osm_gitops.gocompat.text import REPLACEMENT, is_print, normalise
from osm_gitops.gotemplate import access, compare
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.compare import deep_equal, empty
from osm_gitops.gotemplate.printing import printable, sprint, sprintf, sprintln
from osm_gitops.gotemplate.values import go_type, kind

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


def default(fallback: Any, *given: Any) -> Any:
    """``default fallback value``: only the first value counts."""
    return given[0] if given and not empty(given[0]) else fallback


def coalesce(*values: Any) -> Any:
    return next((value for value in values if not empty(value)), None)


def all_set(*values: Any) -> bool:
    return not any(map(empty, values))


def any_set(*values: Any) -> bool:
    return not all(map(empty, values))


def ternary(if_true: Any, if_false: Any, condition: bool) -> Any:
    return if_true if condition else if_false


def fail(message: str) -> str:
    raise Stopped(message)


def hello() -> str:
    return "Hello!"


def type_is(target: str, value: Any) -> bool:
    return go_type(value) == target


def type_is_like(target: str, value: Any) -> bool:
    """As ``typeIs``, or a pointer to that type."""
    return go_type(value) in {target, f"*{target}"}


def kind_is(target: str, value: Any) -> bool:
    return kind(value) == target


FUNCTIONS: Final = (
    GoFunction("print", "any…", lambda *args: sprint(args), returns="string"),
    GoFunction("println", "any…", lambda *args: sprintln(args), returns="string"),
    GoFunction("printf", "string any…", lambda template, *args: sprintf(template, args), returns="string"),
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
    GoFunction("default", "any any…", default),
    GoFunction("empty", "any", empty, returns="bool"),
    GoFunction("coalesce", "any…", coalesce),
    GoFunction("all", "any…", all_set, returns="bool"),
    GoFunction("any", "any…", any_set, returns="bool"),
    GoFunction("ternary", "any any bool", ternary),
    GoFunction("fail", "string", fail, returns="string"),
    GoFunction("hello", "", hello, returns="string"),
    GoFunction("deepEqual", "any any", deep_equal, returns="bool"),
    GoFunction("typeOf", "any", go_type, returns="string"),
    GoFunction("typeIs", "string any", type_is, returns="bool"),
    GoFunction("typeIsLike", "string any", type_is_like, returns="bool"),
    GoFunction("kindOf", "any", kind, returns="string"),
    GoFunction("kindIs", "string any", kind_is, returns="bool"),
)
