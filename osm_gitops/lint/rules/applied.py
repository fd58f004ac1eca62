"""Checks that files have an effect: names that a program reads, folders of the system, settings that are applied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, BootFile, Remark, words
from osm_gitops.lint.rules.boot_model import Boot, Spotted, at_command, at_file
from osm_gitops.lint.rules.boot_units import reboots, systemctl
from osm_gitops.lint.rules.made_paths import made_paths
from osm_gitops.lint.rules.paths import DROP_IN_NAME
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.rules.systemd import UNIT_SUFFIXES, unit_name_remark
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.shell.simple_commands import SimpleCommand, simple_commands
from osm_gitops.shell.state import is_known

IGNORED_NAME: Final = Rule("ignored-file-name", Severity.ERROR, "a file is ignored because of its name")
READ_ONLY: Final = Rule("read-only-path", Severity.ERROR, "a path is read-only on Flatcar")
OTHER_SYSTEM: Final = Rule("file-of-other-system", Severity.WARNING, "nothing on the operating system reads a file")
NOT_APPLIED: Final = Rule("not-applied", Severity.WARNING, "nothing applies settings or modules of the kernel")
NO_MODULE: Final = Rule("sysctl-without-module", Severity.WARNING, "a setting of the kernel needs a module")
RULES: Final = (IGNORED_NAME, READ_ONLY, OTHER_SYSTEM, NOT_APPLIED, NO_MODULE)

# A folder, the names in it that its program reads, and how to say so.
_NAMES: Final = tuple(
    (re.compile(folder + r"(?P<name>[^/]+)"), re.compile(names), what)
    for folder, names, what in (
        (r"/etc/(?:sysctl|modules-load|modprobe|tmpfiles|sysusers|binfmt)\.d/", r".+\.conf", ".conf"),
        (r"/etc/systemd/[a-z]+\.conf\.d/", r".+\.conf", ".conf"),
        (r"/etc/systemd/(?:system|network)/[^/]+\.d/", r".+\.conf", ".conf"),
        (r"/etc/systemd/network/", r".+\.(?:network|netdev|link)", ".network, .netdev or .link"),
        (r"/etc/(?:ssh/sshd?_config|ld\.so\.conf|rsyslog|security/limits)\.d/", r".+\.conf", ".conf"),
        (r"/etc/(?:chrony|NetworkManager)/conf\.d/", r".+\.conf", ".conf"),
        (r"/etc/apt/apt\.conf\.d/", r"[\w-]+|.+\.conf", ".conf, or no dot"),
        (r"/etc/apt/preferences\.d/", r"[\w-]+|.+\.pref", ".pref, or no dot"),
        (r"/etc/apt/sources\.list\.d/", r".+\.(?:list|sources)", ".list or .sources"),
        (r"/etc/apt/trusted\.gpg\.d/", r".+\.(?:gpg|asc)", ".gpg or .asc"),
        (r"/etc/yum\.repos\.d/", r".+\.repo", ".repo"),
        (r"/etc/cloud/cloud\.cfg\.d/", r".+\.cfg", ".cfg"),
        (r"/etc/sudoers\.d/", r"[^.~]+", "no dot"),
        (r"/etc/profile\.d/", r".+\.c?sh", ".sh"),
        (r"/etc/udev/rules\.d/", r".+\.rules", ".rules"),
        (r"/etc/netplan/", r".+\.yaml", ".yaml"),
        (r"/etc/containerd/certs\.d/[^/]+/", r"hosts\.toml|.*(?<!\.toml)", "the name hosts.toml"),
        (r"/etc/cni/net\.d/", r".+\.(?:conf|conflist|json)|.*kubeconfig", ".conf, .conflist or .json"),
        (r"/usr/local/share/ca-certificates/", r".+\.crt", ".crt"),
    )
)  # fmt: skip
# Endings by which a file is switched off on purpose, or replaced later.
_SWITCHED_OFF: Final = re.compile(
    r".*(?:\.(?:bak|backup|disabled|off|example|sample|orig|save|tmp|temp|part|new|old|gpg|asc|key|md|txt|d|rpm\w+|dpkg-\w+)|~)"
    r"|README.*|\..*"
)
_UNIT_FOLDER: Final = re.compile(r"/etc/systemd/system/(?P<folder>[^/]+)/[^/]+")
_UNIT_PLACE: Final = re.compile(r"/etc/systemd/system/(?P<name>[^/]+)")

# Folders that only some systems read.
_FOLDERS: Final = tuple(
    (folder, words(systems))
    for folder, systems in (
        ("/etc/apt/", "ubuntu"),
        ("/etc/netplan/", "ubuntu"),
        ("/etc/default/grub", "ubuntu"),
        ("/etc/ufw/", "ubuntu"),
        ("/usr/local/share/ca-certificates/", "ubuntu"),
        ("/etc/yum", "rhel rockylinux amzn2"),
        ("/etc/dnf/", "rhel rockylinux"),
        ("/etc/pki/ca-trust/", "rhel rockylinux amzn2"),
        ("/etc/sysconfig/", "rhel rockylinux amzn2"),
        ("/etc/rhsm/", "rhel rockylinux"),
        ("/etc/flatcar/", "flatcar"),
        ("/etc/coreos/", "flatcar"),
        ("/usr/share/oem/", "flatcar"),
    )
)
_SYSTEMS: Final = words("ubuntu rhel rockylinux amzn2 flatcar")
_WRITING: Final = ("cat", "echo", "printf", "tee", "curl", "wget", "cp", "mv", "install", "ln")
_CHANGING: Final = (*_WRITING, "touch", "mkdir", "rm", "sed", "chmod", "chown", "tar", "unzip", "dd", "rsync")

_READ_ONLY: Final = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")
_OEM: Final = "/usr/share/oem/"


def check_file_names(boot: Boot) -> Iterator[Spotted]:
    """Check the names of files that the profile and its scripts write into folders of configuration."""
    units = {file for unit in boot.units for file in unit.files}
    for file in boot.texts:
        if file not in units and (remark := _name_remark(file.path)):
            yield at_file(file, remark)
    # Where something is copied to may be a folder, so only what prints into a file is checked.
    for run, command in boot.named("cat", "tee", "echo", "printf"):
        for path in made_paths(command):
            remark = _name_remark(path) if is_known(path) and path not in _moved(run.text) else None
            if remark is not None:
                yield at_command(run, command, remark)


@lru_cache(maxsize=512)
def _moved(text: str) -> frozenset[str]:
    """The words of commands that move, copy or remove files."""
    by_name = simple_commands(text).by_name
    return frozenset(
        word for name in ("mv", "cp", "rm") for command in by_name.get(name, ()) for word in command.words[1:]
    )


@lru_cache(maxsize=4_096)
def _name_remark(path: str) -> Remark | None:
    """A remark on the name of a file that no program reads."""
    match = _UNIT_FOLDER.fullmatch(path)
    if match is not None:
        folder = match["folder"]
        unit, dot, kind = folder.rpartition(".")
        if kind == "d" and unit.rpartition(".")[2] in UNIT_SUFFIXES:
            return _listed_remark(path)
        if kind in {"wants", "requires", "upholds"}:
            return None
        message = (
            f"systemd does not read the folder {folder}: drop-ins of a unit are in a folder such as kubelet.service.d"
        )
        stem = unit if kind == "d" and dot else folder
        name = stem if stem.rpartition(".")[2] in UNIT_SUFFIXES else f"{stem}.service"
        return Remark(DROP_IN_NAME, message, 0, f"Name the folder {name}.d")
    match = _UNIT_PLACE.fullmatch(path)
    if match is not None:
        return None if _SWITCHED_OFF.fullmatch(match["name"]) else unit_name_remark(match["name"])
    return _listed_remark(path)


_FLAT: Final = words("sysctl.d modules-load.d modprobe.d tmpfiles.d sysusers.d sudoers.d yum.repos.d netplan profile.d")
_OF_ETC: Final = _FLAT | words("containerd kubernetes systemd security NetworkManager")  # short names are too alike
# Daemons of systemd whose drop-ins are in a folder such as journald.conf.d.
_DAEMON_FOLDER: Final = re.compile(
    r"(?:/usr/lib|/etc)/systemd/"
    r"(?P<daemon>coredump|homed|journal-remote|journal-upload|journald|logind|networkd|oomd|pstore|resolved|sleep|system"
    r"|timesyncd|user)\.d/[^/]+"
)
_UNITS_ELSEWHERE: Final = re.compile(r"(?:/usr)?(?:/lib|/etc)/systemd/[^/]+\.(?:service|socket|timer|target|mount)")


def _place_remark(path: str) -> Remark | None:
    """A remark on a folder that no program looks into."""
    parts = path.split("/")
    if parts[1:2] == ["etc"] and len(parts) > 3:
        if near := misspelled(parts[2], _OF_ETC):
            message = f"nothing reads the folder /etc/{parts[2]}"
            return Remark(IGNORED_NAME, message, 0, f"Write /etc/{near}")
        if parts[2] in _FLAT and len(parts) > 4:
            message = f"nothing reads {path}: folders in /etc/{parts[2]} are ignored"
            return Remark(IGNORED_NAME, message, 0, f"Write /etc/{parts[2]}/{parts[-1]}")
    if match := _DAEMON_FOLDER.fullmatch(path):
        folder = f"/etc/systemd/{match['daemon']}"
        message = f"nothing reads the folder {folder}.d"
        return Remark(IGNORED_NAME, message, 0, f"Write {folder}.conf.d/{parts[-1]}")
    if _UNITS_ELSEWHERE.fullmatch(path):
        message = f"systemd does not look for units in {path.rpartition('/')[0]}"
        return Remark(IGNORED_NAME, message, 0, f"Write /etc/systemd/system/{parts[-1]}")
    return None


def _listed_remark(path: str) -> Remark | None:
    if remark := _place_remark(path):
        return remark
    for pattern, names, what in _NAMES:
        match = pattern.fullmatch(path)
        if match is not None:
            if names.fullmatch(match["name"]) or _SWITCHED_OFF.fullmatch(match["name"]):
                return None
            folder = path.rpartition("/")[0]
            message = f"{match['name']} is ignored: in {folder} only files with {what} are read"
            is_drop_in = "/systemd/system/" in path
            return Remark(DROP_IN_NAME if is_drop_in else IGNORED_NAME, message, 0, f"Give it a name with {what}")
    return None


def check_folders(boot: Boot) -> Iterator[Spotted]:
    """Files in folders that the operating system does not read, or cannot be written."""
    if boot.os not in _SYSTEMS:
        return
    for file in boot.files:
        if boot.os == "flatcar" and _is_read_only(file.path):
            yield at_file(file, Remark(READ_ONLY, f"{file.path} is on a read-only file system", 0, _READ_ONLY_FIX))
        elif folder := _other_folder(boot.os, file.path):
            yield at_file(file, Remark(OTHER_SYSTEM, f"nothing on {boot.os} reads {folder}", 0, "Remove the file"))
    mounting = (word for _, each in boot.named("mount", "systemd-sysext") for word in each.words)
    writable = boot.os != "flatcar" or any(word.startswith(("/usr", "overlay")) for word in mounting)
    for run, command in boot.named(*_CHANGING):
        if command.tolerated or command.tests:
            continue
        changed = [path for path in _changed_paths(command) if is_known(path)]
        read_only = "" if writable else next(filter(_is_read_only, changed), "")
        folder = next(filter(None, (_other_folder(boot.os, each) for each in changed)), "")
        if read_only:
            message = f"{command.name} writes {read_only}, which is on a read-only file system"
            yield at_command(run, command, Remark(READ_ONLY, message, fix=_READ_ONLY_FIX))
        elif folder and command.name in _WRITING:
            message = f"nothing on {boot.os} reads {folder}, where {command.name} writes a file"
            yield at_command(run, command, Remark(OTHER_SYSTEM, message, fix="Remove the command"))


_READ_ONLY_FIX: Final = "Write below /etc or /opt, such as /opt/bin for programs"


def _is_read_only(path: str) -> bool:
    return path.startswith(_READ_ONLY) and not path.startswith(_OEM)


def _changed_paths(command: SimpleCommand) -> Iterator[str]:
    """The paths that a command writes, removes or changes."""
    yield from made_paths(command)
    operands = [word for word in command.words[1:] if word.startswith("/")]
    if command.name in {"mkdir", "rm", "chmod", "chown"} or (
        command.name == "sed" and any(each.startswith("-i") for each in command.words)
    ):
        yield from (f"{word}/" if command.name == "mkdir" else word for word in operands)
    elif command.name in {"tar", "unzip"}:
        # The names of what is unpacked are not known, but its folder is.
        yield from (f"{path.rpartition('/')[0]}/" for path in made_paths(command) if is_known(path.rpartition("/")[0]))


@lru_cache(maxsize=1_024)
def _other_folder(os: str, path: str) -> str:
    """The folder of another system that a path is in, or an empty text."""
    return next((folder for folder, systems in _FOLDERS if path.startswith(folder) and os not in systems), "")


def check_applied(boot: Boot) -> Iterator[Spotted]:
    """Files that cloud-init writes come after systemd has read them; Ignition's come before. Flatcar with cloud-init is
    left out: OSM's own profile for it leaves the settings to the next boot."""
    if boot.os == "flatcar" or not boot.complete or reboots(boot):
        return
    modules = [file for file in boot.files if re.fullmatch(r"/etc/modules-load\.d/.+\.conf", file.path)]
    loaded = {word for _, command in boot.named("modprobe") for word in command.words[1:]}
    loads = "systemd-modules-load.service" in _restarted(boot) or any(not is_known(word) for word in loaded)
    for file in modules:
        names = _lines(file)
        if names and not loads and loaded.isdisjoint(name.replace("-", "_") for name in names):
            fix = "Run systemctl restart systemd-modules-load.service"
            yield at_file(file, Remark(NOT_APPLIED, f"nothing loads the modules of {file.path} in this boot", 0, fix))
    for file in boot.files:
        if re.fullmatch(r"/etc/sysctl(?:\.d/.+)?\.conf", file.path) and _lines(file) and not _is_loaded(boot, file):
            message = f"nothing applies the settings of {file.path} in this boot"
            yield at_file(file, Remark(NOT_APPLIED, message, 0, "Run sysctl --system"))


