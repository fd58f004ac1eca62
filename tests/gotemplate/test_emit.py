"""Go templates to readable Jinja2 source text."""

from __future__ import annotations

import pytest

from tests.gotemplate.language import jinja, translated


@pytest.mark.parametrize(
    ("go", "expected"),
    [
        ("{{ .Name }}", "{{ Name }}"),
        ("{{ $.Name }}", "{{ Name }}"),
        ("{{ .External }}", "{{ External }}"),
        ("{{ .Proxy }}", "{{ Proxy | go_text }}"),
        ("{{ .System.Upgrade }}", "{{ System.Upgrade }}"),
        ("{{ .Gates.A }}", '{{ Gates | field("A") | go_text }}'),
        ("{{ .Name | indent 4 }}", "{{ Name | indent(4) }}"),
        ("{{ indent 4 .Name }}", "{{ indent(4, Name) }}"),
        ("{{ .Name | upper | indent 2 }}", "{{ Name | upper | indent(2) }}"),
        ("{{ list 1 (list) -2 }}", "{{ list(1, list(), -2) | go_text }}"),
        ('{{ (dict "a" 1).a }}', '{{ dict("a", 1) | field("a") | go_text }}'),
        ("{{ round 1 2 3 }}", "{{ round(1, 2, 3.0) }}"),
        ("{{ wide 7 }}", "{{ wide(int64(7)) | go_text }}"),
        ("{{ print 0644 1.0 1e3 'a' nil true }}", "{{ print(420, 1.0, 1000.0, 97, nil, true) }}"),
        (r'{{ print "a\n\"\\\r\t\x00" }}', r'{{ print("a\n\"\\\r\t\x00") }}'),
        ('{{ .Proxy | default "a" }}', '{{ Proxy | default("a") }}'),
        ('{{ default "a" .Proxy }}', '{{ Proxy | default("a") }}'),
        ('{{ .Proxy | default "" }}', '{{ Proxy | default("") | go_text }}'),
        ("{{ .Gates }}{{ .Addresses }}", "{{ Gates }}{{ Addresses }}"),
        ("{{ now }}", '{{ refused("now") | go_text }}'),
    ],
)
def test_expressions_take_the_plain_form_where_it_is_exact(go: str, expected: str) -> None:
    assert jinja(go) == expected


@pytest.mark.parametrize(
    ("go", "expected"),
    [
        ('eq .Name "a"', 'Name == "a"'),
        ('ne .Provider "aws"', 'Provider != "aws"'),
        ("eq .External true", "External == true"),
        ('eq .Proxy "a"', 'eq(Proxy, "a")'),
        ('eq .Name "a" "b"', 'eq(Name, "a", "b")'),
        ("eq .Name 1", "eq(Name, 1)"),
        ("not .External", "not External"),
        ("and .External .Proxy", "External and Proxy"),
        ("or (and .External .Name) .Proxy", "External and Name or Proxy"),
        ("and (or .External .Name) .Proxy", "(External or Name) and Proxy"),
        ('not (eq .Name "a")', 'Name != "a"'),
        ('not (ne .Name "a")', 'Name == "a"'),
        ("not (eq .Proxy .Name)", "not eq(Proxy, Name)"),
        ("not (or .Name .Proxy) | not", "not not (Name or Proxy)"),
    ],
)
def test_conditions_read_like_jinja2(go: str, expected: str) -> None:
    assert jinja("{{ if " + go + " }}x{{ end }}") == "{% if " + expected + " %}x{% endif %}"


def test_a_tested_pointer_prints_plainly() -> None:
    assert "{{ Proxy }}" in jinja("{{ if .Proxy }}{{ .Proxy }}{{ end }}")
    assert "{{ Proxy }}" in jinja("{{ with .Proxy }}{{ . }}{{ end }}")
    assert "{{ Proxy }}" in jinja("{{ if and .External .Proxy }}{{ .Proxy }}{{ end }}")
    assert "{{ Proxy | go_text }}" in jinja("{{ if .Proxy }}{{ else }}{{ .Proxy }}{{ end }}")
    assert "{{ Proxy | go_text }}" in jinja("{{ if or .External .Proxy }}{{ .Proxy }}{{ end }}")


def test_loops_name_what_they_bind() -> None:
    assert jinja("{{ range .Addresses }}[{{ . }}]{{ end }}") == "{% for item in Addresses %}[{{ item }}]{% endfor %}"
    assert jinja("{{ range $k, $v := .Gates }}{{ $k }}={{ $v }}{{ end }}") == (
        "{% for k, v in Gates | pairs %}{{ k }}={{ v }}{% endfor %}"
    )
    assert jinja("{{ range $x := list }}{{ $x }}{{ else }}-{{ end }}") == (
        "{% set x = list() %}\n{% for x2 in x | each %}{{ x2 | go_text }}{% else %}-{% endfor %}"
    )


