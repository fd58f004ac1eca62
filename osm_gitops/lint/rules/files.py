"""Checks of single files: path, permissions, secrets, left-over template text, and the formats of sysctl, apt, netplan,
crictl and others."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from osm_gitops.bounded.json_values import line_of_fault
from osm_gitops.errors import InputError
from osm_gitops.lint.rules.boot_file import BootFile, Remark, is_script, line_of, suggested_fix, words
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.rules.systemd import is_unit_file
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.yaml.kubernetes import load_documents

PATH: Final = Rule("unclean-path", Severity.ERROR, "the path of a file is not absolute and clean")
PERMISSIONS: Final = Rule("permissions", Severity.ERROR, "permissions are not octal digits, or make the file unusable")
WORLD_WRITABLE: Final = Rule("world-writable", Severity.WARNING, "every user of the node can change a file")
SECRET: Final = Rule("world-readable-secret", Severity.WARNING, "every user of the node can read a secret")
TEMPLATE: Final = Rule("template-left-over", Severity.ERROR, "a rendered file contains template text or a Go value")
CARRIAGE_RETURNS: Final = Rule("carriage-returns", Severity.ERROR, "lines of a script or unit end in CR LF")
SHEBANG: Final = Rule("shebang", Severity.ERROR, "the interpreter of a script cannot be found")
RULES: Final = (PATH, PERMISSIONS, WORLD_WRITABLE, SECRET, TEMPLATE, CARRIAGE_RETURNS, SHEBANG)

_DECIMALS_OF_OCTAL: Final = {384: "600", 420: "644", 416: "640", 448: "700", 488: "750", 493: "755", 511: "777"}

_LEFT_OVERS: Final = (
    (re.compile(r"<no value>"), "<no value>, which Go prints for a missing value"),
    (re.compile(r"<nil>"), "<nil>, which Go prints for a missing value"),
    (re.compile(r"%!\w\(\w*=?"), "an error of Go's printf"),
    (re.compile(r"&[A-Z]\w+\{\w+:"), "a Go struct instead of a value"),
    (re.compile(r"\bmap\[\w+:"), "a Go map instead of a value"),
)
_BRACES: Final = re.compile(r"\{\{-? *(?=[.$\w\"(])(?P<action>[^{}\n]*)|\{%-? *\w")
# Braces in a rendered file are usually intended, for docker, Prometheus and others, unless they contain a name of ours.
# Units are not rendered, so braces in them were meant as actions.
_OURS: Final = re.compile(rf"\b(?:{'|'.join(ROOT_TYPES)})\b|\.?\bValues\.|\bvalue\(")
# Templates of other programs are arguments of commands: docker inspect --format '{{.Id}}'.
_FORMAT_OPTION: Final = re.compile(
    r"(?:-f|-o|--format|--template|--output|-t|jsonpath|go-template)\S*[ =]*['\"]?[^'\"]*$"
)

_CREDENTIALS: Final = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"), "a private key"),
    (re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+"), "a token"),
    (re.compile(r"(?i)\bbearer +(?![a-z]+[.,;:]?(?:\s|$))[\w.~+/-]{8,}=*"), "a token"),
    (re.compile(r"\bclient-key-data: *\S{8,}"), "the key of a kubeconfig"),
    (re.compile(r"://[^/\s:@\"'$]+:[^/\s@\"'$]+@"), "a password in a URL"),
    (
        re.compile(
            r"(?i)(?:passw(?:or)?d|token|api[-_]?key|secret[-_]?(?:access[-_]?)?key|client[-_]?secret)"
            # Neither a function call, nor the databases of nsswitch.conf.
            r"[\"']?[ \t]*[:=][ \t]*[\"']?(?![\w.]+\(|compat\b|systemd\b)[^\s\"'$<{(\[/`]{6,}"
        ),
        "a password or a token",
    ),
)
_FOLDERS_OF_PROGRAMS: Final = ("/opt/bin/", "/usr/local/bin/", "/usr/local/sbin/", "/usr/bin/", "/usr/sbin/")


def check_path(file: BootFile) -> Iterator[Remark]:
    """cloud-init writes a relative path below its own folder, Ignition refuses it; unclean paths hide duplicates."""
    path = file.path
    if not path.startswith("/"):
        yield Remark(PATH, f"the path {path!r} is not absolute", 0, "Start it with a slash")
    elif path != posixpath.normpath(path) or path.startswith("//"):
        yield Remark(PATH, f"the path {path!r} is not clean", 0, f"Write {posixpath.normpath(path).replace('//', '/')}")
    elif not path.isprintable() or path != path.strip():
        yield Remark(PATH, f"the path {path!r} has blanks or control characters", 0, "Write it without them")


def check_permissions(file: BootFile) -> Iterator[Remark]:
    """Permissions are octal digits; a number that is the decimal form of a usual mode is a mistake."""
    digits = str(file.permissions)
    if file.permissions in _DECIMALS_OF_OCTAL:
        intended = _DECIMALS_OF_OCTAL[file.permissions]
        message = f"{digits} is the decimal form of mode {intended}, and is read as the octal digits {digits}"
        yield Remark(PERMISSIONS, message, 0, f"Write {intended}")
    elif not re.fullmatch("[0-7]{1,4}", digits):
        yield Remark(PERMISSIONS, f"{digits} are not permissions, which are octal digits", 0, "Write 644, 600 or 755")
    elif not int(digits, 8) & 0o400:
        yield Remark(PERMISSIONS, f"with permissions {digits} not even the file's owner can read it", 0, "Write 600")
    elif int(digits, 8) & 0o002:
        yield Remark(WORLD_WRITABLE, f"permissions {digits} let every user change the file", 0, "Write 644 or 755")


def everyone_reads(file: BootFile) -> bool:
    """Whether every user of the node can read a file."""
    digits = str(file.permissions)
    return re.fullmatch("[0-7]{1,4}", digits) is not None and bool(int(digits, 8) & 0o004)


def check_secrets(file: BootFile) -> Iterator[Remark]:
    """Credentials in files that all users may read. The message does not contain them."""
    if not everyone_reads(file):
        return
    for pattern, what in _CREDENTIALS:
        if match := pattern.search(file.text):
            fix = "Set permissions to 600, or 700 for a script"
            message = f"every user can read the file ({file.permissions}), which seems to contain {what}"
            yield Remark(SECRET, message, line_of(file.text, match.start()), fix)
            return


def check_left_overs(file: BootFile) -> Iterator[Remark]:
    """Text of templates, and Go's output for missing and wrong values."""
    for pattern, what in _LEFT_OVERS:
        if match := pattern.search(file.text):
            yield Remark(TEMPLATE, f"the file has {what}", line_of(file.text, match.start()), "Correct the template")
    for match in _BRACES.finditer(file.text):
        if not _is_of_another_program(file, match):
            fix = "Correct the template; text in rendered files is not rendered again"
            yield Remark(TEMPLATE, "the file has an action of a template", line_of(file.text, match.start()), fix)
            return


