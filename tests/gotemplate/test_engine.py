"""Rendering: the language as it runs, faults with their lines, the sandbox and its bounds."""

from __future__ import annotations

import sys

import pytest

from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import BoundExceeded, Refused
from osm_gitops.gotemplate.values import nil
from tests.gotemplate.rendering import ENGINE, ROOT, SMALL, go, go_fault, jinja, jinja_fault, pods


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (
            "{{ .Name }}|{{ .Provider }}|{{ .Proxy }}|{{ .Pods }}|{{ .External }}",
            "pool|aws|http://proxy:3128|<nil>|true",
        ),
        ("{{ range $i, $ip := .Addresses }}{{ $i }}={{ $ip }};{{ end }}", "0=10.0.0.1;1=fd00::1;"),
        ("{{ range $k, $v := .Gates }}{{ $k }}:{{ $v }},{{ end }}", "A:false,B:true,"),
        ("{{ range $k, $v := .Reserved }}{{ $k }}:{{ . }}{{ $v }}{{ end }}", "cpu:11"),
        ("{{ range 3 }}{{ . }}{{ else }}none{{ end }}{{ range 0 }}x{{ else }}none{{ end }}", "012none"),
        (
            "{{ range list 1 2 3 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ break }}{{ end }}",
            "2",
        ),
        ("{{ range list 1 }}{{ break }}{{ else }}none{{ end }}", ""),
        ("{{ $x := .Gates.Nope }}{{ range 2 }}{{ $x }}{{ $x = . }}{{ end }}{{ $x }}", "<no value>01"),
        (
            "{{ range list 1 2 }}{{ range list 3 4 }}{{ . }}{{ break }}{{ end }}{{ . }}{{ end }}",
            "3132",
        ),
        ("{{ $n := 1 }}{{ range list 1 2 3 }}{{ $n = add $n . }}{{ end }}{{ $n }}", "7"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"),
        ("{{ $x := 1 }}{{ if false }}{{ $x := 2 }}{{ else }}{{ $x }}{{ end }}", "1"),
        ("{{ $x := 9 }}{{ range $x = 3 }}{{ $x }}{{ end }}{{ $x }}", "0122"),
        ("{{ range $x := list }}a{{ else }}{{ $x }}{{ end }}", "[]"),
        ("{{ if $x := 0 }}a{{ else }}{{ $x }}{{ end }}", "0"),
        ("{{ with $x := .Name }}{{ $x }}{{ . }}{{ $.Provider }}{{ end }}", "poolpoolaws"),
        ("{{ with .Pods }}{{ . }}{{ else with .Name }}{{ . }}{{ else }}no{{ end }}", "pool"),
        ("{{ if .Pods }}a{{ else if .Proxy }}{{ .Proxy }}{{ end }}", "http://proxy:3128"),
        ('{{ and 1 "" 2 }}|{{ or "" 0 "x" }}|{{ or "" 0 }}|{{ "x" | and 0 }}|{{ list 1 | or 0 }}', "|x|0|0|[1]"),
        ('{{ (dict "a" (dict "b" 5)).a.b }}{{ (dict "a" 1).z.y }}', "5<no value>"),
        ('{{ print 1 | and "" (fail "x") }}{{ print 1 | or 2 (fail "x") }}{{ print 1 | and 2 3 }}', "21"),
        ("{{ print ($x := 1) $x }}{{ $x }}", "1 11"),
        ("{{ $ := 1 }}{{ $ }}", "1"),
        (
            '{{ define "r" }}{{ if gt . 0 }}{{ . }}{{ template "r" (sub . 1) }}{{ end }}{{ end }}{{ template "r" 5 }}',
            "54321",
        ),
        (
            '{{ define "a" }}{{ $.Name }}{{ .Name }}{{ end }}{{ template "a" . }}{{ template "a" $ }}',
            "poolpool" * 2,
        ),
        ('{{ define "a" }}[{{ . }}{{ .Name }}]{{ end }}{{ template "a" }}', "[<no value><no value>]"),
        (
            '{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}<{{ . }}>{{ end }}{{ template "a" "x" }}',
            "<x>",
        ),
        ('{{ block "b" .Name }}({{ . }}){{ end }}', "(pool)"),
        ('{{ with dict "root" $ }}{{ .root.Name }}{{ end }}', "pool"),
        ("{{ 0644 }} {{ 1.0 }} {{ 1e6 }} {{ 'a' }} {{ -0.0 }} {{ 1_000 }}", "420 1 1e+06 97 -0 1000"),
        ("{{ if false }}{{ now }}{{ .Nope }}{{ end }}", ""),
    ],
)
def test_go_templates_render_as_in_go(text: str, output: str) -> None:
    assert go(text) == output


