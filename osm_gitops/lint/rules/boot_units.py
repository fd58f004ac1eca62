"""Checks of which units something enables and starts: does each exist, and does the boot reach the kubelet?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import BootFile, Half, Remark, closest_match, words
from osm_gitops.lint.rules.boot_model import Boot, Run, Spotted, at_command, at_file, parsed_unit
from osm_gitops.lint.rules.packages import installed_packages, installs_something_unknown
from osm_gitops.lint.rules.paths import UNIT_NOT_ENABLED
from osm_gitops.lint.rules.programs import runs_installers
from osm_gitops.lint.rules.systemd import TRUE_WORDS, UNIT_SUFFIXES
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.shell.simple_commands import SimpleCommand, simple_commands
from osm_gitops.shell.state import is_known

NOT_FOUND: Final = Rule("unit-not-found", Severity.ERROR, "something starts or enables a unit that does not exist")
NEVER_STARTED: Final = Rule("unit-never-started", Severity.WARNING, "nothing starts a unit of the profile")
NO_KUBELET: Final = Rule("kubelet-never-started", Severity.ERROR, "nothing starts the kubelet, or what leads to it")
MASKED: Final = Rule("masked-unit", Severity.ERROR, "a unit is masked, but something starts it")
RULES: Final = (NOT_FOUND, NEVER_STARTED, NO_KUBELET, MASKED)

_TABLE: Final = read_table("packages.toml")
_IMAGE_UNITS: Final[Mapping[str, frozenset[str]]] = {os: words(names) for os, names in _TABLE["units"].items()}
_PACKAGE_UNITS: Final[Mapping[str, frozenset[str]]] = {
    package: words(names) for package, names in _TABLE["package_units"].items()
}
_STARTING: Final = words("start restart try-restart reload-or-restart reload try-reload-or-restart isolate")
_ENABLING: Final = words("enable reenable preset link add-wants add-requires")
_NEEDED: Final = words("start restart enable reenable reload reload-or-restart")
_ANY_VERB: Final = (
    _STARTING | _ENABLING | words("disable mask unmask stop kill is-active is-enabled status set-property edit")
)
_WITH_VALUE: Final = words(
    "--root --job-mode -p --property -t --type --state -n --lines -H --host -M --machine -s --signal"
)
_LEADING: Final = words("Wants Requires Requisite BindsTo Upholds OnFailure OnSuccess Also Unit Service Sockets")
_TRIGGERS: Final = ("timer", "socket", "path", "automount")
_STARTED: Final = ("service", *_TRIGGERS, "mount")
_APPLIES: Final = re.compile(r"cloud-?init|ignition|config\.ign|curl|wget")
_ARGUMENT: Final = re.compile("\ue000\\$(?:[@*]|\\{?[1-9]\\}?)\ue001")
KUBELET: Final = "kubelet.service"


def unit_name(name: str) -> str:
    """The name with its suffix."""
    return name if name.rpartition(".")[2] in UNIT_SUFFIXES and "." in name else f"{name}.service"


@dataclass(frozen=True, slots=True)
class Systemctl:
    """A call of ``systemctl``: the verb and the whole names of the units, which may have unknown parts."""

    verb: str
    units: tuple[str, ...]
    now: bool


@lru_cache(maxsize=8_192)
def systemctl(command: SimpleCommand) -> Systemctl | None:
    """What ``systemctl`` or ``service`` is called for."""
    arguments = [word for word in command.words[1:] if word]
    if command.name == "service" and len(arguments) == 2:
        return Systemctl(arguments[1], (unit_name(arguments[0]),), now=False)
    if command.name != "systemctl" or "--user" in arguments:
        return None
    operands, following = list[str](), False
    for word in arguments:
        if following or word in _WITH_VALUE:
            following = not following
        elif not word.startswith("-"):
            operands.append(word)
    if not operands:
        return None
    units = tuple(unit_name(word.rpartition("/")[2]) for word in operands[1:])
    return Systemctl(operands[0], units, "--now" in arguments)


def template_of(name: str) -> str:
    """``a@.service`` of ``a@b.service``."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem.partition('@')[0]}@.{suffix}" if "@" in stem else name


KNOWN_UNITS: Final = frozenset(
    unit_name(each) for names in (*_IMAGE_UNITS.values(), *_PACKAGE_UNITS.values()) for each in names
)
"""The units of all systems and packages."""


