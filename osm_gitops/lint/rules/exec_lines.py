"""Checks of shell syntax in commands of units: systemd starts the program itself, without a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from osm_gitops.lint.rules.boot_file import BootFile, Remark, words
from osm_gitops.lint.rules.boot_model import parsed_unit
from osm_gitops.lint.rules.systemd import EXEC_KEYS, EXEC_PREFIXES, Entry, is_unit_file
from osm_gitops.model.finding import Rule, Severity

SHELL_SYNTAX: Final = Rule("systemd-shell-syntax", Severity.ERROR, "a command of a unit needs a shell, but has none")
RULES: Final = (SHELL_SYNTAX,)

_SHELLS: Final = words("bash sh dash ksh zsh ash")
_OPERATOR: Final = re.compile(r"\|\|?|&&?|;;|[0-9]?>>?(?:&[0-9-])?|<<?<?|&>>?|[0-9]?(?:>>?|<|&>)(?:[/$~.]\S*|&[0-9-])")
_SUBSTITUTION: Final = re.compile(r"\$\(|`|\$\{[A-Za-z_]\w*[:#%/^,+?=-]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*")
# Words that only a shell knows: there are no programs with these names.
_BUILTINS: Final = words(
    """
    . alias case cd declare eval exec export for function if local popd pushd readonly set shopt source trap ulimit
    umask unset until wait while
    """
)
_OF_PATHS: Final = words("cat chmod chown cp ln ls mkdir mv rm rmdir tar touch install")
_SET_IN_SHELL: Final = re.compile(
    r"(?:^|[\s;&|(])(?:([A-Za-z_]\w*)\+?=|for\s+([A-Za-z_]\w*)\s+in\b|read\s+(?:-\w+\s+)*(\w+))"
)
_BRACED: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)[}:#%/^,+?=-]")
_FIX: Final = "Write /bin/sh -c '…', or put the commands into a script"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command; ``bare``: no part of it is in quotes."""

    text: str
    bare: bool


def exec_words(value: str) -> tuple[Word, ...]:
    """The words of a command as systemd splits them."""
    found: list[Word] = []
    text, quote, bare, inside, escaped = "", "", True, False, False
    for character in value:
        if escaped:
            text += character
            escaped = False
        elif character == "\\":
            escaped, inside, bare = True, True, False
        elif quote:
            quote = "" if character == quote else quote
            text += character if quote else ""
        elif character in "\"'":
            quote, inside, bare = character, True, False
        elif character.isspace():
            if inside:
                found.append(Word(text, bare))
            text, bare, inside = "", True, False
        else:
            text += character
            inside = True
    return (*found, Word(text, bare)) if inside else tuple(found)


def check_exec_lines(file: BootFile) -> Iterator[Remark]:
    """Check the commands of a unit or drop-in."""
    for entry in parsed_unit(file.text).entries if is_unit_file(file.path) else ():
        if entry.section == "Service" and entry.key in EXEC_KEYS and entry.value:
            yield from _remarks(entry)


def _remarks(entry: Entry) -> Iterator[Remark]:
    command = exec_words(entry.value.lstrip(EXEC_PREFIXES).lstrip())
    if not command:
        return
    script = _script(command)
    program = command[0].text
    fault = ""
    if program in _BUILTINS:
        fault = f"{program}, which only a shell knows"
    elif _ASSIGNMENT.fullmatch(program) and not program.startswith("/"):
        fault = "an assignment in front of the program"
    elif "$" in program:
        fault = "a variable as the program"
    elif operator := next((word.text for word in command if word.bare and _OPERATOR.fullmatch(word.text)), ""):
        fault = re.sub(r"[/$~.].*", "", operator)
    elif any(word.bare and len(word.text) > 1 and word.text.endswith(";") for word in command[:-1]):
        fault = "a semicolon at the end of a word"
    elif any(_SUBSTITUTION.search(word.text) for number, word in enumerate(command) if number != script):
        fault = "a substitution such as $(…) or ${NAME:-…}"
    elif any(word.bare and word.text.startswith("~/") for word in command[1:]):
        fault = "~/"
    elif program.rpartition("/")[2] in _OF_PATHS and any(
        word.bare and re.search(r"/\S*[*?]", word.text) for word in command
    ):
        fault = "a pattern of files"
    if fault:
        fix = "Use Environment=" if "assignment" in fault else "Write the whole path" if "variable" in fault else _FIX
        yield Remark(SHELL_SYNTAX, f"{entry.key} has {fault}, but systemd starts it without a shell", entry.line, fix)
    elif script is not None:
        yield from _script_remarks(entry, command, script)


def _script(command: tuple[Word, ...]) -> int | None:
    """The index of the text that the command gives to a shell, behind ``-c``."""
    for number, word in enumerate(command):
        if word.text.rpartition("/")[2] in _SHELLS:
            options = [at for at in range(number + 1, len(command)) if re.fullmatch("-[a-z]*c", command[at].text)]
            between = command[number + 1 : options[0]] if options else ()
            if options and options[0] + 1 < len(command) and all(each.text.startswith("-") for each in between):
                return options[0] + 1
            return None
    return None


def _script_remarks(entry: Entry, command: tuple[Word, ...], script: int) -> Iterator[Remark]:
    text = command[script].text
    if command[script].bare and len(command) > script + 1:
        message = f"{entry.key} gives the shell only the first word behind -c"
        yield Remark(SHELL_SYNTAX, message, entry.line, "Put the whole text behind -c in quotes")
        return
    own = {name for match in _SET_IN_SHELL.finditer(text) for name in match.groups() if name}
    used = next((match[1] for match in _BRACED.finditer(text) if match[1] in own), "")
    if used:
        message = f"systemd replaces ${{{used}}} of {entry.key} before the shell sets {used}"
        yield Remark(SHELL_SYNTAX, message, entry.line, f"Write $${{{used}}}, or put the commands into a script")
