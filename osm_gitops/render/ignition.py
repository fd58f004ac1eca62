"""User-data for Ignition 2.3.0, to the byte, with the transpiler's checks of units (osm-behaviour.md, "Ignition
user-data").

OSM writes a Container Linux Config, parses it and converts it. Here the result is written directly; ``ignition_text``
knows what the way through YAML does to a text. The transpiler reads every unit with a parser of its own, which is not
systemd's: what that parser refuses, OSM refuses. Its warnings count as errors there, and here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeVar
from urllib.parse import unquote_to_bytes

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gocompat.gojson import encode
from osm_gitops.model.profile import ConfigHalf, DropIn, File, Unit
from osm_gitops.render.ignition_text import TextFault, literal_block, plain_scalar, single_quoted

_KINDS: Final = (
    "service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "snapshot", "slice", "scope"
)  # fmt: skip
_EXTENSIONS: Final = tuple(f".{kind}" for kind in _KINDS)
# The size of the reader's buffer: it checks only what is in the buffer.
_BUFFER: Final = 4096
_LONGEST_LINE: Final = 2048


@lru_cache(maxsize=256)
def unit_json(unit: Unit) -> tuple[str, tuple[str, ...]]:
    """The JSON of a unit, and problems as sentences."""
    faults: list[str] = []
    name = _name(unit.name, faults, f"the name of the unit {unit.name}")
    if not name.endswith(_EXTENSIONS):
        faults.append(f"the name of the unit {unit.name} ends in none of {', '.join(_EXTENSIONS)}")
    contents, sections = _contents(unit.content or "", 6, faults, f"the content of {unit.name}")
    if unit.enable and sections and "Install" not in sections:
        faults.append(f"{unit.name} is enabled, but has no [Install] section, so enabling does nothing")
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
    """The content as read back, and the section of each option."""
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
        """The text up to and including ``delimiter``; ``None`` if there is none, and the rest is consumed."""
        start = self.at
        found = self.text.find(delimiter, start)
        end = len(self.text) if found < 0 else found + 1
        # A full buffer is returned whole, a smaller one is filled up.
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


Part = TypeVar("Part", File, Unit)

_HEAD: Final = '{"ignition":{"config":{},"security":{"tls":{}},"timeouts":{},"version":"2.3.0"},"networkd":{},'
_MACHINE_NAME_FILE: Final = (
    '{"filesystem":"root","path":"/etc/machine-name",'
    '"contents":{"source":"data:,%3CMACHINE_NAME%3E","verification":{}},"mode":384}'
)
_HIGHEST_MODE: Final = 0o7777
# The percent sign first: the others bring new ones. None is a digit of an escape.
_ESCAPES: Final = tuple((character, f"%{ord(character):02X}") for character in '% \n\t"#$&+,/:;<=>?@[\\]^`{|}')
_LINE_END: Final = "%0A"
_LONGEST_REMEMBERED: Final = 300
_MOST_REMEMBERED: Final = 4_096  # and as many as one file has
_BEYOND_ASCII: Final = {code: f"%{code:02X}" for code in range(0x80, 0x100)}
_FIX: Final = "OSM hands it to Ignition by way of YAML: change the profile so that it survives that, or use cloud-init"


def render_ignition(half: ConfigHalf, ssh_keys: Sequence[str], field: str, *, with_machine_name: bool) -> str:
    """One half as Ignition JSON; ``field`` (``spec.bootstrapConfig``) names it in errors.

    ``ssh_keys`` are trimmed and unique. Raises InputError with everything that OSM or its transpiler would refuse.
    """
    problems: list[Problem] = []
    keys = _ssh_keys(ssh_keys, problems)
    files = [_MACHINE_NAME_FILE] if with_machine_name else []
    files += _rendered(half.files, _file, f"{field}.files", problems)
    units = _rendered(half.units, unit_json, f"{field}.units", problems)
    if problems:
        raise InputError(problems)
    authorized = f',"sshAuthorizedKeys":{encode(keys)}' if keys else ""
    users = f'"users":[{{"name":"core"{authorized}}}]' if ssh_keys else ""
    storage = f'"files":[{",".join(files)}]' if files else ""
    systemd = f'"units":[{",".join(units)}]' if units else ""
    return f'{_HEAD}"passwd":{{{users}}},"storage":{{{storage}}},"systemd":{{{systemd}}}}}'


def _ssh_keys(texts: Sequence[str], problems: list[Problem]) -> list[str]:
    """The keys as YAML reads them; one that reads as null vanishes."""
    keys = []
    for number, text in enumerate(texts, 1):
        try:
            key = plain_scalar(text)
        except TextFault as fault:
            field = "spec.template.spec.providerSpec.value.sshPublicKeys"
            problems.append(
                Problem(
                    Code.IGNITION_CONTENT,
                    f"Ignition cannot be given SSH key {number} of {len(texts)}: it {fault}",
                    field=field,
                )
            )
            continue
        if key is not None:
            keys.append(key)
    return keys


def _rendered(
    parts: Sequence[Part], render: Callable[[Part], tuple[str, tuple[str, ...]]], field: str, problems: list[Problem]
) -> list[str]:
    rendered = []
    for index, part in enumerate(parts):
        text, faults = render(part)
        rendered.append(text)
        if faults:
            at = f"{field}[{index}]"
            problems += [Problem(Code.IGNITION_CONTENT, fault, field=at, fix=_FIX) for fault in faults]
    return rendered


# Most files are the same for many machines; those that differ pass through the cache once.
@lru_cache(maxsize=512)
def _file(file: File) -> tuple[str, tuple[str, ...]]:
    """The JSON of a file, and its problems."""
    faults = []
    path, content, mode = file.path, "", _mode(file.permissions)
    try:
        path = single_quoted(file.path)
    except TextFault as fault:
        faults.append(f"the path of file {file.path} {fault}")
    if not path.startswith("/"):
        faults.append(f"the path of file {file.path} is not absolute")
    if not 0 <= mode <= _HIGHEST_MODE:
        faults.append(
            f"the permissions {file.permissions} of file {file.path} are not possible with Ignition, "
            f"which takes more than three digits as a decimal number of at most {_HIGHEST_MODE}"
        )
    try:
        content = literal_block(file.content, 10)
    except TextFault as fault:
        faults.append(f"the content of file {file.path} {fault}")
    source = f'"contents":{{"source":"{data_url(content)}","verification":{{}}}}'
    return f'{{"filesystem":"root","path":{encode(path)},{source},"mode":{mode}}}', tuple(faults)


def _mode(permissions: int) -> int:
    """The file mode: three octal digits get a leading zero, which makes them octal in YAML."""
    digits = str(permissions)
    return int(digits, 8) if len(digits) == 3 and set(digits) <= set("01234567") else permissions


def data_url(content: str) -> str:
    """``content`` as a ``data:`` URL, percent-encoded."""
    return f"data:,{_ENCODED_LINES.encoded(content)}"


def decode_data_url(url: str) -> str:
    """The content of a ``data:,…`` URL. Raises UnicodeError if it is not UTF-8."""
    encoded = text = url.removeprefix("data:,")
    percent, *others = _ESCAPES
    for character, escape in others:
        if escape in text:
            text = text.replace(escape, character)
    if text.count("%") != text.count(percent[1]):  # there are escapes that data_url() does not write
        return unquote_to_bytes(encoded).decode()
    return text.replace(percent[1], "%")


class _EncodedLines:
    """Lines of files, percent-encoded: files that differ between machines have nearly all lines in common."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def encoded(self, text: str) -> str:
        if len(self.known) > _MOST_REMEMBERED:
            self.known = {}
        known, lines = self.known, text.split("\n")
        new = list(set(lines).difference(known))
        if new:
            if max(map(len, new)) > _LONGEST_REMEMBERED:
                return _percent_encoded(text)
            known.update(zip(new, _percent_encoded("\n".join(new)).split(_LINE_END), strict=True))
        return _LINE_END.join(map(known.__getitem__, lines))


_ENCODED_LINES: Final = _EncodedLines()


def _percent_encoded(text: str) -> str:
    # One pass per escaped character is the fastest way over much text, and to ask whether it is there is faster still.
    text = text if text.isascii() else text.encode().decode("latin-1")
    for character, escape in _ESCAPES:
        if character in text:
            text = text.replace(character, escape)
    return text if text.isascii() else text.translate(_BEYOND_ASCII)
