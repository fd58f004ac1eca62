"""Which commands a systemd unit runs, and with which variables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from osm_gitops.lint.rules.boot_file import BootFile

_UNIT: Final = re.compile(r"\.(?:service|socket|mount|timer|path|conf)$")
_COMMAND: Final = re.compile(r"^(Exec(?:Start|StartPre|StartPost|Reload|Stop|StopPost|Condition))=[@:+!|-]*(.*)$")
_SET: Final = re.compile(r"^Environment=(.*)$")
_FILE: Final = re.compile(r"^EnvironmentFile=-?(\S+)$")
_ASSIGNED: Final = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_MOST_NAMED: Final = 4 << 20
"""Characters of files that a unit names for its environment; beyond that nothing is read."""


def commands_of(file: BootFile) -> Iterator[tuple[int, str]]:
    """The commands of a unit, each with its first line; continued lines stay lines."""
    if not is_unit(file):
        return
    lines = file.text.splitlines()
    number = 0
    while number < len(lines):
        match = _COMMAND.match(lines[number])
        first = number + 1
        number += 1
        if match is None:
            continue
        parts = [match[2]]
        while parts[-1].endswith("\\") and number < len(lines):
            parts.append(lines[number])
            number += 1
        if match[2].strip():
            yield first, "\n".join(parts)


def variables_of(file: BootFile, files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that a unit sets, also by rendered files."""
    left = _MOST_NAMED
    for line in file.text.splitlines() if is_unit(file) else ():
        given = _SET.match(line)
        for word in _words(given[1]) if given else ():
            match = _ASSIGNED.match(word)
            if match:
                yield match[1], match[2]
        named = _FILE.match(line)
        text = files.get(named[1], "") if named else ""
        left -= len(text)
        for entry in text.splitlines() if left >= 0 else ():
            match = _ASSIGNED.match(entry.strip())
            if match:
                yield match[1], match[2].strip("'\"")


def is_unit(file: BootFile) -> bool:
    """Whether a file is a unit of systemd, or a drop-in of one."""
    return "/systemd/system/" in file.path and _UNIT.search(file.path) is not None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []
