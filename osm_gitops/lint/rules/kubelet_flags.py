"""Checks of the kubelet's command line: flags that the kubelet of the pool's Kubernetes minor does not have, and values
that it does not accept. A command line is that of a unit, with drop-ins and the variables for more arguments, or of a
script.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import parse_bool, parse_int
from osm_gitops.lint.rules.boot_file import BootDocument, Remark, line_of, suggested_fix, to_finding, words
from osm_gitops.lint.rules.kubelet import kubelet_remarks, minor_of
from osm_gitops.lint.rules.kubelet_tables import GATES, duration, gate_fault, is_quantity
from osm_gitops.lint.rules.systemd import EXEC_PREFIXES, Entry, is_unit_file, parse, unit_of
from osm_gitops.lint.rules.values import host_fault, is_address, key_fault, label_value_fault, taint_faults
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Finding, Rule, Severity

FLAG: Final = Rule("kubelet-flag", Severity.ERROR, "the kubelet does not start with an argument of its command line")
VALUE: Final = Rule("kubelet-flag-value", Severity.ERROR, "the kubelet does not accept the value of a flag")
DEPRECATED: Final = Rule("kubelet-flag-deprecated", Severity.WARNING, "a flag of the kubelet is deprecated")
RULES: Final = (FLAG, VALUE, DEPRECATED)

_TABLE: Final = read_table("kubelet_flags.toml")
OLDEST: Final[int] = _TABLE["oldest"]
NEWEST: Final[int] = _TABLE["newest"]
TYPES: Final[Mapping[str, str]] = {flag: kind for kind, flags in _TABLE["types"].items() for flag in flags.split()}
"""The type of each flag that a supported kubelet has."""
UNTIL: Final[Mapping[str, int]] = _TABLE["until"]
"""The last minor that has a flag."""
DEPRECATED_FLAGS: Final = words(_TABLE["deprecated"])
FIELDS: Final[Mapping[str, str]] = _TABLE["fields"]
"""The field of the configuration that a deprecated flag sets."""
_TOLERATED: Final = words(_TABLE["tolerated"])
_REMOVED: Final = {
    flag: minor.replace("_", ".") for minor, flags in _TABLE["removed"].items() for flag in flags.split()
}

VARIABLE: Final = re.compile(r"\$\{?\w")
_ARGUMENTS_VARIABLE: Final = re.compile(r"KUBELET_\w*(?:ARGS|OPTS|FLAGS|OPTIONS)")
_ASSIGNMENT: Final = re.compile(r"^[ \t]*(?:export[ \t]+)?(KUBELET_\w*)=(.*)$", re.MULTILINE)
_ENVIRONMENT_FILES: Final = ("/etc/default/kubelet", "/etc/sysconfig/kubelet", "/etc/kubernetes/kubelet.env")
# A command of a script that begins with the kubelet, up to the end of its last line.
_IN_SCRIPT: Final = re.compile(
    r"^[ \t]*(?:exec[ \t]+)?(?:/\S*/)?kubelet[ \t]+(?=-|\\\n[ \t]*-)((?:[^\\\n]|\\.|\\\n)*)", re.MULTILINE
)
_CONTINUED: Final = re.compile(r"\\\n")
_SHELL_WORD: Final = re.compile(r"[|&;<>()#]|[0-9]*>")
_SHELLS: Final = frozenset({"sh", "bash", "dash"})
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2212"  # what text processors make of two hyphens
UNIT: Final = "kubelet.service"


def check_kubelet_flags(document: BootDocument) -> Iterator[Finding]:
    """Check every command line of the kubelet."""
    minor = minor_of(document.kube_version)
    if not OLDEST <= minor <= NEWEST:
        return
    for file in document.texts:
        yield from (to_finding(document, file, remark) for remark in _remarks(file.path, file.text, minor))


# The same unit is in many documents.
@lru_cache(maxsize=512)
def _remarks(path: str, text: str, minor: int) -> tuple[Remark, ...]:
    return tuple(remark for each in command_lines(path, text) for remark in _Check(each, minor).remarks())


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Arguments of the kubelet in ``text``, from ``line`` on; ``is_whole``: with all arguments of the program."""

    text: str
    line: int
    arguments: tuple[str, ...]
    is_whole: bool = True

    def line_of(self, argument: str) -> int:
        """The line of an argument."""
        start = sum(len(each) + 1 for each in self.text.split("\n")[: self.line - 1])
        found = self.text.find(argument, start)
        return line_of(self.text, found) if found >= 0 else self.line