def test_a_loop_that_is_left_early_keeps_its_else_apart() -> None:
    assert jinja("{{ range .Addresses }}{{ break }}{{ else }}-{{ end }}") == (
        "{% set values = Addresses %}\n{% if values %}\n{% for item in values %}{% break %}{% endfor %}\n"
        "{% else %}-{% endif %}"
    )


def test_variables_have_one_name_each() -> None:
    assert jinja('{{ $x := upper "a" }}{{ if true }}{{ $x := upper "b" }}{{ $x }}{{ end }}{{ $x }}') == (
        '{% set x = upper("a") %}\n{% if true %}{% set x2 = upper("b") %}{{ x2 }}{% endif %}{{ x }}'
    )


def test_a_variable_assigned_inside_of_a_loop_lives_in_a_namespace() -> None:
    assert jinja("{{ $n := 1 }}{{ range 3 }}{{ $n = add $n . }}{{ end }}{{ $n }}") == (
        "{% set n = namespace(value=1) %}\n{% for item in 3 | each %}{% set value = add(n.value, item) %}\n"
        "{% set n.value = value %}\n{% endfor %}{{ n.value | go_text }}"
    )


def test_loops_side_by_side_use_the_same_names() -> None:
    loop = "{{ range $k, $v := .Gates }}{{ $k }}{{ end }}"
    assert jinja(loop + loop) == "{% for k, v in Gates | pairs %}{{ k }}{% endfor %}" * 2
    assert "{% for item2 in Addresses %}" in jinja("{{ range .Gates }}{{ range $.Addresses }}{{ end }}{{ end }}")


def test_a_definition_that_a_loop_calls_first_keeps_its_name() -> None:
    own = '{{ define "own" }}o{{ end }}'
    assert jinja(own + '{{ range 2 }}{{ template "own" $ }}{{ end }}{{ $own := upper .Name }}{{ $own }}') == (
        "{% macro own() %}\no{% endmacro %}\n{% for item in 2 | each %}{{ own() }}{% endfor %}"
        "{% set own2 = upper(Name) %}{{ own2 }}"
    )


def test_variables_stay_clear_of_functions_fields_and_words_of_jinja2() -> None:
    assert jinja("{{ $list := upper .Name }}{{ $loop := upper .Name }}{{ $list }}{{ $loop }}") == (
        "{% set list2 = upper(Name) %}\n{% set loop2 = upper(Name) %}{{ list2 }}{{ loop2 }}"
    )


def test_definitions_become_macros() -> None:
    assert jinja('{{ define "my own" }}<{{ . }}>{{ end }}{{ template "my own" .Name }}') == (
        "{% macro value(dot) %}\n<{{ dot | go_text }}>{% endmacro %}\n{{ value(Name) }}"
    )
    assert jinja('{{ define "own" }}<{{ .Name }}>{{ end }}{{ template "own" . }}') == (
        "{% macro own() %}\n<{{ Name }}>{% endmacro %}\n{{ own() }}"
    )


def test_definitions_that_nobody_calls_are_left_out() -> None:
    assert jinja('{{ define "own" }}x{{ end }}a') == "a"


def test_snippets_are_called_by_name() -> None:
    result = translated('{{ template "x" }} {{ template "y" .Name }}', "x", "y")
    assert result.text == '{{ template("x") }} {{ template("y", Name) }}'
    assert result.includes == {"x", "y"}


@pytest.mark.parametrize(
    ("go", "expected"),
    [
        ("a\n{{- if .Name }}\nb\n{{- end }}\nc\n", "a\n{% if Name %}\nb\n{% endif %}\nc\n"),
        (
            "a\n{{- if .Name }}\nb\n{{- else if .Proxy }}\nc\n{{- else }}\nd\n{{- end }}\n",
            "a\n{% if Name %}\nb\n{% elif Proxy %}\nc\n{% else %}\nd\n{% endif %}\n",
        ),
        (
            "a\n{{- range .Addresses }}\n- {{ . }}\n{{- end }}\n",
            "a\n{% for item in Addresses %}\n- {{ item }}\n{% endfor %}\n",
        ),
        ("a\n{{- /* why */}}\nb", "a\n{# why #}\nb"),
        (
            "k:\n{{- if .Gates -}}\n  {{ range .Gates }}\n  {{ . }}\n  {{- end -}}\n{{- else }}\n  -\n{{- end }}\n",
            (
                "k:\n{% if Gates %}\n  {% for item in Gates | each %}\n  {{ item }}\n  {% endfor %}\n"
                "{% else %}\n  -\n{% endif %}\n"
            ),
        ),
        ("a\n{{- $x := upper .Name }}\n{{ $x }}", "a\n{% set x = upper(Name) %}\n{{ x }}"),
        ("a {{ if .Name }}b{{ end }} c", "a {% if Name %}b{% endif %} c"),
        ("{{ if .Name }}b{{ else }}c{{ end }}\nd", "{% if Name %}b{% else %}c{% endif +%}\nd"),
        ("a{{ if .Name }}\nb{{ end }}", "a{% if Name +%}\nb{% endif %}"),
        ("a\n  {{ if .Name }}b{{ end }}\n", "a\n  {%+ if Name %}b{% endif +%}\n"),
    ],
)
def test_tags_stand_on_lines_of_their_own_where_that_is_exact(go: str, expected: str) -> None:
    assert jinja(go) == expected


