"""shellcheck and ``bash -n`` on every shell script."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from osm_gitops.checkers.programs import batches, find_program, run, scratch, side_by_side
from osm_gitops.checks.boot_file import BootFile, Remark
from osm_gitops.model.finding import Finding, Rule, Severity

SHELLCHECK: Final = Rule("shellcheck", Severity.WARNING, "shellcheck warns of a script")
BASH: Final = Rule("bash-syntax", Severity.ERROR, "bash cannot read a script")
NO_SHELLCHECK: Final = Rule("shellcheck-not-installed", Severity.WARNING, "scripts were not looked at by shellcheck")
NO_BASH: Final = Rule("bash-not-installed", Severity.NOTE, "scripts were not looked at by bash")
STOPPED: Final = Rule("checker-stopped", Severity.WARNING, "a checker gave no answer")
RULES: Final = (SHELLCHECK, BASH, NO_SHELLCHECK, NO_BASH, STOPPED)

_SHELL: Final = re.compile(r"#![ \t]*\S*/(?:env[ \t]+(?:-\S+[ \t]+)*)?(?:\S*/)?(bash|dash|ksh|sh)\b")
_SCRIPTS_AT_ONCE: Final = 32
# SC2046, a word-splitting $(…), is what OSM's own scripts do on purpose.
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
    """One process for many scripts of one shell."""

    environment: Mapping[str, str] = field(repr=False)
    slow: ClassVar[bool] = True

    def missing(self) -> Finding | None:
        if find_program("shellcheck", self.environment):
            return None
        fix = "Install shellcheck, or osm-gitops[validate], which brings it"
        return Finding(
            NO_SHELLCHECK, "shellcheck is not installed, so that scripts were looked at by our own checks only", fix=fix
        )

    def check(self, files: Sequence[BootFile]) -> Iterator[tuple[BootFile, Remark]]:
        program = find_program("shellcheck", self.environment) or "shellcheck"
        by_shell: dict[str, list[BootFile]] = {}
        for file in files:
            if shell := shell_of(file):
                by_shell.setdefault(shell, []).append(file)
        work = [(shell, batch) for shell, all_ in by_shell.items() for batch in batches(all_, _SCRIPTS_AT_ONCE)]
        for found in side_by_side(lambda each: self._batch(program, *each), work):
            yield from found

    def _batch(self, program: str, shell: str, files: Sequence[BootFile]) -> list[tuple[BootFile, Remark]]:
        with scratch() as folder:
            names = _write(files, folder)
            ran = run([program, *_OPTIONS, f"--shell={shell}", *names], folder, self.environment)
        try:
            comments = json.loads(ran.output)["comments"]
        except (ValueError, KeyError, TypeError):
            return [(files[0], Remark(STOPPED, "shellcheck gave no answer for a batch of scripts"))]
        return [(files[names.index(each["file"])], _comment(each)) for each in comments]


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
    """``bash -n``: reads a script, and runs nothing of it."""

    environment: Mapping[str, str] = field(repr=False)
    slow: ClassVar[bool] = False

    def missing(self) -> Finding | None:
        if find_program("bash", self.environment):
            return None
        return Finding(NO_BASH, "bash is not installed, so that it was not asked about scripts", fix="Install bash")

    def check(self, files: Sequence[BootFile]) -> Iterator[tuple[BootFile, Remark]]:
        program = find_program("bash", self.environment) or "bash"
        scripts = [file for file in files if shell_of(file)]
        with scratch() as folder:
            names = _write(scripts, folder)
            answers = side_by_side(lambda name: run([program, "--norc", "-n", name], folder, self.environment), names)
        for file, ran in zip(scripts, answers, strict=True):
            if ran.code is None:
                yield file, Remark(STOPPED, "bash gave no answer")
                continue
            match = _BASH_LINE.search(ran.errors)
            if ran.code and match:
                # The rest of its words quotes the script, which may hold a token.
                what = match[2].partition(" near ")[0].partition("`")[0].strip().rstrip(":")
                yield file, Remark(BASH, f"bash cannot read the script: {what}", int(match[1]), "Correct the script")