def test_arguments_are_evaluated_from_left_to_right() -> None:
    assert go('{{ $d := dict }}{{ print (set $d "a" 1) (len $d) (set $d "b" 2) (len $d) }}').count("map") == 2


@pytest.mark.parametrize(
    ("text", "part", "line"),
    [
        ("a\n{{ .Nope }}", "can't evaluate field Nope", 2),
        ("{{ .name }}", "there is none in the data; did you mean Name?", 1),
        ("{{ with $ }}{{ .Prvider }}{{ end }}", "did you mean Provider?", 1),
        ("{{ uper .Name }}", "function 'uper' is not defined; did you mean upper?", 1),
        ("{{ include .Name }}", "one of Helm's", 1),
        ("a\n{{ .Name.x }}", "can't evaluate field x in type string", 2),
        ("a\n{{ .Name 1 }}", "takes no arguments", 2),
        ("a\n{{ 1 | .Name }}", "takes no arguments", 2),
        ("{{ nil }}", "nil is not a command", 1),
        ("\n\n{{ upper .Provider }}", "expected string; got model.Provider", 3),
        ("{{ upper .Pods }}", "expected string", 1),
        ('{{ eq .Proxy "a" }}', "incompatible types for comparison", 1),
        ('{{ template "nope" }}', 'template "nope" is not defined', 1),
        ('{{ $x := 1 }}\n{{ if $y := 2 }}{{ end }}{{ $x = fail "stop" }}', "stop", 2),
        ("{{ $y = 1 }}", "undefined variable: $y", 1),
        ("{{ if false }}{{ $y := 1 }}{{ else }}\n{{ $y }}{{ end }}", "undefined variable: $y", 2),
        ('{{- if .Name -}}\n\n{{- fail "here" -}}\n\n{{- end -}}', "here", 3),
        ('{{ .Name }}{{- /* */ -}}\n{{ range .Addresses -}}\n\n{{ fail "loop" }}{{ end }}', "loop", 4),
        ('{{ define "a" }}\n{{ fail "inside" }}{{ end }}\n\n{{ template "a" }}', "inside", 2),
        ("{{ and }}", "wrong number of args for and", 1),
        ("{{ not }}", "wrong number of args for not", 1),
        ("{{ indent 1.5 .Name }}", "expected an integer; found 1.5", 1),
        ("{{ add 18446744073709551615 1 }}", "too large", 1),
    ],
)
def test_a_fault_names_the_line_of_the_go_source(text: str, part: str, line: int) -> None:
    fault = go_fault(text)
    assert part in fault.message
    assert (fault.template, fault.line) == ("/t", line)


