"""Checks of the programs and files that units, scripts and cloud-init's commands use: is each written, executable, and
there when it is used? Does the system have the interpreter?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import BootFile, Remark, closest_match, normal_path, words
from osm_gitops.lint.rules.boot_model import Boot, Run, Spotted, at_command, at_file, parsed_unit
from osm_gitops.lint.rules.made_paths import known_parts, made_paths, may_be, option_values
from osm_gitops.lint.rules.packages import (
    LACKING,
    OTHER_SYSTEM,
    brings_interpreter,
    installed_packages,
    installs_something_unknown,
)
from osm_gitops.lint.rules.systemd import is_unit_file, unit_of
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.shell.simple_commands import SimpleCommand, simple_commands
from osm_gitops.shell.state import is_known

MISSING_PROGRAM: Final = Rule(
    "missing-program", Severity.ERROR, "something runs a file that the profile does not write"
)
MISSING_FILE: Final = Rule("missing-file", Severity.ERROR, "something reads a file that the profile does not write")
NOT_EXECUTABLE: Final = Rule("not-executable", Severity.ERROR, "something runs a file that is not executable")
TOO_EARLY: Final = Rule("bootcmd-too-early", Severity.ERROR, "bootcmd uses what cloud-init writes only after it")
INTERPRETER: Final = Rule("missing-interpreter", Severity.ERROR, "the operating system lacks a script's interpreter")
RULES: Final = (MISSING_PROGRAM, MISSING_FILE, NOT_EXECUTABLE, TOO_EARLY, INTERPRETER)

# Folders that an image leaves empty. A program elsewhere may be the image's.
_OWN_FOLDERS: Final = ("/opt/", "/usr/local/", "/etc/", "/root/", "/home/", "/srv/", "/var/lib/", "/var/opt/")
# Files there are often the image's.
_OWN_DATA: Final = ("/opt/", "/usr/local/", "/etc/kubernetes/", "/root/", "/srv/")
# Files of the image in /etc, which has folders for the environments of services.
_IMAGE_ENVIRONMENTS: Final = re.compile(
    r"/etc/(?:environment|(?:os|lsb|machine|system|redhat|rocky|centos)-(?:release|info)|locale\.conf|vconsole\.conf"
    r"|(?:default|sysconfig|environment\.d|flatcar|coreos|systemd|selinux|conf\.d|rc\.conf\.d)(?:/.*)?)"
)
_ONLY_WITH: Final = {
    program: (words(row["packages"]), words(row["systems"]))
    for program, row in read_table("packages.toml")["only_with"].items()
}
_ANYONES: Final = ("/usr/local/bin", "/usr/local/sbin")
_NOT_READING: Final = frozenset({"rm", "mkdir", "touch", "echo", "test", "[", "tee", "ln", "unlink", "systemctl"})
_PATH_OF_OPT: Final = re.compile(r"PATH=\S*/opt/bin")
_OF_PROFILES: Final = frozenset({"kubelet", "kubectl", "kubeadm", "crictl"})
_SYSTEM_FOLDERS: Final = ("/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/")
_TEMPORARY: Final = ("/tmp/", "/var/tmp/", "/run/")  # noqa: S108 -- paths on a node
_NEVER: Final = re.compile("(?!)")
_INSTALL_WORDS: Final = {
    **dict.fromkeys(("make", "pip", "pip3", "npm", "snap", "helm", "gem", "go", "cargo"), re.compile("install")),
    "dpkg": re.compile("-i|--install"),
    "rpm": re.compile("-[a-z]*[iUF][a-z]*|--install|--upgrade"),
    "ansible-pull": re.compile(".*"),
    "puppet": re.compile("agent|apply"),
}
_INTERPRETERS: Final = frozenset({"bash", "sh", "dash", "ksh", "python", "python3", "perl", "ruby", "node"})
SOURCING: Final = frozenset({".", "source"})
_ALL_ARGUMENTS: Final = re.compile(r"\$[@*]|\$\{[@*]")
_PATH: Final = re.compile(r"/[\w.@%+/-]*[\w]")


def check_programs(boot: Boot) -> Iterator[Spotted]:
    """Check the program of each command, and scripts that it gives to an interpreter or to a script of the profile."""
    passed = frozenset(_passed(boot))
    changed = {word for _, command in boot.named("chmod", "install") for word in command.words}
    for run in boot.runs:
        for command in () if _is_optional(run) else _candidates(run.text):
            tested = " ".join(command.tests)
            for path, executed in _used(boot, command):
                if path not in tested and not command.tolerated:
                    executable = not executed or path in changed
                    yield from _check_used(boot, run, command, path, passed, executable=executable)


@lru_cache(maxsize=512)
def _candidates(text: str) -> tuple[SimpleCommand, ...]:
    """The commands of a script that may use files of the profile."""
    return tuple(
        command
        for command in simple_commands(text).commands
        if command.words[0].startswith((*_OWN_FOLDERS, *_SYSTEM_FOLDERS))
        or command.name in _INTERPRETERS | SOURCING
        or (command.name == "curl" and any(word.startswith("--cacert") for word in command.words))
    )


def _is_optional(run: Run) -> bool:
    """Whether it is the command of a unit whose failure systemd ignores."""
    return run.entry is not None and re.match(r"[@:+!|]*-", run.entry.value) is not None


def _check_used(
    boot: Boot, run: Run, command: SimpleCommand, path: str, passed: frozenset[str], *, executable: bool
) -> Iterator[Spotted]:
    file = boot.written.get(normal_path(path))
    made = path in passed or boot.makes(path)
    if file is None:
        if not made:
            yield from _missing(boot, run, command, path)
        elif not executable and _is_only_downloaded(boot, path):
            message = f"{run.shown} runs {path}, which is downloaded and not made executable"
            yield at_command(run, command, Remark(NOT_EXECUTABLE, message, fix=f"Run chmod +x {path} before it"))
        return
    if run.module.startswith("bootcmd") and boot.has(path, run.half):
        message = f"bootcmd uses {path}, which cloud-init writes only after bootcmd"
        yield at_command(run, command, Remark(TOO_EARLY, message, fix="Move the command to runcmd"))
    elif run.half == "bootstrap" and _runs_at_once(boot, run) and not (boot.has(path, "bootstrap") or made):
        message = f"{run.shown} of the bootstrap half uses {path}, which only the provisioning half writes"
        yield at_command(run, command, Remark(MISSING_PROGRAM, message, fix="Write it in the bootstrap half"))
    if not (executable or made or re.search("[1357]", str(file.permissions)[-3:])):
        message = f"{run.shown} runs {path}, which is not executable (permissions {file.permissions})"
        yield at_command(run, command, Remark(NOT_EXECUTABLE, message, fix="Set its permissions to 755 or 700"))


def _is_only_downloaded(boot: Boot, path: str) -> bool:
    """Whether only curl and wget write the file, and nothing changes the permissions of it or of what is near."""
    makers = {name for run in boot.runs for name in _makers(run.text).get(path, ())}
    folder, _, name = path.rpartition("/")
    near = (folder, f"{folder}/", name)
    changed = (word for _, command in boot.named("chmod", "install", "setfacl") for word in command.words)
    is_near = any(
        word in near or name in word or "*" in word or ((parts := known_parts(word)) and may_be(path, parts))
        for word in changed
    )
    return bool(makers) and makers <= {"curl", "wget"} and not is_near and not runs_installers(boot)


@lru_cache(maxsize=512)
def _makers(text: str) -> Mapping[str, Collection[str]]:
    """By path the names of the commands of a script that write it."""
    found: dict[str, list[str]] = {}
    for command in simple_commands(text).commands:
        for path in made_paths(command):
            found.setdefault(path, []).append(command.name)
    return found


def _runs_at_once(boot: Boot, run: Run) -> bool:
    """Whether the bootstrap half itself runs it, before the provisioning half is there."""
    if run.module:
        return True
    if run.entry is None:
        return False
    name = unit_of(run.path)[0]
    stem = re.compile(rf"\b{re.escape(name.removesuffix('.service'))}\b")
    started = any(each.half == "bootstrap" and stem.search(each.text) for each in boot.modules)
    return started or any(each.half == "bootstrap" and each.name == name and each.enable for each in boot.units)


def _missing(boot: Boot, run: Run, command: SimpleCommand, path: str) -> Iterator[Spotted]:
    """A remark, if it is certain that nothing else brings the file."""
    folder, _, name = path.rpartition("/")
    names = {file.path.rpartition("/")[2]: file.path for file in boot.files if file.path.startswith(f"{folder}/")}
    near = names.get(closest_match(name, names))
    elsewhere = next(
        (each for each in (*boot.written, *boot.made) if each.endswith(f"/{name}") and is_known(each)), None
    )
    own = any(file.path.rpartition("/")[0] == folder for file in boot.files) and folder not in _ANYONES
    usual = folder in {"/opt/bin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"}
    if not (near or elsewhere or own or usual or not installs_something_unknown(boot)):
        return
    if not boot.complete or (not near and runs_installers(boot)):
        return
    instead = near or elsewhere
    fix = f"Write {instead}" if instead else "Add the file to the profile, or correct the path"
    message = f"{run.shown} uses {path}, which neither a file nor a script of the profile writes"
    rule = MISSING_FILE if command.name in SOURCING | {"curl"} else MISSING_PROGRAM
    yield at_command(run, command, Remark(rule, message, fix=fix))


def _used(boot: Boot, command: SimpleCommand) -> Iterator[tuple[str, bool]]:
    """The paths that a command runs or reads as a script, and whether each must be executable."""
    program = command.words[0]
    operands = [word for word in command.words[1:] if not word.startswith("-")]
    if _is_own(program):
        yield program, True
        file = boot.written.get(program)
        # A script such as `while ! "$@"; do sleep 1; done` runs its arguments.
        if file is not None and _ALL_ARGUMENTS.search(file.text) and operands and _is_own(operands[0]):
            yield operands[0], True
    elif command.name in _INTERPRETERS:
        if operands and _is_own(operands[0]) and "-c" not in command.words:
            yield operands[0], False
    elif command.name == "curl":
        values = [*option_values(command.words, "--cacert")]
        yield from ((path, False) for path in values if path.startswith(_OWN_DATA) and _is_own(path))
    elif program.startswith(_SYSTEM_FOLDERS) and _is_made_elsewhere(boot, program):
        yield program, True
    elif command.name in SOURCING and operands and operands[0].startswith(_OWN_DATA) and _is_own(operands[0]):
        yield operands[0], False


def _is_made_elsewhere(boot: Boot, program: str) -> bool:
    """Whether scripts download a program of this name into another folder, and no package brings it."""
    name = program.rpartition("/")[2]
    elsewhere = (f"/opt/bin/{name}", f"/usr/local/bin/{name}")
    made = any(boot.makes(path) or path in boot.written for path in elsewhere)
    return made and name not in installed_packages(boot) and name in _OF_PROFILES


def _is_own(path: str) -> bool:
    return path.startswith(_OWN_FOLDERS) and is_known(path) and _PATH.fullmatch(path) is not None


def _passed(boot: Boot) -> Iterator[str]:
    """Paths that scripts of the profile get as arguments, behind the first: they may write them."""
    for run in boot.runs:
        for command in _candidates(run.text):
            if command.words[0] in boot.written:
                yield from (word for word in command.words[2:] if word.startswith("/"))


@lru_cache(maxsize=4)
def runs_installers(boot: Boot) -> bool:
    """Whether something runs a downloaded installer, which may write any file."""
    return any(
        not each or (each not in boot.written and (each.startswith(_TEMPORARY) or boot.makes(each)))
        for run in boot.runs
        for each in _installers(run.text)
    )


@lru_cache(maxsize=512)
def _installers(text: str) -> tuple[str, ...]:
    """The scripts that a script runs with an interpreter; an empty text for an installer of another kind."""
    found = []
    for command in simple_commands(text).commands:
        name, words_of = command.name, command.words[1:]
        if name in _INTERPRETERS and not any(re.fullmatch(r"-[a-z]*c", word) for word in words_of):
            script = next((word for word in words_of if not word.startswith("-")), "")
            if script or command.given is None:
                found.append(script if script.startswith("/") else "")
        elif command.words[0].startswith((*_TEMPORARY, "./")) or any(
            map(_INSTALL_WORDS.get(name, _NEVER).fullmatch, words_of)
        ):
            found.append("")
    return tuple(dict.fromkeys(found))


def check_bootcmd(boot: Boot) -> Iterator[Spotted]:
    """Files of the profile that ``bootcmd`` reads in another way than by running them."""
    for run in (each for each in boot.modules if each.module.startswith("bootcmd")):
        for command in run.listing.commands:
            if command.tolerated or command.tests or command.name in _NOT_READING:
                continue
            for word in command.words[1:]:
                if boot.has(word, run.half) and word not in command.writes:
                    message = f"bootcmd uses {word}, which cloud-init writes only after bootcmd"
                    yield at_command(run, command, Remark(TOO_EARLY, message, fix="Move the command to runcmd"))


def check_names_on_path(boot: Boot) -> Iterator[Spotted]:
    """Scripts below /opt/bin that are called by their names alone: services do not look there."""
    if boot.os == "flatcar":
        return
    units = [file.text for file in boot.texts if is_unit_file(file.path)]
    names = {file.path.rpartition("/")[2]: file.path for file in boot.files if file.path.startswith("/opt/bin/")}
    for run, command in boot.named(*names):
        name = command.words[0]
        if "/" in name or name in run.listing.functions or command.tolerated or "PATH=" in run.text:
            continue
        if any(_PATH_OF_OPT.search(unit) for unit in units if (run.path or "\0") in unit or run.text in unit):
            continue
        if not any(each.endswith(f"/{name}") and not each.startswith("/opt/") for each in (*boot.made, *boot.written)):
            message = f"{run.shown} calls {name} by its name, but services do not look into /opt/bin"
            yield at_command(run, command, Remark(MISSING_PROGRAM, message, fix=f"Write {names[name]}"))


def check_commands_of_packages(boot: Boot) -> Iterator[Spotted]:
    """Programs that only a package brings, which no command of the profile installs."""
    if installs_something_unknown(boot) or runs_installers(boot) or not boot.complete:
        return
    installed = {re.sub(r"-v?[0-9].*$", "", package) for package in installed_packages(boot)}
    asked = frozenset(word for _, each in boot.named("command", "which", "type", "hash") for word in each.words)
    for run, command in boot.named(*_ONLY_WITH):
        name = command.words[0]
        packages, systems = _ONLY_WITH[command.name]
        if boot.os not in systems or not installed.isdisjoint(packages) or command.tolerated or _is_optional(run):
            continue
        if name not in {command.name, f"/usr/bin/{command.name}"} or command.name in asked | run.listing.functions:
            continue
        paths = (f"/usr/bin/{command.name}", f"/usr/local/bin/{command.name}", f"/opt/bin/{command.name}")
        there = any(path.endswith(f"/{command.name}") for path in (*boot.written, *boot.made))
        if there or any(map(boot.makes, paths)) or command.tests:
            continue
        package = command.name if command.name in packages else min(packages)
        message = f"{run.shown} runs {command.name}, which images of {boot.os} do not have, and nothing installs it"
        yield at_command(run, command, Remark(OTHER_SYSTEM, message, fix=f"Install the package {package} before it"))


def check_environment_files(boot: Boot) -> Iterator[Spotted]:
    """A service does not start without its EnvironmentFile, if the path has no minus."""
    if not boot.complete or runs_installers(boot):
        return
    passed = frozenset(_passed(boot))
    for file in boot.texts:
        if not is_unit_file(file.path):
            continue
        for entry in parsed_unit(file.text).entries:
            path = entry.value
            if entry.key != "EnvironmentFile" or not _PATH.fullmatch(path) or not _is_own_environment(boot, path):
                continue
            if path not in boot.written and path not in passed and not boot.makes(path):
                message = f"EnvironmentFile names {path}, which neither a file nor a script of the profile writes"
                fix = f"Write EnvironmentFile=-{path} if the service can do without it"
                yield at_file(file, Remark(MISSING_FILE, message, entry.line, fix))


def _is_own_environment(boot: Boot, path: str) -> bool:
    """Whether only the profile can bring the file, and no program of the boot is told of it."""
    if path.startswith(_OWN_DATA):
        return True
    folder, _, name = path.rpartition("/")
    if not path.startswith("/etc/") or _IMAGE_ENVIRONMENTS.fullmatch(path):
        return False
    own = folder == "/etc" or any(each.startswith(f"{folder}/") for each in boot.written)
    mentioned = any(name in line and "EnvironmentFile" not in line for line in boot.script_text.splitlines())
    return own and not mentioned and not installs_something_unknown(boot)


def check_interpreters(boot: Boot) -> Iterator[Spotted]:
    """Check that the image or a package of the profile has the interpreter of each script that something runs."""
    for file in boot.files:
        interpreter = interpreter_of(file)
        name = interpreter.rpartition("/")[2]
        if not name or interpreter in boot.written or boot.makes(interpreter):
            continue
        if name in LACKING.get(boot.os, ()) and not any(
            brings_interpreter(package, name) for package in installed_packages(boot)
        ):
            message = f"{boot.os} has no {name}, the interpreter of {file.path}"
            fix = "Write the script for bash, or install the interpreter before it is used"
            yield at_file(file, Remark(INTERPRETER, message, 1, fix))
        elif (
            interpreter.startswith("/")
            and name in {"bash", "sh"}
            and not interpreter.startswith(("/bin/", "/usr/bin/"))
        ):
            message = f"no system has {interpreter}, the interpreter of {file.path}"
            yield at_file(file, Remark(INTERPRETER, message, 1, "Write #!/bin/bash"))


def interpreter_of(file: BootFile) -> str:
    """The interpreter of a script, or its name alone if ``env`` looks for it."""
    if not file.text.startswith("#!"):
        return ""
    parts = file.text[2:].split("\n", 1)[0].split()
    if parts and parts[0].rpartition("/")[2] == "env":
        return next((part for part in parts[1:] if not part.startswith("-") and "=" not in part), "")
    return parts[0] if parts else ""