@dataclass(slots=True)
class _Units:
    """The units that may exist on a node."""

    boot: Boot
    own: frozenset[str]
    known: frozenset[str]
    certain: bool
    unknown_files: bool

    def has(self, name: str) -> bool:
        return (
            name in self.own or template_of(name) in self.own or name in self.known or template_of(name) in self.known
        )


@lru_cache(maxsize=4)
def _units(boot: Boot) -> _Units:
    folders = [path for path in boot.made if "/systemd/system/" in path]
    made = {path.rpartition("/")[2] for path in folders if is_known(path)}
    listed = frozenset(boot.own_units) | frozenset(made) | {unit.name for unit in boot.units if unit.content}
    known = set(_IMAGE_UNITS["all"] | _IMAGE_UNITS.get(boot.os, frozenset()))
    for package in installed_packages(boot):
        known |= _PACKAGE_UNITS.get(package, _PACKAGE_UNITS.get(re.sub(r"-v?[0-9].*$", "", package), frozenset()))
    certain = boot.complete and not installs_something_unknown(boot) and not runs_installers(boot)
    unknown = any(not is_known(path) for path in folders)
    return _Units(boot, listed, frozenset(map(unit_name, known)), certain, unknown)


def check_names(boot: Boot) -> Iterator[Spotted]:
    """Check that the units of ``systemctl`` exist."""
    units = _units(boot)
    if units.unknown_files:
        return
    for run, command in boot.named("systemctl", "service"):
        call = systemctl(command)
        if call is None or command.tolerated:
            continue
        if call.verb not in _NEEDED:
            yield from _verb_remarks(run, command, call)
            continue
        for name in (each for each in call.units if is_known(each) and not units.has(each) and "*" not in each):
            stem = name.rpartition(".")[0]
            near = closest_match(name, units.own)
            foreign = name in KNOWN_UNITS
            if any(stem in test for test in command.tests) or (not near and (not units.certain or command.tests)):
                continue
            if not near and not foreign and name in {unit.name for unit in boot.units}:
                continue
            message = f"{run.shown} {_SHOWN_VERBS[call.verb]} {name}, which neither the profile nor {boot.os} has"
            fix = f"Write {near}" if near else "Add the unit to the profile, or correct its name"
            yield at_command(run, command, Remark(NOT_FOUND, message, fix=fix))
        yield from _half_remarks(boot, run, command, call)


_SHOWN_VERBS: Final = {
    "start": "starts",
    "restart": "restarts",
    "enable": "enables",
    "reenable": "enables",
    "reload": "reloads",
    "reload-or-restart": "reloads",
}
_VERBS: Final = _ANY_VERB | words(
    """
    daemon-reload daemon-reexec reboot poweroff halt suspend hibernate kexec list-units list-unit-files list-timers
    list-jobs list-sockets list-dependencies list-machines show cat help reset-failed revert get-default set-default
    show-environment set-environment unset-environment import-environment is-failed is-system-running default rescue
    emergency exit switch-root clean freeze thaw bind mount-image log-level log-target service-log-level
    service-log-target service-watchdogs preset-all cancel list-automounts list-paths whoami soft-reboot sleep
    condrestart force-reload condreload
    """
)


def _verb_remarks(run: Run, command: SimpleCommand, call: Systemctl) -> Iterator[Spotted]:
    if command.name == "systemctl" and is_known(call.verb) and call.verb not in _VERBS:
        near = closest_match(call.verb, _VERBS)
        fix = f"Write {near}" if near else "Write a command of systemctl, such as start"
        if near or call.units:
            message = f"{run.shown} calls systemctl {call.verb[:40]}, which systemctl does not know"
            yield at_command(run, command, Remark(NOT_FOUND, message, fix=fix))


def _half_remarks(boot: Boot, run: Run, command: SimpleCommand, call: Systemctl) -> Iterator[Spotted]:
    """cloud-init's commands run before there is anything of the later half, and bootcmd before its own files."""
    for name in call.units if run.module and run.half == "bootstrap" else ():
        file = boot.own_units.get(name) or boot.own_units.get(template_of(name))
        early = run.module.startswith("bootcmd")
        halves = {each.half for each in boot.unit_files.get(name, ())}
        if file is not None and (early or (file.half == "provisioning" and "bootstrap" not in halves)):
            when = "before cloud-init writes it" if early and file.half == run.half else "before the provisioning half"
            message = f"{run.shown} {_SHOWN_VERBS[call.verb]} {name} {when}"
            yield at_command(run, command, Remark(NOT_FOUND, message, fix="Start it where its file is there"))


