"""What runs when a node boots: scripts, the commands of units, cloud-init's commands; and the files that they make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Final

from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, BootUnit, Half, Remark, normal_path, to_finding
from osm_gitops.lint.rules.made_paths import known_parts, made_paths, may_be
from osm_gitops.lint.rules.systemd import EXEC_KEYS, EXEC_PREFIXES, Entry, Parsed, is_unit_file, parse, unit_of
from osm_gitops.model.finding import Finding
from osm_gitops.shell.simple_commands import Listing, SimpleCommand, simple_commands

_SHELL: Final = re.compile(r"#![ \t]*\S*/(?:env[ \t]+(?:-\S+[ \t]+)*)?(?:\S*/)?(?:bash|dash|ksh|sh)\b")


@dataclass(frozen=True, slots=True)
class Run:
    """Commands that run from one place: a script at ``path``, an ``entry`` of the unit at ``path``, or ``module``, a
    command of cloud-init such as ``runcmd[0]``.

    ``text`` is what the shell reads. Lines of a unit are all those of the entry; those of modules have no meaning.
    """

    half: Half
    path: str
    text: str
    module: str = ""
    entry: Entry | None = None

    @property
    def listing(self) -> Listing:
        return simple_commands(self.text)

    @property
    def shown(self) -> str:
        """The place in a message."""
        return self.module.partition("[")[0] or (self.entry.key if self.entry else self.path)


Spot = tuple[str, Half, str]
"""The place of a remark: path, half and module of what runs or is written."""


@dataclass(frozen=True, slots=True)
class Spotted:
    """A remark and its place in a document."""

    spot: Spot
    remark: Remark


@dataclass(frozen=True)
class Boot:
    """A document without what no rule on the flow of the boot reads. Equal ones are checked once."""

    os: str
    utility: str
    files: tuple[BootFile, ...]
    units: tuple[BootUnit, ...]
    bootcmd: tuple[tuple[Half, int, str], ...]
    runcmd: tuple[tuple[Half, int, str], ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.os, self.utility, self.files, self.units, self.bootcmd, self.runcmd))

    @cached_property
    def texts(self) -> tuple[BootFile, ...]:
        """Files, units and drop-ins."""
        return (*self.files, *(file for unit in self.units for file in unit.files))

    @cached_property
    def written(self) -> Mapping[str, BootFile]:
        """The files of both halves by path."""
        return {normal_path(file.path): file for file in self.texts}

    def has(self, path: str, half: Half) -> bool:
        """Whether a half writes the file."""
        return (path, half) in self._halves

    @cached_property
    def _halves(self) -> frozenset[tuple[str, Half]]:
        return frozenset((normal_path(file.path), file.half) for file in self.texts)

    @cached_property
    def scripts(self) -> tuple[Run, ...]:
        """The shell scripts."""
        return tuple(Run(file.half, file.path, file.text) for file in self.files if is_shell_script(file))

    @cached_property
    def modules(self) -> tuple[Run, ...]:
        """The commands of cloud-init."""
        return tuple(
            Run(half, "", as_shell(command), f"{name}[{index}]")
            for name, commands in (("bootcmd", self.bootcmd), ("runcmd", self.runcmd))
            for half, index, command in commands
        )

    @cached_property
    def unit_commands(self) -> tuple[Run, ...]:
        """The commands of units."""
        return tuple(
            Run(file.half, file.path, command, entry=entry)
            for file in self.texts
            if is_unit_file(file.path)
            for entry, command in unit_commands(file.text)
        )

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return (*self.modules, *self.unit_commands, *self.scripts)

    def named(self, *names: str) -> Iterator[tuple[Run, SimpleCommand]]:
        """All commands with one of these names, and where they run."""
        found = [each for name in dict.fromkeys(names) for each in self._by_name.get(name, ())]
        for number, commands in sorted(found, key=itemgetter(0)):
            yield from ((self.runs[number], command) for command in commands)

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[tuple[int, Sequence[SimpleCommand]]]]:
        """By name the commands of each run, with the number of the run."""
        found: dict[str, list[tuple[int, Sequence[SimpleCommand]]]] = {}
        for number, run in enumerate(self.runs):
            for name, commands in run.listing.by_name.items():
                found.setdefault(name, []).append((number, commands))
        return found

    def commands(self) -> Iterator[tuple[Run, SimpleCommand]]:
        """All commands, and where they run."""
        return ((run, command) for run in self.runs for command in run.listing.commands)

    @cached_property
    def complete(self) -> bool:
        """Whether all scripts could be listed."""
        return all(run.listing.complete for run in self.runs)

    @cached_property
    def script_text(self) -> str:
        """The text of all that runs."""
        texts = [file.text for file in self.texts if is_shell_script(file) or is_unit_file(file.path)]
        return "\n".join([*texts, *(command for _, _, command in (*self.bootcmd, *self.runcmd))])

    @cached_property
    def unit_files(self) -> Mapping[str, tuple[BootFile, ...]]:
        """By the name of a unit its file, if the profile has it, and its drop-ins."""
        found: dict[str, list[BootFile]] = {}
        for file in self.texts:
            if is_unit_file(file.path):
                name, drop_in = unit_of(file.path)
                found.setdefault(name, []).insert(len(found.get(name, ())) if drop_in else 0, file)
        return {name: tuple(files) for name, files in found.items()}

    @cached_property
    def own_units(self) -> Mapping[str, BootFile]:
        """The units whose whole file the profile writes."""
        return {name: files[0] for name, files in self.unit_files.items() if not unit_of(files[0].path)[1]}

    @cached_property
    def made(self) -> tuple[str, ...]:
        """The paths that scripts write, with unknown parts."""
        return tuple(dict.fromkeys(path for run in self.runs for path in _made(run.text)))

    def makes(self, path: str) -> bool:
        """Whether a script may write the file."""
        return path in self._known_made or any(may_be(path, parts) for parts in self._parts_made)

    @cached_property
    def _known_made(self) -> frozenset[str]:
        return frozenset(self.made)

    @cached_property
    def _parts_made(self) -> tuple[tuple[str, ...], ...]:
        return tuple(filter(None, map(known_parts, self.made)))

    @cached_property
    def enabled(self) -> Mapping[str, bool]:
        """What the units of the profile say of ``enable``."""
        return {unit.name: bool(unit.enable) for unit in self.units}


@lru_cache(maxsize=512)
def _made(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for command in simple_commands(text).commands for path in made_paths(command)))


_POOL: Final = re.compile(r"MachineDeployment ([a-z0-9.-]+)/([a-z0-9.-]+)")
_RELEASE: Final = re.compile(r"v?([0-9]+\.[0-9]+\.)")


def boot_of(document: BootDocument) -> Boot:
    """The boot of a document. Of files that nothing here reads only the path and the permissions count, and no rule
    depends on the minor release of Kubernetes or the names of the pool's Secrets."""
    varying = _varying(document)

    def read(file: BootFile) -> BootFile:
        text = file.text if _is_read(file) else ""
        for found, instead in varying:
            text = text.replace(found, instead)
        return file if text == file.text else replace(file, text=text)

    units = tuple(
        replace(unit, content=unit.content and read(unit.content), drop_ins=tuple(map(read, unit.drop_ins)))
        for unit in document.units
    )
    commands: dict[str, tuple[tuple[Half, int, str], ...]] = {"bootcmd": (), "runcmd": ()}
    for half, modules in document.modules.items():
        if modules is not None and document.utility == "cloud-init":
            commands["bootcmd"] += tuple((half, index, each) for index, each in enumerate(modules.bootcmd))
            commands["runcmd"] += tuple((half, index, each) for index, each in enumerate(modules.runcmd))
    return Boot(document.os, document.utility, tuple(map(read, document.files)), units, **commands)


