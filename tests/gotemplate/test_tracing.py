"""Lines of rendered text lead back to the lines of templates that they came from."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from osm_gitops.gotemplate.assembly import CompiledHalf, compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.tracing import Line, Tracer
from tests.gotemplate.rendering import DATA, ROOT


def traced(text: str, templates: Mapping[str, str] | None = None, *, go: bool) -> list[tuple[str, Line | None]]:
    """The lines of a file's output and where they came from, after making sure that marks cost no byte."""
    compiling = compile_go_half if go else compile_jinja_half
    files = [("/t", text)]

    def render(engine: Engine) -> str:
        half: CompiledHalf = compiling(engine, templates or {}, files)
        return half.render(dict(DATA))[0]

    tracer = Tracer()
    plain, lines = tracer.read(render(Engine(ROOT, Bounds(), tracer=tracer)))
    assert plain == render(Engine(ROOT))
    return list(zip(plain.split("\n"), lines, strict=True))


@pytest.mark.parametrize("go", [True, False])
def test_a_line_behind_a_branch_leads_to_its_own_line(go: bool) -> None:
    text = "a\n{{- if .External }}\nb\n  c\n{{- end }}\nd" if go else "a\n{% if External %}\nb\n  c\n{% endif %}\nd"
    assert traced(text, go=go) == [("a", ("/t", 1)), ("b", ("/t", 3)), ("  c", ("/t", 4)), ("d", ("/t", 6))]


def test_a_value_of_several_lines_leads_to_the_line_that_prints_it() -> None:
    assert traced('a\n{{ "x\ny" }}\nz', go=False)[1:] == [("x", ("/t", 2)), ("y", ("/t", 2)), ("z", ("/t", 4))]


def test_a_line_of_a_macro_leads_into_the_macro() -> None:
    text = '{% macro m() %}\nin\n\n{{ "twice" }}\n{% endmacro %}\nbefore\n{{ m() | indent(2) }}behind'
    found = traced(text, go=False)
    assert found == [
        *[("before", ("/t", 6)), ("  in", ("/t", 2)), ("  ", ("/t", 2)), ("  twice", ("/t", 4))],
        ("  behind", ("/t", 4)),
    ]


def test_a_line_of_an_included_template_leads_there() -> None:
    found = traced('a\n{% include "part" %}\nz', {"part": "{% if External %}\nfirst\n{% endif %}\nlast\n"}, go=False)
    assert found == [("a", ("/t", 1)), ("first", ("part", 2)), ("last", ("part", 4)), ("z", ("/t", 3))]


def test_a_line_of_a_go_template_leads_there() -> None:
    found = traced('a\n{{- template "part" }}\nz', {"part": "{{ .Name }}\nlast\n"}, go=True)
    assert found == [("a", ("/t", 1)), ("pool", ("part", 1)), ("last", ("part", 2)), ("z", ("/t", 3))]


def test_lines_of_a_second_pass_lead_to_the_template_that_printed_them() -> None:
    part = '{{ "{{- if .External }}" }}\nkept\n{{ "{{- end }}" }}\nlast\n'
    found = traced('a\n{{- template "part" . }}\nz', {"part": part}, go=True)
    assert found == [("a", ("/t", 1)), ("kept", ("part", 2)), ("last", ("part", 4)), ("z", ("/t", 3))]


@pytest.mark.parametrize("go", [True, False])
def test_a_loop_leads_to_its_body_each_time(go: bool) -> None:
    text = (
        "{{- range .Addresses }}\n- {{ . }}\n{{- end }}"
        if go
        else "{% for each in Addresses %}\n- {{ each }}\n{% endfor %}"
    )
    found = [place for line, place in traced(text, go=go) if line.strip()]
    assert found == [("/t", 2), ("/t", 2)]