def check_triggers(boot: Boot) -> Iterator[Spotted]:
    """The services that timers, sockets and paths of the profile start. Only of whole profiles."""
    if KUBELET not in boot.own_units:
        return
    units = _units(boot)
    for name, file in boot.own_units.items():
        stem, _, suffix = name.rpartition(".")
        if suffix not in {"timer", "socket", "path"} or units.unknown_files:
            continue
        entries = parsed_unit(file.text).entries
        given = next(
            (entry.value for entry in entries if entry.key in {"Unit", "Service"} and entry.section != "Unit"), ""
        )
        accepts = any(entry.key == "Accept" and entry.value.lower() in TRUE_WORDS for entry in entries)
        service = given or (f"{stem}@.service" if accepts else f"{stem}.service")
        if "%" not in service and not units.has(service) and (units.certain or closest_match(service, units.own)):
            message = f"{name} starts {service}, which neither the profile nor {boot.os} has"
            yield at_file(file, Remark(NOT_FOUND, message, 0, "Add the unit to the profile"))


@dataclass(slots=True)
class _Reached:
    """The units that a boot reaches, and those that it only enables."""

    boot: Boot
    units: set[str] = field(default_factory=set)
    enabled: set[str] = field(default_factory=set)
    unknown: bool = False
    reboots: bool = False
    _scripts: dict[str, list[Run]] = field(default_factory=dict)
    _commands: dict[str, list[Run]] = field(default_factory=dict)
    _called: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.reboots = reboots(self.boot)
        for run in self.boot.scripts:
            self._scripts.setdefault(run.path, []).append(run)
        for run in self.boot.unit_commands:
            self._commands.setdefault(run.path, []).append(run)

    def follow(self, roots: Iterable[Run | str]) -> None:
        """Follow commands and units."""
        waiting = list(roots)
        while waiting:
            each = waiting.pop()
            if isinstance(each, Run):
                waiting += self._from(each)
            elif each not in self.units:
                self.units.add(each)
                for file in (*self.boot.unit_files.get(each, ()), *self.boot.unit_files.get(template_of(each), ())):
                    waiting += self._commands.get(file.path, ())
                    waiting += _wanted(file, each)

    def _from(self, run: Run) -> Iterator[Run | str]:
        """What a run starts and calls. Scripts of the first half apply the second one."""
        if run.half == "bootstrap" and _APPLIES.search(run.text):
            yield from _roots(self.boot, "provisioning")
        for call in _calls(run.text):
            self.unknown = self.unknown or not all(is_known(each) or _ARGUMENT.search(each) for each in call.units)
            self.enabled.update(call.units)
            if call.verb in _STARTING or call.now or self.reboots:
                yield from call.units
        for program, arguments in _programs(run.text):
            scripts = self._scripts.get(program, ())
            if any(_ARGUMENT.search(unit) for script in scripts for call in _calls(script.text) for unit in call.units):
                yield from map(unit_name, arguments)  # the script starts its arguments
        for path in self._scripts.keys() - self._called:
            if path in run.text or path in _words(run.text):
                self._called.add(path)
                yield from self._scripts[path]


def _roots(boot: Boot, half: Half) -> Iterator[Run | str]:
    """What a half starts by itself."""
    yield from (run for run in boot.modules if run.half == half)
    yield from (unit.name for unit in boot.units if unit.half == half and unit.enable)


_REBOOTING: Final = {"reboot": words("reboot"), "shutdown": words("-r"), "systemctl": words("reboot kexec")}


def reboots(boot: Boot) -> bool:
    """Whether a script reboots the node in any case."""
    calls = boot.named(*_REBOOTING)
    return any(not each.tests and not _REBOOTING[each.name].isdisjoint(each.words) for _, each in calls)


@lru_cache(maxsize=512)
def _calls(text: str) -> tuple[Systemctl, ...]:
    """What a script starts and enables."""
    by_name = simple_commands(text).by_name
    found = (systemctl(command) for name in ("systemctl", "service") for command in by_name.get(name, ()))
    return tuple(call for call in found if call is not None and call.verb in _STARTING | _ENABLING)


