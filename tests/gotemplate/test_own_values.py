"""A user's own values: the same in both languages, named where they are missing, and never changed."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.gotemplate.engine import Engine
from tests.gotemplate.rendering import ENGINE, ROOT, go, go_fault, jinja, jinja_fault

VALUES: dict[str, Any] = {
    "downloads": {"cni": "https://mirror", "retries": 3},
    "debug": True,
    "hosts": ["a", {"name": "b"}],
    "gone": None,
}
OWN = Engine(ROOT, values=VALUES)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("{{ .Values.downloads.cni }}|{{ .Values.downloads.retries }}|{{ .Values.debug }}", "https://mirror|3|true"),
        (
            "{{ $all := . }}{{ $all.Values.debug }}{{ $.Values.debug }}{{ with .Values.downloads }}{{ .cni }}{{ end }}",
            "truetruehttps://mirror",
        ),
        (
            '{{ .Values.no.such | default "d" }}{{ if .Values.no }}1{{ else }}2{{ end }}{{ not .Values.no.such }}',
            "d2true",
        ),
        ("{{ range .Values.no }}{{ . }}{{ else }}none{{ end }}{{ with .Values.no }}1{{ else }}2{{ end }}", "none2"),
        (
            '{{ index .Values "downloads" "cni" }} {{ get .Values "no" }} {{ dig "no" "such" "d" .Values }}',
            "https://mirror  d",
        ),
        ("{{ .Values.downloads | toJson }}", '{"cni":"https://mirror","retries":3}'),
        ("{{ or .Values.no .Values.debug }}{{ .Values.gone | default 1 }}", "true1"),
        ('{{ (set (deepCopy .Values) "debug" false).debug }}{{ .Values.debug }}', "falsetrue"),
    ],
)
def test_go_templates_see_values(text: str, output: str) -> None:
    assert go(text, OWN) == output


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (
            '{{ Values.downloads.cni }}|{{ value("downloads.retries") }}|{{ root.Values.debug }}',
            "https://mirror|3|true",
        ),
        (
            '{{ value("no.such", "d") }}|{{ value("downloads.cni", "d") }}|{{ value("gone", default=1) }}',
            "d|https://mirror|1",
        ),
        (
            '{{ Values.no.such | default("d") }}{{ "x" if Values.no.such else "y" }}{{ Values.no is defined }}',
            "dyfalse",
        ),
        ("{% for host in Values.hosts %}{{ host }},{% endfor %}", "a,map[name:b],"),
        ("{% for key in Values.downloads %}{{ key }},{% endfor %}", "cni,retries,"),
    ],
)
def test_jinja2_templates_see_values(text: str, output: str) -> None:
    assert jinja(text, engine=OWN) == output


def test_templates_that_are_imported_see_values_too() -> None:
    part = {"part": '{% macro url() %}{{ value("downloads.cni") }}{% endmacro %}'}
    assert jinja('{% import "part" as part %}{{ part.url() }}', part, OWN) == "https://mirror"


@pytest.mark.parametrize(
    "text",
    [
        "\n{{ .Values.no.such }}",
        "\n{{ .Values.no.such | quote }}",
        '\n{{ index .Values "no" }}',
        '\n{{ eq .Values.no.such "x" }}',
        '\n{{ $v := .Values.no }}{{ printf "%s" $v.such }}',
    ],
)
def test_a_value_that_is_not_set_stops_a_go_template_and_is_named(text: str) -> None:
    fault = go_fault(text, OWN)
    assert fault.message in {"the value no.such is not set", "the value no is not set"}
    assert fault.line == 2


@pytest.mark.parametrize(
    "text",
    [
        "\n{{ Values.no.such }}",
        '\n{{ Values["no"]["such"] }}',
        '\n{{ value("no.such") }}',
        "\n{% for each in Values.no.such %}{% endfor %}",
        '\n{% if Values.no.such == "x" %}{% endif %}',
        '\n{% set such = Values.no.such %}{{ such ~ "x" }}',
    ],
)
def test_a_value_that_is_not_set_stops_a_jinja2_template_and_is_named(text: str) -> None:
    fault = jinja_fault(text, engine=OWN)
    assert (fault.message, fault.line) == ("the value no.such is not set", 2)
    assert fault.fix == "Set it under `values` of an overlay, or give it a default in the profile"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            '{{ value("debug.level", 1) }}',
            "the value debug is a bool, so nothing can be at debug.level",
            "Make debug a mapping under `values` of the overlay that sets it",
        ),
        ("{{ value(1) }}", 'value takes a path with dots between its keys, as in value("downloads.cni")', ""),
    ],
)
def test_a_path_that_leads_nowhere_is_a_fault_even_with_a_default(text: str, message: str, fix: str) -> None:
    fault = jinja_fault(text, engine=OWN)
    assert (fault.message, fault.fix) == (message, fix)


@pytest.mark.parametrize(
    "text",
    [
        '{{ set .Values "x" 1 }}',
        '{{ unset .Values.downloads "cni" }}',
        '{{ merge .Values (dict "x" 1) }}',
        '{{ mergeOverwrite (dict) .Values (dict "downloads" (dict "cni" "x")) }}',
    ],
)
def test_no_template_can_change_what_the_others_see(text: str) -> None:
    assert "cannot be changed" in go_fault(text, OWN).message
    assert go("{{ .Values | toJson }}", OWN) == jinja("{{ Values | toJson }}", engine=OWN)
    assert VALUES["downloads"] == {"cni": "https://mirror", "retries": 3}


def test_without_an_overlay_values_are_an_empty_map() -> None:
    assert go("{{ .Values }}{{ len .Values }}", ENGINE) == "map[]0"
    assert jinja('{{ value("a", "b") }}{{ Values }}', engine=ENGINE) == "bmap[]"
