"""Checks of the order of several units: cycles, waiting for oneself, and names that no unit has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import BootFile, Remark, words
from osm_gitops.lint.rules.boot_model import Boot, Spotted, at_command, at_file, parsed_unit
from osm_gitops.lint.rules.boot_units import KNOWN_UNITS, Systemctl, systemctl, template_of, unit_name
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.rules.systemd import TRUE_WORDS, UNIT_SUFFIXES, Entry
from osm_gitops.model.finding import Rule, Severity

CYCLE: Final = Rule("unit-cycle", Severity.ERROR, "units wait for each other, so systemd does not start one of them")
WAITS: Final = Rule("unit-waits-for-itself", Severity.ERROR, "a unit starts another one that waits for it to end")
UNKNOWN_UNIT: Final = Rule("unknown-unit", Severity.ERROR, "a unit names a unit that probably has another name")
RULES: Final = (CYCLE, WAITS, UNKNOWN_UNIT)

# The order of the units that every system boots through: each is before those behind it.
_SYSTEM: Final[Mapping[str, tuple[str, ...]]] = {
    "local-fs-pre.target": ("local-fs.target",),
    "local-fs.target": ("sysinit.target",),
    "sysinit.target": ("basic.target", "sockets.target", "timers.target", "paths.target"),
    "sockets.target": ("basic.target",),
    "paths.target": ("basic.target",),
    "basic.target": ("multi-user.target",),
    "multi-user.target": ("graphical.target",),
    "network-pre.target": ("network.target", "systemd-networkd.service", "NetworkManager.service"),
    "network.target": ("network-online.target",),
    "network-online.target": ("cloud-config.service",),
    "cloud-init-local.service": ("network-pre.target", "cloud-init.service"),
    "cloud-init.service": ("network-online.target", "cloud-config.target", "sshd.service", "sysinit.target"),
    "cloud-config.target": ("cloud-config.service",),
    "cloud-config.service": ("cloud-final.service",),
    "cloud-final.service": ("cloud-init.target",),
    "remote-fs-pre.target": ("remote-fs.target",),
}
_NETWORK_PRE: Final = "network-pre.target"
_OF_OS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "ubuntu": {"multi-user.target": ("cloud-final.service", "cloud-init.target")},
}
_LISTS: Final = words(
    """
    After Before Wants Requires Requisite BindsTo PartOf Upholds Conflicts OnFailure OnSuccess WantedBy RequiredBy Also
    """
)

Edge = tuple[BootFile, Entry]


def check_cycles(boot: Boot) -> Iterator[Spotted]:
    """Find circles of After and Before between the units of the profile and the targets of the boot."""
    after = _order(boot)
    reported = set[frozenset[str]]()
    for start in boot.unit_files:
        circle = _circle(after, start)
        members = frozenset(circle)
        if not circle or members in reported:
            continue
        reported.add(members)
        steps = zip(circle, [*circle[1:], circle[0]], strict=True)
        placed = next((edge for one, other in steps if (edge := after[one][other]) is not None), None)
        if placed is None:
            continue
        file, entry = placed
        chain = " after ".join([*circle, circle[0]])
        message = f"these units wait for each other: {chain}"
        yield at_file(file, Remark(CYCLE, message, entry.line, "Remove one After or Before of them"))


@lru_cache(maxsize=8)
def _order(boot: Boot) -> dict[str, dict[str, Edge | None]]:
    """By unit the units that it waits for, each with the entry of the profile that says so."""
    after: dict[str, dict[str, Edge | None]] = {}
    for later, earlier, edge in (*_of_system(boot), *_stated(boot)):
        known = after.setdefault(later, {})
        known[earlier] = known.get(earlier) or edge
    for name, files in boot.unit_files.items():
        for entry in _installed(files):
            for target in entry.value.split():
                # A target waits for what it wants, unless that waits for the target itself.
                if target.endswith(".target") and target not in after.get(name, {}):
                    after.setdefault(target, {}).setdefault(name, (files[0], entry))
    return after


def _of_system(boot: Boot) -> Iterator[tuple[str, str, Edge | None]]:
    # Nothing on Flatcar wants this target, and systemd waits only for what something wants.
    wanted = boot.os != "flatcar" or _NETWORK_PRE in _wanted(boot)
    for table in (_SYSTEM, _OF_OS.get(boot.os, {})):
        for earlier, each in table.items():
            if earlier != _NETWORK_PRE or wanted:
                yield from ((later, earlier, None) for later in each if later != _NETWORK_PRE or wanted)


def _wanted(boot: Boot) -> set[str]:
    entries = (
        entry for files in boot.unit_files.values() for file in files for entry in parsed_unit(file.text).entries
    )
    return {name for entry in entries if entry.key in {"Wants", "Requires"} for name in entry.value.split()}


def _stated(boot: Boot) -> Iterator[tuple[str, str, Edge | None]]:
    """What units say, and what a service waits for by default."""
    for name, files in boot.unit_files.items():
        for file in files:
            for entry in parsed_unit(file.text).entries:
                others = map(unit_name, entry.value.split()) if entry.section == "Unit" else ()
                if entry.key == "After":
                    yield from ((name, each, (file, entry)) for each in others)
                elif entry.key == "Before":
                    yield from ((each, name, (file, entry)) for each in others)
        if name in boot.own_units and name.endswith(".service") and _by_default(files):
            yield from ((name, each, None) for each in ("sysinit.target", "basic.target"))


def _by_default(files: tuple[BootFile, ...]) -> bool:
    """Whether the unit has systemd's default dependencies."""
    values = [
        entry.value.lower()
        for file in files
        for entry in parsed_unit(file.text).entries
        if entry.key == "DefaultDependencies"
    ]
    return not values or values[-1] in TRUE_WORDS


