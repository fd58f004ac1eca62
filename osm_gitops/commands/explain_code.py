"""Explain the codes of messages.

Errors and warnings end with a code in brackets, such as [OG1103]; reports for programs have it under
code. A code keeps its meaning in all versions.

Examples:
  osm-gitops explain-code OG1103
  osm-gitops explain-code OG1103 OG2202
  osm-gitops explain-code --list
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

import osm_gitops
from osm_gitops.cli.console import console
from osm_gitops.errors import Code, InputError, Problem, input_error

_TABLE: Final = Path(osm_gitops.__file__).with_name("messages.toml")
_GROUP: Final = 4
_WIDTH: Final = 100
_NEAREST: Final = 3


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
        list[str] | None, typer.Argument(metavar="CODE", help="A code such as OG1103, from the end of a message.")
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List all codes, one a line.", envvar="OSM_GITOPS_LIST")
    ] = False,
) -> int:
    known = messages()
    if list_all:
        console.out("".join(f"{code}  {message.title}\n" for code, message in known.items()))
        return 0
    if not codes:
        raise input_error(Code.MISSING_ARGUMENT, "explain-code needs a code", fix="Name one, or use --list")
    wanted = [_normal(text) for text in codes]
    unknown = [_unknown(text, code, known) for text, code in zip(codes, wanted, strict=True) if code not in known]
    if unknown:
        raise InputError(unknown)
    console.out("\n".join("".join(_lines(known[code])) for code in dict.fromkeys(wanted)))
    return 0


def _normal(text: str) -> str:
    """A code as it is in the table, of one that was copied with its brackets or typed in small letters."""
    code = text.strip("[]").upper()
    return f"OG{code}" if code.isdecimal() else code


def _unknown(text: str, code: str, known: dict[str, Message]) -> Problem:
    number = code.removeprefix("OG")
    near = sorted(known, key=lambda each: abs(int(each[2:]) - int(number)))[:_NEAREST] if number.isdecimal() else []
    nearest = ", ".join(f"{each} ({known[each].title})" for each in near)
    fix = f"The nearest are {nearest}" if near else "List all codes with osm-gitops explain-code --list"
    return Problem(Code.UNKNOWN_CODE, f'there is no code "{text}"', fix=fix)


def _lines(message: Message) -> Iterator[str]:
    yield f"{message.code.value}: {message.title}\n\n"
    yield f"{textwrap.fill(message.means, _WIDTH)}\n\n"
    yield f"What to do:\n{textwrap.fill(message.fix, _WIDTH)}\n"