@lru_cache(maxsize=512)
def _programs(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The commands of a script that name a program by its path, and their arguments."""
    commands = (command.words for command in simple_commands(text).commands)
    return tuple(dict.fromkeys((words[0], words[1:]) for words in commands if "/" in words[0]))


@lru_cache(maxsize=512)
def _words(text: str) -> frozenset[str]:
    """The words of all commands of a script, which may put paths together."""
    return frozenset(word for command in simple_commands(text).commands for word in command.words)


def _wanted(file: BootFile, name: str) -> Iterator[str]:
    """The units that a unit pulls in."""
    for entry in parsed_unit(file.text).entries:
        if entry.key in _LEADING:
            instance = name.rpartition(".")[0].partition("@")[2]
            yield from (unit_name(each.replace("%i", instance)) for each in entry.value.split())
    stem, _, suffix = name.rpartition(".")
    if suffix in _TRIGGERS:
        yield f"{stem}.{'mount' if suffix == 'automount' else 'service'}"


def check_started(boot: Boot) -> Iterator[Spotted]:
    """Check that the boot reaches each unit that the profile writes. Only of whole profiles, which have a kubelet."""
    if KUBELET not in boot.own_units or not boot.complete:
        return
    reached = _Reached(boot)
    reached.follow(_roots(boot, "bootstrap"))
    halves = {*(each.half for each in boot.texts), *(each.half for each in boot.modules)}
    if "bootstrap" not in halves:
        reached.follow(_roots(boot, "provisioning"))
    if reached.unknown or any(".wants/" in path or ".requires/" in path for path in (*boot.made, *boot.written)):
        return
    known = _units(boot).known
    lost = [
        name
        for name in boot.own_units
        if name.rpartition(".")[2] in _STARTED and name not in known and not _has(reached.units, name)
    ]
    follow = {name: _followers(boot, name) for name in lost}
    for name in lost:
        if any(name in follow[other] and other not in follow[name] for other in lost if other != name):
            continue  # the finding is at what would start it
        only = ": it is enabled, but not before this boot, so the next one starts it" if name in reached.enabled else ""
        fix = f"Start it: systemctl enable --now {name}" if boot.utility == "cloud-init" else "Set enable: true"
        what = f", which leads to {KUBELET}" if KUBELET in follow[name] and name != KUBELET else ""
        rule = NO_KUBELET if KUBELET in follow[name] else NEVER_STARTED
        yield at_file(boot.own_units[name], Remark(rule, f"nothing starts {name}{what}{only}", 0, fix))


def _has(reached: set[str], name: str) -> bool:
    return name in reached or ("@." in name and any(template_of(each) == name for each in reached))


def _followers(boot: Boot, name: str) -> set[str]:
    """The units that a unit leads to, itself included."""
    reached = _Reached(boot)
    reached.follow([name])
    return reached.units


def check_masked(boot: Boot) -> Iterator[Spotted]:
    """A masked unit cannot be started or enabled."""
    masked = {unit.name for unit in boot.units if unit.mask}
    unmasked = set[str]()
    for _, command in boot.named("systemctl"):
        call = systemctl(command)
        unmasked |= set(call.units) if call is not None and call.verb == "unmask" else set()
    for run, command in boot.named("systemctl"):
        call = systemctl(command)
        if call is None:
            continue
        if call.verb == "mask" and not command.tests:
            masked |= set(call.units)
        elif call.verb in _NEEDED and not command.tolerated:
            for name in call.units:
                if name in masked - unmasked:
                    message = f"{run.shown} {_SHOWN_VERBS[call.verb]} {name}, which is masked"
                    yield at_command(run, command, Remark(MASKED, message, fix="Do not mask it"))
    for unit in boot.units:
        if unit.mask and (unit.enable or unit.content) and unit.name not in unmasked:
            file = unit.content or next(iter(unit.drop_ins), None)
            if file is not None:
                message = f"{unit.name} is masked, so systemd does not start it"
                yield at_file(file, Remark(MASKED, message, 0, "Remove mask, or the content of the unit"))


def check_install_sections(boot: Boot) -> Iterator[Spotted]:
    """``systemctl enable`` does nothing with a unit without [Install]."""
    for run, command in boot.named("systemctl"):
        call = systemctl(command)
        if call is None or call.verb not in {"enable", "reenable"}:
            continue
        for name in call.units:
            file = boot.own_units.get(name) or boot.own_units.get(template_of(name))
            texts = boot.unit_files.get(name, ()) or boot.unit_files.get(template_of(name), ())
            if file is not None and not any(_installs(each) for each in texts):
                message = f"{run.shown} enables {name}, which has no [Install] section"
                fix = "Add [Install] with WantedBy=multi-user.target"
                yield at_command(run, command, Remark(UNIT_NOT_ENABLED, message, fix=fix))


def _installs(file: BootFile) -> bool:
    return any(entry.section == "Install" for entry in parsed_unit(file.text).entries)
