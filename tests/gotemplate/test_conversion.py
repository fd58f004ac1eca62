"""Halves of Go templates as native Jinja2: the same bytes, and how it reads."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osm_gitops.gotemplate.assembly import compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.conversion import ConvertedHalf, convert_half
from osm_gitops.gotemplate.faults import TemplateFaults
from osm_gitops.gotemplate.values import nil
from tests.gotemplate.rendering import DATA, ENGINE, go_files, jinja

_OTHER = {"Proxy": nil("string"), "External": False, "Name": ""}


def _converted(templates: Mapping[str, str], *files: str) -> ConvertedHalf:
    return convert_half(ENGINE, templates, [(f"/{at}", text) for at, text in enumerate(files)])


def _same(templates: Mapping[str, str], *files: str) -> ConvertedHalf:
    """The converted half, which prints what the Go templates print, whatever the data."""
    half = _converted(templates, *files)
    named = [(f"/{at}", text) for at, text in enumerate(files)]
    go = compile_go_half(ENGINE, templates, named)
    native = compile_jinja_half(
        ENGINE, half.templates, [(path, text) for (path, _), text in zip(named, half.files, strict=True)]
    )
    for data in (DATA, {**DATA, **_OTHER}):
        assert native.render(data) == go.render(data)
    return half


def test_a_template_that_ends_in_text_is_included_line_by_line() -> None:
    half = _same({"x": "{{- if .External }}\na\n{{- end }}\nb"}, 'A\n{{- template "x" . }}\nB\n')
    assert half.templates == {"x": "\n{% if External %}\na\n{% endif %}\nb\n"}
    assert half.files == ('A\n{% include "x" %}\nB\n',)


@pytest.mark.parametrize(
    ("template", "included"),
    [
        ("a", "a\n"),
        ("a\n\n", "a\n"),
        ("", ""),
        (" \n", ""),
        ("a{{/* c */}}\n", "a\n{# c #}\n"),
        ("{{- with .Proxy }}\np {{ . }}x\n{{- end }}", "{% if Proxy +%}\np {{ Proxy }}x\n{% endif %}\n"),
        ("{{ if .External }}a{{ else }}b {{ end }}", "{% if External %}\na\n{% else %}\nb\n{% endif %}\n"),
        ("a{{ if .External }}\nb{{ end }}\n", "a\n{% if External %}\nb\n{% endif %}\n"),
        ("a{{ range .Addresses }}\nb{{ end }}\n", "a\n{% for item in Addresses %}\nb\n{% endfor %}\n"),
    ],
)
def test_an_included_template_ends_in_one_line_end_or_is_empty(template: str, included: str) -> None:
    half = _same({"x": template}, 'A\n{{- template "x" }}\nB\n', '{{ template "x" }}')
    assert half.files == ('A\n{% include "x" %}\nB\n', '{{ template("x") }}')
    assert jinja(half.templates["x"]) == jinja(included)


@pytest.mark.parametrize(
    "template",
    [
        "{{ .Name }}",
        "a\n{{ if .External }}b{{ end }}",
        "{{ if .External }}a{{ end }}{{ if .Proxy }}b{{ end }}",
        "a{{ range .Addresses }}b\n{{ end }}",
        "a{{ range .Addresses }}{{ if $.External }}{{ break }}{{ end }} {{ end }}",
        "{{ range .Addresses }}a{{ end }}",
    ],
)
def test_a_template_whose_end_depends_on_the_data_is_called(template: str) -> None:
    half = _same({"x": template}, 'A\n{{- template "x" }}\nB\n')
    assert 'template("x")' in half.files[0]


def test_an_include_needs_a_line_end_behind_it() -> None:
    loop = 'p\n{{- if .External }}\n{{- template "x" }}\n{{- end }}\nb'
    half = _same({"x": "a"}, '[{{ template "x" }}]', loop)
    assert half.files == ('[{{ template("x") }}]', 'p\n{% if External %}\n{% include "x" %}\n{% endif %}\nb')


@pytest.mark.parametrize(
    ("template", "file"),
    [
        ('{{ "{{ . }}" }}', '[{{ template "x" }}] [{{ template "x" .Name }}]'),
        ('{{ "{{ .Name }}" }}', '[{{ template "x" . }}]'),
        ("EXT", '{{ define "x" }}OWN{{ end }}[{{ template "x" }}]'),
        (" \n", '{{ define "x" }}OWN{{ .Name }}{{ end }}[{{ template "x" . }}]'),
        ("{{ if .External }}E{{ end }}", '{{ define "x" }}OWN{{ end }}[{{ template "x" }}]'),
        ('{{ define "y" }}Y{{ end }}{{ template "y" }}', '{{ template "x" }}'),
        ('{{ "{{ end }}{{ define \\"y\\" }}Y" }}', '{{ template "x" }}{{ template "y" }}'),
        ("\xa0\n", '{{ define "x" }}OWN{{ end }}[{{ template "x" }}]'),
    ],
)
def test_what_osm_does_in_a_second_pass_is_done_in_one(template: str, file: str) -> None:
    _same({"x": template}, file)


def test_a_template_of_the_name_of_a_file_replaces_it_unless_it_prints_nothing() -> None:
    for own in ("own {{ .Name }}", "\n\n", ""):
        _same({"/0": "{{ if .External }}x{{ end }}"}, own)
        _same({"/0": "\xa0\n"}, own)


def test_templates_that_print_template_text_call_each_other() -> None:
    half = _same({"x": '{{ "{{ template \\"y\\" . }}" }}', "y": '{{ "{{ . }}" }}!'}, '{{ template "x" .Name }}')
    assert "macro x(dot)" in half.files[0]
    assert [remark.template for remark in half.remarks] == ["x", "y"]
    assert "can go" in half.remarks[0].message


def test_template_text_that_depends_on_the_data_is_remarked_and_never_printed_unexecuted() -> None:
    templates = {"x": '{{ if .External }}{{ "{{ .Name }}" }}{{ end }}'}
    half = _converted(templates, 'A\n{{- template "x" }}\nB')
    assert [(remark.template, "second pass" in remark.message) for remark in half.remarks] == [("x", True)]
    with pytest.raises(TemplateFaults, match="which OSM would execute"):
        jinja(half.files[0], half.templates)
    assert (
        jinja(half.files[0], half.templates, External=False)
        == go_files(templates, {"/0": 'A\n{{- template "x" }}\nB'}, External=False)["/0"]
    )


def test_what_fails_where_it_is_reached_is_remarked_with_its_line() -> None:
    half = _converted({}, "a\n{{ if .External }}\n{{ now }}{{ end }}\n{{ .Nothing }}")
    assert [(remark.template, remark.line) for remark in half.remarks] == [("/0", 3), ("/0", 4)]
    assert "it calls now" in half.remarks[0].message
    assert "field Nothing" in half.remarks[1].message


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(TemplateFaults) as failure:
        _converted({"a": "{{ nope }}"}, "{{ if }}", "{{ end }}")
    assert [fault.template for fault in failure.value.faults] == ["a", "/0", "/1"]
    with pytest.raises(TemplateFaults, match="between quotes"):
        _converted({'a"b': "x"}, "y")
    with pytest.raises(TemplateFaults, match="unexpected"):
        _converted({"a": '{{ "{{ end }}" }}'}, "y")


_PIECE = st.sampled_from(
    [
        *("a", " b", "\n", "\n\n", " ", "{{ $.Name }}", "{{- $.Name }}", "{{/* c */}}", "{{- /* c */ -}}"),
        *("{{ if $.External }}", "{{- if $.External -}}", "{{- with $.Proxy }}", "{{ range $.Addresses }}"),
        *("{{ else }}", "{{- else }}", "{{ end }}", "{{- end }}", "{{ end -}}", "{{ $x := $.Name }}", "{{%", "{#"),
    ]
)
_CALL = st.sampled_from(['{{ template "x" }}', '{{- template "x" . }}', '{{- template "x" -}}', '{{ template "y" }}'])


@settings(max_examples=150, deadline=None)
@given(
    x=st.lists(_PIECE, max_size=8).map("".join),
    y=st.lists(_PIECE, max_size=4).map("".join),
    file=st.lists(_PIECE | _CALL, max_size=8).map("".join),
)
def test_any_half_that_go_takes_prints_the_same_after_conversion(x: str, y: str, file: str) -> None:
    templates = {"x": x, "y": y}
    try:
        compile_go_half(ENGINE, templates, [("/0", file)])
    except TemplateFaults:
        return
    _same(templates, file)