def _is_of_another_program(file: BootFile, match: re.Match[str]) -> bool:
    action = match["action"]
    before = file.text[max(file.text.rfind("\n", 0, match.start()) + 1, match.start() - 200) : match.start()]
    if _FORMAT_OPTION.search(before) and (is_script(file.path, file.text) or is_unit_file(file.path)):
        return True
    return action is not None and not is_unit_file(file.path) and not _OURS.search(action)


def check_line_ends(file: BootFile) -> Iterator[Remark]:
    """CR LF breaks shell scripts, and values in units and settings."""
    if "\r\n" in file.text and (
        is_script(file.path, file.text) or is_unit_file(file.path) or file.path.startswith("/etc/")
    ):
        line = line_of(file.text, file.text.index("\r\n"))
        yield Remark(CARRIAGE_RETURNS, "the file has lines that end in CR LF", line, "Save the profile with LF alone")


def check_shebang(file: BootFile) -> Iterator[Remark]:
    """A shebang must be at the very start of the file."""
    if file.text.lstrip().startswith("#!") and not file.text.startswith("#!"):
        yield Remark(SHEBANG, "there is text before the #! of the script", 1, "Start the file with #!")
    elif file.text.startswith("#!"):
        interpreter = file.text[2:].split("\n", 1)[0].strip().split(" ")[0]
        if not interpreter.startswith("/"):
            yield Remark(SHEBANG, "the script's interpreter is not an absolute path", 1, "Write #!/usr/bin/env bash")
    elif file.path.startswith(_FOLDERS_OF_PROGRAMS) and file.text.strip() and str(file.permissions)[-3:-2] in "1357":
        yield Remark(SHEBANG, "the program is text without a #! line", 1, "Start it with #!/usr/bin/env bash")


