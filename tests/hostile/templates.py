"""Templates that try to take more time or memory than they may: every construct, deep, wide and long.

Functions, filters, tests and operators come from the tables of the engine, so that a new one is attacked without a
word here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.functions import FUNCTIONS
from osm_gitops.gotemplate.sandbox import OPERATORS

_OWN: Final = "_"
_LOOP: Final = "{% for i in range(1000000) %}"
_MEGABYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Attack:
    """``text`` is a file of a profile; ``templates`` are those of its half."""

    name: str
    text: str
    native: bool = True
    templates: Mapping[str, str] = field(default_factory=dict)


# What an argument can be: a value for each type of a parameter, by what is extreme about it.
_SHARED: Final = (
    "{% set n = namespace(x=[1], y=[1]) %}"
    "{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}"
)
_DEEP: Final = "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(5000) %}{% set n.x = [n.x] %}{% endfor %}"
_TEXTS: Final[Mapping[str, str]] = {
    "letters": "repeat({n}, 'a')",
    "words": "repeat({n} // 4, 'Ab1 ')",
    "wide": "repeat({n} // 4, 'é😀\\n')",
    "bytes": "repeat({n}, '\\udc80')",
    "digits": "repeat({n}, '9')",
    "dots": "repeat({n} // 2, 'a.')",
    "brackets": "repeat({n}, '[')",
    "parentheses": "repeat({n}, '(')",
    "lines": "repeat({n} // 4, '? a\\n')",
    "pairs": "repeat({n} // 4, 'a: [')",
    "escapes": "repeat({n} // 2, '\\\\\"')",
    "verbs": "repeat({n} // 6, '%[1].1s')",
    "spaces": "repeat({n}, ' ')",
    "ranges": "repeat({n} // 8, '1 - 2 , ')",
    "quoted": "'\"' ~ repeat({n}, 'a') ~ '\"'",
}
_SIZES: Final = (200_000, 20, 3_000)
_TURNS: Final = 4
_VALUES: Final[Mapping[str, str]] = {
    "shared": _SHARED,
    "deep": _DEEP,
    "long": "{% set n = namespace(x=repeat(100000, 'é')) %}",
    "wide": "{% set n = namespace(x=splitList('', repeat(3000, 'ab'))) %}",
    "same": "{% set n = namespace(x=[repeat(100000, 'é')] * 2000) %}",
    "numbers": "{% set n = namespace(x=until(3000)) %}",
    "small": "{% set n = namespace(x={'a': 1}) %}",
}
_ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {"": "s"},
    "int": {"": "3"},
    "int64": {"": "int64(3)"},
    "float64": {"": "3.5"},
    "bool": {"": "true"},
    "map": {"": "{'a': n.x, 'b': s}"},
    "any[]": {"": "[n.x, s]"},
    "string[]": {"": "splitList('b', s)"},
}


def _call(name: str, subject: str) -> str:
    """A call of a function with arguments that fit; ``subject`` is what it gets where it takes anything."""
    function = FUNCTIONS[name]
    arguments = [subject if each == "any" else _ARGUMENTS[each][""] for each in function.types]
    if function.variadic:
        arguments += arguments[-1:]
    return f"{name}({', '.join(arguments)})"


def _held(expression: str, before: str = "") -> str:
    """Evaluate an expression again and again, and hold all that it gives."""
    held = "{% set h = namespace(x=none, n=0) %}"
    body = f"{{% set h.x = [h.x, {expression}] %}}{{% set h.n = h.n + 1 %}}"
    return f"{held}{before}{_LOOP}{body}{{% endfor %}}"


def _setting(kind: str, size: int) -> str:
    return f"{{% set s = {_TEXTS[kind].format(n=size)} %}}"


def function_attacks() -> Iterator[Attack]:
    """Every function with some kinds of texts, short and long, and with lists that are wide, deep, or shared."""
    kinds = tuple(_TEXTS)
    for place, (name, function) in enumerate(FUNCTIONS.items()):
        takes_any = any(each in {"any", "any[]", "map"} for each in function.types)
        if "string" in function.types or not takes_any:
            before = "{% set n = namespace(x=1) %}"
            for turn in range(_TURNS):
                kind, size = kinds[(place * _TURNS + turn) % len(kinds)], _SIZES[(place + turn) % len(_SIZES)]
                yield Attack(f"{name} {kind} {size}", _held(_call(name, "s"), before + _setting(kind, size)))
        if takes_any:
            for kind, before in _VALUES.items():
                yield Attack(f"{name} {kind}", _held(_call(name, "n.x"), before + "{% set s = 'a' %}"))


def filter_attacks() -> Iterator[Attack]:
    """Jinja2's own filters, tests and operators on the same lists."""
    environment = Engine({}).environment
    own = [name for name in environment.filters if name not in FUNCTIONS and not name.startswith(_OWN)]
    for kind, before in (
        ("shared", _SHARED),
        ("deep", _DEEP),
        ("wide", "{% set n = namespace(x=until(3000), y=until(3000)) %}"),
        ("same", "{% set n = namespace(x=[repeat(100000, 'é')] * 2000, y=[repeat(100000, 'é')] * 2000) %}"),
        ("text", "{% set n = namespace(x=repeat(30000, 'aé '), y=repeat(30000, 'aé ')) %}"),
        ("small", "{% set n = namespace(x=[2, 1], y=[2, 1]) %}"),
    ):
        for name in own:
            for subject in ("n.x", "{'a': n.x, 'b': n.y}"):
                yield Attack(f"filter {name} {kind} {subject}", _held(f"{subject} | {name}", before))
        for name in ("map('string')", "map('length')", "select('in', n.y)", "select('eq', n.y)", "sort(attribute=0)"):
            yield Attack(f"filter {name} {kind}", _held(f"[n.x, n.y] | {name}", before))
        for test in environment.tests:
            call = f"n.x is {test}" if test in _ALONE else f"n.x is {test}(n.y)"
            yield Attack(f"test {call} {kind}", _held(call, before))
        for operator in (*OPERATORS, "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or"):
            for right in ("n.y", "3"):
                yield Attack(f"operator {operator} {right} {kind}", _held(f"n.x {operator} {right}", before))
        for expression in (
            *("n.x[1:]", "n.x[::2]", "n.x[:-1]", "n.x[0]", "n.x[n.y]", "-n.x", "not n.x", "n.x if n.x else n.y"),
            *("[n.x, n.x]", "(n.x, n.y)", "{n.x: 1}", "{(n.x, n.y): 1}", "{'a': n.x}", "namespace(a=n.x)", "range(9)"),
            *("loop.changed(n.x)", "loop.cycle(n.x, n.y)", "dict(*n.x)", "list(*n.x)", "range(*n.x)"),
        ):
            yield Attack(f"expression {expression} {kind}", _held(expression, before))


