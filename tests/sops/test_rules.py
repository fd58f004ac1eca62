"""Creation rules: the nearest .sops.yaml, its first rule that matches, and why a rule cannot be honoured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.sops.rules import CreationRules, Selection
from tests.faults import Expected, placed, refused
from tests.sops.scenes import ANNA, BERT, CLEO


def _write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".sops.yaml").write_text(text)
    return folder


def _recipients(path: Path) -> tuple[str, ...]:
    rule = CreationRules().rule_for(path)
    assert rule
    return rule.recipients


def _problems(root: Path, text: str, name: str = "a.yaml") -> list[Problem]:
    """The problems of the rules ``text``, without the path of their folder."""
    with pytest.raises(InputError) as caught:
        CreationRules().rule_for(_write(root, text) / name)
    return [replace(problem, where=problem.where.replace(f"{root}/", "")) for problem in caught.value.problems]


def test_the_nearest_file_above_counts_and_only_that(tmp_path: Path) -> None:
    _write(tmp_path, f"creation_rules: [{{age: {ANNA.recipient}}}]")
    _write(tmp_path / "clusters" / "b", f"creation_rules: [{{age: {BERT.recipient}}}]")
    assert _recipients(tmp_path / "x.yaml") == (ANNA.recipient,)
    assert _recipients(tmp_path / "clusters" / "a" / "not" / "there" / "x.yaml") == (ANNA.recipient,)
    assert _recipients(tmp_path / "clusters" / "b" / "worker" / "x.yaml") == (BERT.recipient,)
    _write(tmp_path / "clusters" / "b", "stores: {yaml: {indent: 2}}")
    assert CreationRules().rule_for(tmp_path / "clusters" / "b" / "x.yaml") is None


def test_without_a_file_there_is_no_rule(tmp_path: Path) -> None:
    _write(tmp_path, f"creation_rules: [{{age: {ANNA.recipient}}}]")
    assert CreationRules(top=tmp_path / "below").rule_for(tmp_path / "below" / "x.yaml") is None
    (tmp_path / ".sops.yaml").write_text("")
    assert CreationRules().rule_for(tmp_path / "x.yaml") is None


def test_the_first_rule_whose_expression_matches_the_path_below_its_file_counts(tmp_path: Path) -> None:
    root = _write(
        tmp_path / "prod",
        f"""\
creation_rules:
# for the workers
- path_regex: ^clusters/[^/]+/worker/
  age: {ANNA.recipient}
- path_regex: \\.yaml$
  age: {BERT.recipient}