FILE_CHECKS: Final = (check_path, check_permissions, check_secrets, check_left_overs, check_line_ends, check_shebang)


SYSCTL: Final = Rule("sysctl-syntax", Severity.ERROR, "sysctl cannot parse a line")
MODULES: Final = Rule("modules-load-syntax", Severity.ERROR, "a line does not name a kernel module")
MODPROBE: Final = Rule("modprobe-syntax", Severity.ERROR, "modprobe cannot parse a line")
APT_SOURCE: Final = Rule("apt-source-syntax", Severity.ERROR, "apt cannot parse a source")
NETPLAN: Final = Rule("netplan", Severity.ERROR, "netplan cannot use a file")
CRICTL: Final = Rule("crictl-config", Severity.ERROR, "crictl does not know a key of its configuration")
YAML: Final = Rule("yaml-syntax", Severity.ERROR, "a YAML file is not valid YAML")
JSON: Final = Rule("json-syntax", Severity.ERROR, "a JSON file is not valid JSON")
ENVIRONMENT: Final = Rule("environment-syntax", Severity.ERROR, "a line of an environment file is not an assignment")
FORMAT_RULES: Final = (SYSCTL, MODULES, MODPROBE, APT_SOURCE, NETPLAN, CRICTL, YAML, JSON, ENVIRONMENT)

_SYSCTL_LINE: Final = re.compile(r"-?[\w./*-]+[ \t]*=[ \t]*\S.*|-[\w./*-]+")
_SYSCTL_NUMBERS: Final = re.compile(
    r"net\.bridge\.bridge-nf-call-\w+|net\.ipv[46]\.(?:ip_forward|conf\.[^.]+\.(?!stable_secret)\w+|neigh\.[^.]+\.\w+)"
    r"|net\.netfilter\.nf_conntrack_(?:max|buckets)|net\.core\.(?:somaxconn|netdev_max_backlog|[rw]mem_(?:max|default))"
    r"|vm\.(?:max_map_count|swappiness|overcommit_memory|panic_on_oom|min_free_kbytes|dirty_\w+)"
    r"|fs\.(?:file-max|nr_open|aio-max-nr|inotify\.\w+)|kernel\.(?:panic|panic_on_oops|pid_max|threads-max|keys\.\w+)"
)
_MODULE: Final = re.compile(r"[\w-]+")
_APT_SETTING: Final = re.compile(r"([A-Za-z-]+)::([^{}]*)$")
_APT_SCOPES: Final = words("acquire apt dpkg dir unattended-upgrade binary")
_MODPROBE_LINE: Final = re.compile(r"(?:alias|blacklist|install|options|remove|softdep|weakdep)[ \t]+[^ \t].*|.*\\")
_APT_LINE: Final = re.compile(r"deb(?:-src)?[ \t]+(?:\[[^\]]*\][ \t]+)?\S+:\S*[ \t]+\S+(?:[ \t]+\S+)*")
_VARIABLE: Final = re.compile(r"(?:export[ \t]+)?[A-Za-z_]\w*=.*")
_DEB822: Final = words("Types URIs Suites Components")
_NETPLAN: Final = words(
    "version renderer ethernets wifis bonds bridges vlans tunnels vrfs modems nm-devices dummy-devices "
    "virtual-ethernets openvswitch"
)
_ETHERNET: Final = words(
    """
    match set-name wakeonlan emit-lldp renderer dhcp4 dhcp6 dhcp4-overrides dhcp6-overrides dhcp-identifier ipv6-mtu
    ipv6-privacy link-local ignore-carrier critical accept-ra ra-overrides addresses ipv6-address-generation
    ipv6-address-token gateway4 gateway6 nameservers macaddress mtu optional optional-addresses activation-mode routes
    routing-policy neigh-suppress openvswitch networkmanager auth virtual-function-count link embedded-switch-mode
    delay-virtual-functions-rebind infiniband-mode receive-checksum-offload transmit-checksum-offload
    tcp-segmentation-offload tcp6-segmentation-offload generic-segmentation-offload generic-receive-offload
    large-receive-offload
    """
)
_CRICTL: Final = words(
    "runtime-endpoint image-endpoint timeout debug pull-image-on-create disable-pull-on-run "
    "tracing-endpoint tracing-sampling-rate-per-million enable-tracing"
)