_ALONE: Final = frozenset(
    (
        *("boolean", "callable", "defined", "escaped", "even", "false", "filter", "float", "integer", "iterable"),
        *("lower", "mapping", "none", "number", "odd", "sequence", "string", "test", "true", "undefined", "upper"),
    )
)
"""Tests without an argument."""
_UNIT: Final[Mapping[str, str]] = {
    "print": "{{ 1 }}",
    "empty": "{{ '' }}",
    "set": "{% set a@ = 1 %}",
    "if": "{% if 1 %}{% endif %}",
    "for": "{% for a@ in [1] %}{% endfor %}",
    "macro": "{% macro m@() %}{% endmacro %}",
    "call": "{% call m() %}{% endcall %}",
    "block": "{% block b@ %}{% endblock %}",
    "filter": "{% filter upper %}x{% endfilter %}",
    "include": "{% include 'part' %}",
    "set and include": "{% set a@ = 1 %}{% include 'part' %}",
    "set and if": "{% set a@ = 1 %}{% if a@ %}{% endif %}",
    "import": "{% import 'part' as p@ %}",
    "import with context": "{% import 'part' as p@ with context %}",
    "from": "{% from 'part' import m as m@ %}",
    "with": "{% with a = 1 %}{% endwith %}",
    "do": "{% do 1 %}",
    "comment": "{# x #}",
    "raw": "{% raw %}{{{% endraw %}",
    "capture": "{% set a@ %}x{% endset %}",
    "blanks": "  {%- if 1 -%}  {%- endif -%}  ",
    "open": "{{",
    "open block": "{%",
}
_CHAINS: Final[Mapping[str, tuple[str, str, str]]] = {
    "add": ("{{ 1", "+1", " }}"),
    "join": ("{{ 1", "~1", " }}"),
    "power": ("{{ 1", "**1", " }}"),
    "compare": ("{{ 1", "==1", " }}"),
    "and": ("{{ 1", " and 1", " }}"),
    "not": ("{{ ", "not ", "1 }}"),
    "minus": ("{{ ", "-", "1 }}"),
    "list": ("{{ [", "1,", "] | length }}"),
    "dict": ("{{ {", "1:1,", "} | length }}"),
    "text": ("{{ '", "\\\\x41", "' }}"),
    "strings": ("{{ ", "'a' ", " }}"),
    "pipeline": ("{{ 1", "|string", " }}"),
    "fields": ("{{ Gates", ".a", " }}"),
    "items": ("{{ Gates", "[0]", " }}"),
    "calls": ("{{ upper", "()", " }}"),
    "arguments": ("{{ list(", "1,", "1) }}"),
    "parentheses": ("{{ ", "(", "1 }}"),
    "brackets": ("{{ ", "[", " }}"),
    "conditions": ("{{ 1", " if 1 else 1", " }}"),
    "tests": ("{{ 1", " is number", " }}"),
    "elif": ("{% if 1 %}", "{% elif 1 %}", "{% endif %}"),
    "nested if": ("", "{% if 1 %}", ""),
    "nested for": ("", "{% for a in [1] %}", ""),
    "nested macro": ("", "{% macro m() %}", ""),
    "name": ("{{ ", "a", " }}"),
    "number": ("{{ ", "9", " }}"),
    "spaces": ("{{ 1", " ", " }}"),
    "lines": ("{{ 1", "\n", " }}"),
    "blanks": ("{{ 1 -}}", " ", "{{- 1 }}"),
}
_GO_UNITS: Final[Mapping[str, str]] = {
    "print": "{{ 1 }}",
    "variable": "{{ $a@ := 1 }}",
    "variable and use": "{{ $a@ := 1 }}{{ $a@ }}",
    "variable and if": "{{ $a@ := 1 }}{{ if $a@ }}{{ end }}",
    "assignment": "{{ $a = 1 }}",
    "if": "{{ if .External }}\n{{ end }}\n",
    "if else": "{{ if .External }}a{{ else }}b{{ end }}",
    "with": "{{ with .Name }}{{ . }}{{ end }}",
    "range": "{{ range $i@, $e := .Gates }}{{ $i@ }}{{ end }}",
    "range of a number": "{{ range 2 }}{{ end }}",
    "define": '{{ define "d@" }}{{ template "d@+" . }}{{ end }}',
    "define with another dot": '{{ define "d@" }}{{ template "d@+" 1 }}{{ end }}',
    "call": '{{ template "d" . }}',
    "block": '{{ block "b@" . }}x{{ end }}',
    "comment": "{{/* x */}}\n",
    "trimmed": " \n {{- 1 -}} \n ",
    "trimmed if": "{{- if .External }}\n{{- end }}\n",
    "template": "{{ .Token }}",
    "unknown field": "{{ .Nope@ }}",
    "unknown function": "{{ nope@ 1 }}",
    "open": "{{",
    "text": "x\n",
    "{% text": "{%",
}
_GO_CHAINS: Final[Mapping[str, tuple[str, str, str]]] = {
    "pipeline": ("{{ 1", " | print", " }}"),
    "arguments": ("{{ print", " 1", " }}"),
    "and": ("{{ and", " .External", " }}"),
    "eq": ("{{ eq 1", " 1", " }}"),
    "fields": ("{{ .Reserved", ".a", " }}"),
    "fields of a value": ("{{ (dict)", ".a", " }}"),
    "parentheses": ("{{ ", "(", "1 }}"),
    "functions": ("{{ ", "print (", "1 }}"),
    "not": ("{{ ", "(not ", "1 }}"),
    "string": ('{{ "', "\\\\x41", '" }}'),
    "raw string": ("{{ `", "a\n", "` }}"),
    "name": ("{{ ", "a", " }}"),
    "number": ("{{ ", "9", " }}"),
    "number with underscores": ("{{ ", "1_", "1 }}"),
    "character": ("{{ '", "a", "' }}"),
    "spaces": ("{{ 1", " ", " }}"),
    "blanks": ("{{ 1 -}}", " ", "{{- 1 }}"),
    "blank lines": ("{{ if 1 -}}", "\n", "{{- end }}"),
    "nested if": ("", "{{ if 1 }}", ""),
    "nested ifs that end": ("{{ if 1 }}" * 140, "\n{{ if 1 }}\n{{ end }}\n", "{{ end }}" * 140),
    "else if": ("{{ if 1 }}", "{{ else if 1 }}", "{{ end }}"),
    "nested range": ("", "{{ range .Gates }}", ""),
    "nested define": ("", '{{ define "a" }}', ""),
    "one line": ("", "x{{ if 1 }}y{{ end }}", ""),
    "one blank line": ("", " {{ if 1 }} {{ end }} ", ""),
}


