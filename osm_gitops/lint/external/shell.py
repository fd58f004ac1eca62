"""Run shellcheck and ``bash -n`` on shell scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

from osm_gitops.lint.external.programs import (
    CPU_SECONDS,
    CompletedProcess,
    answered,
    batches,
    find_program,
    run,
    run_each,
    run_parallel,
    scratch,
)
from osm_gitops.lint.rules.boot_file import BootFile, Remark, words
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.shell.splitting import splits
from osm_gitops.shell.syntax import is_deeper, parse

SHELLCHECK: Final = Rule("shellcheck", Severity.WARNING, "shellcheck reports a problem in a script")
BASH: Final = Rule("bash-syntax", Severity.ERROR, "bash cannot parse a script")
NO_SHELLCHECK: Final = Rule(
    "shellcheck-not-installed", Severity.WARNING, "shellcheck is not installed, so scripts were not checked with it"
)
NO_BASH: Final = Rule("bash-not-installed", Severity.NOTE, "bash is not installed, so scripts were not checked with it")
STOPPED: Final = Rule("checker-stopped", Severity.WARNING, "an external linter did not check a file")
RULES: Final = (SHELLCHECK, BASH, NO_SHELLCHECK, NO_BASH, STOPPED)

_SHELL: Final = re.compile(r"#![ \t]*\S*/(?:env[ \t]+(?:-\S+[ \t]+)*)?(?:\S*/)?(bash|dash|ksh|sh)\b")
_SCRIPTS_AT_ONCE: Final = 16
_PARSED_AT_ONCE: Final = 64
_ALONE_SECONDS: Final = 5  # CPU time; OSM's own scripts take a third of a second
_MOST_NESTED: Final = 100
_MOST_LINES: Final = 10_000
_LARGEST: Final = 1 << 20
# SC2046 is unquoted $(…), which OSM's own scripts use on purpose. Of what is less than a warning only unquoted
# variables are reported, where a blank in the value would break a command.
_OPTIONS: Final = ("--norc", "--format=json1", "--severity=info", "--exclude=SC2046")
_UNQUOTED: Final = 2086
_REPORTED: Final = frozenset({"error", "warning"})
_NUMBER: Final = re.compile("[0-9]+")
_BASH_LINE: Final = re.compile(r"^[^\n]*?: line (\d+): (.*)$", re.MULTILINE)


def shell_of(file: BootFile) -> str:
    """The shell that runs the file (``bash``, ``sh``, …), or an empty text."""
    match = _SHELL.match(file.text)
    if match:
        return match[1]
    return "bash" if file.path.endswith((".sh", ".bash")) and not file.text.startswith("#!") else ""


@dataclass(frozen=True, slots=True)
class Shellcheck:
    """Runs one process for many scripts of one shell."""

    environment: Mapping[str, str] = field(repr=False)
    slow: ClassVar[bool] = True

    def missing(self) -> Finding | None:
        if find_program("shellcheck", self.environment):
            return None
        fix = "Install shellcheck, or osm-gitops[validate], which brings it"
        return Finding(
            NO_SHELLCHECK, "shellcheck is not installed, so only osm-gitops' own checks checked scripts", fix=fix
        )

    def check(self, files: Sequence[BootFile]) -> Iterator[tuple[BootFile, Remark]]:
        by_shell: dict[str, list[BootFile]] = {}
        for file in files:
            if not (shell := shell_of(file)):
                continue
            if why := _beyond(file.text):
                yield file, stopped("shellcheck", why)
            else:
                by_shell.setdefault(shell, []).append(file)
        work = [(shell, batch) for shell, all_ in by_shell.items() for batch in batches(all_, _SCRIPTS_AT_ONCE)]
        for found in run_parallel(lambda each: self._batch(*each), work):
            yield from found

    def _batch(self, shell: str, files: Sequence[BootFile]) -> list[tuple[BootFile, Remark]]:
        def together(batch: Sequence[BootFile]) -> list[tuple[BootFile, Remark]] | None:
            return _comments(batch, self._run(shell, batch, CPU_SECONDS))

        def alone(file: BootFile) -> list[tuple[BootFile, Remark]]:
            ran = self._run(shell, [file], _ALONE_SECONDS)
            found = _comments([file], ran)
            return [(file, stopped("shellcheck", ran.stopped))] if found is None else found

        return answered(together, alone, files)

    def _run(self, shell: str, files: Sequence[BootFile], seconds: int) -> CompletedProcess:
        program = find_program("shellcheck", self.environment) or "shellcheck"
        with scratch() as folder:
            command = [program, *_OPTIONS, f"--shell={shell}", *_write(files, folder)]
            return run(command, folder, self.environment, seconds)


def _comments(files: Sequence[BootFile], ran: CompletedProcess) -> list[tuple[BootFile, Remark]] | None:
    """The comments of shellcheck on files named by their index; ``None`` if it gave no answer."""
    try:
        comments = json.loads(ran.output)["comments"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    found = ((files[int(each["file"].removesuffix(".sh"))], each) for each in comments)
    remarks = ((file, _comment(file, each)) for file, each in found)
    return [(file, remark) for file, remark in remarks if remark is not None]


def stopped(program: str, why: str) -> Remark:
    """The remark that a program did not check a file."""
    reason = f": {why}" if why else ""
    return Remark(STOPPED, f"{program} did not check this file{reason}", 1, "Make the file smaller or simpler")


@lru_cache(maxsize=1_024)
def _beyond(text: str) -> str:
    """Why a script is not checked: deep nesting keeps programs busy for minutes."""
    if len(text) > _LARGEST:
        return f"it is larger than {_LARGEST >> 20} MiB"
    if text.count("\n") > _MOST_LINES:
        return f"it has more than {_MOST_LINES:,} lines"
    return f"it is nested more than {_MOST_NESTED} deep" if is_deeper(parse(text), _MOST_NESTED) else ""


def _comment(file: BootFile, comment: Mapping[str, Any]) -> Remark | None:
    """The remark of a comment, if it is reported."""
    line, message = int(comment["line"]), str(comment["message"]).rstrip(".")
    if comment["level"] not in _REPORTED:
        text = file.text.split("\n")[line - 1] if comment["code"] == _UNQUOTED else ""
        name = splits(file.text, line, text[int(comment["column"]) - 1 : int(comment["endColumn"]) - 1]) if text else ""
        if not name:
            return None
        message = f"${name} is not in quotes: if its value has a blank, the command gets other words"
    severity = Severity.ERROR if comment["level"] == "error" else Severity.WARNING
    code = f"SC{comment['code']}"
    fix = f"See https://www.shellcheck.net/wiki/{code}"
    return Remark(SHELLCHECK.code(code, severity), message, line, fix)


def _write(files: Iterable[BootFile], folder: Path) -> list[str]:
    names = []
    for number, file in enumerate(files):
        names.append(f"{number}.sh")
        (folder / names[-1]).write_bytes(file.text.encode("utf-8", "surrogateescape"))
    return names


@dataclass(frozen=True, slots=True)
class Bash:
    """Runs ``bash -n``, which parses a script without running it, for many scripts from one shell. Of scripts that
    differ in numbers alone it gets one: where a number is, any number is as good."""

    environment: Mapping[str, str] = field(repr=False)
    slow: ClassVar[bool] = False

    def missing(self) -> Finding | None:
        if find_program("bash", self.environment):
            return None
        return Finding(NO_BASH, "bash is not installed, so it did not check scripts", fix="Install bash")

    def check(self, files: Sequence[BootFile]) -> Iterator[tuple[BootFile, Remark]]:
        program = find_program("bash", self.environment) or "bash"
        alike: dict[str, list[BootFile]] = {}
        for file in files:
            if shell_of(file):
                alike.setdefault(_NUMBER.sub("0", file.text), []).append(file)
        groups = [group for group in alike.values() if not _beyond(group[0].text)]
        command = [program, "--norc", "-n"]

        def together(batch: Sequence[BootFile]) -> list[CompletedProcess] | None:
            with scratch() as folder:
                return run_each(command, len(_write(batch, folder)), folder, self.environment)

        def alone(file: BootFile) -> list[CompletedProcess]:
            with scratch() as folder:
                return [run([*command, *_write([file], folder)], folder, self.environment)]

        work = batches([group[0] for group in groups], _PARSED_AT_ONCE)
        answers = run_parallel(lambda batch: answered(together, alone, batch), work)
        for group, ran in zip(groups, chain.from_iterable(answers), strict=True):
            match = _BASH_LINE.search(ran.errors)
            if ran.code is None:
                remark = stopped("bash", ran.stopped)
            elif ran.code and match:
                message = f"bash cannot read the script: {_said(match[2])}"
                remark = Remark(BASH, message, int(match[1]), "Correct the script")
            else:
                continue
            yield from ((file, remark) for file in group)


# What bash quotes may be a token of the script, in the other meaning; these words and signs are the shell's own.
_SIGNS: Final = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "case", "esac", "in", "for", "while", "until", "do", "done", "select"),
        *("function", "coproc", "time", "newline", "[[", "]]", "{", "}", "(", ")", "((", "))", ";", ";;", ";&", ";;&"),
        *("&", "&&", "|", "||", "|&", "<", ">", "<<", ">>", "<(", ">(", "!", "'", '"', "`", "]"),
    }
)
_QUOTED: Final = re.compile(r"`(.+?)'(?=[\s,;:.]|$)")
_NAMES_OF_QUOTES: Final = {"'": "single quote", '"': "double quote", "`": "backquote"}
_WORDS_OF_BASH: Final = words(
    """
    syntax error near unexpected token end of file EOF while looking for matching arithmetic expression required
    conditional binary unary operator expected argument to in command on line from a word
    """
)


def _said(message: str) -> str:
    """The message of bash without words of the script, which may be credentials."""
    signs = [_NAMES_OF_QUOTES.get(sign, sign) if sign in _SIGNS else "a word" for sign in _QUOTED.findall(message)]
    texts = _QUOTED.split(message)[::2]
    for text in texts:
        if not all(word in _WORDS_OF_BASH or word.isdecimal() for word in re.split(r"[\s:,;.]+", text) if word):
            return "syntax error"
    return "".join(part for pair in zip(texts, [*signs, ""], strict=True) for part in pair).strip().rstrip(":")
