"""Checks of ``#cloud-config`` user-data: what cloud-init refuses or ignores, SSH keys, and the provider's size
limit."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from posixpath import normpath
from typing import Any, Final

from osm_gitops.errors import InputError
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.lint.rules.boot_file import (
    HALVES,
    BootDocument,
    BootFile,
    Half,
    Remark,
    first_remarks,
    suggested_fix,
    to_finding,
    words,
)
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.render.user_data import UserDataSize, bootstrap_size, provisioning_size
from osm_gitops.yaml.kubernetes import Document, load_documents

SSH_KEY: Final = Rule("ssh-key", Severity.WARNING, "sshd does not accept an SSH key")
_KINDS: Final = re.compile(
    r"(ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)"
    r"(?:-cert-v01@openssh\.com)?[ \t]+(\S+)"
)


def key_fault(text: str) -> str:
    """Why sshd ignores a line (``is not …``); empty if it does not. Options may precede the key."""
    return "" if _KINDS.search(text) else "is not a public key of a type that sshd knows"


HEADER: Final = Rule("cloud-config-header", Severity.ERROR, "the user-data does not begin with #cloud-config")
SYNTAX: Final = Rule("cloud-config-syntax", Severity.ERROR, "the cloud-config is not YAML, or has a duplicate key")
UNKNOWN_KEY: Final = Rule("cloud-config-unknown-key", Severity.ERROR, "cloud-init does not know a key and ignores it")
WRITE_FILES: Final = Rule("cloud-config-write-files", Severity.ERROR, "cloud-init cannot write a file")
COMMAND: Final = Rule("cloud-config-command", Severity.ERROR, "cloud-init cannot run a command")
TYPE: Final = Rule("cloud-config-type", Severity.ERROR, "a key of a cloud-config has the wrong type")
RULES: Final = (HEADER, SYNTAX, UNKNOWN_KEY, WRITE_FILES, COMMAND, TYPE, SSH_KEY)

# Of cloud-init 22.4 and 25.1.
_KEYS: Final = words(
    """
    allow_public_ssh_keys ansible apk_repos apt apt_pipelining apt_reboot_if_required apt_update apt_upgrade
    authkey_hash autoinstall bootcmd byobu_by_default ca-certs ca_certs chef chpasswd cloud_config_modules
    cloud_final_modules cloud_init_modules create_hostname_file datasource datasource_list device_aliases
    disable_ec2_metadata disable_root disable_root_opts disk_setup drivers fan final_message fqdn fs_setup groups
    growpart grub-dpkg grub_dpkg hostname keyboard landscape launch-index locale locale_configfile lxd manage_etc_hosts
    manage_resolv_conf mcollective merge_how merge_type migrate mount_default_fields mounts network
    no_ssh_fingerprints ntp output package_reboot_if_required package_update package_upgrade packages password
    phone_home power_state prefer_fqdn_over_hostname preserve_hostname puppet random_seed reporting resize_rootfs
    resolv_conf rh_subscription rsyslog runcmd salt_minion snap spacewalk ssh ssh_authorized_keys ssh_deletekeys
    ssh_fp_console_blacklist ssh_genkeytypes ssh_import_id ssh_key_console_blacklist ssh_keys ssh_publish_hostkeys
    ssh_pwauth ssh_quiet_keygen swap system_info timezone ubuntu_advantage ubuntu_pro updates user users vendor_data
    version wireguard write_files yum_repo_dir yum_repos zypper
    """
)
# Flatcar reads cloud-configs with coreos-cloudinit, which has its own units and few other keys.
_FLATCAR_KEYS: Final = words("coreos hostname manage_etc_hosts ssh_authorized_keys users write_files")
_FILE_KEYS: Final = words("path content source owner permissions encoding append defer")
_ENCODINGS: Final = words("gz gzip gz+base64 gzip+base64 gz+b64 gzip+b64 b64 base64 text/plain")
_BASE64: Final = words("gz+base64 gzip+base64 gz+b64 gzip+b64 b64 base64")
_BOOLEANS: Final = words("package_update package_upgrade package_reboot_if_required ssh_deletekeys disable_root")
_FILE_HEAD: Final = re.compile(r"^- path: '(.*)'$")


def check_cloud_config(document: BootDocument) -> Iterator[Finding]:
    """Check the user-data of a pool that boots with cloud-init; problems in a file get the place of the file."""
    if document.utility != "cloud-init":
        return
    for half in HALVES:
        text = document.user_data[half].decode(errors="replace")
        # Paths are checked for all utilities alike.
        for remark in cloud_config_remarks(text, flatcar=document.os == "flatcar", paths=False):
            yield _finding(document, half, text, remark)


def _finding(document: BootDocument, half: Half, text: str, remark: Remark) -> Finding:
    found = _file_at(document, half, text, remark.line)
    if found is not None:
        file, line = found
        return to_finding(document, file, Remark(remark.rule, remark.message, line, remark.fix))
    where = document.profile.manifest.line_of(f"spec.{half}Config.modules")
    return Finding(remark.rule, f"in the {half} user-data, {remark.message}", where=where, fix=remark.fix)


def _file_at(document: BootDocument, half: Half, text: str, line: int) -> tuple[BootFile, int] | None:
    """The file of a line of the user-data, and the line in it, or 1 if its text is encoded."""
    lines = text.split("\n")[:line]
    for number in range(len(lines), 0, -1):
        if match := _FILE_HEAD.match(lines[number - 1]):
            of_path = (file for file in document.files if file.half == half and file.path == match[1])
            file = next(of_path, None)
            head = next((at for at in range(number, len(lines)) if lines[at].startswith("  content: ")), len(lines))
            encoded = any(each.startswith("  encoding: ") for each in lines[number:head])
            inside = 1 if encoded else max(line - head - 1, 1)
            return (file, min(inside, file.text.count("\n") + 1)) if file else None
        if re.match(r"[a-z_]+:", lines[number - 1]):
            return None
    return None


USER_DATA: Final = "/var/lib/cloud/instance/user-data.txt"
"""The path of user-data on a node, also for external programs."""


def user_data_files(document: BootDocument) -> Iterator[BootFile]:
    """The user-data of both halves as files for external programs; ``place`` maps their lines to the sources."""
    if document.utility != "cloud-init" or document.os == "flatcar":
        return
    for half in HALVES:
        text = document.user_data[half].decode(errors="replace")
        yield BootFile(USER_DATA, text, 600, half, _Place(document, half, text))


_CONTENT_LINE: Final = re.compile(r"^ {4}.*$", re.MULTILINE)


def skeleton(text: str) -> str:
    """User-data without the texts of its files."""
    return _CONTENT_LINE.sub("    …", text)


@dataclass(frozen=True, slots=True)
class _Place:
    """``place`` of user-data: the place of the file or module of a line."""

    document: BootDocument
    half: Half
    text: str

    def __call__(self, line: int) -> str:
        found = _file_at(self.document, self.half, self.text, line)
        where = found[0].place(found[1]) if found else ""
        return where or self.document.profile.manifest.line_of(f"spec.{self.half}Config.modules")


@lru_cache(maxsize=256)
def cloud_config_remarks(text: str, *, flatcar: bool = False, paths: bool = True) -> tuple[Remark, ...]:
    """Problems of a whole cloud-config. Lines are those of the text. Without ``paths`` a relative or repeated path of a
    file is none."""
    return tuple(first_remarks(_remarks(text, flatcar=flatcar, paths=paths)))


def _remarks(text: str, *, flatcar: bool, paths: bool) -> Iterator[Remark]:
    if text.split("\n", 1)[0].rstrip() != "#cloud-config":
        yield Remark(HEADER, "the first line is not #cloud-config", 1, "Write #cloud-config")
        return
    if _is_clean_in_parts(text, flatcar=flatcar):
        return
    try:
        documents = load_documents(text, "")
    except InputError as error:
        for problem in error.problems:
            number = problem.where.rpartition(":")[2]
            yield Remark(SYNTAX, problem.what, int(number) if number.isdecimal() else 1, problem.fix)
        return
    if len(documents) != 1 or not isinstance(documents[0].value, Mapping):
        line = documents[1].line if len(documents) > 1 else 1
        yield Remark(SYNTAX, "the cloud-config is not one YAML mapping", line, "Indent what belongs to a text")
        return
    yield from _Config(documents[0], flatcar=flatcar, paths=paths).remarks()


_LARGEST_IN_PARTS: Final = 1 << 20
_NEXT_FILE: Final = "\n- path: '"
_AFTER_FILES: Final = re.compile(r"\n(?=[a-z_]+:)")
_OF_ONE_FILE: Final = re.compile(r".*(?:\n(?:  .*)?)*")


def _is_clean_in_parts(text: str, *, flatcar: bool) -> bool:
    """Whether the files of a cloud-config one by one, and all else without them, have no remark.

    Hundreds of cloud-configs consist of the same few files. A file that is a whole entry of a list by itself is one in
    any other, so what has no remark in parts has none as a whole; for all else the whole is read.
    """
    head, *files = text.split(_NEXT_FILE)
    if not files or not head.endswith("\nwrite_files:") or len(text) > _LARGEST_IN_PARTS:
        return False
    last, *rest = _AFTER_FILES.split(files[-1], maxsplit=1)
    paths = [_clean_file(file, flatcar=flatcar) for file in (*files[:-1], last)]
    if None in paths or len(set(paths)) < len(paths):
        return False
    return _is_clean_frame("\n".join([head, *rest]), flatcar=flatcar)


@lru_cache(maxsize=1_024)
def _clean_file(text: str, *, flatcar: bool) -> str | None:
    """The path of one file of a cloud-config, or ``None`` if there is a remark on it, or it is not just a file."""
    # Without lines that can begin another document or another key.
    within = _OF_ONE_FILE.fullmatch(text)
    config = _config(f"write_files:{_NEXT_FILE}{text}", flatcar=flatcar) if within else None
    if config is None or config.value.keys() != {"write_files"} or any(config.remarks()):
        return None
    files = config.value["write_files"]
    return normpath(files[0]["path"]) if len(files) == 1 else None


@lru_cache(maxsize=1_024)
def _is_clean_frame(text: str, *, flatcar: bool) -> bool:
    """Whether there is no remark on a cloud-config without files."""
    config = _config(text, flatcar=flatcar)
    return config is not None and "write_files" in config.value and not any(config.remarks())


def _config(text: str, *, flatcar: bool) -> _Config | None:
    try:
        documents = load_documents(text, "")
    except InputError:
        return None
    if len(documents) != 1 or not isinstance(documents[0].value, Mapping):
        return None
    return _Config(documents[0], flatcar=flatcar)


class _Config:
    def __init__(self, document: Document, *, flatcar: bool, paths: bool = True) -> None:
        self.document = document
        self.value: Mapping[str, Any] = document.value
        self.flatcar = flatcar
        self.paths = paths

    def remark(self, rule: Rule, place: str, message: str, fix: str = "Correct it") -> Remark:
        return Remark(rule, message, self.document.lines.get(place, 1), fix)

    def remarks(self) -> Iterator[Remark]:
        known = _KEYS | _FLATCAR_KEYS if self.flatcar else _KEYS
        for name in self.value:
            if name not in known:
                fix = suggested_fix(name, known, "Remove it")
                yield self.remark(UNKNOWN_KEY, name, f"cloud-init does not know the key {name}", fix)
        for name in _BOOLEANS & self.value.keys():
            if not isinstance(self.value[name], bool):
                yield self.remark(TYPE, name, f"{name} must be true or false")
        yield from self.write_files()
        for name in ("runcmd", "bootcmd"):
            yield from self.commands(name)
        yield from self.keys()

    def write_files(self) -> Iterator[Remark]:
        files = self.value.get("write_files")
        if files is None:
            return
        if not isinstance(files, list):
            yield self.remark(TYPE, "write_files", "write_files must be a list")
            return
        seen: set[str] = set()
        for index, file in enumerate(files):
            place = f"write_files[{index}]"
            if not isinstance(file, Mapping) or not isinstance(file.get("path"), str):
                yield self.remark(WRITE_FILES, place, "an entry of write_files has no path", "Give it one")
                continue
            path = normpath(file["path"])
            if path in seen and self.paths:
                message = f"{path} is twice in write_files; the later one is used"
                yield self.remark(WRITE_FILES, place, message, "Keep one")
            seen.add(path)
            yield from self.one_file(file, place)

    def one_file(self, file: Mapping[str, Any], place: str) -> Iterator[Remark]:
        path = file["path"]
        for name in file:
            if name not in _FILE_KEYS:
                fix = suggested_fix(name, _FILE_KEYS, "Remove it")
                yield self.remark(WRITE_FILES, f"{place}.{name}", f"write_files does not have a key {name}", fix)
        if self.paths and not path.startswith("/"):
            yield self.remark(WRITE_FILES, place, f"the path {path} is not absolute", "Start it with a slash")
        permissions = file.get("permissions", "0644")
        if not (isinstance(permissions, str) and re.fullmatch("0?[0-7]{3,4}", permissions)):
            message = f"the permissions of {path} are not octal digits in quotes"
            yield self.remark(WRITE_FILES, f"{place}.permissions", message, "Write '0644'")
        for name in ("owner", "content", "encoding"):
            if not isinstance(file.get(name, ""), str | None):
                yield self.remark(WRITE_FILES, f"{place}.{name}", f"{name} of {path} must be a text")
        encoding, content = file.get("encoding") or "text/plain", file.get("content") or ""
        if isinstance(encoding, str) and isinstance(content, str):
            if encoding not in _ENCODINGS:
                fix = suggested_fix(encoding, _ENCODINGS, "Use b64, or none")
                message = (
                    f"cloud-init does not know the encoding {encoding!r}, and writes the content of {path} as it is"
                )
                yield self.remark(WRITE_FILES, f"{place}.encoding", message, fix)
            elif fault := _content_fault(content, encoding):
                message = f"the content of {path} {fault}; cloud-init writes neither it nor what follows"
                yield self.remark(WRITE_FILES, f"{place}.content", message)

    def commands(self, name: str) -> Iterator[Remark]:
        commands = self.value.get(name)
        if name not in self.value:
            return
        if not isinstance(commands, list) or not commands:
            yield self.remark(COMMAND, name, f"{name} must be a list of commands", "Add one, or remove the key")
            return
        for index, command in enumerate(commands):
            if isinstance(command, Mapping):
                message = f"entry {index + 1} of {name} is a mapping, because it has a colon and a blank"
                yield self.remark(COMMAND, f"{name}[{index}]", message, "Put the command in quotes")
            elif isinstance(command, list):
                if not command or not all(isinstance(each, str | int) for each in command):
                    yield self.remark(
                        COMMAND, f"{name}[{index}]", f"entry {index + 1} of {name} is not a list of words"
                    )
            elif not isinstance(command, str):
                yield self.remark(COMMAND, f"{name}[{index}]", f"entry {index + 1} of {name} is not a text")

    def keys(self) -> Iterator[Remark]:
        keys = self.value.get("ssh_authorized_keys")
        if keys is not None and not isinstance(keys, list):
            yield self.remark(TYPE, "ssh_authorized_keys", "ssh_authorized_keys must be a list")
            return
        for index, key in enumerate(keys or []):
            if fault := key_fault(str(key)):
                yield self.remark(SSH_KEY, f"ssh_authorized_keys[{index}]", f"SSH key {index + 1} {fault}")


def _content_fault(content: str, encoding: str) -> str:
    data = decode_base64(content) if encoding in _BASE64 else content.encode()
    if data is None:
        return "is not base64"
    if encoding.startswith("gz"):
        try:
            zlib.decompress(data, zlib.MAX_WBITS | 16)
        except zlib.error:
            return "is not gzip"
    return ""


TOO_LARGE: Final = Rule("user-data-too-large", Severity.ERROR, "the user-data exceeds the limit of the provider")
HEADROOM: Final = Rule("user-data-headroom", Severity.NOTE, "the user-data is close to the limit of the provider")
SIZE_RULES: Final = (TOO_LARGE, HEADROOM)

_NEAR_LIMIT: Final = 0.85
_SIZE_FIXES: Final = {
    "bootstrap": "Move what the first boot does not need to the provisioning half",
    "provisioning": "Make it smaller",
}


def check_user_data_size(document: BootDocument) -> Iterator[Finding]:
    """Check the size of the bootstrap half as the provider counts it, with the longest name of a machine, and of the
    provisioning half as a Secret."""
    text = {half: data.decode(errors="surrogateescape") for half, data in document.user_data.items()}
    size = bootstrap_size(text["bootstrap"], _machine_deployment(document.pool), document.provider, document.os)
    yield from _size_findings(document, "bootstrap", size)
    yield from _size_findings(document, "provisioning", provisioning_size(text["provisioning"]))


def _machine_deployment(pool: str) -> str:
    """The name in ``MachineDeployment kube-system/workers of …``, or the longest possible one for a synthetic pool."""
    kind, _, rest = pool.partition(" ")
    return rest.partition(" ")[0].rpartition("/")[2] if kind == "MachineDeployment" else "n" * 63


def _size_findings(document: BootDocument, half: Half, size: UserDataSize) -> Iterator[Finding]:
    if size.limit is None:
        return
    counted = size.counted
    left = size.limit.size - counted
    form = f" ({size.limit.counted.value})" if size.limit.counted.value != "raw" else ""
    so_much = f"the {half} user-data for {document.provider} has {counted:,} bytes{form} of {size.limit.size:,}"
    if left < 0:
        message = f"{so_much}, which is {-left:,} too many. {size.limit.source}"
        yield _size_finding(TOO_LARGE, message, document, half, -left)
    elif counted > _NEAR_LIMIT * size.limit.size:
        yield _size_finding(HEADROOM, f"{so_much}: {left:,} are left. {size.limit.source}", document, half, -left)


def _size_finding(rule: Rule, message: str, document: BootDocument, half: Half, rank: int) -> Finding:
    """A finding at the largest text of the half, because reducing it helps most; it may come from an overlay. The
    combination with the fewest bytes left speaks for all."""
    texts = (each for each in document.texts if each.half == half)
    largest = max(texts, key=lambda each: len(each.text), default=None)
    fix = _SIZE_FIXES[half]
    if largest is None:
        where = document.profile.manifest.line_of(f"spec.{half}Config")
    else:
        where, fix = largest.place(0), f"{fix}; the largest file there is {largest.path}"
    return Finding(rule, message, where=where, fix=fix, group=half, rank=rank)