@lru_cache(maxsize=1_024)
def command_lines(path: str, text: str) -> tuple[CommandLine, ...]:
    """The command lines of the kubelet in a file."""
    return tuple(_command_lines(path, text)) if "kubelet" in path or "kubelet" in text else ()


def _command_lines(path: str, text: str) -> Iterator[CommandLine]:
    if is_unit_file(path):
        for entry in parse(text).entries:
            if entry.section == "Service" and entry.key == "ExecStart":
                yield from _command(text, entry)
            elif entry.section == "Service" and entry.key == "Environment" and unit_of(path)[0] == UNIT:
                for word in _words(entry.value):
                    name, _, value = word.partition("=")
                    if _ARGUMENTS_VARIABLE.fullmatch(name):
                        yield CommandLine(text, entry.line, tuple(_words(value)), is_whole=False)
    elif path in _ENVIRONMENT_FILES:
        for match in _ASSIGNMENT.finditer(text):
            value = "".join(_words(match[2])) if match[2][:1] in "\"'" else match[2]
            if _ARGUMENTS_VARIABLE.fullmatch(match[1]):
                line = line_of(text, match.start(1))
                yield CommandLine(text, line, tuple(_words(value)), is_whole=False)
    elif text.startswith("#!"):
        for match in _IN_SCRIPT.finditer(text):
            given = _words(_CONTINUED.sub(" ", match[1]))
            end = next((at for at, word in enumerate(given) if _SHELL_WORD.match(word)), len(given))
            yield CommandLine(text, line_of(text, match.start(1)), tuple(given[:end]), is_whole=False)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote without its end, which another check reports
        return []


def _command(text: str, entry: Entry) -> Iterator[CommandLine]:
    arguments = _words(entry.value.lstrip(EXEC_PREFIXES))
    while arguments and posixpath.basename(arguments[0]) in _SHELLS and "-c" in arguments[1:-1]:
        arguments = _words(arguments[arguments.index("-c") + 1])
    for at, word in enumerate(arguments):
        if posixpath.basename(word) == "kubelet" and not any(each.startswith("-") for each in arguments[:at]):
            yield CommandLine(text, entry.line, tuple(arguments[at + 1 :]))
            return


@dataclass(frozen=True, slots=True)
class _Given:
    """A flag with its value, and the argument that has its name."""

    name: str
    value: str
    argument: str


