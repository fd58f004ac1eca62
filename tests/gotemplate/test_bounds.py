"""What counts against a bound, and that nothing else does."""

from __future__ import annotations

import pytest

from osm_gitops.gotemplate.assembly import CompiledHalf, compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import BoundExceeded, TemplateFaults
from tests.gotemplate.rendering import DATA, ENGINE, ROOT, go, go_fault, jinja, jinja_fault


def _message(half: CompiledHalf, name: str) -> str:
    with pytest.raises(TemplateFaults) as caught:
        half.render({**DATA, "Name": name})
    return str(caught.value)


def test_an_import_counts_in_every_rendering_though_it_is_kept() -> None:
    part = "{% macro m() %}{% endmacro %}" + "{% for i in range(900) %}{% endfor %}"
    text = "{{ Name }}{% import 'p' as p %}{% for i in range(200) %}{% endfor %}"
    half = compile_jinja_half(Engine(ROOT, Bounds(loop_steps=1000)), {"p": part}, [("/t", text)])
    assert _message(half, "a") == _message(half, "b")


def test_the_levels_below_an_import_count_in_every_rendering_though_it_is_kept() -> None:
    parts = {f"p{each}": f"{{% include 'p{each + 1}' %}}{{% macro m() %}}{{% endmacro %}}" for each in range(60)}
    text = "{{ Name }}{% import 'p0' as p %}"
    half = compile_jinja_half(Engine(ROOT, Bounds(depth=50)), {**parts, "p60": ""}, [("/t", text)])
    assert "50 levels deep" in _message(half, "a")
    assert _message(half, "a") == _message(half, "b")
    deeper = compile_jinja_half(Engine(ROOT, Bounds(depth=62)), {**parts, "p60": "", "q": text}, [("/t", text)])
    assert deeper.render(DATA) == ("pool",)
    assert deeper.render({**DATA, "Name": "b"}) == ("b",)


def test_a_regular_expression_counts_in_every_rendering_though_it_is_known() -> None:
    text = '{{ .Name }}{{ range until 100 }}{{ $x := regexMatch "a+" "a" }}{{ end }}'
    half = compile_go_half(Engine(ROOT, Bounds(loop_steps=2000)), {}, [("/t", text)])
    assert _message(half, "a") == _message(half, "b")


def test_what_one_pool_changes_in_an_import_is_not_seen_by_the_next() -> None:
    part = "{% set n = namespace(x=0) %}{% macro m() %}{% set n.x = n.x + 1 %}{{ n.x }}{% endmacro %}"
    half = compile_jinja_half(ENGINE, {"p": part}, [("/t", "{{ Name }}{% import 'p' as p %}{{ p.m() }}{{ p.m() }}")])
    assert half.render({**DATA, "Name": "a"}) == ("a12",)
    assert half.render({**DATA, "Name": "b"}) == ("b12",)


def test_equal_values_are_equal_however_they_are_nested() -> None:
    text = (
        "{% set a = [[1, {'x': 'y'}], 'z'] %}{{ a == [[1, {'x': 'y'}], 'z'] }}{{ a != a }}{{ 'z' in a }}{{ [1] < [2] }}"
    )
    assert jinja(text) == "truefalsetruetrue"


def test_parts_of_texts_and_lists_are_python_s() -> None:
    assert jinja("{{ Name[1:] }}{{ Name[:-1] }}{{ Name[::2] }}{{ [1, 2, 3][1:] }}") == "oolpoopo[2 3]"
    assert "has no parts" in jinja_fault("{{ 5[1:] }}").message
    assert "undefined" in jinja_fault("{{ nope[1:] }}").message


def test_sums_are_bounded_as_plus_is() -> None:
    assert jinja("{{ [1, 2.5] | sum }}{{ [[1], [2]] | sum(start=[]) }}{{ [{'a': 1}] | sum('a') }}") == "3.5[1 2]1"


def test_values_that_are_held_count_once_made() -> None:
    small = Engine(ROOT, Bounds(output_bytes=1000))
    assert go('{{ $l := list }}{{ range 9 }}{{ $l = append $l (repeat 900 "a") }}{{ end }}{{ len $l }}', small) == "9"
    fault = go_fault('{{ $l := list }}{{ range 200 }}{{ $l = append $l (repeat 900 "a") }}{{ end }}', small)
    assert isinstance(fault, BoundExceeded)
    assert "more than 128000 bytes in all" in fault.message


@pytest.mark.parametrize("text", ["{{ 1 }}" * 30_000, "{{ print" + " 1" * 70_000 + " }}"])
def test_a_text_may_not_hold_too_many_words(text: str) -> None:
    assert "more than 64000 words and signs" in go_fault(text).message
    assert "more than 64000 words and signs" in jinja_fault(text.replace("print", "")).message


def test_a_pipeline_may_not_be_too_long() -> None:
    assert go("{{ 1" + " | print" * 100 + " }}") == "1"
    assert "more than 150 commands" in go_fault("{{ 1" + " | print" * 160 + " }}").message


def test_definitions_that_hand_on_another_dot_get_it_through_many_others() -> None:
    made = "".join(
        f'{{{{ define "d{each}" }}}}{{{{ template "d{each - 1}" . }}}}{{{{ end }}}}' for each in range(1, 50)
    )
    calls = "".join(f'{{{{ template "d{each}" . }}}}' for each in range(3))
    text = f'{{{{ define "d0" }}}}{{{{ with .Name }}}}{{{{ . }}}}{{{{ end }}}}{{{{ end }}}}{made}{calls}'
    assert go(text + '{{ template "d49" (dict "Name" "x") }}') == "poolpoolpoolx"