def _varying(document: BootDocument) -> list[tuple[str, str]]:
    """What differs between documents and is not checked, and what stands for it in a :class:`Boot`."""
    release, pool = _RELEASE.match(document.kube_version), _POOL.match(document.pool)
    found = [(release[1], "1.minor.")] if release else []
    if pool is not None:
        found += [(f"{pool[2]}-{pool[1]}-", "pool-of-this-"), (f"{pool[1]}-{pool[2]}-", "this-pool-")]
    return found


def spotted_findings(document: BootDocument, spotted: Iterable[Spotted]) -> Iterator[Finding]:
    """Remarks as findings of a document."""
    files = {(file.path, file.half): file for file in document.texts}
    varying = _varying(document)
    for each in spotted:
        path, half, module = each.spot
        remark = each.remark
        for found, instead in varying:
            message, fix = (text.replace(instead, found) for text in (remark.message, remark.fix))
            remark = replace(remark, message=message, fix=fix)
        if module:
            where = document.profile.manifest.line_of(f"spec.{half}Config.modules.{module}")
            yield Finding(remark.rule, remark.message, where=where, fix=remark.fix)
        else:
            yield to_finding(document, files[path, half], remark)


def at_command(run: Run, command: SimpleCommand, remark: Remark, *, called: bool = False) -> Spotted:
    """A remark on a command; ``called``: at the call of the function that the command is in."""
    line = run.entry.line if run.entry else command.called if called else command.line
    return Spotted((run.path, run.half, run.module), replace(remark, line=line))


def at_file(file: BootFile, remark: Remark) -> Spotted:
    """A remark on a file."""
    return Spotted((file.path, file.half, ""), remark)


def is_shell_script(file: BootFile) -> bool:
    """Whether a shell runs the file."""
    if file.text.startswith("#!"):
        return _SHELL.match(file.text) is not None
    return file.path.endswith((".sh", ".bash")) and not file.path.startswith("/etc/profile.d/")


def _is_read(file: BootFile) -> bool:
    return (
        file.text.startswith("#!")
        or is_shell_script(file)
        or is_unit_file(file.path)
        or file.path.startswith(("/etc/sysctl", "/etc/modules-load.d/", "/etc/apt/", "/etc/yum", "/etc/dnf/"))
        or file.path.startswith(("/etc/sysusers.d/", "/usr/lib/sysusers.d/"))
    )


def as_shell(command: str) -> str:
    """A command of cloud-init as text for a shell; it may be a list of words in brackets, or in quotes of YAML."""
    text = command.strip()
    if text.startswith("["):
        words = (part.strip().strip("'\"") for part in text.strip("[] ").split(","))
        return shlex.join(words)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1].replace('\\"', '"')
    return command


@lru_cache(maxsize=512)
def parsed_unit(text: str) -> Parsed:
    """A parsed unit file."""
    return parse(text)


@lru_cache(maxsize=512)
def unit_commands(text: str) -> tuple[tuple[Entry, str], ...]:
    """The commands of a unit as text for a shell."""
    return tuple(
        (entry, shlex.join(exec_words(entry.value)))
        for entry in parsed_unit(text).entries
        if entry.section == "Service" and entry.key in EXEC_KEYS and entry.value
    )


def exec_words(value: str) -> list[str]:
    """The words of a command of a unit, without the prefixes of its program."""
    text = value.lstrip(EXEC_PREFIXES)
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