class _Check:
    def __init__(self, command: CommandLine, minor: int) -> None:
        self.command = command
        self.minor = minor

    def remark(self, rule: Rule, argument: str, message: str, fix: str) -> Remark:
        return Remark(rule, message, self.command.line_of(argument), fix)

    def remarks(self) -> Iterator[Remark]:
        arguments = iter(self.command.arguments)
        for argument in arguments:
            if argument.startswith("$"):
                continue
            name, equals, value = argument.removeprefix("--").partition("=")
            name = name.replace("_", "-")
            if not argument.startswith("--"):
                if not re.fullmatch(r"-v(?:=?\d+)?|-h", argument):
                    yield self.stray(argument)
                elif argument == "-v":
                    next(arguments, None)
                continue
            if name not in TYPES or self.minor > UNTIL.get(name, NEWEST):
                yield self.unknown(name, argument)
                continue
            if not equals and TYPES[name] not in ("bool", "version"):
                value = next(arguments, "")
                if not value or value.startswith("--"):
                    message = f"--{name} has no value"
                    yield self.remark(FLAG, argument, message, f"Write --{name}=…")
                    continue
            if value == "=":
                next(arguments, None)
                message = f"there is a blank before the = of --{name}"
                yield self.remark(FLAG, argument, message, f"Write --{name}=…")
                continue
            found = _Given(name, value if equals or TYPES[name] != "bool" else "true", argument)
            refused = list(self.value(found))
            yield from refused or self.deprecated(found)

    def stray(self, argument: str) -> Remark:
        if argument in ("true", "false"):
            message = f"the kubelet does not take an argument {argument}"
            return self.remark(FLAG, argument, message, "Write --flag=false")
        if argument.startswith("-") and len(argument) > 1:
            name = argument.lstrip("-").partition("=")[0]
            fix = f"Write --{argument.lstrip('-')}" if name in TYPES else "Write flags with two dashes"
            return self.remark(FLAG, argument, f"the kubelet does not have a flag -{name}", fix)
        if argument[:1] in _DASHES:
            fix = f"Write --{argument.lstrip(_DASHES)}"
            return self.remark(FLAG, argument, f"{argument} begins with a dash that is not the one of flags", fix)
        fix = "Remove it; a value with blanks needs quotes"
        return self.remark(FLAG, argument, f"the kubelet takes flags, and no other arguments such as {argument}", fix)

    def unknown(self, name: str, argument: str) -> Remark:
        if name in UNTIL:
            message = f"--{name} was removed in Kubernetes 1.{UNTIL[name] + 1}"
            return self.remark(FLAG, argument, message, "Remove it for newer versions")
        if name in _REMOVED:
            since = "before 1.31" if _REMOVED[name] == "unknown" else f"in Kubernetes {_REMOVED[name]}"
            return self.remark(FLAG, argument, f"--{name} was removed {since}", "Remove it")
        fix = suggested_fix(name, TYPES, "Remove it")
        return self.remark(FLAG, argument, f"the kubelet does not have a flag --{name}", fix)

    def deprecated(self, given: _Given) -> Iterator[Remark]:
        name = given.name
        if name in FIELDS and name not in _TOLERATED:
            fix = f"Set {FIELDS[name]} in the kubelet's configuration"
            yield self.remark(DEPRECATED, given.argument, f"--{name} is deprecated", fix)
        elif name in DEPRECATED_FLAGS and name not in UNTIL:  # a removal is told for the versions that it concerns
            yield self.remark(DEPRECATED, given.argument, f"--{name} is deprecated", "Remove it")

    def value(self, given: _Given) -> Iterator[Remark]:
        if VARIABLE.search(given.value) or "%" in given.value:
            return
        for fault in _value_faults(given.name, given.value, self.minor):
            yield self.remark(VALUE, given.argument, f"--{given.name} {fault}", "Correct it")


def _value_faults(name: str, value: str, minor: int) -> Iterator[str]:
    kind = TYPES[name]
    if name in _TEXT_FAULTS:
        yield from _TEXT_FAULTS[name](value)
    elif kind == "gates":
        yield from _gate_faults(value, minor)
    elif kind == "taints":
        yield from (f"has a taint that {fault}" for _, fault in taint_faults(value))
    elif kind in _FAULTS and (fault := _FAULTS[kind](value)):
        yield fault
    elif name in FIELDS:
        yield from _field_faults(name, value, minor)


def _boolean_fault(value: str) -> str:
    try:
        parse_bool(value)
    except GoError:
        return "must be true or false"
    return ""


def _integer_fault(value: str) -> str:
    try:
        parse_int(value, 10, 64)
    except GoError:
        return "must be a whole number"
    return ""


