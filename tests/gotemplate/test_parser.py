"""Tokens to nodes; what parses here parses in Go and the other way round."""

from __future__ import annotations

import pytest

from osm_gitops.gotemplate.faults import BoundExceeded, Refused, TemplateFault
from osm_gitops.gotemplate.nodes import (
    Action,
    Body,
    Break,
    Call,
    Chain,
    Command,
    If,
    Number,
    Pipe,
    Range,
    String,
    Text,
    Variable,
    With,
)
from osm_gitops.gotemplate.parser import parse
from tests.gotemplate.language import NAMES


def parsed(text: str) -> Body:
    return parse("/t", text, NAMES)["/t"]


def action(text: str) -> Pipe:
    node = parsed("{{" + text + "}}")[0]
    assert isinstance(node, Action)
    return node.pipe


def first(text: str) -> object:
    return action(text).commands[0].first


def number(text: str) -> tuple[int | None, float, bool]:
    node = first(text)
    assert isinstance(node, Number)
    return node.value.integer, node.value.real, node.value.floating


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\tb\"\\\x41\101é"', 'a\tb"\\AAé'),
        (r'"\U0001F600"', "😀"),
        (r'"\xc3\xa9"', "é"),
        (r'"\xff"', "\udcff"),
        (r"`a\n\"`", r"a\n\""),
        ("`a\r\nb`", "a\nb"),
    ],
)
def test_string_literals_are_go_strings(text: str, value: str) -> None:
    assert first(text) == String(value)


@pytest.mark.parametrize(
    ("text", "integer", "floating"),
    [
        ("0644", 420, False),
        ("0x1F", 31, False),
        ("0o17", 15, False),
        ("0b11", 3, False),
        ("1_000", 1000, False),
        ("'a'", 97, False),
        (r"'\n'", 10, False),
        (r"'\xff'", 255, False),
        ("-3", -3, False),
        ("2.0", 2, True),
        ("1e3", 1000, True),
        ("1.5", None, True),
        ("0x1p-2", None, True),
        ("1_000.5", None, True),
        ("18446744073709551615", 18446744073709551615, False),
    ],
)
def test_number_literals_are_go_numbers(text: str, integer: int | None, floating: bool) -> None:
    assert (number(text)[0], number(text)[2]) == (integer, floating)


@pytest.mark.parametrize(
    "text", ["08", "1__0", "0x1F_", "1e400", "18446744073709551616", "-9223372036854775809", "0x", "- 5", "'ab'", "''"]
)
def test_numbers_that_go_refuses_are_refused(text: str) -> None:
    with pytest.raises(TemplateFault):
        parsed("{{ " + text + " }}")


def test_complex_numbers_are_refused_by_name() -> None:
    with pytest.raises(Refused, match="complex number 2i"):
        parsed("{{ 2i }}")


def test_a_pipeline_keeps_commands_and_arguments_in_order() -> None:
    pipe = action(' .A.B | print "x" $.C | upper ')
    assert [len(command.args) for command in pipe.commands] == [0, 2, 0]
    assert pipe.commands[1].args == (String("x"), Variable("", ("C",)))


def test_fields_behind_parentheses_make_a_chain() -> None:
    node = first("(list 1).a.b")
    assert isinstance(node, Chain)
    assert node.names == ("a", "b")


def test_declarations_and_assignments_are_kept_apart() -> None:
    assert (action("$x := 1").variables, action("$x := 1").assign) == (("x",), False)
    body = parsed("{{ $x := 1 }}{{ $x = 2 }}")
    assert isinstance(body[1], Action)
    assert body[1].pipe.assign


def test_else_if_and_else_with_nest_in_the_else_branch() -> None:
    (node,) = parsed("{{ if 1 }}a{{ else if 2 }}b{{ else }}c{{ end }}")
    assert isinstance(node, If)
    assert isinstance(node.orelse[0], If)
    assert node.orelse[0].orelse == (Text(1, "c"),)
    (node,) = parsed("{{ with 1 }}a{{ else with 2 }}b{{ end }}")
    assert isinstance(node, With)
    assert isinstance(node.orelse[0], With)


def test_definitions_and_blocks_become_bodies_of_their_own() -> None:
    bodies = parse("/t", '{{ define "a" }}A{{ end }}{{ block "b" . }}B{{ end }}', NAMES)
    assert bodies["a"] == (Text(1, "A"),)
    assert bodies["b"] == (Text(1, "B"),)
    (call,) = bodies["/t"]
    assert isinstance(call, Call)
    assert call.name == "b"


