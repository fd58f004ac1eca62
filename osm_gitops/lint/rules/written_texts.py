"""The texts that scripts write into files: here-documents, and what ``echo`` and ``printf`` print. A path decides of
their format, as it does for files of the profile."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import BootFile, FileCheck, Remark
from osm_gitops.lint.rules.boot_model import Boot, Run, Spotted, at_command
from osm_gitops.lint.rules.containerd import check_containerd
from osm_gitops.lint.rules.exec_lines import check_exec_lines
from osm_gitops.lint.rules.files import check_node_file, is_made_of_lines
from osm_gitops.lint.rules.made_paths import made_paths
from osm_gitops.lint.rules.systemd import check_unit
from osm_gitops.shell.simple_commands import SimpleCommand
from osm_gitops.shell.state import is_known

_WRITING: Final = ("cat", "tee", "echo", "printf")
_CHECKS: Final[tuple[FileCheck, ...]] = (check_unit, check_exec_lines, check_containerd, check_node_file)
_PERMISSIONS: Final = 644


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text that a command writes into a file; ``is_whole``: nothing else of the script writes into it."""

    run: Run
    command: SimpleCommand
    file: BootFile
    is_whole: bool

    def at(self, remark: Remark) -> Spotted:
        """A remark on the file, at its line in the script."""
        spotted = at_command(self.run, self.command, remark)
        lines = self.file.text.splitlines()
        wanted = lines[remark.line - 1].strip() if 0 < remark.line <= len(lines) else ""
        following = enumerate(self.run.text.splitlines()[self.command.line - 1 :], self.command.line)
        found = next((number for number, line in following if wanted and wanted in line), None)
        if found is None or self.run.entry:
            return spotted
        return replace(spotted, remark=replace(remark, line=found))


def written_texts(boot: Boot) -> Iterator[WrittenText]:
    """The texts that commands of a boot write, which may have unknown parts."""
    for run in boot.runs:
        yield from _written_by(run)


@lru_cache(maxsize=1_024)
def _written_by(run: Run) -> tuple[WrittenText, ...]:
    found = []
    by_name = run.listing.by_name
    for command in (each for name in _WRITING for each in by_name.get(name, ())):
        text = written_text(command)
        for path in made_paths(command) if text is not None and _is_all(command, run.text) else ():
            if is_known(path):
                file = BootFile(path, text or "", _PERMISSIONS, run.half)
                found.append(WrittenText(run, command, file, path in _written_once(run.text, run.listing.commands)))
    return tuple(found)


def check_written(boot: Boot) -> Iterator[Spotted]:
    """Check the format of what scripts write. Of a file that they write bit by bit only its lines are known."""
    for each in written_texts(boot):
        if is_known(each.file.text) and (each.is_whole or is_made_of_lines(each.file.path)):
            yield from (each.at(remark) for remark in _remarks(each.file))


@lru_cache(maxsize=512)
def _remarks(file: BootFile) -> tuple[Remark, ...]:
    return tuple(remark for check in _CHECKS for remark in check(file))


def written_text(command: SimpleCommand) -> str | None:
    """What the command writes, if it can be told."""
    operands = command.words[1:]
    if command.name == "tee" or (command.name == "cat" and not operands):
        return command.given
    if command.name == "echo":
        return " ".join(word for word in operands if word not in {"-e", "-n"}).replace("\\n", "\n") + "\n"
    if command.name == "printf" and operands and operands[0] == "%s\\n":
        return "".join(f"{word}\n" for word in operands[1:])
    return operands[0].replace("\\n", "\n") if command.name == "printf" and len(operands) == 1 else None


def _is_all(command: SimpleCommand, script: str) -> bool:
    """Whether a here-document ends where its text does: a line that begins with its mark may end it too early."""
    text = command.given or ""
    at = script.find(text)
    following = script[at + len(text) :].partition("\n")[0] if at >= 0 and text.endswith("\n") else ""
    return not following or re.fullmatch(r"[ \t]*\w+[ \t]*", following) is not None


@lru_cache(maxsize=512)
def _written_once(text: str, commands: Iterable[SimpleCommand]) -> frozenset[str]:
    """The paths that one command of a script writes, and that nothing appends to."""
    paths = [path for command in commands for path in made_paths(command)]
    appended = {match.strip("\"'") for match in re.findall(r">>[ \t]*(\S+)", text)}
    return frozenset(path for path in paths if paths.count(path) == 1 and path not in appended)