_FAULTS: Final[Mapping[str, Callable[[str], str]]] = {
    "bool": _boolean_fault,
    "int": _integer_fault,
    "int32": _integer_fault,
    "int64": _integer_fault,
    "level": _integer_fault,
    "duration": lambda value: "" if duration(value) is not None else "must be a duration such as 30s",
    "address": lambda value: "" if is_address(value) else "must be an IP address",
    "quantity": lambda value: "" if is_quantity(value) else "must be a quantity such as 0 or 64Ki",
}


def _gate_faults(value: str, minor: int) -> Iterator[str]:
    for item in value.split(","):
        gate, equals, text = item.partition("=")
        if not equals or _boolean_fault(text):
            yield "must be written as A=true,B=false"
        elif gate not in ("AllAlpha", "AllBeta") and (fault := gate_fault(gate.strip(), minor, value=parse_bool(text))):
            near = suggested_fix(gate, GATES, "") if gate not in GATES else ""
            yield f"has the feature gate {gate}: {fault}" + (f"; {near[:1].lower()}{near[1:]}" if near else "")


def _provider_faults(value: str) -> Iterator[str]:
    if value not in ("", "external"):
        yield "must be external: the kubelet has no cloud providers of its own"


_KUBELET_LABELS: Final = words(
    """
    beta.kubernetes.io/arch beta.kubernetes.io/instance-type beta.kubernetes.io/os
    failure-domain.beta.kubernetes.io/region failure-domain.beta.kubernetes.io/zone kubernetes.io/arch
    kubernetes.io/hostname kubernetes.io/os
    node.kubernetes.io/instance-type topology.kubernetes.io/region topology.kubernetes.io/zone
    """
)


def _label_faults(value: str) -> Iterator[str]:
    for item in value.split(",") if value else ():
        key, _, text = item.partition("=")
        fault = key_fault(key) or label_value_fault(text)
        if fault:
            yield f"has the label {item}, which {fault}"
            continue
        domain = key.rpartition("/")[0]
        is_reserved = domain in ("kubernetes.io", "k8s.io") or domain.endswith((".kubernetes.io", ".k8s.io"))
        is_own = domain.endswith(("kubelet.kubernetes.io", "node.kubernetes.io"))
        if is_reserved and not is_own and key not in _KUBELET_LABELS:
            yield f"has the label {key}, which a kubelet may not give itself"


def _node_ip_faults(value: str) -> Iterator[str]:
    if not all(is_address(each) for each in value.split(",")) or value.count(",") > 1:
        yield "must be an IP address, or two with a comma"


def _name_faults(value: str) -> Iterator[str]:
    if value != value.lower() or host_fault(value):
        yield "must be a DNS name in lower case"


def _path_faults(value: str) -> Iterator[str]:
    if not value.startswith("/"):
        yield "must be an absolute path"


_PATHS: Final = ("config", "config-dir", "kubeconfig", "bootstrap-kubeconfig", "cert-dir", "root-dir")
_TEXT_FAULTS: Final = {
    "cloud-provider": _provider_faults,
    "node-labels": _label_faults,
    "node-ip": _node_ip_faults,
    "hostname-override": _name_faults,
    **dict.fromkeys(_PATHS, _path_faults),
}


def _field_faults(name: str, value: str, minor: int) -> Iterator[str]:
    """What the kubelet says of the field of its configuration that a flag sets."""
    field, kind = FIELDS[name], TYPES[name]
    if "." in field or name.startswith("eviction-"):
        return
    whole: Any = value
    if kind == "bool":
        whole = parse_bool(value)
    elif kind in ("int32", "int64"):
        whole = int(value)
    elif kind == "texts":
        whole = value.split(",")
    elif kind == "pairs":
        whole = dict(item.partition("=")[::2] for item in value.split(","))
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    for remark in kubelet_remarks(f"{head}{field}: {json.dumps(whole)}\n", minor):
        yield f"is refused: {remark.message}"
