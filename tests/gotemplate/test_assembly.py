"""Halves of profiles: two passes of Go, one of Jinja2 (osm-behaviour.md, "Two renderings" and "Consequences of two
renderings")."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

import pytest

from osm_gitops.gotemplate.assembly import compile_go_half, compile_jinja_half, memo
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import BoundExceeded, TemplateFaults
from osm_gitops.gotemplate.sandbox import Sandbox
from osm_gitops.gotemplate.values import Pointer
from tests.gotemplate.rendering import DATA, ENGINE, go_files


@pytest.mark.parametrize(
    ("template", "file", "result"),
    [
        ("  hello\n\n\n", 'A\n{{ template "x" }}\nB', "A\n\n  hello\nB"),
        ("\n\n  hello", 'A\n{{- template "x" }}\nB', "A\n\n\n  hello\nB"),
        ("hello", 'A\n{{- template "x" -}}\nB', "A\nhelloB"),
        ("", 'A\n{{ template "x" }}\nB', "A\n\nB"),
        (" \t\r\n", '[{{ template "x" }}]', "[]"),
        ("a\u00a0\x0b\n", '[{{ template "x" }}]', "[\na\u00a0\x0b]"),
        ('{{ "{{ . }}" }}', '[{{ template "x" }}] [{{ template "x" .Name }}]', "[\n<no value>] [\npool]"),
        ('{{ "{{ .Name }}" }}', '[{{ template "x" . }}]', "[\npool]"),
        ("EXT", '{{ define "x" }}OWN{{ end }}[{{ template "x" }}]', "[\nEXT]"),
        (" \n", '{{ define "x" }}OWN{{ end }}[{{ template "x" }}]', "[OWN]"),
        ("{{ .Name }}", '{{ template "x" }}', "\npool"),
        ('{{ define "y" }}Y{{ end }}{{ template "y" }}', '{{ template "x" }}', "\nY"),
        ('{{ "{{ end }}{{ define \\"y\\" }}Y" }}', '{{ template "x" }}{{ template "y" }}', "\nY"),
    ],
)
def test_a_template_is_rendered_and_then_parsed_again(template: str, file: str, result: str) -> None:
    assert go_files({"x": template}, {"/t": file})["/t"] == result


def test_results_with_actions_can_call_each_other() -> None:
    templates = {"x": '{{ "{{ template \\"y\\" . }}" }}', "y": '{{ "{{ . }}" }}!'}
    assert go_files(templates, {"/t": '{{ template "x" .Name }}'}) == {"/t": "\n\npool!"}


def test_values_with_actions_are_executed_in_the_second_pass() -> None:
    files = go_files({"x": "{{ .Name }}"}, {"/t": '{{ template "x" }}', "/u": "{{ .Name }}"}, Name="{{ print 1 2 }}")
    assert files == {"/t": "\n1 2", "/u": "{{ print 1 2 }}"}


def test_a_template_with_the_name_of_a_file_replaces_it() -> None:
    assert go_files({"/t": "instead"}, {"/t": "{{ .Name }}", "/u": "u"}) == {"/t": "\ninstead", "/u": "u"}
    assert go_files({"/t": " \n"}, {"/t": "{{ .Name }}"}) == {"/t": "pool"}


def test_a_template_cannot_see_another_one_in_the_first_pass() -> None:
    with pytest.raises(TemplateFaults) as caught:
        go_files({"x": '{{ template "y" }}', "y": ""}, {"/t": ""})
    (fault,) = caught.value.faults
    assert (fault.message, fault.template, fault.line) == ('template "y" is not defined', "x", 1)


def test_a_broken_result_breaks_every_file() -> None:
    with pytest.raises(TemplateFaults) as caught:
        go_files({"x": 'a\n{{ "{{ nofunc }}" }}'}, {"/t": "t", "/u": "{{ .Name }}"})
    assert [(fault.message, fault.template, fault.line) for fault in caught.value.faults] == [
        ("function 'nofunc' is not defined", "x", 2)
    ]


@pytest.mark.parametrize("name", ['a"b', "a\\", "a\nb"])
def test_a_name_that_cannot_stand_in_quotes_is_a_fault(name: str) -> None:
    with pytest.raises(TemplateFaults):
        go_files({name: "x"}, {"/t": "t"})


def test_a_template_that_no_file_uses_is_rendered_all_the_same() -> None:
    with pytest.raises(TemplateFaults):
        go_files({"x": '{{ fail "no" }}'}, {"/t": "t"})


def test_all_faults_of_a_half_are_told_at_once() -> None:
    with pytest.raises(TemplateFaults) as parsing:
        compile_go_half(ENGINE, {"x": "{{ if }}"}, [("/t", "\n{{ nofunc }}"), ("/u", "fine"), ("/v", "{{ end }}")])
    assert [(fault.template, fault.line) for fault in parsing.value.faults] == [("x", 1), ("/t", 2), ("/v", 1)]
    with pytest.raises(TemplateFaults) as running:
        go_files({}, {"/t": '{{ fail "a" }}', "/u": "fine", "/v": '{{ fail "b" }}'})
    assert [fault.template for fault in running.value.faults] == ["/t", "/v"]


def test_files_come_back_in_order_and_unchanged_where_nothing_is_to_render() -> None:
    files = {"/b": "${#a} {% x %}\r\n", "/a": "", "/c": "}} \x00\u2028"}
    assert list(go_files({}, files).items()) == list(files.items())


def test_machines_that_agree_share_the_very_same_text() -> None:
    half = compile_go_half(ENGINE, {"x": "{{ .Proxy }}"}, [("/t", "{{ .Name }}"), ("/u", '{{ template "x" }}')])
    first = half.render(DATA)
    second = half.render({**DATA, "Proxy": Pointer("http://proxy:3128", "string"), "External": False})
    assert (first[0] is second[0], first[1] is second[1]) == (True, True)
    third = half.render({**DATA, "Proxy": Pointer("other", "string")})
    assert (third[0] is first[0], third[1]) == (True, "\nother")


@pytest.mark.parametrize(
    ("compile_half", "file"),
    [(compile_go_half, '{{ .Name }}{{ template "x" }}'), (compile_jinja_half, '{{ Name }}{{ template("x") }}')],
)
def test_the_data_of_a_machine_do_not_wait_for_the_search_for_cycles(compile_half: Any, file: str) -> None:
    half = compile_half(ENGINE, {"x": "text"}, [("/t", file)])
    half.render(DATA)
    gc.collect()
    gc.disable()
    try:
        half.render({**DATA, "Name": "other"})
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_text_is_kept_apart_for_values_that_differ_in_type_or_nilness() -> None:
    half = compile_go_half(ENGINE, {}, [("/t", "{{ .Proxy }}{{ if .Proxy }}!{{ end }}")])
    texts = [half.render({**DATA, "Proxy": Pointer(each, "string")})[0] for each in ("", None, "", "x")]
    assert texts == ["!", "<nil>", "!", "x!"]


def test_two_renderings_are_the_same() -> None:
    files = {"/t": "{{ range $k, $v := .Gates }}{{ $k }}{{ $v }}{{ end }}{{ .Gates | toJson }}"}
    assert go_files({}, files) == go_files({}, files)


def test_native_files_share_text_by_what_they_and_their_includes_read() -> None:
    half = compile_jinja_half(
        ENGINE, {"x": "{{ Proxy }}"}, [("/t", '{{ Name }}{% include "x" %}'), ("/u", "{{ Name }}")]
    )
    first = half.render(DATA)
    second = half.render({**DATA, "Proxy": Pointer("other", "string")})
    assert (first, second) == (("poolhttp://proxy:3128", "pool"), ("poolother", "pool"))
    assert first[1] is second[1]


def test_native_files_whose_includes_are_computed_depend_on_all_templates() -> None:
    half = compile_jinja_half(
        ENGINE, {"pool": "{{ Proxy }}"}, [("/t", "{% include Name %}"), ("/u", '{{ template("pool") }}')]
    )
    assert half.render(DATA) == ("http://proxy:3128", "\nhttp://proxy:3128")
    assert half.render({**DATA, "Proxy": Pointer("other", "string")}) == ("other", "\nother")


def test_all_faults_of_a_native_half_are_told_at_once() -> None:
    with pytest.raises(TemplateFaults) as caught:
        compile_jinja_half(ENGINE, {"x": "{% if %}"}, [("/t", "\n{{ a b }}"), ("/u", "fine")])
    assert [(fault.template, fault.line) for fault in caught.value.faults] == [("x", 1), ("/t", 2)]


def test_a_template_that_files_include_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str | None] = []
    whole = Sandbox.compile

    def counted(environment: Sandbox, source: Any, name: str | None = None, filename: str | None = None) -> Any:
        compiled.append(name)
        return whole(environment, source, name, filename)

    monkeypatch.setattr(Sandbox, "compile", counted)
    templates = {"a": "{% include 'b' %}!", "b": "{{ Name }}"}
    half = compile_jinja_half(ENGINE, templates, [("/x", "{% include 'a' %}"), ("/y", "{% include 'b' %}")])
    assert half.render(DATA) == ("pool!", "pool")
    assert compiled == ["a", "b", "/x", "/y"]


def test_each_file_tells_what_it_and_its_parts_read() -> None:
    parts = {"x": "{{ .Proxy }}"}
    files = [("/a", "{{ .Name }}"), ("/b", 'text {{ template "x" . }}'), ("/c", "text")]
    half = compile_go_half(ENGINE, parts, files)
    assert half.reads_by_file() == (frozenset({"Name"}), frozenset({"Proxy"}), frozenset())
    native = [("/a", "{{ Name }}"), ("/b", "{% include 'x' %}"), ("/c", "text")]
    half = compile_jinja_half(ENGINE, {"x": "{{ Proxy }}"}, native)
    assert half.reads_by_file() == (frozenset({"Name"}), frozenset({"Proxy"}), frozenset())
    # What a file defines or prints as a template may read anything.
    half = compile_go_half(ENGINE, {"/a": ""}, [("/a", "{{ .Name }}")])
    assert half.reads_by_file() == (frozenset({"*"}),)


def test_profiles_that_share_texts_compile_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(ENGINE.root)
    compiled = []
    real = Engine.code

    def code(*args: Any) -> Any:
        compiled.append(args[3])
        return real(*args)

    monkeypatch.setattr(Engine, "code", code)
    template = {"x": "{{ .Name }}"}
    halves = [
        compile_go_half(engine, template, [("/same", '{{ template "x" }}!'), ("/own", own + "{{ .Name }}")])
        for own in "ab"
    ]
    assert [half.render(DATA) for half in halves] == [("\npool!", "apool"), ("\npool!", "bpool")]
    assert sorted(compiled) == ["/own", "/own", "/same", "x"]


def test_a_text_prints_the_templates_of_its_own_profile() -> None:
    engine = Engine(ENGINE.root)
    files = [("/f", '[{{ template "x" }}]{{ .Name }}')]
    halves = [compile_go_half(engine, {"x": text}, files) for text in ("one", "two")]
    assert [half.render(DATA) for half in halves] == [("[\none]pool",), ("[\ntwo]pool",)]
    with pytest.raises(TemplateFaults):
        compile_go_half(engine, {}, files).render(DATA)


def test_a_template_that_fails_is_run_once_for_the_same_data() -> None:
    known, runs = memo({"Name"}, {"Name": "string"}), []

    def endless(name: str) -> str:
        runs.append(name)
        raise BoundExceeded("it takes more than 5 loop steps", "/opt/loop", 3)

    for name in ("a", "a", "b", "a"):
        with pytest.raises(BoundExceeded) as raised:
            known.result({"Name": name}, lambda name=name: endless(name))  # type: ignore[misc]
        assert (raised.value.template, raised.value.line) == ("/opt/loop", 3)

    assert runs == ["a", "b"]


def test_what_no_two_pools_have_in_common_is_remembered_for_a_while_only() -> None:
    known, runs = memo({"Name"}, {"Name": "string"}), []

    def render(name: str) -> str:
        runs.append(name)
        return f"of {name}"

    def asked(names: Iterable[str]) -> list[str]:
        runs.clear()
        for name in names:
            assert known.result({"Name": name}, lambda name=name: render(name)) == f"of {name}"  # type: ignore[misc]
        return list(runs)

    alike = ["a", "b"] * 500
    assert asked(alike) == ["a", "b"]
    different = [str(number) for number in range(2_000)]
    assert asked(different) == different
    assert len(known.results) < 500
    assert len(asked(alike)) < 300  # once the pause is over, it is of use again
    assert asked(alike) == []
