"""systemd units in Ignition, with the checks of the transpiler (osm-behaviour.md, "Ignition user-data").

The transpiler reads every unit with a parser of its own, which is not systemd's: what
that parser refuses, OSM refuses. Its warnings count as errors there, and here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from osm_gitops.gocompat.gojson import encode
from osm_gitops.model.profile import DropIn, Unit
from osm_gitops.render.ignition_text import TextFault, literal_block, plain_scalar

_KINDS: Final = (
    "service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "snapshot", "slice", "scope"
)  # fmt: skip
_EXTENSIONS: Final = tuple(f".{kind}" for kind in _KINDS)
# The reader holds this much at once, and checks only what it holds.
_BUFFER: Final = 4096
_LONGEST_LINE: Final = 2048


@lru_cache(maxsize=256)
def unit_json(unit: Unit) -> tuple[str, tuple[str, ...]]:
    """The JSON of a unit, and what is wrong with it as sentences about this unit."""
    faults: list[str] = []
    name = _name(unit.name, faults, "its name")
    if not name.endswith(_EXTENSIONS):
        faults.append(f"its name ends in none of {', '.join(_EXTENSIONS)}")
    contents, sections = _contents(unit.content or "", 6, faults, "its content")
    if unit.enable and sections and "Install" not in sections:
        faults.append("it is enabled, but its content has no [Install] section, so enabling does nothing")
    drop_ins = [_drop_in(drop_in, faults) for drop_in in unit.drop_ins]
    members = [f'"contents":{encode(contents)}'] if contents else []
    if drop_ins:
        members.append(f'"dropins":[{",".join(drop_ins)}]')
    members.append('"enabled":true' if unit.enable else '"enabled":false')
    if unit.mask:
        members.append('"mask":true')
    members.append(f'"name":{encode(name)}')
    return "{" + ",".join(members) + "}", tuple(faults)


def _drop_in(drop_in: DropIn, faults: list[str]) -> str:
    about = f"the drop-in {drop_in.name}"
    name = _name(drop_in.name, faults, f"the name of {about}")
    if not name.endswith(".conf"):
        faults.append(f"the name of {about} does not end in .conf")
    contents, _ = _contents(drop_in.content, 10, faults, f"the content of {about}")
    members = [f'"contents":{encode(contents)}'] if contents else []
    return "{" + ",".join([*members, f'"name":{encode(name)}']) + "}"


def _name(text: str, faults: list[str], about: str) -> str:
    try:
        return plain_scalar(text.lstrip(" \t")) or ""
    except TextFault as fault:
        faults.append(f"{about} {fault}")
        return text


def _contents(text: str, base: int, faults: list[str], about: str) -> tuple[str, list[str]]:
    """The content as it is read back, and the section of each of its options."""
    try:
        contents = literal_block(text, base)
        return contents, parse_unit(contents)
    except (TextFault, UnitFault) as fault:
        faults.append(f"{about} {fault}")
        return "", []


class UnitFault(ValueError):
    """A unit file that cannot be parsed; the message is part of a sentence."""


def parse_unit(text: str) -> list[str]:
    """The section of every option of a unit file, in order; raises UnitFault."""
    return list(_UnitReader(text.encode()).sections())


class _UnitReader:
    """A position in a unit file, and how far a buffered reader would have read ahead.

    The read-ahead matters because lines are only measured within it.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0
        self.held = 0

    def sections(self) -> Iterator[str]:
        section: str | None = None
        while True:
            self.check_line_length()
            character = self.rune()
            if not character:
                return
            if character == "[":
                section = self.section_name()
            elif character in "#;":
                self.skip_comment()
            elif section is not None and not character.isspace():
                self.at -= len(character.encode())
                self.option()
                yield section

    def check_line_length(self) -> None:
        if self.held - self.at >= _LONGEST_LINE and b"\n" not in self.text[self.at : self.at + _LONGEST_LINE]:
            raise UnitFault(f"has a line longer than {_LONGEST_LINE} bytes")

    def rune(self) -> str:
        """The next character, or the empty string at the end."""
        if self.at >= len(self.text):
            return ""
        size = _size(self.text[self.at])
        if self.at + size > self.held:
            self.fill()
        self.at += size
        return self.text[self.at - size : self.at].decode()

    def fill(self) -> None:
        self.held = min(len(self.text), self.at + _BUFFER)

    def through(self, delimiter: bytes) -> bytes | None:
        """The text up to and with ``delimiter``; ``None``, and the rest consumed, if there is none."""
        start = self.at
        found = self.text.find(delimiter, start)
        end = len(self.text) if found < 0 else found + 1
        # A full buffer is taken out whole, a smaller one is filled up.
        while end > self.held:
            if self.held - self.at >= _BUFFER:
                self.at = self.held
            self.fill()
        self.at = end
        return None if found < 0 else self.text[start:end]

    def rest_of_line(self) -> str:
        start = self.at
        line = self.through(b"\n")
        return (self.text[start:] if line is None else line[:-1]).decode()

    def section_name(self) -> str:
        self.check_line_length()
        name = self.through(b"]")
        if name is None:
            raise UnitFault("has a section header without its closing bracket")
        self.check_line_length()
        if self.rest_of_line().strip():
            raise UnitFault("has text after a section header")
        return name[:-1].decode()

    def skip_comment(self) -> None:
        self.check_line_length()
        # A backslash at the end continues comments too, also before one blank.
        while self.rest_of_line().removesuffix(" ").endswith("\\"):
            pass

    def option(self) -> None:
        """Consume ``name=value``."""
        self.check_line_length()
        while True:
            character = self.rune()
            if character in ("\n", ""):
                raise UnitFault("has a line without an equals sign")
            if character == "=":
                break
        self.check_line_length()
        while True:
            line = self.rest_of_line()
            if not line.strip() or not line.endswith("\\"):
                return
            self.check_line_length()


def _size(first_byte: int) -> int:
    """How many bytes a character has in UTF-8."""
    return 1 if first_byte < 0x80 else 2 if first_byte < 0xE0 else 3 if first_byte < 0xF0 else 4
