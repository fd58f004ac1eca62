"""Checks of package managers, packages and programs against the operating system of the profile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import Remark, words
from osm_gitops.lint.rules.boot_model import Boot, Run, Spotted, at_command
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.shell.simple_commands import SimpleCommand
from osm_gitops.shell.state import is_known

OTHER_SYSTEM: Final = Rule("command-not-there", Severity.ERROR, "the operating system does not have a command")
PACKAGE_NAME: Final = Rule("package-name", Severity.ERROR, "a package has another name on this operating system")
ASKS: Final = Rule("package-manager-asks", Severity.ERROR, "a package manager waits for an answer")
RULES: Final = (OTHER_SYSTEM, PACKAGE_NAME, ASKS)

_TABLE: Final = read_table("packages.toml")
_SYSTEMS: Final = words("ubuntu rhel rockylinux amzn2 flatcar")
LACKING: Final = {os: words(names) for os, names in _TABLE["lacking_interpreters"].items()}
"""The interpreters that neither the image nor its base system has, by operating system."""
_INTERPRETERS: Final = frozenset[str]().union(*LACKING.values())
COMMANDS: Final = {
    **{name: frozenset(os for os in _SYSTEMS if name not in LACKING[os]) for name in _INTERPRETERS},
    **{name: words(systems) for name, systems in _TABLE["commands"].items()},
}
"""Programs of some systems only, and the systems that have them."""
_MANAGERS: Final = words("apt apt-get aptitude yum dnf microdnf tdnf zypper apk pacman emerge brew rpm-ostree rpm dpkg")
_BROUGHT_BY: Final = {name: words(packages) for name, packages in _TABLE["brought_by"].items()}
_HAS_NOT: Final = {
    "ubuntu": _TABLE["debian_has_not"],
    **dict.fromkeys(("rhel", "rockylinux", "amzn2"), _TABLE["redhat_has_not"]),
}
KNOWN_PACKAGES: Final = words(_TABLE["packages_without_units"]["names"]) | frozenset(_TABLE["package_units"])
_ASKING_FOR: Final = re.compile(
    r"\b(?:command -v|which|type|hash|uname|lsb_release|os-release|ID|ID_LIKE|NAME|DISTRO\w*|OS\w*|distro\w*|os)\b"
)
APT: Final = words("apt apt-get aptitude")
YUM: Final = words("yum dnf microdnf tdnf")
_INSTALLERS: Final = (*sorted(APT), *sorted(YUM))
APT_VERBS: Final = words(
    "install reinstall remove purge upgrade dist-upgrade full-upgrade autoremove autopurge build-dep satisfy"
)
YUM_VERBS: Final = words(
    """
    install reinstall update upgrade remove erase autoremove downgrade swap groupinstall localinstall module distro-sync
    update-minimal upgrade-minimal install-n install-na group
    """
)
_INSTALLING: Final = words("install reinstall localinstall swap downgrade")
_WITH_VALUE: Final = words("-o -c -t -a --option --target-release --config-file --enablerepo --disablerepo --setopt -x")
_APT_YES: Final = re.compile(
    r"-[a-zA-Z]*y[a-zA-Z]*|--yes|--assume-yes|-[a-zA-Z]*qq[a-zA-Z]*|-q=2|--assume-no|--print-uris"
)
_APT_DRY: Final = re.compile(r"-[a-zA-Z]*s[a-zA-Z]*|--simulate|--dry-run|--just-print|--download-only|-d|--no-act")
_YUM_YES: Final = re.compile(r"-[a-zA-Z]*y[a-zA-Z]*|--assumeyes|--assumeno|--downloadonly|--setopt=assumeyes=\S+")
_VERSION: Final = re.compile(r"[=/:*].*$")


def check_packages(boot: Boot) -> Iterator[Spotted]:
    """Check what scripts and commands of cloud-init install, and with what."""
    installed = installed_packages(boot)
    for run, command in boot.named(*COMMANDS):
        if boot.os in _SYSTEMS:
            yield from _check_there(boot, run, command, installed)
        if boot.os in COMMANDS.get(command.name, ()):
            yield from _check_asks(boot, run, command)
            for package in _packages(command):
                name = _VERSION.sub("", package)
                instead = _HAS_NOT.get(boot.os, {}).get(name)
                if instead is not None and not command.tolerated:
                    message = f"{command.name} installs {name}, which {boot.os} does not have"
                    fix = f"Write {instead}" if instead else "Remove it"
                    yield at_command(run, command, Remark(PACKAGE_NAME, message, fix=fix), called=True)


def _check_there(boot: Boot, run: Run, command: SimpleCommand, installed: frozenset[str]) -> Iterator[Spotted]:
    name, program = command.name, command.words[0]
    there = boot.os in COMMANDS[name] or command.tolerated or name in run.listing.functions
    if there or ("/" in program and not program.startswith(("/bin/", "/sbin/", "/usr/"))) or _is_chosen(command):
        return
    brings = _BROUGHT_BY.get(name, frozenset()) | {name}
    if any(package in brings or brings_interpreter(package, name) for package in installed):
        return
    if any(path.endswith(f"/{name}") for path in (*boot.written, *boot.made)):
        return
    instead = _instead(name, boot.os)
    fix = f"Use {instead}" if instead else "Remove it" if boot.os != "flatcar" else "Flatcar installs no packages"
    message = f"{run.shown} runs {name}, which {boot.os} does not have"
    yield at_command(run, command, Remark(OTHER_SYSTEM, message, fix=fix), called=name in run.listing.functions)


def brings_interpreter(package: str, name: str) -> bool:
    """Whether an interpreter comes with a package, as python3 does with python3.12 and libpython3-stdlib."""
    return name in _INTERPRETERS and (name in package or package.startswith(name.rstrip("3")))


def _instead(name: str, os: str) -> str:
    kind = "packages" if name in _MANAGERS else "trust" if name.startswith("update-ca") else ""
    return str(_TABLE["instead"].get(kind, {}).get(os, ""))


def _is_chosen(command: SimpleCommand) -> bool:
    """Whether the script asks for the system, or for this command, before it runs it."""
    return any(_ASKING_FOR.search(test) or command.name in test for test in command.tests)


def _check_asks(boot: Boot, run: Run, command: SimpleCommand) -> Iterator[Spotted]:
    """What asks gets no answer: the boot has no terminal, so it stops."""
    name, arguments = command.name, command.words[1:]
    if name in APT:
        verbs, yes = APT_VERBS, _APT_YES
        always = "assume-yes"
    elif name in YUM:
        verbs, yes = YUM_VERBS, _YUM_YES
        always = "assumeyes"
    elif name == "amazon-linux-extras":
        verbs, yes, always = words("install"), _YUM_YES, "assumeyes"
    else:
        return
    verb = verb_of(arguments)
    if verb not in verbs or any(yes.fullmatch(word) for word in arguments) or arguments.count("-q") > 1:
        return
    if name in APT and any(_APT_DRY.fullmatch(word) for word in arguments):
        return
    if any(not is_known(word) and (word.startswith("\ue000") or "-" in word[:2]) for word in arguments):
        return  # the option may be among what is not known
    if command.given is not None or "yes" in command.tests or _is_fed(run, command):
        return
    everything = boot.script_text.lower() + "".join(file.text.lower() for file in boot.files if "/etc/" in file.path)
    if (
        always in everything.replace("--assume-yes", "").replace("--assumeyes", "")
        or "assume-yes" in " ".join(arguments).lower()
    ):
        return
    message = f"{name} {verb} asks before it goes on, and nothing answers"
    yield at_command(run, command, Remark(ASKS, message, fix=f"Write {name} -y {verb}"))


def _is_fed(run: Run, command: SimpleCommand) -> bool:
    """Whether ``yes`` answers."""
    return any(command.name in each.feeds for each in run.listing.by_name.get("yes", ()))


def verb_of(arguments: tuple[str, ...]) -> str:
    """The first operand."""
    following = False
    for word in arguments:
        if following:
            following = False
        elif word in _WITH_VALUE:
            following = True
        elif not word.startswith("-"):
            return word
    return ""


def _packages(command: SimpleCommand) -> Iterator[str]:
    """The known names of the packages that a command installs."""
    if command.name not in APT | YUM or verb_of(command.words[1:]) not in _INSTALLING:
        return
    behind = list(command.words[command.words.index(verb_of(command.words[1:])) + 1 :])
    while behind:
        word = behind.pop(0)
        if word in _WITH_VALUE and behind:
            behind.pop(0)
        elif not word.startswith("-"):
            yield word


@lru_cache(maxsize=4)
def installed_packages(boot: Boot) -> frozenset[str]:
    """The names of all packages that something installs, without versions."""
    return frozenset(
        _VERSION.sub("", package) for _, command in boot.named(*_INSTALLERS) for package in _packages(command)
    )


@lru_cache(maxsize=4)
def installs_something_unknown(boot: Boot) -> bool:
    """Whether a package may bring files and units that are not known."""
    return not all(map(_is_known_package, installed_packages(boot)))


def _is_known_package(package: str) -> bool:
    stem = re.sub(r"-v?[0-9].*$", "", package)
    return package in KNOWN_PACKAGES or stem in KNOWN_PACKAGES or stem.startswith(("linux-modules", "kernel-"))