def text_attacks(lengths: tuple[int, ...] = (60_000, _MEGABYTE - 1_000)) -> Iterator[Attack]:
    """Every statement many times, and every expression long or deep: what reading and translating a text takes."""
    part = {"part": "{% macro m() %}{% endmacro %}"}
    for native, units, chains in ((True, _UNIT, _CHAINS), (False, _GO_UNITS, _GO_CHAINS)):
        language = "Jinja2" if native else "Go"
        for length in lengths:
            for name, unit in units.items():
                text = _repeated(unit, length)
                yield Attack(f"{language} text {name} {length}", text, native, part if native else {})
            for name, (opening, unit, closing) in chains.items():
                text = opening + unit * (length // len(unit)) + closing
                yield Attack(f"{language} chain {name} {length}", text, native, part if native else {})


def _repeated(unit: str, length: int) -> str:
    """A statement again and again, ``@`` as a number of each; ``@+`` is the next one's."""
    count = length // (len(unit) + 2 * unit.count("@"))
    numbers = range(count)
    if "@" not in unit:
        return unit * count
    return "".join(unit.replace("@+", str(number + 1)).replace("@", str(number)) for number in numbers)


_GO_SETUP: Final = '{{ $s := repeat 100000 "a" }}{{ $l := splitList "" (repeat 1000 "ab") }}{{ $m := dict "a" $s }}'
_GO_ARGUMENTS: Final[Mapping[str, str]] = {
    "string": "$s",
    "int": "3",
    "int64": "(int64 3)",
    "float64": "3.5",
    "bool": "true",
    "map": "$m",
    "any[]": "$l",
    "string[]": "$l",
    "any": "$l",
}


def go_attacks() -> Iterator[Attack]:
    """Every function in a loop of a Go template, its results held."""
    for name, function in FUNCTIONS.items():
        arguments = " ".join(_GO_ARGUMENTS[each] for each in function.types)
        held = f"{{{{ range 1000000 }}}}{{{{ $h = list $h ({name} {arguments}) }}}}{{{{ end }}}}"
        yield Attack(f"Go {name}", f"{_GO_SETUP}{{{{ $h := list }}}}{held}", native=False)


def _native(name: str, text: str, **templates: str) -> Attack:
    return Attack(name, text, templates=templates)


def _go(name: str, text: str) -> Attack:
    return Attack(name, text, native=False)


def _chain_of_definitions(count: int) -> str:
    """Each definition hands its dot to the one before it, so that the last one's other dot goes a long way."""
    made = "".join(
        f'{{{{ define "d{each}" }}}}{{{{ template "d{each - 1}" . }}}}{{{{ end }}}}' for each in range(1, count)
    )
    calls = "".join(f'{{{{ template "d{each}" . }}}}' for each in range(count))
    never = f"{{{{ if eq 1 2 }}}}{calls}{{{{ end }}}}"
    return f'{{{{ define "d0" }}}}x{{{{ end }}}}{made}{never}{{{{ template "d{count - 1}" 1 }}}}'


_LONG_KEY: Final = '{{ fromToml (print (repeat 100000 "a.") "a = 1") }}'
_HELD: Final = "{% set h = namespace(x=[]) %}"

NAMED: Final[Mapping[str, Attack]] = {
    attack.name: attack
    for attack in (
        *(
            _native(f"shared lists {operator}", f"{_SHARED}{{{{ n.x {operator} [n.y, n.y] }}}}")
            for operator in ("==", "!=", "<", "<=", ">", ">=", "in", "not in")
        ),
        _native("sort of shared lists", _SHARED + "{{ [n.x, n.y] | sort }}"),
        _native("unique of shared tuples", _SHARED.replace("[", "(").replace("]", ",)") + "{{ [n.x] | unique }}"),
        _native("keys of shared tuples", _SHARED.replace("[", "(").replace("]", ",)") + "{{ {n.x: 1} }}"),
        _native("repr of a shared list", _SHARED + "{{ {'a': n.x} | urlencode }}"),
        _native("changed of shared lists", _SHARED + "{% for i in [n.x, n.y] %}{{ loop.changed(i) }}{% endfor %}"),
        _native("3,000 texts of a megabyte", _held("repeat(1000000, 'a') ~ h.n")),
        _go(
            "3,000 texts of a megabyte in Go",
            "".join(f'{{{{ $a{each} := repeat 1000000 "a" }}}}' for each in range(3_000)),
        ),
        _go("keys given 5,000 times", r'{{ fromYaml (repeat 5000 "? a\n") | len }}'),
        _go("keys given 40,000 times", r'{{ fromYaml (repeat 40000 "a: 1\n") | len }}'),
        _go("a chain of 400 definitions", _chain_of_definitions(400)),
        _go("a chain of 1,500 definitions", _chain_of_definitions(1_500)),
        _native(
            "growing imports",
            _HELD + _LOOP + "{% import 'part' as p with context %}{% set h.x = [h.x, p] %}{% endfor %}",
            part="{{ Name }}" * 20_000,
        ),
        _go("400,000 parentheses", '{{ regexMatch (repeat 400000 "(") "a" }}'),
        _go("400,000 parentheses that close", '{{ regexMatch (print (repeat 200000 "(") (repeat 200000 ")")) "a" }}'),
        _go("a long key of TOML", _LONG_KEY),
        _go("keys of TOML", r'{{ range until 300000 }}{{ $x := fromToml "a.b.c = [1, 2, 3]\nd = true" }}{{ end }}'),
        _native("sums of lists", _held("[h.x] + [1] * 100000")),
        _native("slices", _held("s[1:]", "{% set s = repeat(1000000, 'a') %}")),
        _native("slices of lists", _held("s[1:]", "{% set s = [1] * 100000 %}")),
        _native("joins", _held("s ~ s", "{% set s = repeat(500000, 'a') %}")),
        _native("searches in lists", _held("'b' in s", "{% set s = ['a'] * 100000 %}")),
        _native(
            "searches in texts", _held("s in t", "{% set s = repeat(99, 'a') ~ 'b' %}{% set t = repeat(29000, 'a') %}")
        ),
        _native("sum of lists", _held("s | sum(start=[])", "{% set s = [[1] * 100] * 1000 %}")),
        _native("loops without a round", _held("1", "{% for i in range(1000000) if false %}{% endfor %}" * 500)),
        _native("bodies without output", _LOOP + "{{ Name[9:] }}" * 5_000 + "{% endfor %}"),
        _native(
            "macros without output",
            "{% macro m() %}" + "{{ Name[9:] }}" * 5_000 + "{% endmacro %}" + _LOOP + "{{ m() }}{% endfor %}",
        ),
        _go(
            "expressions that are all new",
            '{{ range $i := until 200000 }}{{ regexMatch (print "(a|b)*c{50}" $i) "a" }}{{ end }}',
        ),
        _go("large expressions", '{{ range $i := until 1000 }}{{ regexMatch (print "\\\\pL{300}" $i) "a" }}{{ end }}'),
        _go(
            "small documents", '{{ range $i := until 400000 }}{{ $x := fromYaml "{a: [1, 2, 3], b: {c: d}}" }}{{ end }}'
        ),
        _go(
            "documents of aliases",
            '{{ $a := print "a: &a [" (repeat 9000 "1,") "1]" }}{{ $b := print "b: [" (repeat 40 "*a,") "1]" }}'
            r'{{ range until 100 }}{{ $x := fromYaml (print $a "\n" $b) }}{{ end }}',
        ),
        *(
            Attack(f"a megabyte of {name} in Go", opening + unit * (1_000_000 // len(unit)) + closing, native=False)
            for name, (opening, unit, closing) in _GO_CHAINS.items()
            if name in {"pipeline", "arguments", "fields", "blanks", "blank lines"}
        ),
        *(
            _go(f"a megabyte of {name} in Go", _repeated(_GO_UNITS[name], 900_000))
            for name in (
                "variable",
                "variable and use",
                "variable and if",
                "range",
                "trimmed",
                "define with another dot",
            )
        ),
        _native("variables and includes", _repeated(_UNIT["set and include"], 100_000), part=""),
    )
}
"""What got through once, and its kin."""
