"""Run ``systemd-analyze verify`` on units and drop-ins, in a root with placeholders for the programs that they run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final

from osm_gitops.lint.external.programs import answered, batches, find_program, run, run_parallel, scratch
from osm_gitops.lint.external.shell import stopped
from osm_gitops.lint.rules.boot_file import MOST_REMARKS, BootFile, Remark, closest_match, first_remarks
from osm_gitops.lint.rules.systemd import EXEC_PREFIXES, check_unit, is_unit_file, parse, unit_of
from osm_gitops.model.finding import Finding, Rule, Severity

VERIFY: Final = Rule("systemd-analyze", Severity.ERROR, "systemd-analyze does not accept a unit")
NOT_INSTALLED: Final = Rule(
    "systemd-analyze-not-installed",
    Severity.NOTE,
    "systemd-analyze is not installed, so units were not checked with it",
)
RULES: Final = (VERIFY, NOT_INSTALLED)

_SECONDS: Final = 5  # CPU time; a batch takes half a second
_MOST_PROGRAMS: Final = 200  # of one unit
_UNITS_AT_ONCE: Final = 40
_SYSTEM_UNITS: Final = ("/usr/lib/systemd/system", "/lib/systemd/system")
# Units of nodes that may be missing on this machine.
_NODE_UNITS: Final = (
    *("containerd.service", "docker.service", "docker.socket", "kubelet.service", "NetworkManager.service"),
    *("NetworkManager-wait-online.service", "cloud-init.service", "cloud-final.service", "coreos-metadata.service"),
    *("cloud-config.target", "cloud-init.target", "systemd-networkd.service", "systemd-resolved.service"),
    *("systemd-networkd-wait-online.service", "sshd.service", "ssh.service", "iscsid.service", "multipathd.service"),
    *("rpc-statd.service", "rpcbind.service", "chronyd.service", "waagent.service", "vmtoolsd.service", "rngd.service"),
)
_NOT_FOUND: Final = re.compile(r"Unit (\S+)\.([a-z]+) not found")
_PLACEHOLDER: Final = "[Service]\nExecStart=/bin/true\n"
_COMMAND: Final = re.compile(r"Exec[A-Z]\w+")
_AT_LINE: Final = re.compile(r"^\S*/(u(\d+)-[^/:\s]+)(?:\.d/[^:/]+)?:(\d+): (.*)$")
_OF_UNIT: Final = re.compile(r"^(?:Unit )?(u(\d+)-[^:\s]+?\.[a-z]+):? (.*)$")
_REPEATING: Final = re.compile(
    r"has a bad unit file setting|failed to load properly|Unit configuration has fatal error"
)
# Their names contain the mount path, so they cannot be renamed.
_NAMED_BY_PATH: Final = (".mount", ".automount", ".swap")
_ACTIVATING: Final = (".timer", ".socket", ".path")


@dataclass(frozen=True, slots=True)
class SystemdAnalyze:
    """Gives each text its own unit name, ``u7-kubelet.service``, so that many fit into one root and one process."""

    environment: Mapping[str, str] = field(repr=False)
    slow: ClassVar[bool] = False

    def missing(self) -> Finding | None:
        if find_program("systemd-analyze", self.environment):
            return None
        message = "systemd-analyze is not installed, so only osm-gitops' own checks checked units"
        return Finding(NOT_INSTALLED, message, fix="Run validate on Linux with systemd")

    def check(self, files: Sequence[BootFile]) -> Iterator[tuple[BootFile, Remark]]:
        reported = cache(lambda file: {remark.line for remark in first_remarks(check_unit(file))})
        for file, remark in verify(files, self.environment):
            # Our own checks report the same line with a fix: the first one of an assignment, systemd the last one.
            starts = [entry.line for entry in parse(file.text).entries if entry.line <= remark.line]
            if not {remark.line, *starts[-1:]} & reported(file):
                yield file, remark


def verify(files: Sequence[BootFile], environment: Mapping[str, str]) -> Iterator[tuple[BootFile, Remark]]:
    """All remarks of ``systemd-analyze verify`` on the files that are units or drop-ins."""
    units = [file for file in files if is_unit_file(file.path) and not unit_of(file.path)[0].endswith(_NAMED_BY_PATH)]

    def together(batch: Sequence[BootFile]) -> list[tuple[BootFile, Remark]] | None:
        found = _batch(batch, environment)
        return None if isinstance(found, str) else found

    def alone(file: BootFile) -> list[tuple[BootFile, Remark]]:
        found = _batch([file], environment)
        return [(file, stopped("systemd-analyze", found))] if isinstance(found, str) else found

    for found in run_parallel(lambda batch: answered(together, alone, batch), batches(units, _UNITS_AT_ONCE)):
        yield from found


def _batch(files: Sequence[BootFile], environment: Mapping[str, str]) -> list[tuple[BootFile, Remark]] | str:
    """The remarks on a batch of units, or why there is no answer."""
    program = find_program("systemd-analyze", environment) or "systemd-analyze"
    with scratch() as root:
        names = _lay_out(files, root)
        words = [program, "verify", f"--root={root}", "--man=no"]
        ran = run([*words, "--recursive-errors=yes", *names], root, environment, _SECONDS)
        if "recursive-errors" in ran.errors:  # before systemd 250
            ran = run([*words, *names], root, environment, _SECONDS)
    if ran.code is None:
        return ran.stopped
    return list(dict.fromkeys(_parse_errors(files, ran.errors)))


def _here() -> Path | None:
    """The folder with the units of this machine."""
    return next((Path(each) for each in _SYSTEM_UNITS if Path(each).is_dir()), None)


def system_units() -> tuple[str, ...]:
    """The names of the units of this machine, on which answers depend."""
    here = _here()
    return tuple(sorted(path.name for path in here.iterdir())) if here else ()


def _lay_out(files: Sequence[BootFile], root: Path) -> list[str]:
    """Write the units with everything that they need; return their names."""
    folder = root / "etc/systemd/system"
    folder.mkdir(parents=True)
    system = root / "usr/lib/systemd/system"
    here = _here()
    if here is not None:
        _copy(here, system)
    system.mkdir(parents=True, exist_ok=True)
    for name in {*_NODE_UNITS, *(unit_of(file.path)[0] for file in files)}:
        if not (system / name).exists() and name.endswith((".service", ".socket", ".target")):
            text = _PLACEHOLDER if name.endswith(".service") else _placeholder(name)
            (system / name).write_text(text, "utf-8")
    _program(root, "/bin/true")
    return [_lay_out_unit(number, file, folder, root) for number, file in enumerate(files)]


def _copy(source: Path, folder: Path) -> None:
    """Copy units and drop-ins, but not what enables them. Times and modes do not matter; to copy them as well, as
    ``shutil.copytree`` does, takes four times as long."""
    folder.mkdir(parents=True)
    for path in source.iterdir():
        target = folder / path.name
        if path.name.endswith((".wants", ".requires")):
            continue
        if path.is_symlink():
            target.symlink_to(path.readlink())
        elif path.is_dir():
            _copy(path, target)
        else:
            target.write_bytes(path.read_bytes())


def _placeholder(name: str) -> str:
    return "[Socket]\nListenStream=/run/x.sock\n" if name.endswith(".socket") else "[Unit]\n"


def _lay_out_unit(number: int, file: BootFile, folder: Path, root: Path) -> str:
    unit, drop_in = unit_of(file.path)
    suffix = unit.rpartition(".")[2] if "." in unit else "service"
    name = f"u{number}-{unit}" if "." in unit else f"u{number}-{unit}.{suffix}"
    data = file.text.encode("utf-8", "surrogateescape")
    if drop_in:
        placeholder = _PLACEHOLDER if suffix == "service" else _placeholder(name)
        (folder / name).write_text(placeholder, "utf-8")
        (folder / f"{name}.d").mkdir()
        (folder / f"{name}.d" / "drop-in.conf").write_bytes(data)
    else:
        (folder / name).write_bytes(data)
    if name.endswith(_ACTIVATING):
        (folder / f"{name.rpartition('.')[0]}.service").write_text(_PLACEHOLDER, "utf-8")
    commands = (entry for entry in parse(file.text).entries if _COMMAND.fullmatch(entry.key))
    for entry in islice(commands, _MOST_PROGRAMS):
        program = entry.value.lstrip(EXEC_PREFIXES).split(None, 1)[:1]
        if program:
            path = program[0].strip("\"'")
            # A name without a slash is searched on the node's PATH.
            _program(root, path if "/" in path else f"/usr/bin/{path}")
    return name


def _program(root: Path, path: str) -> None:
    """Write a placeholder for a program, if its path is possible."""
    if ".." in path.split("/") or "\0" in path:
        return
    target = root / path.lstrip("/")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("#!/bin/true\n", "utf-8")
        target.chmod(0o755)
    except OSError:  # the path is a folder, or too long: systemd-analyze reports it
        return


def _parse_errors(files: Sequence[BootFile], errors: str) -> Iterator[tuple[BootFile, Remark]]:
    found: dict[int, list[tuple[int, str]]] = {}
    for line in errors.splitlines():
        if match := _AT_LINE.match(line):
            number, at, message = int(match[2]), int(match[3]), match[4]
        elif match := _OF_UNIT.match(line):
            number, at, message = int(match[2]), 1, match[3]
        else:
            continue
        text = re.sub(r"\bu\d+-", "", message).rstrip(".")
        if number < len(files) and not (
            text.startswith("Cannot add dependency job, ignoring") or _on_nodes(text, files)
        ):
            found.setdefault(number, []).append((at, text))
    for number, messages in found.items():
        # "has a bad unit file setting" only repeats that there is another message.
        telling = [each for each in messages if not _REPEATING.match(each[1])] or messages
        for at, text in telling[:MOST_REMARKS]:
            yield files[number], Remark(VERIFY, _message(files[number], at, text), at, "Correct the unit")


def _message(file: BootFile, at: int, text: str) -> str:
    """The message with what it is about, and without values of the unit, which may be credentials."""
    name = unit_of(file.path)[0]
    parsed = parse(file.text)
    header = max((line for _, line in parsed.sections if line <= at), default=0)
    entry = next((each for each in reversed(parsed.entries) if header < each.line <= at), None) if header < at else None
    if entry is not None:
        # The rest of the line is what systemd could not read.
        shown = re.sub(r"(?: in)? '([^']*)'", lambda match: "" if match[1] in entry.value else match[0], text)
        shown = re.sub(r"(, ignoring|assignment|setting): .*$", r"\1", shown)
        head, colon, rest = shown.rpartition(": ")
        shown = head if colon and rest in entry.value else shown
        return f"systemd says of {entry.key} in {name}: {shown}"
    shown = re.sub(r"(, ignoring|assignment|setting): .*$", r"\1", text)
    return f"systemd says: {name} {shown}" if _REPEATING.match(text) else f"systemd says of {name}: {shown}"


def _on_nodes(text: str, files: Sequence[BootFile]) -> bool:
    """Whether a unit that is missing here may exist on a node, from a package, the image or the profile. A name that is
    similar to a known one is a typo."""
    match = _NOT_FOUND.search(text)
    if match is None:
        return False
    known = {*_NODE_UNITS, *(unit_of(file.path)[0] for file in files)}
    stems = {each.rpartition(".")[0] for each in known if each.endswith(f".{match[2]}")}
    return match[1] in stems or not closest_match(match[1], stems)
