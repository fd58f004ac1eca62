"""Checks of systemd unit files and drop-ins without systemd (systemd.syntax(7), .unit(5), .service(5), .time(7))."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import BootFile, Remark, suggested_fix, words
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Rule, Severity

SYNTAX: Final = Rule("systemd-syntax", Severity.ERROR, "systemd cannot parse a line of a unit")


@dataclass(frozen=True, slots=True)
class Entry:
    """One assignment; ``line`` is its first line."""

    section: str
    key: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed unit: the sections in order, each with its line, the assignments, and syntax errors."""

    sections: tuple[tuple[str, int], ...]
    entries: tuple[Entry, ...]
    remarks: tuple[Remark, ...]

    def values(self, section: str, key: str) -> list[Entry]:
        """The assignments of a key, without those that an empty one clears."""
        found: list[Entry] = []
        for entry in self.entries:
            if entry.section == section and entry.key == key:
                if entry.value:
                    found.append(entry)
                else:
                    found = []
        return found


@lru_cache(maxsize=1_024)
def parse(text: str) -> Parsed:
    """Parse sections and assignments. Remarks: text before a section, invalid lines, a backslash at the end."""
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
                Remark(
                    SYNTAX,
                    f"a line of {_shown_section(sections)} is not of the form Key=value",
                    line,
                    "Correct or remove it",
                )
            )
        elif not sections:
            remarks.append(Remark(SYNTAX, f"{key.strip()} is before the first section", line, _SECTION_FIX))
        else:
            entries.append(Entry(sections[-1][0], key.strip(), value.strip(), line))
    return Parsed(tuple(sections), tuple(entries), tuple(remarks))


def _shown_section(sections: list[tuple[str, int]]) -> str:
    return f"[{sections[-1][0][:40]}]" if sections else "the file"


_SECTION_FIX: Final = "Put it below a section such as [Service]"


def _logical_lines(text: str, remarks: list[Remark]) -> Iterator[tuple[int, str]]:
    """Lines without comments and blank ones; lines that end with a backslash are joined with the next."""
    start, parts = 0, list[str]()
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r")
        # Comments may be between the lines of one assignment.
        if line.startswith(("#", ";")) or (not line and not parts):
            continue
        start = start or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield start, " ".join([*parts, line]).strip()
        start, parts = 0, []
    if parts:
        remarks.append(Remark(SYNTAX, "the last line ends with a backslash", start, "Remove it"))
        yield start, " ".join(parts).strip()


UNKNOWN_KEY: Final = Rule("systemd-unknown-key", Severity.ERROR, "systemd does not know a key and ignores the line")
UNKNOWN_SECTION: Final = Rule(
    "systemd-unknown-section", Severity.ERROR, "systemd does not know a section and ignores it"
)
VALUE: Final = Rule("systemd-value", Severity.ERROR, "systemd cannot parse a value and ignores the line")
EXEC_START: Final = Rule("systemd-exec-start", Severity.ERROR, "a service has no command, or several")
UNIT_NAME: Final = Rule("systemd-unit-name", Severity.ERROR, "a unit has an invalid name")
RULES: Final = (SYNTAX, UNKNOWN_KEY, UNKNOWN_SECTION, VALUE, EXEC_START, UNIT_NAME)

_TABLE: Final = read_table("systemd.toml")
_GROUPS: Final = {
    **{name: words(keys) for name, keys in _TABLE["groups"].items()},
    "conditions": frozenset(f"{kind}{key}" for kind in ("Condition", "Assert") for key in words(_TABLE["conditions"])),
}
SECTIONS: Final[Mapping[str, frozenset[str]]] = {
    name: words(section["keys"]).union(*(_GROUPS[group] for group in section["groups"]))
    for name, section in _TABLE["sections"].items()
}
"""The keys of each section."""
_WORDS: Final = {key: words(values) for key, values in _TABLE["words"].items()}
_BOOLEANS: Final = words(_TABLE["booleans"])
_TIMES: Final = words(_TABLE["times"])
_COUNTS: Final = words(_TABLE["counts"])
_MODES: Final = words(_TABLE["modes"])
_SERVICE_TYPES: Final = words(_TABLE["service_types"])
UNIT_SUFFIXES: Final[Mapping[str, str]] = _TABLE["unit_suffixes"]