def _installed(files: tuple[BootFile, ...]) -> Iterator[Entry]:
    for file in files:
        for entry in parsed_unit(file.text).entries:
            if entry.section == "Install" and entry.key in {"WantedBy", "RequiredBy"}:
                yield entry


def _circle(after: Mapping[str, Mapping[str, Edge | None]], start: str) -> list[str]:
    """The shortest way from a unit back to itself, or an empty list."""
    waiting, previous = [start], dict[str, str]()
    while waiting:
        each, *waiting = waiting
        for earlier in after.get(each, {}):
            if earlier == start:
                way = [each]
                while way[-1] != start:
                    way.append(previous[way[-1]])
                return way[::-1]
            if earlier not in previous:
                previous[earlier] = each
                waiting.append(earlier)
    return []


def check_waiting(boot: Boot) -> Iterator[Spotted]:
    """A oneshot unit, or a command before the start, that starts a unit which is ordered behind it waits for ever."""
    after = _order(boot)
    for unit, file in boot.own_units.items():
        entries = parsed_unit(file.text).entries
        kind = next((entry.value for entry in reversed(entries) if entry.key == "Type"), "simple")
        for run in (each for each in boot.unit_commands if each.path in {one.path for one in boot.unit_files[unit]}):
            if run.entry is None or not (
                run.entry.key == "ExecStartPre" or (run.entry.key == "ExecStart" and kind == "oneshot")
            ):
                continue
            called = {word for command in run.listing.commands for word in command.words}
            for inner in (run, *(script for script in boot.scripts if script.path in called)):
                for command in inner.listing.by_name.get("systemctl", ()):
                    call = systemctl(command)
                    if call is None or not _waits(call) or "--no-block" in command.words:
                        continue
                    for each in (name for name in call.units if unit in after.get(name, {}) or name == unit):
                        message = f"{unit} waits for the start of {each}, which waits for the end of {unit}"
                        fix = "Write systemctl --no-block, or remove the order between them"
                        yield at_command(inner, command, Remark(WAITS, message, fix=fix))


def _waits(call: Systemctl) -> bool:
    return call.verb in {"start", "restart", "reload-or-restart"} or (call.verb in {"enable", "reenable"} and call.now)


def check_names(boot: Boot) -> Iterator[Spotted]:
    """Names in After, Wants and others that are nearly those of a unit of the profile or the system; and drop-ins."""
    own = {*boot.own_units, *(unit.name for unit in boot.units)}
    every = own | KNOWN_UNITS
    for name, files in boot.unit_files.items():
        for file in files:
            for entry in parsed_unit(file.text).entries:
                if entry.section in {"Unit", "Install"} and entry.key in _LISTS:
                    for each in entry.value.split():
                        if "%" not in each and (near := _near(each, every, own)):
                            message = f"{entry.key} names {each}, which is probably {near}"
                            yield at_file(file, Remark(UNKNOWN_UNIT, message, entry.line, f"Write {near}"))
        if name not in boot.own_units and (near := _near(name, every, own)):
            message = f"the drop-in is for {name}, which is probably {near}"
            yield at_file(files[0], Remark(UNKNOWN_UNIT, message, 0, f"Rename its folder to {near}.d"))


_SHORTEST: Final = 5  # of the name without its suffix


def _near(name: str, every: frozenset[str] | set[str], own: set[str]) -> str:
    """The unit that a name is probably meant for; only names that differ by little."""
    if name in every or template_of(name) in every or name.rpartition(".")[2] not in UNIT_SUFFIXES:
        return ""
    stem, _, suffix = name.rpartition(".")
    near = misspelled(name, frozenset(own)) or misspelled(name, frozenset(every))
    # Units that differ in numbers are others, and so are those with short names.
    is_other = len(stem) < _SHORTEST or re.sub("[0-9]", "", name) == re.sub("[0-9]", "", near)
    return near if near.endswith(f".{suffix}") and not is_other else ""
