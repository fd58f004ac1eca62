"""Creation rules: the nearest .sops.yaml, its first rule that matches, and why a rule cannot be honoured."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import InputError
from osm_gitops.sops.rules import CreationRules, Selection
from tests.sops.scenes import ANNA, BERT, CLEO


def _write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".sops.yaml").write_text(text)
    return folder


def _recipients(path: Path) -> tuple[str, ...]:
    rule = CreationRules().rule_for(path)
    assert rule
    return rule.recipients


def _problems(root: Path, text: str, name: str = "a.yaml") -> list[str]:
    """What is said of the rules ``text``, without the path of their folder."""
    with pytest.raises(InputError) as caught:
        CreationRules().rule_for(_write(root, text) / name)
    return [problem.sentence.replace(f"{root}/", "") for problem in caught.value.problems]


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
        (
            ".sops.yaml: no creation rule matches a/x.yaml. "
            "Add a rule with a path_regex that matches it, or a last one without path_regex"
        )
    ]


_LOCKED_OUT = (
    "osm-gitops encrypts for age recipients only, and would lock those out. "
    "Give the files of osm-gitops a rule of their own, with age alone, before this one"
)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            "age: ANNA\n  pgp: ABCD\n  kms: 'arn:x'",
            [
                f".sops.yaml:3: pgp: the rule encrypts with PGP keys too. {_LOCKED_OUT}",
                f".sops.yaml:4: kms: the rule encrypts with AWS KMS keys too. {_LOCKED_OUT}",
            ],
        ),
        (
            "key_groups:\n  - age: [ANNA]\n  - age: [ANNA]",
            [f".sops.yaml:2: key_groups: the rule splits the key among several key groups. {_LOCKED_OUT}"],
        ),
        (
            "key_groups:\n  - merge:\n    - hc_vault: [x]",
            [
                (
                    ".sops.yaml:4: key_groups[0].merge[0].hc_vault: "
                    f"the rule encrypts with HashiCorp Vault keys too. {_LOCKED_OUT}"
                )
            ],
        ),
        ("key_groups: x", [".sops.yaml:2: key_groups: this is no list of key groups"]),
        ("key_groups: [{merge: 5}]", [".sops.yaml:2: key_groups[0].merge: this is no list of key groups"]),
        ("mac_only_encrypted: true", [".sops.yaml:2: the rule names no age recipient. Add `age: age1…` to it"]),
        ("age: 5", [".sops.yaml:2: age: this is neither a text with recipients nor a list of them"]),
        ("age: [{x: y}]", [".sops.yaml:2: age: this is neither a text with recipients nor a list of them"]),
        (
            "\n  age: nobody, age1pq1x",
            [
                ".sops.yaml:3: age: nobody is no age recipient. Write age1…, ssh-ed25519 … or ssh-rsa …",
                (
                    ".sops.yaml:3: age: age1pq1x is a post-quantum recipient, for which osm-gitops cannot encrypt. "
                    "Use an age1… recipient"
                ),
            ],
        ),
        (
            "age: ANNA\n  encrypted_regex: a\n  encrypted_suffix: b",
            [
                (
                    ".sops.yaml:4: encrypted_suffix: a rule has at most one selector, and this one has "
                    "encrypted_regex, encrypted_suffix. Keep one of them"
                )
            ],
        ),
        (
            "age: ANNA\n  encrypted_comment_regex: a",
            [
                (
                    ".sops.yaml:3: encrypted_comment_regex: encrypted_comment_regex goes by comments, and what "
                    "osm-gitops writes has none. Use encrypted_regex: ^(data|stringData)$ or the like"
                )
            ],
        ),
        ("age: ANNA\n  encrypted_regex: [a]", [".sops.yaml:3: encrypted_regex: this is no text"]),
        ("age: ANNA\n  mac_only_encrypted: 1", [".sops.yaml:3: mac_only_encrypted: this is neither true nor false"]),
        ("age: ANNA\n  path_regex: [a]", [".sops.yaml:3: path_regex is no text. Quote it"]),
    ],
)
def test_what_cannot_be_honoured_is_said_with_its_line(rule: str, told: list[str], tmp_path: Path) -> None:
    text = f"creation_rules:\n- {rule}\n".replace("ANNA", ANNA.recipient)
    assert _problems(tmp_path, text) == told


@pytest.mark.parametrize("name", ["path_regex", "encrypted_regex", "unencrypted_regex"])
def test_expressions_are_those_of_go(name: str, tmp_path: Path) -> None:
    (told,) = _problems(tmp_path, f"creation_rules:\n- age: {ANNA.recipient}\n  {name}: (?=a)\n")
    assert told.startswith(".sops.yaml:3:")
    assert f"{name} is no regular expression that Go takes" in told


def test_a_file_that_is_no_yaml_or_no_file_is_told_with_its_place(tmp_path: Path) -> None:
    assert _problems(tmp_path, "creation_rules: 5") == [".sops.yaml:1: creation_rules is no list of rules"]
    assert _problems(tmp_path, "\n\ncreation_rules: [5]") == [".sops.yaml:3: creation_rules is no list of rules"]
    (told,) = _problems(tmp_path, "a: b\ncreation_rules: [")
    assert told.startswith(".sops.yaml:")
    (tmp_path / ".sops.yaml").unlink()
    (tmp_path / ".sops.yaml").mkdir()
    with pytest.raises(InputError, match="the file cannot be read: Is a directory"):
        CreationRules().rule_for(tmp_path / "a.yaml")


def test_a_private_key_in_a_rule_is_told_and_not_shown(tmp_path: Path) -> None:
    key = ANNA.key.splitlines()[-1]
    (told,) = _problems(tmp_path, f"creation_rules:\n- age: {key}\n")
    assert told.startswith(".sops.yaml:2: age: a private age key stands where a recipient belongs")
    assert key[20:40] not in told


def test_each_file_of_rules_is_read_once(tmp_path: Path) -> None:
    rules = CreationRules()
    first = rules.rule_for(_write(tmp_path, f"creation_rules: [{{age: {ANNA.recipient}}}]") / "a.yaml")
    (tmp_path / ".sops.yaml").unlink()
    assert rules.rule_for(tmp_path / "b" / "c.yaml") is first
