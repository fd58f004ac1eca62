"""Laws of the template language that hold for any text."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gotemplate.faults import TemplateFaults
from tests.gotemplate.rendering import SMALL, go, go_files, jinja

# Everything that a template language, Jinja2's lexer or Python's line splitting could take for something else.
_ODD = st.sampled_from(
    [
        *(
            "{%",
            "%}",
            "{#",
            "#}",
            "}}",
            "{",
            "}",
            "${#a}",
            "{% raw %}",
            "{% endraw %}",
            "-%}",
            "{%-",
            "\r",
            "\r\n",
            "\n",
        ),
        *(
            "\x0b",
            "\x0c",
            "\x1c",
            "\x85",
            "\u2028",
            "\x00",
            "\udcff",
            "\\",
            '"',
            "'",
            " ",
            "\t",
            "`",
            "é",
            "😀",
            "-",
            "+",
        ),
    ]
)
_TEXTS = st.lists(_ODD | st.text(max_size=5), max_size=12).map("".join).filter(lambda text: "{{" not in text)

_PARTS = st.sampled_from(
    [
        *(
            "{{ .Name }}",
            "{{- .Name }}",
            "{{ .Name -}}",
            "{{ if .Proxy }}",
            "{{- if .Pods -}}",
            "{{ else }}",
            "{{ end }}",
        ),
        *(
            "{{- end }}",
            "{{ end -}}",
            "{{ range .Addresses }}",
            "{{ . }}",
            "{{ with .Name }}",
            "{{ break }}",
            "{{ $x := 1 }}",
        ),
        *(
            "{{ $x = 2 }}",
            "{{ $x }}",
            "{{/* c */}}",
            '{{ template "x" . }}',
            '{{ define "x" }}',
            "{{ range $i, $v := .Gates }}",
        ),
        *(
            "{{ print 1 | quote }}",
            '{{ "{{" }}',
            "{{",
            "}}",
            "{{ (",
            "{{ .Nope }}",
            "{{ 1.5 | indent 2 }}",
            "{%",
            "{#",
            "\r",
        ),
        *("\n", "  ", "a", "{{ else if .Name }}", "{{ continue }}", "{{ nil }}", "{{ list 1 2 | len }}", "{{ now }}"),
    ]
)


@given(_TEXTS)
def test_text_without_actions_comes_through_untouched(text: str) -> None:
    assert go(text) == text


@given(_TEXTS, _TEXTS)
def test_text_around_actions_comes_through_untouched(before: str, after: str) -> None:
    before, after = before.rstrip("{"), after.rstrip("{")  # else an action would begin one character earlier
    assert go(before + "{{ .Name }}" + after) == before + "pool" + after
    assert go(before + "{{ if .Name }}" + after + "{{ end }}") == before + after
    assert go(before + "{{/* c */}}" + after) == before + after
    assert go(before + "{{ range 2 }}" + after + "{{ end }}" + before) == before + after * 2 + before


@given(_TEXTS, _TEXTS)
def test_the_translation_gives_the_same_text_as_native_jinja2(before: str, after: str) -> None:
    text = before.rstrip("{") + "{{ if .Name }}{{ .Name }}{{ else }}x{{ end }}" + after
    assert jinja(SMALL.translate("/t", SMALL.parse("/t", text)).text) == go(text)


@given(st.lists(_PARTS | _TEXTS, max_size=12).map("".join))
def test_the_translation_of_any_template_gives_the_same_text_as_native_jinja2(text: str) -> None:
    try:
        printed = go(text, SMALL)
    except TemplateFaults:
        return
    assert jinja(SMALL.translate("/t", SMALL.parse("/t", text)).text, engine=SMALL) == printed


@given(_TEXTS)
def test_a_template_is_printed_behind_a_line_end_and_without_blanks_at_its_end(text: str) -> None:
    kept = text.rstrip(" \t\r\n")
    assert go_files({"x": text}, {"/t": '[{{ template "x" }}]'})["/t"] == (f"[\n{kept}]" if kept else "[]")


@given(st.lists(_PARTS, max_size=12).map("".join))
def test_any_go_template_gives_text_or_faults(text: str) -> None:
    first = _outcome(lambda: go_files({"x": text}, {"/t": text}, SMALL))
    assert first
    assert _outcome(lambda: go_files({"x": text}, {"/t": text}, SMALL)) == first


def _outcome(render: Callable[[], object]) -> object:
    """What comes out, or the messages of the faults; anything else is a crash."""
    try:
        return "text", render()
    except TemplateFaults as failure:
        return [fault.message for fault in failure.faults]


@given(
    st.lists(
        st.sampled_from(
            [
                *("{{ Name }}", "{% if Proxy %}", "{% endif %}", "{% for x in Addresses %}", "{% endfor %}", "{{ x }}"),
                *(
                    "{{ Name.a }}",
                    "{{ 1 + 'a' }}",
                    "{{ Name | indent(2) }}",
                    "{% set x = 1 %}",
                    "{{ x * 9 }}",
                    "{#",
                    "#}",
                ),
                *(
                    "{% raw %}",
                    "{% endraw %}",
                    "{{ [1] | first }}",
                    "{{",
                    "}}",
                    "{%",
                    "%}",
                    "a",
                    "\n",
                    "{% include 'x' %}",
                ),
                *("{% macro m() %}", "{% endmacro %}", "{{ m() }}", "{% else %}", "{{ loop.index }}", "{% break %}"),
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_any_jinja2_template_gives_text_or_faults(text: str) -> None:
    first = _outcome(lambda: jinja(text, {"x": text}, SMALL))
    assert first
    assert _outcome(lambda: jinja(text, {"x": text}, SMALL)) == first
