"""Run shellcheck and ``bash -n`` on shell scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from osm_gitops.lint.external.programs import (
    CPU_SECONDS,
    CompletedProcess,
    answered,
    batches,
    find_program,
    run,
    run_parallel,
    scratch,
)
from osm_gitops.lint.rules.boot_file import BootFile, Remark
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.shell.syntax import nesting, parse

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
_ALONE_SECONDS: Final = 5  # CPU time; OSM's own scripts take a third of a second
_MOST_NESTED: Final = 100
_MOST_LINES: Final = 10_000
_LARGEST: Final = 1 << 20
# SC2046 is unquoted $(…), which OSM's own scripts use on purpose.
_OPTIONS: Final = ("--norc", "--format=json1", "--severity=warning", "--exclude=SC2046")
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
            if why := _beyond(file):
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
            words = [program, *_OPTIONS, f"--shell={shell}", *_write(files, folder)]
            return run(words, folder, self.environment, seconds)


def _comments(files: Sequence[BootFile], ran: CompletedProcess) -> list[tuple[BootFile, Remark]] | None:
    """The comments of shellcheck on files named by their index; ``None`` if it gave no answer."""
    try:
        comments = json.loads(ran.output)["comments"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return [(files[int(each["file"].removesuffix(".sh"))], _comment(each)) for each in comments]


def stopped(program: str, why: str) -> Remark:
    """The remark that a program did not check a file."""
    reason = f": {why}" if why else ""
    return Remark(STOPPED, f"{program} did not check this file{reason}", 1, "Make the file smaller or simpler")


def _beyond(file: BootFile) -> str:
    """Why a script is not checked: deep nesting keeps programs busy for minutes."""
    if len(file.text) > _LARGEST:
        return f"it is larger than {_LARGEST >> 20} MiB"
    if file.text.count("\n") > _MOST_LINES:
        return f"it has more than {_MOST_LINES:,} lines"
    return f"it is nested more than {_MOST_NESTED} deep" if nesting(parse(file.text)) > _MOST_NESTED else ""


def _comment(comment: Mapping[str, object]) -> Remark:
    severity = Severity.ERROR if comment["level"] == "error" else Severity.WARNING
    code = f"SC{comment['code']}"
    message = str(comment["message"]).rstrip(".")
    return Remark(
        SHELLCHECK.code(code, severity),
        message,
        int(str(comment["line"])),
        f"See https://www.shellcheck.net/wiki/{code}",
    )


def _write(files: Iterable[BootFile], folder: Path) -> list[str]:
    names = []
    for number, file in enumerate(files):
        names.append(f"{number}.sh")
        (folder / names[-1]).write_bytes(file.text.encode("utf-8", "surrogateescape"))
    return names


@dataclass(frozen=True, slots=True)
class Bash:
    """Runs ``bash -n``, which parses a script without running it."""

    environment: Mapping[str, str] = field(repr=False)
    slow: ClassVar[bool] = False

    def missing(self) -> Finding | None:
        if find_program("bash", self.environment):
            return None
        return Finding(NO_BASH, "bash is not installed, so it did not check scripts", fix="Install bash")

    def check(self, files: Sequence[BootFile]) -> Iterator[tuple[BootFile, Remark]]:
        program = find_program("bash", self.environment) or "bash"
        scripts = [file for file in files if shell_of(file) and not _beyond(file)]
        with scratch() as folder:
            names = _write(scripts, folder)
            answers = run_parallel(lambda name: run([program, "--norc", "-n", name], folder, self.environment), names)
        for file, ran in zip(scripts, answers, strict=True):
            if ran.code is None:
                yield file, stopped("bash", ran.stopped)
                continue
            match = _BASH_LINE.search(ran.errors)
            if ran.code and match:
                # The rest of the message quotes the script, which may contain a token.
                what = match[2].partition(" near ")[0].partition("`")[0].strip().rstrip(":")
                yield file, Remark(BASH, f"bash cannot read the script: {what}", int(match[1]), "Correct the script")