def check_node_file(file: BootFile) -> Iterator[Remark]:
    """Check the format that a file has by its path."""
    for pattern, check in _FORMATS:
        if pattern.fullmatch(file.path):
            yield from check(file.text)
            return


def is_made_of_lines(path: str) -> bool:
    """Whether each line of a file at this path counts on its own."""
    return _LINE_BY_LINE.fullmatch(path) is not None


def _lines(text: str, comments: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line and line[0] not in comments:
            yield number, line


def _each_line(
    rule: Rule, pattern: re.Pattern[str], message: str, comments: str = "#"
) -> Callable[[str], Iterator[Remark]]:
    def check(text: str) -> Iterator[Remark]:
        for number, line in _lines(text, comments):
            if not pattern.fullmatch(line):
                yield Remark(rule, message, number, "Correct or remove the line")

    return check


def _sysctl(text: str) -> Iterator[Remark]:
    for number, line in _lines(text, "#;"):
        key, _, value = line.lstrip("-").partition("=")
        name = key.strip().replace("/", ".")
        if not _SYSCTL_LINE.fullmatch(line):
            message = "the line is not an assignment such as net.ipv4.ip_forward = 1"
            yield Remark(SYSCTL, message, number, "Correct or remove the line")
        elif _SYSCTL_NUMBERS.fullmatch(name) and re.match(r"[A-Za-z]|[0-9]+[^\s0-9]", value.strip()):
            yield Remark(SYSCTL, f"the value of {name} is not a number", number, "Write it in digits alone")


def _apt_sources(text: str) -> Iterator[Remark]:
    """The deb822 form: paragraphs of ``Field: value``."""
    line = 1
    for paragraph in re.split(r"(?<=\n)[ \t]*\n", text):
        names = re.findall(r"^([A-Za-z][\w-]*):", paragraph, re.MULTILINE)
        lacking = {each.lower() for each in _DEB822} - {name.lower() for name in names}
        if names and lacking - ({"components"} if re.search(r"^Suites:.*/\s*$", paragraph, re.MULTILINE) else set()):
            yield Remark(APT_SOURCE, f"the source has no {', '.join(sorted(lacking))}", line, "Add what is missing")
        line += paragraph.count("\n") + 1


def _apt_settings(text: str) -> Iterator[Remark]:
    for number, line in _lines(text, "#/"):
        match = _APT_SETTING.match(line)
        near = misspelled(match[1].lower(), _APT_SCOPES) if match else ""
        if near:
            yield Remark(
                APT_SOURCE, f"apt does not have settings {match[1] if match else ''}", number, f"Write {near}::…"
            )
        elif match and match[2].count('"') == 2 and match[2].rstrip().endswith('"'):
            message = "the setting of apt does not end with a semicolon"
            yield Remark(APT_SOURCE, message, number, "End the line with ;")


def _yaml(text: str) -> Iterator[Remark]:
    try:
        load_documents(text, "")
    except InputError as error:
        for problem in error.problems:
            number = problem.where.rpartition(":")[2]
            yield Remark(YAML, problem.what, int(number) if number.isdecimal() else 1, problem.fix)


def _json(text: str) -> Iterator[Remark]:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        yield Remark(JSON, "this is not JSON", line_of_fault(error, text), "Correct the line, or the one before")


def _netplan(text: str) -> Iterator[Remark]:
    remarks = list(_yaml(text))
    yield from remarks
    documents = [] if remarks else load_documents(text, "")
    network = documents[0].value.get("network") if documents and isinstance(documents[0].value, dict) else None
    if not isinstance(network, dict):
        if not remarks:
            yield Remark(NETPLAN, "the file does not have a mapping network", 1, "Put everything below network:")
        return
    if network.get("version") != 2:
        yield Remark(
            NETPLAN, "the version of network is not 2", documents[0].lines.get("network", 1), "Write version: 2"
        )
    yield from _ethernets(network, documents[0].lines)
    for name in network:
        if name not in _NETPLAN:
            line = documents[0].lines.get(f"network.{name}", 1)
            yield Remark(
                NETPLAN,
                f"netplan does not know the key {name} in network",
                line,
                suggested_fix(name, _NETPLAN, "Remove it"),
            )


def _ethernets(network: Mapping[str, Any], lines: Mapping[str, int]) -> Iterator[Remark]:
    ethernets = network.get("ethernets")
    for device, settings in ethernets.items() if isinstance(ethernets, Mapping) else ():
        at = f"network.ethernets.{device}"
        for name in settings if isinstance(settings, Mapping) else ():
            if name not in _ETHERNET:
                fix = "Write dhcp4" if name == "dhcp" else suggested_fix(str(name), _ETHERNET, "Remove it")
                message = f"netplan does not know the key {name} of {device}"
                yield Remark(NETPLAN, message, lines.get(f"{at}.{name}", 1), fix)
        addresses = settings.get("addresses") if isinstance(settings, Mapping) else None
        for index, address in enumerate(addresses if isinstance(addresses, list) else ()):
            if isinstance(address, str) and "/" not in address:
                line = lines.get(f"{at}.addresses[{index}]", lines.get(at, 1))
                message = f"the address {address} of {device} has no prefix length"
                yield Remark(NETPLAN, message, line, f"Write {address}/24, or another length")


def _crictl(text: str) -> Iterator[Remark]:
    remarks = list(_yaml(text))
    yield from remarks
    for document in [] if remarks else load_documents(text, ""):
        for name in document.value if isinstance(document.value, dict) else ():
            if name not in _CRICTL:
                fix = suggested_fix(name, _CRICTL, "Remove it")
                yield Remark(CRICTL, f"crictl does not know the key {name}", document.lines.get(name, 1), fix)


_LINE_BY_LINE: Final = re.compile(
    r"/etc/(?:sysctl(?:\.d/.+)?\.conf|modules-load\.d/.+\.conf|apt/sources\.list(?:\.d/.+\.list)?|environment)"
)
_FORMATS: Final = tuple(
    (re.compile(path), check)
    for path, check in (
        (r"/etc/sysctl(\.d/.+)?\.conf", _sysctl),
        (
            r"/etc/modules-load\.d/.+\.conf",
            _each_line(MODULES, _MODULE, "the line does not name a kernel module", "#;"),
        ),
        (
            r"/etc/modprobe\.d/.+\.conf",
            _each_line(
                MODPROBE, _MODPROBE_LINE, "modprobe does not know this line, such as blacklist NAME or options NAME …"
            ),
        ),
        (
            r"/etc/apt/sources\.list(\.d/.+\.list)?",
            _each_line(APT_SOURCE, _APT_LINE, "the line is not a source of apt"),
        ),
        (r"/etc/apt/sources\.list\.d/.+\.sources", _apt_sources),
        (r"/etc/netplan/.+\.yaml", _netplan),
        (r"/etc/crictl\.yaml", _crictl),
        (r"/etc/environment", _each_line(ENVIRONMENT, _VARIABLE, "the line is not an assignment such as NAME=value")),
        (r"/etc/apt/apt\.conf\.d/.+", _apt_settings),
        # Another check covers the kubelet's configuration.
        (r"/etc/kubernetes/manifests/.+\.ya?ml|/etc/cloud/.+\.cfg", _yaml),
        (r"/etc/.+\.json|/etc/cni/net\.d/.+\.conf(list)?", _json),
    )
)
