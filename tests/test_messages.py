"""The codes of messages: each is used and explained, and keeps its meaning."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from osm_gitops.commands.explain_code import messages
from osm_gitops.commands.validate.linter import all_rules
from osm_gitops.errors import Code, Problem
from osm_gitops.model.finding import Rule
from tests.cli.running import osm_gitops
from tests.faults import Expected, told

ROOT = Path(__file__).resolve().parent.parent
RECORDED = Path(__file__).with_name("published_codes.txt")
CODES = list(Code)


def _used() -> set[str]:
    """The names of codes that the package's modules mention."""
    return {
        node.attr
        for path in (ROOT / "osm_gitops").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Code"
    }


def test_every_code_is_used() -> None:
    assert {code.name for code in CODES} - _used() == set()


def test_every_code_has_its_own_number_in_the_order_of_the_table() -> None:
    # An enum takes a second name of the same value for an alias, which is not among its members.
    assert list(Code.__members__) == [code.name for code in Code]
    numbers = [code.value for code in Code]
    assert numbers == sorted(numbers)
    assert all(len(number) == 6 and number.startswith("OG") and number[2:].isdecimal() for number in numbers)


def test_every_code_is_explained_and_nothing_else() -> None:
    known = messages()
    assert list(known) == [code.value for code in CODES]
    for message in known.values():
        assert message.title == message.title.strip(" .")
        for text in (message.means, message.fix):
            assert text.endswith((".", ".)"))
            assert len(text) > 20
    assert [title for title, count in Counter(each.title for each in known.values()).items() if count > 1] == []


def test_a_published_code_keeps_its_meaning() -> None:
    """Lines are added when codes are; none is changed or removed, even where a code is no longer used."""
    recorded = {line[:6]: line[7:] for line in RECORDED.read_text("utf-8").splitlines()}
    now = {code: f"{message.code.name}: {message.title}" for code, message in messages().items()}
    assert {code: recorded.get(code) for code in now} == now
    assert list(recorded) == sorted(recorded)


def test_a_problem_shows_its_code_at_the_end() -> None:
    plain = Problem(Code.UNKNOWN_KEY, "is not known here", where="a.yaml:3", field="form")
    assert str(plain) == "a.yaml:3: form: is not known here [OG1021]"
    asking = Problem(Code.UNKNOWN_KEY, "is not known here", fix="Did you mean from?")
    assert str(asking) == "is not known here. Did you mean from? [OG1021]"


@pytest.mark.parametrize("text", ["OG1103", "og1103", "[OG1103]", "1103"])
def test_a_code_is_explained_however_it_was_copied(text: str) -> None:
    ran = osm_gitops("explain-code", text)
    message = messages()["OG1103"]
    assert (ran.code, ran.err) == (0, "")
    head, means, fix = ran.out.split("\n\n")
    assert head == "OG1103: Duplicate key"
    assert means.split() == message.means.split()
    assert fix.split() == ["What", "to", "do:", *message.fix.split()]


def test_several_codes_are_explained_in_the_order_asked_each_once() -> None:
    out = osm_gitops("explain-code", "OG2202", "OG1103", "OG2202").out
    assert [line[:6] for line in out.splitlines() if line.startswith("OG")] == ["OG2202", "OG1103"]


def test_all_codes_and_rules_are_listed() -> None:
    lines = osm_gitops("explain-code", "--list").out.splitlines()
    rules = [f"{rule.id}  {rule.meaning}" for rule in all_rules()]
    assert lines == [*(f"{code}  {message.title}" for code, message in messages().items()), *rules]


def test_an_unknown_code_is_refused_with_the_nearest_ones() -> None:
    ran = osm_gitops("explain-code", "OG1104", "OG1199", "nonsense")
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [
        Expected(Code.UNKNOWN_CODE, '"OG1199"', "OG1201 ("),
        Expected(Code.UNKNOWN_CODE, '"nonsense"', "--list"),
    ]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_every_rule_is_explained_with_its_severity_its_meaning_and_how_to_suppress_it(rule: Rule) -> None:
    ran = osm_gitops("explain-code", rule.id)
    assert (ran.code, ran.err) == (0, "")
    head, meaning, fix = ran.out.split("\n\n")
    assert head.startswith(f"{rule.id}: ")
    assert f"({rule.severity.value})" in head
    assert " ".join(meaning.split()).casefold() == f"{rule.meaning}.".casefold()
    assert f"ignore.osm-gitops.io/{rule.id}: " in fix


def test_a_code_of_shellcheck_is_explained_as_one_of_its_family() -> None:
    out = osm_gitops("explain-code", "shellcheck-SC2086").out
    assert out.startswith("shellcheck-SC2086: ")
    assert "ignore.osm-gitops.io/shellcheck-SC2086: " in out
    assert osm_gitops("explain-code", "shellcheck-x").code == 1


def test_codes_and_rules_are_explained_together_and_a_misspelled_rule_is_answered_with_the_one_that_was_meant() -> None:
    out = osm_gitops("explain-code", "shebang", "OG1103").out
    assert [line.partition(":")[0] for line in out.splitlines() if line.startswith(("OG", "shebang"))] == [
        "shebang",
        "OG1103",
    ]
    assert told(osm_gitops("explain-code", "world-readable-secrets").err) == [
        Expected(Code.UNKNOWN_CODE, '"world-readable-secrets"', "world-readable-secret ")
    ]


def test_a_code_must_be_named() -> None:
    ran = osm_gitops("explain-code")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.endswith("[OG4001]\n")