def test_functions_of_time_and_the_whole_data_are_refused_by_name() -> None:
    assert isinstance(go_fault("{{ now }}"), Refused)
    assert "now" in go_fault("{{ now }}").message
    assert isinstance(go_fault("{{ . }}"), Refused)
    assert isinstance(go_fault("{{ toJson $ }}"), Refused)
    assert isinstance(go_fault("{{ list $ | toJson }}"), Refused)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("{{ Name }}\n{% if External %}\n  {% set x = 1 %}\nyes\n{% endif %}\n", "pool\nyes\n"),
        ("{{ Name | indent(2) }}", "  pool"),
        ("{{ indent(2, Name) }}", "  pool"),
        ('{{ Pods | default("none") }}{{ nope | default("x") }}{{ Gates.Z | d(1) }}', "nonex1"),
        ("{{ External }}{{ 1.0 }}{{ Gates }}{{ Gates.A }}", "true1map[A:false B:true]false"),
        ('{{ Proxy ~ "/" ~ 1 }}{{ 1 + 2 * 3 }}{{ "a" + "b" }}{{ 7 // 2 }}', "http://proxy:3128/17ab3"),
        ("{% for k in Reserved %}{{ k }}{% endfor %}{% for k in Gates %}{{ k }}{% endfor %}", "cpuAB"),
        ('{{ split(",", "a,b")._1 }}{{ {"_a": 1}._a }}', "b1"),
        ("{{ Pods is none }}{{ Proxy is none }}{{ Gates.Nope is defined }}", "truefalsefalse"),
        ('{{ Proxy == "http://proxy:3128" }}{{ Pods == none }}{{ "cpu" in Reserved }}', "truetruetrue"),
        (
            "{% for ip in Addresses %}{{ loop.index }}{{ ip }}{% if not loop.last %},{% endif %}{% endfor %}",
            "110.0.0.1,2fd00::1",
        ),
        ("{% for x in range(3) %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "02"),
        ("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}", "4"),
        ("{% macro m(a) %}<{{ a }}{{ caller() }}>{% endmacro %}{% call m(Name) %}1{% endcall %}", "<pool1>"),
        ("{% block a %}x{% endblock %}{{ self.a() }}", "xx"),
        ('{{ ["b", "a"] | sort | join(",") }}{{ [1, 2] | sum }}{{ ["a"] | map("upper") | first }}', "a,b3A"),
        ("{{ root.Name }}{{ Addresses[0] }}{{ Gates['B'] }}{{ Name[1:] }}", "pool10.0.0.1trueool"),
    ],
)
def test_native_jinja2_sees_the_same_data_and_functions(text: str, output: str) -> None:
    assert jinja(text) == output


def test_native_templates_can_be_included_imported_and_extended() -> None:
    templates = {
        "part": "<{{ Name }}>",
        "macros": "{% macro m(a) %}[{{ a }}]{% endmacro %}",
        "base": "a{% block body %}{% endblock %}c",
        "lines": "\n one\n\n",
    }
    assert jinja('{% include "part" %}', templates) == "<pool>"
    assert jinja('{% import "macros" as m %}{{ m.m(1) }}{% from "macros" import m %}{{ m(2) }}', templates) == "[1][2]"
    assert jinja('{% extends "base" %}{% block body %}b{% endblock %}', templates) == "abc"
    assert jinja('x{{ template("lines") }}y', templates) == "x\n\n oney"


