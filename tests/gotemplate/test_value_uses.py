"""Which values a text reads, told without running it; rather too many than too few."""

from __future__ import annotations

import pytest

from osm_gitops.config.overlay_stack import without_used
from osm_gitops.gotemplate.inspection import value_uses


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("{{ Values.a.b }}{{ Values['c'].d }}{{ root.Values.e }}", {("a", "b"), ("c", "d"), ("e",)}),
        ('{{ value("a.b", "x") }}{% if value("c") %}{% endif %}', {("a", "b"), ("c",)}),
        ('{{ value("sums." ~ Name ~ ".amd64", "") }}{{ value("more." + Name) }}', {("sums",), ("more",)}),
        ("{{ value(Name) }}", {()}),
        ('{{ value(path="a.b") }}{{ value ("c") }}', {("a", "b"), ("c",)}),
        ("{% set find = value %}{{ find('a') }}", {()}),
        ("{% for value in Taints %}{{ value }}{% endfor %}", set()),
        ("{% set all = Values %}{{ all.x }}", {()}),
        ("{{ Values[Name].x }}", {()}),
        ("{{ Values.a[Name].x }}", {("a",)}),
        ("{% for host in Values.hosts %}{{ host }}{% endfor %}{{ Values.x is defined }}", {("hosts",), ("x",)}),
        ("{% macro url(x) %}{{ Values.base }}/{{ x }}{% endmacro %}", {("base",)}),
        ("Values.a value('b')", set()),
        ("{{ Values.a", {()}),
    ],
)
def test_native_jinja2_tells_what_it_reads(text: str, uses: set[tuple[str, ...]]) -> None:
    assert value_uses(text, native=True) == uses


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("{{ .Values.a.b }}{{ $.Values.c }}{{ with .Name }}{{ $.Values.d }}{{ end }}", {("a", "b"), ("c",), ("d",)}),
        ('{{ .Values.a | default "x" }}{{ if and .Values.b (eq .Values.c "x") }}{{ end }}', {("a",), ("b",), ("c",)}),
        ("{{ range .Values.hosts }}{{ . }}{{ end }}{{ with .Values }}{{ .x }}{{ end }}", {("hosts",), ()}),
        ('{{ index .Values "a" "b" }}{{ index .Values.c .Name "d" }}', {("a", "b"), ("c",)}),
        ('{{ define "x" }}{{ .Values.in }}{{ end }}{{ (.Values.m).n }}', {("in",), ("m",)}),
        ("{{ .Values.a", {()}),
    ],
)
def test_go_templates_tell_what_they_read(text: str, uses: set[tuple[str, ...]]) -> None:
    assert value_uses(text, native=False) == uses


def test_a_value_is_used_by_whoever_reads_it_something_above_or_below_it() -> None:
    values = dict.fromkeys([("a", "b"), ("a",), ("a", "b", "c"), ("a", "c"), ("b",)], 1)
    assert without_used(values, {("a", "b")}) == {("a", "c"): 1, ("b",): 1}
    assert without_used(values, {()}) == {}
    assert without_used(values, ()) == values
