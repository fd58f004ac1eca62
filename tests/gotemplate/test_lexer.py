"""Go template text to tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osm_gitops.gotemplate.faults import TemplateFault
from osm_gitops.gotemplate.lexer import Kind, tokenize


def kinds(text: str) -> list[tuple[Kind, str]]:
    return [(token.kind, token.value) for token in tokenize(text)[:-1] if token.kind is not Kind.SPACE]


def inside(text: str) -> list[tuple[Kind, str]]:
    return kinds("{{" + text + "}}")[1:-1]


def test_text_without_actions_is_one_token() -> None:
    assert kinds("a\r\n} }} {% {#") == [(Kind.TEXT, "a\r\n} }} {% {#")]


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("a \n{{- 1 -}}\t\r\n b", ["a", "b"]),
        ("a {{ 1 }} b", ["a ", " b"]),
        ("a {{-1}} b", ["a ", " b"]),
        ("a {{1 -}} {{- 2}} b", ["a ", " b"]),
        ("\u00a0{{- 1 -}}\u00a0", ["\u00a0", "\u00a0"]),
        ("a {{- /* c */ -}} b", ["a", "b"]),
        ("a {{/* c */}} b", ["a ", " b"]),
        ("{{1\n-}}\n\nb", ["b"]),
    ],
)
def test_trim_markers_cut_blanks_of_the_neighbouring_text_only(text: str, literals: list[str]) -> None:
    assert [token.value for token in tokenize(text) if token.kind is Kind.TEXT] == literals


def test_what_trim_markers_take_is_known() -> None:
    assert kinds("a \n{{- 1 -}}\t\r\n b")[1] == (Kind.GAP, " \n")
    assert kinds("a{{ 1 -}}\t\r\n b")[-2:] == [(Kind.GAP, "\t\r\n "), (Kind.TEXT, "b")]
    assert [value for kind, value in kinds("{{ 1 -}} \n {{- 2 }}") if kind is Kind.GAP] == [" \n "]


def test_a_minus_without_a_blank_is_a_sign() -> None:
    assert inside("-3") == [(Kind.NUMBER, "-3")]


def test_delimiters_inside_of_strings_and_comments_do_not_count() -> None:
    assert inside('"}}" `{{`') == [(Kind.STRING, '"}}"'), (Kind.STRING, "`{{`")]
    assert kinds("{{/* {{ }} */}}x") == [(Kind.COMMENT, " {{ }} "), (Kind.TEXT, "x")]


def test_fields_are_separate_tokens() -> None:
    assert inside("$x.a .b.c . $") == [
        (Kind.VARIABLE, "$x"),
        (Kind.FIELD, ".a"),
        (Kind.FIELD, ".b"),
        (Kind.FIELD, ".c"),
        (Kind.DOT, "."),
        (Kind.VARIABLE, "$"),
    ]


@pytest.mark.parametrize(
    "number", ["0", "0644", "0x1F", "0b11", "0o17", "1_000", "1.5", ".5", "5.", "1e3", "-0x1p-2", "+7", "1+2i", "'a'"]
)
def test_numbers_are_one_token(number: str) -> None:
    assert [value for _, value in inside(number)] == [number]


def test_keywords_and_booleans_have_kinds_of_their_own() -> None:
    assert inside("if true nil range x") == [
        (Kind.KEYWORD, "if"),
        (Kind.BOOL, "true"),
        (Kind.KEYWORD, "nil"),
        (Kind.KEYWORD, "range"),
        (Kind.IDENTIFIER, "x"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a\n{{ 1", 2, "unclosed action"),
        ('a\n{{ "x }}', 2, "unterminated quoted string"),
        ("{{ `x }}", 1, "unterminated raw quoted string"),
        ("{{ 'x }}", 1, "unterminated character constant"),
        ("\n\n{{/* x", 3, "unclosed comment"),
        ("{{/* x */ }}", 1, "a comment must end directly before the closing }}"),
        ("{{ (1 }}", 1, "unclosed left paren"),
        ("{{ 1) }}", 1, "unexpected right paren"),
        ("{{ 1a }}", 1, "bad number syntax: 1a"),
        ("{{ $x=1 }}", 1, "bad character '=' after $x"),
        ("{{ a : b }}", 1, "expected :="),
        ("{{ \x00 }}", 1, "unrecognized character in action: '\\x00'"),
        ('{{ "a\nb" }}', 1, "unterminated quoted string"),
    ],
)
def test_a_wrong_character_is_named_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(TemplateFault) as caught:
        tokenize(text)
    assert (caught.value.line, caught.value.message) == (line, message)


def test_lines_are_counted_across_trimmed_text_and_long_tokens() -> None:
    tokens = tokenize("a\n{{- 1 -}}\n\n{{ `x\ny` }}\nb")
    assert [(token.value, token.line) for token in tokens if token.kind in (Kind.NUMBER, Kind.STRING, Kind.TEXT)] == [
        ("a", 1),
        ("1", 2),
        ("`x\ny`", 4),
        ("\nb", 5),
    ]


@given(st.text(alphabet="{}-/* \n\t\"'`.$a1(|):=\\é\x00", max_size=40))
def test_any_text_gives_tokens_or_a_fault(text: str) -> None:
    last = _last_line(text)
    assert 1 <= last <= text.count("\n") + 1


def _last_line(text: str) -> int:
    """The line of the last token, or of what is wrong."""
    try:
        return tokenize(text)[-1].line
    except TemplateFault as fault:
        return fault.line