_UNIT_FOLDERS: Final = tuple(f"{top}/systemd/system/" for top in ("/etc", "/run", "/usr/lib", "/lib"))
_SETTINGS: Final = re.compile(
    r"/etc/systemd/(?:network/.+\.(?:network|netdev|link|conf)|[a-z]+\.conf(?:\.d/.+\.conf)?)"
)
TRUE_WORDS: Final = frozenset({"1", "yes", "y", "true", "t", "on"})
"""The words for a truth, in lower case."""
_BOOLEAN_WORDS: Final = TRUE_WORDS | {"0", "no", "n", "false", "f", "off"}
_SPAN_UNITS: Final = words(
    """
    usec us μs µs msec ms seconds second sec s minutes minute min m hours hour hr h days day d weeks week w
    months month M years year y
    """
)
_ANY_UNIT: Final = "|".join(sorted(_SPAN_UNITS, key=lambda unit: (-len(unit), unit)))
# Possessive quantifiers: linear time for every text.
_SPAN: Final = re.compile(rf"(?:\s*+[0-9]++(?:\.[0-9]++)?+\s*+(?:{_ANY_UNIT})?+)++\s*+")
_LIMIT: Final = re.compile(r"(?:[0-9]+[KMGTPE]?|infinity)(?::(?:[0-9]+[KMGTPE]?|infinity))?")
# Their limits are spans of time, or have a sign.
_OTHER_LIMITS: Final = ("LimitCPU", "LimitRTTIME", "LimitNICE")
_UNIT_NAME: Final = re.compile(r"[A-Za-z0-9:_.\\-]+(?:@[A-Za-z0-9:_.\\-]*)?\.([a-z]+)")
_UNIT_LISTS: Final = words(
    """
    Requires Requisite Wants BindsTo PartOf Upholds Conflicts Before After OnFailure OnSuccess WantedBy RequiredBy
    UpheldBy Also
    """
)
EXEC_KEYS: Final = words("ExecStart ExecStartPre ExecStartPost ExecCondition ExecReload ExecStop ExecStopPost")
EXEC_PREFIXES: Final = "@-:+!|"
"""What may stand before the program of a command."""
_SPECIFIERS: Final = frozenset("aAbBCdDEfgGhHiIjJlLmMnNopPqrsStTuUvVwWyY%")
_LONE_PERCENT: Final = re.compile(r"%(.?)")


@lru_cache(maxsize=4_096)  # many documents have the same paths
def is_unit_file(path: str) -> bool:
    """Whether systemd reads the file as a unit or a drop-in of one."""
    return path.startswith(_UNIT_FOLDERS) and (
        path.rpartition(".")[2] in UNIT_SUFFIXES or (path.endswith(".conf") and path.rpartition("/")[0].endswith(".d"))
    )


def unit_of(path: str) -> tuple[str, bool]:
    """The unit of a unit file or drop-in, and whether it is a drop-in."""
    folder, _, name = path.rpartition("/")
    if name.endswith(".conf"):
        return folder.rpartition("/")[2].removesuffix(".d"), True
    return name, False


def check_unit(file: BootFile) -> Iterator[Remark]:
    """Check unit files and drop-ins in systemd's folders; for its other files only the syntax."""
    if is_unit_file(file.path):
        name, drop_in = unit_of(file.path)
        yield from unit_remarks(file.text, name, drop_in=drop_in)
    elif _SETTINGS.fullmatch(file.path):
        yield from parse(file.text).remarks
        yield from _settings_remarks(file)


