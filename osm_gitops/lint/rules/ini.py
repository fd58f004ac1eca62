"""Files with ``[Sections]`` and ``Key=value`` lines, as systemd reads them (systemd.syntax(7))."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from osm_gitops.lint.rules.boot_file import Remark
from osm_gitops.model.finding import Rule, Severity

SYNTAX: Final = Rule("systemd-syntax", Severity.ERROR, "a file of systemd has lines that it cannot read")


@dataclass(frozen=True, slots=True)
class Entry:
    """One assignment. ``line`` is where it begins; lines that a backslash ends are one."""

    section: str
    key: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """Everything that was read, and what was not: a section per name, in order, with its line."""

    sections: tuple[tuple[str, int], ...]
    entries: tuple[Entry, ...]
    remarks: tuple[Remark, ...]

    def values(self, section: str, key: str) -> list[Entry]:
        """The assignments of a key, without those that an empty one takes back."""
        found: list[Entry] = []
        for entry in self.entries:
            if entry.section == section and entry.key == key:
                if entry.value:
                    found.append(entry)
                else:
                    found = []
        return found


def parse(text: str) -> Parsed:
    """Sections and assignments. Remarks: text before a section, lines that are neither, lost line ends."""
    sections: list[tuple[str, int]] = []
    entries: list[Entry] = []
    remarks: list[Remark] = []
    for line, content in _logical_lines(text, remarks):
        if content.startswith("["):
            if not content.endswith("]"):
                remarks.append(Remark(SYNTAX, f"the section header {content[:40]} has no closing bracket", line))
                continue
            sections.append((content[1:-1], line))
            continue
        key, equals, value = content.partition("=")
        if not equals or not key.strip():
            remarks.append(
                Remark(SYNTAX, "the line is no assignment of the form Key=value", line, "Correct or remove it")
            )
        elif not sections:
            remarks.append(Remark(SYNTAX, f"{key.strip()} stands before the first section", line, _SECTION_FIX))
        else:
            entries.append(Entry(sections[-1][0], key.strip(), value.strip(), line))
    return Parsed(tuple(sections), tuple(entries), tuple(remarks))


_SECTION_FIX: Final = "Put it below a section such as [Service]"


def _logical_lines(text: str, remarks: list[Remark]) -> Iterator[tuple[int, str]]:
    """Lines without comments and blank ones; those that end in a backslash with the ones that follow."""
    start, parts = 0, list[str]()
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r")
        # Comments may stand between the lines of one assignment.
        if line.startswith(("#", ";")) or (not line and not parts):
            continue
        start = start or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield start, " ".join([*parts, line]).strip()
        start, parts = 0, []
    if parts:
        remarks.append(Remark(SYNTAX, "the last line ends in a backslash, with nothing behind it", start, "Remove it"))
        yield start, " ".join(parts).strip()