def test_what_the_translator_prints_runs_natively_with_the_same_result() -> None:
    text = (
        "a {{- if .Proxy }}\n{{ .Proxy }}{{ .Pods }}{{ end }}\n{{ range $k, $v := .Gates }}{{ $k }}{{ $v }}\n{{- end }}"
    )
    translated = ENGINE.translate("/t", ENGINE.parse("/t", text)).text
    assert jinja(translated) == go(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{{ Pods }}", "there is no value to print; give one with `| default"),
        ("{{ Gates.Nope }}", "has no attribute 'Nope'"),
        ("{{ nope }}", "'nope' is undefined"),
        ("{{ upper(nope) }}", "'nope' is undefined"),
        ("{{ none }}", "there is no value to print"),
        ("{{ upper }}", "a function or macro cannot be printed"),
        ("{{ 1 / 0 }}", "division by zero"),
        ('{{ 1 + "a" }}', "+ does not work on values of the types int and string"),
        ('{{ "a" | nope }}', "No filter named 'nope'"),
        ("{{ foo( }}", "unexpected '}'"),
        ("{% if %}", "Expected an expression"),
        ('{% include "nope" %}', "there is no template 'nope'"),
        ("{% autoescape true %}{% endautoescape %}", "autoescape is not supported"),
        ('{{ "\\ud800" }}', "half of a surrogate pair"),
    ],
)
def test_native_faults_say_what_is_wrong(text: str, part: str) -> None:
    fault = jinja_fault("\n" + text)
    assert part in fault.message
    assert fault.template == "/t"
    assert fault.line in (0, 2)


def test_a_fault_inside_of_an_included_template_names_that_template() -> None:
    fault = jinja_fault('\n{% include "x" %}', {"x": "a\n\n{{ nope }}"})
    assert (fault.template, fault.line) == ("x", 3)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ().__class__ }}",
        "{{ Name.__class__ }}",
        "{{ Name['__class__'] }}",
        "{{ Name | attr('__class__') }}",
        "{{ [Name] | map(attribute='__class__') | first }}",
        "{{ [1] | map('attr', '__class__') }}",
        "{{ Name.upper() }}",
        "{{ 'a'.join(['b']) }}",
        "{{ '{0}'.format(1) }}",
        "{{ Gates.items() }}",
        "{{ Addresses.append(1) }}",
        "{{ Proxy.elem }}",
        "{{ indent.run }}",
        "{{ indent.__call__.__globals__ }}",
        "{{ range.__globals__ }}",
        "{{ namespace.__init__ }}",
        "{% set n = namespace() %}{{ n.__class__ }}",
        "{% for i in [1] %}{{ loop._iterator }}{% endfor %}",
        "{{ self._TemplateReference__context }}",
        "{% macro m() %}{% endmacro %}{{ m._func }}",
        "{% macro m() %}{{ caller.__class__ }}{% endmacro %}{% call m() %}{% endcall %}",
        '{% import "x" as m %}{{ m.__dict__ }}',
        "{{ Name() }}",
        "{{ root.fields }}",
        "{{ lipsum() }}",
        "{{ [1] | random }}",
        "{{ 1 | pprint }}",
    ],
)
def test_nothing_of_python_can_be_reached_from_jinja2(text: str) -> None:
    jinja_fault(text, {"x": ""})


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Name.__class__ }}",
        "{{ .__class__ }}",
        "{{ $.Name.upper }}",
        "{{ (index .Addresses 0).__class__ }}",
        "{{ .Gates.items.x 1 }}",
        "{{ (list 1).append }}",
    ],
)
def test_nothing_of_python_can_be_reached_from_go_templates(text: str) -> None:
    go_fault(text)


_DEEP = 10_000


@pytest.mark.parametrize(
    "text",
    [
        "{{ range 1000000000 }}{{ end }}",
        "{{ range 100000 }}{{ range 100000 }}{{ end }}{{ end }}",
        "{{ range until 100000 }}{{ len (until 100000) }}{{ end }}",
        "{{ range 1000 }}{{ range 1000 }}" + "a" * 100 + "{{ end }}{{ end }}",
        '{{ define "q" }}{{ range 100000 }}' + "a" * 1000 + '{{ end }}{{ end }}{{ template "q" }}',
        '{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" }}',
        '{{ define "a" }}{{ template "b" }}{{ end }}{{ define "b" }}{{ template "a" }}{{ end }}{{ template "a" }}',
        '{{ define "a" }}{{ range 10 }}{{ template "a" . }}{{ end }}{{ end }}{{ template "a" }}',
        '{{ repeat 1000000000 "x" }}',
        '{{ indent 1000000000 "x" }}',
        "{{ until 1000000000 }}",
        '{{ $x := "aaaa" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}',
        "{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $x }}",
        "{{ " + "(" * _DEEP + "1" + ")" * _DEEP + " }}",
        "{{ if 1 }}" * _DEEP + "{{ end }}" * _DEEP,
        "{{ if 1 }}" * 120 + "{{ end }}" * 120,
        "{{ range 1 }}" * 30 + "{{ end }}" * 30,
        "{{ 1" + " | print" * 1000 + " }}",
        "a" * 1_100_000,
        "é" * 600_000,
    ],
    ids=lambda text: text[:40],
)
def test_hostile_go_templates_are_stopped(text: str) -> None:
    assert isinstance(go_fault(text), BoundExceeded)


@pytest.mark.parametrize(
    "text",
    [
        '{{ "x" * 10 ** 9 }}',
        "{{ [1] * 10 ** 9 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{% for i in range(1000000000) %}x{% endfor %}",
        "{% for i in range(1000000) %}{% for j in range(1000000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{{ range(100000) | sum }}{% endfor %}",
        "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
        '{% include "x" %}',
        '{% extends "x" %}',
        "{% for x in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
        "{% block a %}{{ self.a() }}{% endblock %}",
        '{% set n = namespace(x="aaaa") %}{% for i in range(100) %}{% set n.x = n.x ~ n.x %}{% endfor %}',
        '{% set n = namespace(x="aaaa") %}{% for i in range(100) %}{% set n.x = n.x + n.x %}{% endfor %}',
        "{% set n = namespace(x=[1]) %}{% for i in range(100) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x=[1]) %}{% for i in range(100) %}{% set n.x = [n.x, n.x] | sum(start=[]) %}{% endfor %}",
        "{% set n = namespace(x=7) %}{% for i in range(100) %}{% set n.x = n.x * n.x %}{% endfor %}",
        "{% set x %}{% for i in range(1000) %}" + "a" * 10_000 + "{% endfor %}{% endset %}",
        "{{ " + "(" * _DEEP + "1" + ")" * _DEEP + " }}",
        "{{ " + "not " * 3_000 + "1 }}",
        "{{ " + "1+" * 3_000 + "1 }}",
        "{% if 1 %}" * 2_000 + "{% endif %}" * 2_000,
    ],
    ids=lambda text: text[:40],
)
def test_hostile_jinja2_templates_are_stopped(text: str) -> None:
    assert isinstance(jinja_fault(text, {"x": '{% include "x" %}'}), BoundExceeded)


def test_a_regular_expression_that_would_explode_elsewhere_is_harmless() -> None:
    assert go('{{ regexMatch "(a+)+$" "' + "a" * 60 + '!" }}') == "false"


def test_bounds_are_settings() -> None:
    assert len(go("{{ range 900 }}x{{ end }}", SMALL)) == 900
    assert "more than 1000 loop steps" in go_fault("{{ range 1001 }}{{ end }}", SMALL).message
    assert "longer than 1000 bytes" in go_fault("{{ range 11 }}" + "a" * 100 + "{{ end }}", SMALL).message
    assert (
        "more than 50 levels"
        in go_fault('{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}', SMALL).message
    )


def test_recursion_works_up_to_the_depth_that_is_allowed() -> None:
    text = '{{ define "r" }}{{ if gt . 0 }}x{{ template "r" (sub . 1) }}{{ end }}{{ end }}{{ template "r" 990 }}'
    without_end = Engine(ROOT, Bounds(depth=10**9))
    deepest = without_end.bounds.depth
    # Python 3.12 and 3.13 have a limit of their own; docs/reference/profiles.md has these figures.
    python = sys.version_info
    assert deepest == (3_000 if python < (3, 12) or python >= (3, 14) else 2_000 if python >= (3, 12, 3) else 300)
    usual = min(990, deepest - 10)
    assert go(text.replace("990", str(usual))) == "x" * usual
    assert go(text.replace("990", str(deepest - 10)), without_end) == "x" * (deepest - 10)
    fault = go_fault(text.replace("990", "100000"), without_end)
    assert isinstance(fault, BoundExceeded)
    assert f"more than {deepest} levels" in fault.message


def test_the_output_bound_counts_bytes() -> None:
    assert go("{{ range 4 }}" + "é" * 120 + "{{ end }}", SMALL) == "é" * 480
    go_fault("{{ range 5 }}" + "é" * 120 + "{{ end }}", SMALL)


def test_pointers_to_zero_values_are_true() -> None:
    assert go("{{ if .Pods }}{{ .Pods }}{{ end }}", Pods=pods(0)) == "0"
    assert jinja("{% if Pods %}{{ Pods }}{% endif %}", Pods=pods(0)) == "0"
    assert jinja("{% if Pods %}{{ Pods }}{% endif %}", Pods=nil("int32")) == ""