def _lines(file: BootFile) -> list[str]:
    lines = (line.strip() for line in file.text.splitlines())
    return [line for line in lines if line and line[0] not in "#;"]


def _restarted(boot: Boot) -> set[str]:
    calls = (systemctl(command) for _, command in boot.named("systemctl", "service"))
    return {unit for call in calls if call is not None and call.verb in {"start", "restart"} for unit in call.units}


def _is_loaded(boot: Boot, file: BootFile) -> bool:
    """Whether something applies a file of ``sysctl.d``."""
    if not _restarted(boot).isdisjoint({"systemd-sysctl.service", "procps.service"}):
        return True
    keys = {line.lstrip("-").partition("=")[0].strip().replace("/", ".") for line in _lines(file)}
    for _, command in boot.named("sysctl", "systemd-sysctl"):
        arguments = command.words[1:]
        if command.name == "systemd-sysctl" or "--system" in arguments or not all(map(is_known, arguments)):
            return True
        load = any(re.fullmatch(r"-[a-z]*p|--load(?:=.*)?", word) for word in arguments)
        named = [word.removeprefix("--load=") for word in arguments if "/" in word]
        if load and any(re.fullmatch(re.escape(each).replace(r"\*", "[^/]*"), file.path) for each in named):
            return True
        if load and not named and file.path == "/etc/sysctl.conf":
            return True
        if not load and not keys.isdisjoint(word.partition("=")[0] for word in arguments):
            return True
    return False


