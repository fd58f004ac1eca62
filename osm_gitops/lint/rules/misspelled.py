"""Checks of names that are one slip away from a known one: interpreters, commands, settings and modules of the kernel.

A name that is in no table may be right, so only such a slip is reported: a letter too many, too few, or wrong, or two
that are swapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import Remark, words
from osm_gitops.lint.rules.boot_model import Boot, Run, Spotted, at_command, at_file
from osm_gitops.lint.rules.packages import installed_packages
from osm_gitops.lint.rules.programs import INTERPRETER, SOURCING, interpreter_of
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.rules.written_texts import written_texts
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.shell.simple_commands import SimpleCommand, simple_commands
from osm_gitops.shell.state import is_known

COMMAND: Final = Rule("misspelled-command", Severity.ERROR, "a command is probably misspelled")
SETTING: Final = Rule("misspelled-sysctl", Severity.ERROR, "a setting of the kernel is probably misspelled")
MODULE: Final = Rule("misspelled-module", Severity.ERROR, "a module of the kernel is probably misspelled")
RULES: Final = (COMMAND, SETTING, MODULE)

_TABLE: Final = read_table("known_names.toml")
_INTERPRETERS: Final = words(_TABLE["interpreters"]["names"])
_PROGRAMS: Final = frozenset[str]().union(*map(words, _TABLE["programs"].values())) | _INTERPRETERS
_SETTINGS: Final = frozenset(f"{folder}.{key}" for folder, keys in _TABLE["sysctl"].items() for key in keys.split())
_MODULES: Final = frozenset(name.replace("-", "_") for name in _TABLE["modules"]["names"].split())
_SHORTEST: Final = 4  # of shorter names too many are alike
_COMMAND_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_.-]{3,40}")
_FUNCTION: Final = re.compile(r"(?:^|[;{&|\s])(?:function[ \t]+([\w.-]+)|([\w.-]+)[ \t]*\([ \t]*\))")
_ALIAS: Final = re.compile(r"\balias[ \t]+([\w.-]+)=")
_OF_PROC: Final = re.compile(r"/proc/sys/(.+)")
_OF_INTERFACE: Final = re.compile(r"(net\.ipv[46]\.(?:conf|neigh))\.[^.]+(?=\.[^.]+$)")


def check_interpreters(boot: Boot) -> Iterator[Spotted]:
    """Check the interpreters of scripts, which may be in any folder."""
    for file in boot.files:
        interpreter = interpreter_of(file)
        name = interpreter.rpartition("/")[2]
        near = misspelled(name, _INTERPRETERS)
        if near and interpreter not in boot.written and not boot.makes(interpreter) and not _is_brought(boot, name):
            message = f"there is no interpreter {name}, which {file.path} names"
            yield at_file(file, Remark(INTERPRETER, message, 1, f"Write {interpreter.removesuffix(name)}{near}"))


def _is_brought(boot: Boot, name: str) -> bool:
    """Whether the profile or a package of it has a program of this name."""
    return any(path.endswith(f"/{name}") for path in (*boot.made, *boot.written)) or any(
        package.startswith(name) for package in installed_packages(boot)
    )


def check_commands(boot: Boot) -> Iterator[Spotted]:
    """Check commands against usual programs, and the functions of the script and of those that it reads."""
    functions = frozenset(name for run in boot.runs for name in _functions(run.text))
    for run in boot.runs:
        found = _unknown_commands(run.text)
        if not found:
            continue
        read = (each for each in simple_commands(run.text).commands if each.name in SOURCING and len(each.words) > 1)
        texts = [run.text, *(boot.written[each.words[1]].text for each in read if each.words[1] in boot.written)]
        own = frozenset(name for text in texts for name in _functions(text) if len(name) >= _SHORTEST)
        for command in found:
            near = misspelled(command.name, own) or misspelled(command.name, _PROGRAMS)
            if near and command.name not in functions and not _is_brought(boot, command.name):
                message = f"{run.shown} calls {command.name}, which is neither a function nor a known program"
                yield at_command(run, command, Remark(COMMAND, message, fix=f"Write {near}"))


@lru_cache(maxsize=512)
def _unknown_commands(text: str) -> tuple[SimpleCommand, ...]:
    """The commands of a script that are in no table, and that the script neither defines nor asks for."""
    listing = simple_commands(text)
    own = listing.functions | _functions(text)
    return tuple(
        command
        for command in listing.commands
        if command.name == command.words[0]
        and command.name not in _PROGRAMS
        and command.name not in own
        and _COMMAND_NAME.fullmatch(command.name)
        and not command.tolerated
        and not any(command.name in test for test in command.tests)
        # A daemon of a known program.
        and command.name.removesuffix("d") not in _PROGRAMS
    )


@lru_cache(maxsize=512)
def _functions(text: str) -> frozenset[str]:
    """The functions and aliases that a script defines anywhere."""
    return frozenset(
        name for match in (*_FUNCTION.finditer(text), *_ALIAS.finditer(text)) for name in match.groups() if name
    )


def check_kernel(boot: Boot) -> Iterator[Spotted]:
    """Check settings and modules of the kernel, in files and in commands."""
    for file in boot.files:
        yield from (at_file(file, remark) for remark in _file_remarks(file.path, file.text))
    for each in written_texts(boot):
        yield from (each.at(remark) for remark in _file_remarks(each.file.path, each.file.text))
    for run, command in boot.named("sysctl", "modprobe"):
        if not command.tolerated:
            yield from _command_remarks(run, command)


def _file_remarks(path: str, text: str) -> Iterator[Remark]:
    if re.fullmatch(r"/etc/sysctl(\.d/.+)?\.conf", path):
        for line, key in _first_words(text):
            if remark := _setting_remark(key):
                yield Remark(SETTING, remark[0], line, remark[1])
    elif re.fullmatch(r"/etc/modules(-load\.d/.+\.conf)?", path):
        for line, name in _first_words(text):
            if remark := _module_remark(name):
                yield Remark(MODULE, remark[0], line, remark[1])
    elif (setting := _OF_PROC.fullmatch(path)) and (remark := _setting_remark(setting[1].replace("/", "."))):
        yield Remark(SETTING, remark[0], 1, remark[1])


def _command_remarks(run: Run, command: SimpleCommand) -> Iterator[Spotted]:
    operands = [word for word in command.words[1:] if not word.startswith("-") and is_known(word)]
    loads = not {"-r", "--remove"}.intersection(command.words)
    if command.name == "modprobe":
        # Behind a module are its parameters, or with -a more modules.
        several = any(re.fullmatch(r"-[a-z]*a[a-z]*|--all", word) for word in command.words)
        for name in (operands if several else operands[:1]) if loads else ():
            if (remark := _module_remark(name)) and not any(name in test for test in command.tests):
                yield at_command(run, command, Remark(MODULE, remark[0], fix=remark[1]))
    else:
        for word in operands:
            if remark := _setting_remark(word.partition("=")[0]):
                yield at_command(run, command, Remark(SETTING, remark[0], fix=remark[1]))


@lru_cache(maxsize=512)
def _first_words(text: str) -> tuple[tuple[int, str], ...]:
    """The line and the text before a blank or an equals sign of each line that is not a comment."""
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    found = ((number, re.split(r"[ \t=]", line.lstrip("-"), maxsplit=1)[0]) for number, line in lines if line)
    # Another check reports what is not a name.
    return tuple((number, name) for number, name in found if re.fullmatch(r"[\w./*-]+", name))


@lru_cache(maxsize=1_024)
def _setting_remark(key: str) -> tuple[str, str] | None:
    """The message and the fix for a misspelled key. Keys may have slashes instead of dots."""
    dotted = key.replace("/", ".") if "/" in key.partition(".")[0] else key
    general = _OF_INTERFACE.sub(r"\1.all", dotted)
    near = misspelled(general, _SETTINGS)
    if not near:
        return None
    match = _OF_INTERFACE.match(dotted)
    shown = match[0] + near.removeprefix(f"{match[1]}.all") if match else near
    return f"the kernel does not have a setting {key}", f"Write {shown}"


@lru_cache(maxsize=1_024)
def _module_remark(name: str) -> tuple[str, str] | None:
    near = misspelled(name.replace("-", "_"), _MODULES) if len(name) >= _SHORTEST else ""
    return (f"the kernel does not have a module {name}", f"Write {near}") if near else None