- age: {CLEO.recipient}
""",
    )
    rules = CreationRules()
    for name, person, line in (
        ("clusters/a/worker/secrets/x.yaml", ANNA, 3),
        ("clusters/a/management/x.yaml", BERT, 5),
        ("x.json", CLEO, 7),
    ):
        rule = rules.rule_for(root / name)
        assert rule
        assert (rule.recipients, rule.where) == ((person.recipient,), f"{root}/.sops.yaml:{line}")


def test_paths_are_taken_as_they_are_given_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, f"creation_rules: [{{path_regex: ^a/b, age: {ANNA.recipient}}}]")
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert _recipients(Path("b.yaml")) == (ANNA.recipient,)
    assert _recipients(Path("../a/./b.yaml")) == (ANNA.recipient,)


@pytest.mark.parametrize(
    "keys",
    [
        "age: ANNA,BERT",
        "age: ' ANNA , BERT,'",
        "age: [ANNA, BERT]",
        "age: ['ANNA,BERT', ANNA]",
        "age: >-\n    ANNA,\n    BERT",
        "key_groups: [{age: [ANNA, BERT]}]",
        "key_groups: [{merge: [{age: [ANNA]}], age: [BERT]}]",
        "{age: CLEO, key_groups: [{age: [ANNA, BERT]}]}",
    ],
)
def test_recipients_are_read_in_every_spelling_of_sops(keys: str, tmp_path: Path) -> None:
    for name, person in (("ANNA", ANNA), ("BERT", BERT), ("CLEO", CLEO)):
        keys = keys.replace(name, person.recipient)
    assert _recipients(_write(tmp_path, f"creation_rules:\n- {keys}\n") / "a.yaml") == (ANNA.recipient, BERT.recipient)


def test_anchors_carry_recipients(tmp_path: Path) -> None:
    text = f"keys: [&anna {ANNA.recipient}]\ncreation_rules:\n- key_groups: [{{age: [*anna]}}]\n"
    assert _recipients(_write(tmp_path, text) / "a.yaml") == (ANNA.recipient,)


@pytest.mark.parametrize(
    ("text", "selection"),
    [
        ("encrypted_regex: ^data$", Selection(encrypted_regex="^data$")),
        ("unencrypted_regex: ^kind$", Selection(unencrypted_regex="^kind$")),
        ("encrypted_suffix: Config", Selection(encrypted_suffix="Config")),
        ("unencrypted_suffix: _clear", Selection(unencrypted_suffix="_clear")),
        ("mac_only_encrypted: true", Selection(mac_only_encrypted=True)),
        ("encrypted_regex: ''", Selection()),
    ],
)
def test_a_rule_says_what_is_encrypted(text: str, selection: Selection, tmp_path: Path) -> None:
    rule = CreationRules().rule_for(_write(tmp_path, f"creation_rules:\n- age: {ANNA.recipient}\n  {text}\n") / "a")
    assert rule
    assert rule.selection == selection


def test_a_file_that_no_rule_matches_is_refused(tmp_path: Path) -> None:
    assert _problems(tmp_path, "creation_rules: [{path_regex: ^b}]", "a/x.yaml") == [
        (Expected(Code.NO_SOPS_RULE_MATCHES, ".sops.yaml", "a/x.yaml"))
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            "age: ANNA\n  pgp: ABCD\n  kms: 'arn:x'",
            [
                (Code.SOPS_RULE_NOT_AGE_ONLY, ".sops.yaml:3: pgp"),
                (Code.SOPS_RULE_NOT_AGE_ONLY, ".sops.yaml:4: kms"),
            ],
        ),
        (
            "key_groups:\n  - age: [ANNA]\n  - age: [ANNA]",
            [(Code.SOPS_RULE_NOT_AGE_ONLY, ".sops.yaml:2: key_groups")],
        ),
        (
            "key_groups:\n  - merge:\n    - hc_vault: [x]",
            [(Code.SOPS_RULE_NOT_AGE_ONLY, ".sops.yaml:4: key_groups[0].merge[0].hc_vault")],
        ),
        ("key_groups: x", [(Code.SOPS_RULE_INVALID, ".sops.yaml:2: key_groups")]),
        ("key_groups: [{merge: 5}]", [(Code.SOPS_RULE_INVALID, ".sops.yaml:2: key_groups[0].merge")]),
        ("mac_only_encrypted: true", [(Code.SOPS_RULE_NO_RECIPIENT, ".sops.yaml:2")]),
        ("age: 5", [(Code.SOPS_RULE_INVALID, ".sops.yaml:2: age")]),
        ("age: [{x: y}]", [(Code.SOPS_RULE_INVALID, ".sops.yaml:2: age")]),
        (
            "\n  age: nobody, age1pq1x",
            [
                (Code.RECIPIENT_INVALID, ".sops.yaml:3: age"),
                (Code.RECIPIENT_UNSUPPORTED, ".sops.yaml:3: age"),
            ],
        ),
        (
            "age: ANNA\n  encrypted_regex: a\n  encrypted_suffix: b",
            [(Code.SOPS_RULE_INVALID, ".sops.yaml:4: encrypted_suffix")],
        ),
        (
            "age: ANNA\n  encrypted_comment_regex: a",
            [(Code.SOPS_RULE_INVALID, ".sops.yaml:3: encrypted_comment_regex")],
        ),
        ("age: ANNA\n  encrypted_regex: [a]", [(Code.SOPS_RULE_INVALID, ".sops.yaml:3: encrypted_regex")]),
        ("age: ANNA\n  mac_only_encrypted: 1", [(Code.SOPS_RULE_INVALID, ".sops.yaml:3: mac_only_encrypted")]),
        ("age: ANNA\n  path_regex: [a]", [(Code.SOPS_RULE_INVALID, ".sops.yaml:3")]),
    ],
)
def test_what_cannot_be_honoured_is_said_with_its_line(
    rule: str, expected: list[tuple[Code, str]], tmp_path: Path
) -> None:
    text = f"creation_rules:\n- {rule}\n".replace("ANNA", ANNA.recipient)
    assert placed(_problems(tmp_path, text)) == expected


@pytest.mark.parametrize("name", ["path_regex", "encrypted_regex", "unencrypted_regex"])
def test_expressions_are_those_of_go(name: str, tmp_path: Path) -> None:
    assert _problems(tmp_path, f"creation_rules:\n- age: {ANNA.recipient}\n  {name}: (?=a)\n") == [
        Expected(Code.SOPS_RULE_INVALID, ".sops.yaml:3", name)
    ]


def test_a_file_that_is_no_yaml_or_no_file_is_told_with_its_place(tmp_path: Path) -> None:
    assert _problems(tmp_path, "creation_rules: 5") == [Expected(Code.SOPS_RULE_INVALID, ".sops.yaml:1")]
    assert _problems(tmp_path, "\n\ncreation_rules: [5]") == [Expected(Code.SOPS_RULE_INVALID, ".sops.yaml:3")]
    assert _problems(tmp_path, "a: b\ncreation_rules: [") == [Expected(Code.YAML_SYNTAX, ".sops.yaml:3")]
    (tmp_path / ".sops.yaml").unlink()
    (tmp_path / ".sops.yaml").mkdir()
    with refused(Code.FILE_UNREADABLE):
        CreationRules().rule_for(tmp_path / "a.yaml")


def test_a_private_key_in_a_rule_is_told_and_not_shown(tmp_path: Path) -> None:
    key = ANNA.key.splitlines()[-1]
    (problem,) = _problems(tmp_path, f"creation_rules:\n- age: {key}\n")
    assert placed([problem]) == [(Code.PRIVATE_KEY_AS_RECIPIENT, ".sops.yaml:2: age")]
    assert key[20:40] not in str(problem)


def test_each_file_of_rules_is_read_once(tmp_path: Path) -> None:
    rules = CreationRules()
    first = rules.rule_for(_write(tmp_path, f"creation_rules: [{{age: {ANNA.recipient}}}]") / "a.yaml")
    (tmp_path / ".sops.yaml").unlink()
    assert rules.rule_for(tmp_path / "b" / "c.yaml") is first