@pytest.mark.parametrize(
    ("go", "expected"),
    [
        ("a\n\n{{- /* c */}}\n{{- .Name }}\nb", "a\n\n{#- c #}\n{{ Name }}\nb"),
        ("{{ .Name }}\n\n{{- .Name }}", "{{ Name }}\n\n{{- Name }}"),
        ("{{ .Name -}}\n  b", "{{ Name -}}\n  b"),
        ("a {{- if .Name -}} b {{- end -}} c", "a {%- if Name -%} b {%- endif -%} c"),
        (
            "a\n{{- if .Name }}\nb\n{{- end }}\n\n  {{- if .Proxy }}\nc\n{{- end }}\n",
            "a\n{% if Name %}\nb\n{% endif %}\n\n  {%- if Proxy %}\nc\n{% endif %}\n",
        ),
        ("x \\\n  {{- if .Name }}\n  b \\\n  {{- end }}\n", "x \\\n  {% if Name %}\n  b \\\n  {% endif %}\n"),
        ("a\r\n{{- .Name -}}\r\nb", "a\n{{- Name -}}\nb"),
        ("{{ .Name -}}\n", "{{ Name -}}\n"),
    ],
)
def test_white_space_that_is_not_printed_stays_where_it_was(go: str, expected: str) -> None:
    assert jinja(go) == expected


@pytest.mark.parametrize("blank", ["\u00a0", "\x0b", "\x85", "\x1c"])
def test_white_space_that_go_does_not_trim_is_printed(blank: str) -> None:
    assert jinja(f"a{blank}\n{{{{- .Name -}}}}\n{blank}b") == f"a{blank}{{{{ Name }}}}{blank}b"


@pytest.mark.parametrize(
    ("go", "expected"),
    [
        ("${#a}{{ .Name }}", '${{ "{#" }}a}{{ Name }}'),
        ("{% if %}{{ .Name }}", '{{ "{%" }} if %}{{ Name }}'),
        ("{{ .Name }}{", "{{ Name }}{"),
        ("{{{ .Name }}", None),
        ("a{ {{- .Name }}", 'a{{ "{" }} {{- Name }}'),
        ("a\r\n{{ .Name }}", 'a{{ "\\r" }}\n{{ Name }}'),
        ('{{ "{{" }} x }}', '{{ "{{" }} x }}'),
        ("{{/* a #} b- */}}x", "{# a # } b- #}x"),
    ],
)
def test_text_that_jinja2_would_misread_becomes_a_string(go: str, expected: str | None) -> None:
    if expected is not None:
        assert jinja(go) == expected


def test_what_cannot_succeed_stops_only_when_it_is_reached() -> None:
    assert jinja("{{ .Nope }}").startswith("{{ go_error(\"can't evaluate field Nope")
    assert jinja("{{ .Name 1 }}").startswith('{{ go_error(".Name is no function')
    assert jinja('{{ template "nope" }}').startswith("{{ go_error(")
    assert jinja("{{ $y = 1 }}").startswith('{% set value = 1 %}{{ go_error("undefined variable: $y")')


def test_the_fields_that_a_template_reads_are_known() -> None:
    assert translated("{{ .Name }}{{ if .Proxy }}{{ $.External }}{{ end }}").reads == {"Name", "Proxy", "External"}
    assert translated("{{ with .System }}{{ .Upgrade }}{{ end }}").reads == {"System"}
    assert "*" in translated("{{ print . }}").reads
    assert "*" in translated('{{ define "a" }}{{ .Name }}{{ end }}{{ template "a" . }}{{ template "a" .Name }}').reads


def test_lines_of_the_source_are_known_for_lines_of_the_translation() -> None:
    result = translated("a\n{{- upper .Name }}\n\n{{- if .Name -}}\n{{ upper .Name }}{{ end }}")
    lines = result.text.split("\n")
    found = {result.lines[number]: line for number, line in enumerate(lines, start=1) if number in result.lines}
    assert set(found) == {2, 4, 5}
    assert "upper" in found[5]
