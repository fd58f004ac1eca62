"""Explain codes of messages and rules of validate.

Errors and warnings end with a code in brackets, such as [OG1103]; reports for programs have it under
code. A code keeps its meaning in all versions. Findings of validate have the id of a rule, such as
shebang.

Examples:
  osm-gitops explain-code OG1103
  osm-gitops explain-code OG1103 OG2202
  osm-gitops explain-code world-readable-secret
  osm-gitops explain-code --list
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Final

import typer

import osm_gitops
from osm_gitops.cli.console import console
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.model.finding import Rule

_TABLE: Final = Path(osm_gitops.__file__).with_name("messages.toml")
_GROUP: Final = 4
_WIDTH: Final = 100
_NEAREST: Final = 3
_ALIKE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Message:
    """What is said of a code. ``group`` is the title of those that share its first four characters."""

    code: Code
    title: str
    means: str
    fix: str
    group: str


def messages() -> dict[str, Message]:
    """All messages by their codes, in the order of the codes."""
    table = tomllib.loads(_TABLE.read_text("utf-8"))
    groups = table.pop("groups")
    return {
        text: Message(
            Code(text), entry["title"], entry["means"].strip(), entry["fix"].strip(), groups[Code(text).value[:_GROUP]]
        )
        for text, entry in sorted(table.items())
    }


def explain_code(
    codes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CODE", help="A code such as OG1103, from the end of a message, or the id of a rule of validate."
        ),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List all codes and rules, one a line.", envvar="OSM_GITOPS_LIST")
    ] = False,
) -> int:
    from osm_gitops.commands.validate.linter import all_rules  # noqa: PLC0415 - slow

    known = messages()
    rules = {rule.id: rule for rule in all_rules()}
    if list_all:
        console.out("".join(f"{code}  {message.title}\n" for code, message in known.items()))
        console.out("".join(f"{rule.id}  {rule.meaning}\n" for rule in rules.values()))
        return 0
    if not codes:
        raise input_error(Code.MISSING_ARGUMENT, "explain-code needs a code", fix="Name one, or use --list")
    explained: dict[str, None] = {}
    unknown = []
    for text in codes:
        code = _normal(text)
        rule = _rule(text, rules)
        if code in known:
            explained["".join(_lines(known[code]))] = None
        elif rule is not None:
            explained["".join(_rule_lines(rule))] = None
        else:
            unknown.append(_unknown(text, code, known, rules))
    if unknown:
        raise InputError(unknown)
    console.out("\n".join(explained))
    return 0


def _normal(text: str) -> str:
    """A code as it is in the table, of one that was copied with its brackets or typed in small letters."""
    code = text.strip("[]").upper()
    return f"OG{code}" if code.isdecimal() else code


def _rule(text: str, rules: Mapping[str, Rule]) -> Rule | None:
    """The rule of this id; for a code of shellcheck, such as ``shellcheck-SC2086``, that of its family."""
    from osm_gitops.lint.external.shell import SHELLCHECK  # noqa: PLC0415 - slow

    name = text.strip("[]").lower()
    number = name.removeprefix(f"{SHELLCHECK.id}-sc")
    return SHELLCHECK.code(f"SC{number}") if name != number and number.isdecimal() else rules.get(name)


def _unknown(text: str, code: str, known: Mapping[str, Message], rules: Mapping[str, Rule]) -> Problem:
    number = code.removeprefix("OG")
    if number.isdecimal():
        near = sorted(known, key=lambda each: abs(int(each[2:]) - int(number)))[:_NEAREST]
        fix = f"The nearest are {', '.join(f'{each} ({known[each].title})' for each in near)}"
    elif close := get_close_matches(text.lower(), rules, n=_NEAREST, cutoff=_ALIKE):
        fix = f"Did you mean {' or '.join(close)}?"
    else:
        fix = "List all with osm-gitops explain-code --list"
    return Problem(Code.UNKNOWN_CODE, f'there is no code or rule "{text}"', fix=fix)


def _lines(message: Message) -> Iterator[str]:
    yield f"{message.code.value}: {message.title}\n\n"
    yield f"{textwrap.fill(message.means, _WIDTH)}\n\n"
    yield f"What to do:\n{textwrap.fill(message.fix, _WIDTH)}\n"


def _rule_lines(rule: Rule) -> Iterator[str]:
    from osm_gitops.commands.validate.suppressions import PREFIX  # noqa: PLC0415 - slow

    yield f"{rule.id}: a rule of validate ({rule.severity.value})\n\n"
    yield f"{textwrap.fill(f'{rule.meaning[0].upper()}{rule.meaning[1:]}.', _WIDTH)}\n\n"
    yield "What to do:\nCorrect the place that the finding names. To suppress it, annotate the object:\n"
    yield f"  {PREFIX}{rule.id}: REASON\n"