def check_bridge_settings(boot: Boot) -> Iterator[Spotted]:
    """The settings net.bridge.* exist only while the module br_netfilter is loaded."""
    everything = [
        file.text for file in boot.files if file.path.startswith("/etc/modules") or file.text.startswith("#!")
    ]
    if any("br_netfilter" in text for text in (*everything, boot.script_text)):
        return
    for file in boot.files:
        at = file.text.find("net.bridge.") if file.path.startswith("/etc/sysctl") else -1
        if at >= 0:
            line = file.text.count("\n", 0, at) + 1
            message = "there are no settings net.bridge.* without the module br_netfilter, which nothing loads"
            yield at_file(file, Remark(NO_MODULE, message, line, "Name it in a file of /etc/modules-load.d"))


def check_modules_of_system(document: BootDocument) -> Iterator[Finding]:
    """Modules of cloud-init that do nothing on the operating system."""
    for half in HALVES:
        modules = document.modules.get(half)
        if modules is None or document.os not in _SYSTEMS or document.utility != "cloud-init":
            continue
        for name, given, systems in (
            ("yum_repos", bool(modules.yum_repos), "rhel rockylinux amzn2"),
            ("yum_repo_dir", bool(modules.yum_repo_dir), "rhel rockylinux amzn2"),
            ("rh_subscription", bool(modules.rh_subscription), "rhel"),
            ("bootcmd", bool(modules.bootcmd), "ubuntu rhel rockylinux amzn2"),
            ("runcmd", bool(modules.runcmd), "ubuntu rhel rockylinux amzn2"),
        ):
            if given and document.os not in words(systems):
                where = document.profile.manifest.line_of(f"spec.{half}Config.modules.{name}")
                message = f"the module {name} does nothing on {document.os}"
                fix = "Use a unit" if document.os == "flatcar" else "Remove it"
                yield Finding(OTHER_SYSTEM, message, where=where, fix=fix)