def test_a_blank_definition_never_replaces_another() -> None:
    assert parse("/t", '{{ define "a" }}A{{ end }}{{ define "a" }} \n{{ end }}', NAMES)["a"] == (Text(1, "A"),)
    assert parse("/t", '{{ define "a" }} {{ end }}{{ define "a" }}A{{ end }}', NAMES)["a"] == (Text(1, "A"),)


def test_break_and_continue_belong_to_the_loop_around_them() -> None:
    (node,) = parsed("{{ range 3 }}{{ if . }}{{ break }}{{ end }}{{ end }}")
    assert isinstance(node, Range)
    assert isinstance(node.body[0], If)
    assert isinstance(node.body[0].body[0], Break)


def test_a_trailing_pipe_is_allowed_as_in_go() -> None:
    assert action("1 |").commands == (Command(action("1").commands[0].first, ()),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ nofunc 1 }}", "function 'nofunc' is not defined"),
        ("{{ $x }}", "undefined variable $x"),
        ("{{ if $x := 1 }}{{ end }}{{ $x }}", "undefined variable $x"),
        ('{{ $x := 1 }}{{ define "a" }}{{ $x }}{{ end }}', "undefined variable $x"),
        ("{{ if }}x{{ end }}", "the value for if is missing"),
        ("{{ }}", "the value for a command is missing"),
        ("{{ print () }}", "the value for a parenthesized pipeline is missing"),
        ("{{ 1 | 2 }}", "stage 2 of the pipeline is not a function"),
        ("{{ 1 | nil }}", "stage 2 of the pipeline is not a function"),
        ("{{ | 1 }}", "unexpected '|' in a command"),
        ('{{ "a""b" }}', "unexpected '\"b\"' in an operand"),
        ("{{ print(1) }}", "unexpected '(' in an operand"),
        ("{{ true.a }}", "unexpected . after true"),
        ("{{ .a. }}", "unexpected '.' in an operand"),
        ("{{ 1, 2 }}", "unexpected ',' in an operand"),
        ("{{ $a, $b := 1 }}", "too many declarations in a command"),
        ("{{ range $a, $b, $c := 1 }}{{ end }}", "too many declarations in range"),
        ("{{ range $i, 5 }}{{ end }}", "range can only initialize variables"),
        ("{{ end }}", "unexpected {{end}}"),
        ("{{ else }}", "unexpected {{else}}"),
        ("{{ if 1 }}", "an {{end}} is missing"),
        ("{{ if 1 }}{{ else }}{{ else }}{{ end }}", "expected {{end}}; found {{else}}"),
        ("{{ range 1 }}{{ else if 1 }}{{ end }}", "unexpected 'if' in a template"),
        ("{{ break }}", "{{break}} outside of {{range}}"),
        ("{{ range 1 }}{{ else }}{{ continue }}{{ end }}", "{{continue}} outside of {{range}}"),
        ('{{ range 1 }}{{ block "b" . }}{{ break }}{{ end }}{{ end }}', "{{break}} outside of {{range}}"),
        ("{{ template x }}", "unexpected 'x' in a template clause"),
        ('{{ template "x" 1 | }}{{ define "x" 1 }}{{ end }}', "unexpected '1' in a define clause"),
        ('{{ if 1 }}{{ define "x" }}{{ end }}{{ end }}', "unexpected 'define' in a command"),
        ('{{ block "a" }}{{ end }}', "the value for a block clause is missing"),
        ('{{ define "a" }}1{{ end }}{{ define "a" }}2{{ end }}', "there are two definitions of template 'a'"),
        (r'{{ "\q" }}', 'invalid escape in the literal "\\q"'),
    ],
)
def test_parse_errors_are_where_go_has_them(text: str, message: str) -> None:
    with pytest.raises(TemplateFault) as caught:
        parsed("line one\n" + text)
    assert (caught.value.message, caught.value.template, caught.value.line) == (message, "/t", 2)


@pytest.mark.parametrize(
    "text", ["{{ " + "(" * 10_000 + "1", "{{ if 1 }}" * 10_000, "{{ " + "(" * 200 + "1" + ")" * 200 + " }}"]
)
def test_deep_nesting_is_a_bound_not_a_crash(text: str) -> None:
    with pytest.raises(TemplateFault):
        parsed(text)


def test_a_long_chain_of_else_if_is_no_nesting() -> None:
    assert parsed("{{ if 0 }}" + "{{ else if 0 }}x" * 500 + "{{ end }}")
    with pytest.raises(BoundExceeded):
        parsed("{{ if 0 }}" + "{{ else if 0 }}x" * 5_000 + "{{ end }}")