_SETTINGS_OF: Final = {
    **{f"/etc/systemd/{name}.conf": words(keys) for name, keys in _TABLE["settings"].items()},
    **{f".{kind}": words(keys) for kind, keys in _TABLE["network"].items()},
}
_SECTION_OF: Final = words(
    "Resolve Journal Time Login Manager Sleep Coredump Network Match Link DHCP Address Route NetDev"
)


def _settings_remarks(file: BootFile) -> Iterator[Remark]:
    """Names in settings of systemd's programs that are one slip away from known ones."""
    program = re.sub(r"\.d/.+", "", file.path)
    known = _SETTINGS_OF.get(program) or _SETTINGS_OF.get(f".{file.path.rpartition('.')[2]}")
    parsed = parse(file.text)
    for section, line in parsed.sections:
        near = misspelled(section, _SECTION_OF)
        if near and section not in SECTIONS:
            yield Remark(UNKNOWN_SECTION, f"systemd does not know the section [{section}]", line, f"Write [{near}]")
    for entry in parsed.entries if known else ():
        near = misspelled(entry.key, known)
        if near:
            yield Remark(UNKNOWN_KEY, f"systemd does not know the key {entry.key}", entry.line, f"Write {near}")


def unit_name_remark(name: str) -> Remark | None:
    """A remark on the invalid name of a unit (``kubelet.service``), if it is."""
    match = _UNIT_NAME.fullmatch(name)
    if match is None or match[1] not in UNIT_SUFFIXES or len(name) > 255:
        fix = f"Use letters, digits and :_.-, and one of the suffixes {', '.join(f'.{each}' for each in UNIT_SUFFIXES)}"
        return Remark(UNIT_NAME, f"{name!r} is not the name of a systemd unit", 1, fix)
    return None


def unit_remarks(text: str, name: str, *, drop_in: bool) -> Iterator[Remark]:
    """Remarks of a unit file. ``name`` is the unit's (``kubelet.service``), for drop-ins as well."""
    parsed = parse(text)
    yield from parsed.remarks
    yield from _section_remarks(parsed, name)
    for entry in parsed.entries:
        known = SECTIONS.get(entry.section)
        if known is None or entry.section.startswith("X-") or entry.key.startswith("X-"):
            continue
        if entry.key not in known:
            yield _unknown_key(entry, known)
            continue
        yield from _value_remarks(entry)
    if name.endswith(".service"):
        yield from _service_remarks(parsed, name, drop_in=drop_in)


def _unknown_key(entry: Entry, known: frozenset[str]) -> Remark:
    elsewhere = [section for section, keys in SECTIONS.items() if entry.key in keys]
    if elsewhere:
        fix = f"Put it below [{elsewhere[0]}]"
    else:
        fix = suggested_fix(entry.key, known, "Correct or remove it; systemd ignores it")
    return Remark(
        UNKNOWN_KEY, f"systemd does not know the key {entry.key} in section [{entry.section}]", entry.line, fix
    )


def _section_remarks(parsed: Parsed, name: str) -> Iterator[Remark]:
    own = UNIT_SUFFIXES.get(name.rpartition(".")[2], "")
    allowed = {"Unit", "Install", *([own] if own else [])}
    for section, line in parsed.sections:
        if section not in allowed and not section.startswith("X-"):
            fix = suggested_fix(section, allowed, f"Use one of {', '.join(sorted(allowed))}")
            yield Remark(UNKNOWN_SECTION, f"systemd does not read the section [{section}] in {name}", line, fix)


