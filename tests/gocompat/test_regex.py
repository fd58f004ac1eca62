"""regexp: every expectation was given by Go 1.26; more of them in templates/functions/vectors/regexes.jsonl."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.regex import RegexRefused, compile_pattern, quote_meta


def _replaced(pattern: str, text: str, template: str) -> str:
    return "".join(compile_pattern(pattern).replace_all(text, template))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a*", "baac", ["", "aa", ""]),
        ("a*?", "aa", ["", "", ""]),
        ("", "é", ["", ""]),
        (r"\B", "éa", [""]),
        ("$", "a\n", [""]),
        (r"(?m)$", "a\n", ["", ""]),
        (".", "\udc80é\n", ["\udc80", "é"]),
        ("\ufffd", "\udc80\ufffd", ["\udc80", "\ufffd"]),
        (r"(?i)k", "kK\u212a", ["k", "K", "\u212a"]),
        (r"\p{Letter}+", "aé1", ["aé"]),
        (r"\p{lu}\P{^greek}", "Aα", ["Aα"]),
        (r"(?<n>b)|[[:^alpha:]]", "1b", ["1", "b"]),
        (r"\Qa.b\E", "a.b axb", ["a.b"]),
    ],
)
def test_matches_are_found_one_after_another_as_in_go(pattern: str, text: str, found: list[str]) -> None:
    compiled = compile_pattern(pattern)
    assert compiled.find_all(text, -1) == found
    assert compiled.find_all(text, 1) == found[:1]
    assert compiled.find(text) == found[0]
    assert compiled.matches(text)


def test_no_match_gives_nothing() -> None:
    compiled = compile_pattern("z")
    assert (compiled.find("a"), compiled.find_all("a", -1), compiled.matches("a")) == ("", [], False)
    assert list(compile_pattern("(a)|(b)").find_all_groups("ab")) == [["a", "a", None], ["b", None, "b"]]


@pytest.mark.parametrize(
    ("template", "replaced"),
    [
        ("<$1>", "<b>"),
        ("${1}x$1x", "bx"),
        ("$n-$nn-${n}", "b--b"),
        ("$$1 $ ${ ${1 $é", "$1 $ ${ ${1 "),
        ("$0$2$01", "abc"),
        ("\\1", "\\1"),
    ],
)
def test_a_replacement_is_expanded_as_in_go(template: str, replaced: str) -> None:
    assert _replaced("a(?P<n>b)c", "abc", template) == replaced


def test_groups_of_one_name_stand_for_the_one_that_matched() -> None:
    assert _replaced(r"[(?P<n>](?P<n>x)|\((?<n>y)(z)", "(x(yz", "<$n>") == "<x><y>"
    assert _replaced(r"\Q(?P<n>\E(?P<n>a)()", "(?P<n>a", "$n") == "a"


def test_replacements_leave_no_empty_match_after_a_match() -> None:
    assert _replaced("a*", "baac", "x") == "xbxcx"
    assert "".join(compile_pattern("a").replace_all_literal("aba", "$1")) == "$1b$1"


@pytest.mark.parametrize(
    ("pattern", "text", "limit", "parts"),
    [
        ("[0-9]+", "ab12cd345", -1, ["ab", "cd", ""]),
        ("[0-9]+", "ab12cd345", 2, ["ab", "cd345"]),
        ("", "éb", -1, ["é", "b"]),
        ("", "", -1, []),
        ("a", "", -1, [""]),
        ("a", "aa", 0, []),
        ("a", "baab", 1, ["baab"]),
    ],
)
def test_a_text_is_split_as_in_go(pattern: str, text: str, limit: int, parts: list[str]) -> None:
    assert compile_pattern(pattern).split(text, limit) == parts


@pytest.mark.parametrize(
    "pattern",
    ["[", "x(?=y)", "a{1001}", r"\1", r"\C", "a**", "(?P<é>a)", r"\p{Old_Italic}", "\udc80", "(?x)"],
)
def test_what_go_does_not_compile_is_refused(pattern: str) -> None:
    with pytest.raises(GoError) as refused:
        compile_pattern(pattern)
    assert not isinstance(refused.value, RegexRefused)


@pytest.mark.parametrize("pattern", [r"\pC", r"\p{Cn}", r"[\p{LC}]", r"\p{ascii}", "a{999999999}", r"\pL{1000}" * 9])
def test_what_means_something_else_to_re2_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(RegexRefused):
        compile_pattern(pattern)


def test_an_expression_that_explodes_elsewhere_is_answered_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    assert not compile_pattern("(a+)+$").matches("a" * 100_000 + "b")
    with pytest.raises(GoError):
        compile_pattern("(")
    assert capfd.readouterr().err == ""


def test_metacharacters_are_quoted() -> None:
    assert quote_meta(r"a.+*?()|[]{}^$\-é") == r"a\.\+\*\?\(\)\|\[\]\{\}\^\$\\-é"