def _value_remarks(entry: Entry) -> Iterator[Remark]:
    value, key = entry.value, entry.key
    if not value:
        return
    if key in _BOOLEANS and value.lower() not in _BOOLEAN_WORDS:
        yield _value_remark(entry, "not yes or no")
    elif key in _TIMES and not (_SPAN.fullmatch(value) or value in ("infinity", "default")):
        yield _value_remark(entry, "not a time span (30, 5min 20s, infinity)")
    elif key in _COUNTS and not value.isdecimal():
        yield _value_remark(entry, "not a whole number")
    elif key in _MODES and not re.fullmatch("[0-7]{1,4}", value):
        yield _value_remark(entry, "not an octal mode")
    elif key in _WORDS and value not in _WORDS[key]:
        yield _value_remark(entry, f"not one of {', '.join(sorted(_WORDS[key]))}")
    elif key == "Type" and entry.section == "Service" and value not in _SERVICE_TYPES:
        yield _value_remark(entry, f"not one of {', '.join(sorted(_SERVICE_TYPES))}")
    elif key in _UNIT_LISTS:
        yield from _unit_list_remarks(entry)
    elif key in EXEC_KEYS:
        yield from _command_remarks(entry)
    elif key == "EnvironmentFile" and not value.removeprefix("-").startswith(("/", "%")):
        yield _value_remark(entry, "not an absolute path")
    elif key.startswith("Limit") and key not in _OTHER_LIMITS and not _LIMIT.fullmatch(value):
        yield _value_remark(entry, "not a limit (65536, 1024:65536, infinity)")


def _value_remark(entry: Entry, fault: str) -> Remark:
    """Without the value, which may be a credential from a template."""
    return Remark(VALUE, f"the value of {entry.key} is {fault}", entry.line, "systemd ignores it: correct it")


def _unit_list_remarks(entry: Entry) -> Iterator[Remark]:
    for name in entry.value.split():
        match = _UNIT_NAME.fullmatch(re.sub("%.", "x", name))
        if match is None or match[1] not in UNIT_SUFFIXES:
            yield Remark(VALUE, f"{entry.key} names {name!r}, which is not a unit", entry.line, _SUFFIX_FIX)


_SUFFIX_FIX: Final = "Write the unit's whole name, such as containerd.service"


def _command_remarks(entry: Entry) -> Iterator[Remark]:
    program = entry.value.lstrip(EXEC_PREFIXES).split(None, 1)[:1]
    if not program:
        yield Remark(VALUE, f"{entry.key} does not name a program", entry.line)
    elif not program[0].strip("\"'").startswith(("/", "%")) and "/" in program[0]:
        fix = "Start it with a slash, or name the program alone"
        yield Remark(VALUE, f"the program of {entry.key} is not an absolute path", entry.line, fix)
    if _open_quote(entry.value):
        yield Remark(VALUE, f"a quotation mark of {entry.key} is not closed", entry.line, "Close it")
    for match in _LONE_PERCENT.finditer(entry.value.replace("%%", "")):
        if match[1] not in _SPECIFIERS or not match[1]:
            fix = "Write %% for a percent sign"
            yield Remark(VALUE, f"{entry.key} has an unknown specifier %{match[1]}", entry.line, fix)


def _open_quote(value: str) -> bool:
    """Whether a quotation mark that begins a word has no end."""
    quote, before, escaped = "", " ", False
    for character in value:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and before.isspace():
            quote = character
        before = character
    return bool(quote)


def _service_remarks(parsed: Parsed, name: str, *, drop_in: bool) -> Iterator[Remark]:
    types = [entry.value for entry in parsed.entries if (entry.section, entry.key) == ("Service", "Type")]
    kind = types[-1] if types else "simple"
    starts = parsed.values("Service", "ExecStart")
    if len(starts) > 1 and kind != "oneshot":
        fix = "Keep one, or set Type=oneshot; in a drop-in an empty ExecStart= first clears the unit's own"
        yield Remark(
            EXEC_START, f"{name} has {len(starts)} ExecStart, but a service of Type={kind} has one", starts[1].line, fix
        )
    if drop_in:
        return
    if not any(section == "Service" for section, _ in parsed.sections):
        yield Remark(EXEC_START, f"{name} has no [Service] section, so it does not start anything", 1, "Add it")
    elif not starts and not parsed.values("Service", "ExecStop") and not parsed.values("Unit", "SuccessAction"):
        yield Remark(EXEC_START, f"{name} has no ExecStart", 1, "Add the command that it runs")
