"""Small files of a node that a syntax error makes useless: sysctl, modules, apt, netplan, crictl, YAML, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

from osm_gitops.bounded.json_values import line_of_fault
from osm_gitops.errors import InputError
from osm_gitops.lint.rules.boot_file import BootFile, Remark
from osm_gitops.lint.rules.wording import suggested_fix, words
from osm_gitops.model.finding import Rule, Severity
from osm_gitops.yaml.kubernetes import load_documents

SYSCTL: Final = Rule("sysctl-syntax", Severity.ERROR, "sysctl cannot read a line")
MODULES: Final = Rule("modules-load-syntax", Severity.ERROR, "a line names no kernel module")
APT_SOURCE: Final = Rule("apt-source-syntax", Severity.ERROR, "apt cannot read one of its sources")
NETPLAN: Final = Rule("netplan", Severity.ERROR, "netplan cannot use a file")
CRICTL: Final = Rule("crictl-config", Severity.ERROR, "crictl does not know a key of its configuration")
YAML: Final = Rule("yaml-syntax", Severity.ERROR, "a YAML file is no YAML")
JSON: Final = Rule("json-syntax", Severity.ERROR, "a JSON file is no JSON")
ENVIRONMENT: Final = Rule("environment-syntax", Severity.ERROR, "a line of a file of variables is no assignment")
RULES: Final = (SYSCTL, MODULES, APT_SOURCE, NETPLAN, CRICTL, YAML, JSON, ENVIRONMENT)

_SYSCTL_LINE: Final = re.compile(r"-?[\w./*-]+[ \t]*=[ \t]*\S.*|-[\w./*-]+")
_MODULE: Final = re.compile(r"[\w-]+")
_APT_LINE: Final = re.compile(r"deb(?:-src)?[ \t]+(?:\[[^\]]*\][ \t]+)?\S+:\S*[ \t]+\S+(?:[ \t]+\S+)*")
_VARIABLE: Final = re.compile(r"(?:export[ \t]+)?[A-Za-z_]\w*=.*")
_DEB822: Final = words("Types URIs Suites Components")
_NETPLAN: Final = words(
    "version renderer ethernets wifis bonds bridges vlans tunnels vrfs modems nm-devices dummy-devices "
    "virtual-ethernets openvswitch"
)
_CRICTL: Final = words(
    "runtime-endpoint image-endpoint timeout debug pull-image-on-create disable-pull-on-run "
    "tracing-endpoint tracing-sampling-rate-per-million enable-tracing"
)


def check_node_file(file: BootFile) -> Iterator[Remark]:
    """Whatever is told from the file's path."""
    for pattern, look in _LOOKS:
        if pattern.fullmatch(file.path):
            yield from look(file.text)
            return


def _lines(text: str, comments: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line and line[0] not in comments:
            yield number, line


def _each_line(
    rule: Rule, pattern: re.Pattern[str], message: str, comments: str = "#"
) -> Callable[[str], Iterator[Remark]]:
    def look(text: str) -> Iterator[Remark]:
        for number, line in _lines(text, comments):
            if not pattern.fullmatch(line):
                yield Remark(rule, message, number, "Correct or remove the line")

    return look


def _apt_sources(text: str) -> Iterator[Remark]:
    """The deb822 form: paragraphs of ``Field: value``."""
    line = 1
    for paragraph in re.split(r"(?<=\n)[ \t]*\n", text):
        names = re.findall(r"^([A-Za-z][\w-]*):", paragraph, re.MULTILINE)
        lacking = {each.lower() for each in _DEB822} - {name.lower() for name in names}
        if names and lacking - ({"components"} if re.search(r"^Suites:.*/\s*$", paragraph, re.MULTILINE) else set()):
            yield Remark(APT_SOURCE, f"the source has no {', '.join(sorted(lacking))}", line, "Add what is missing")
        line += paragraph.count("\n") + 1


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
        yield Remark(JSON, "this is no JSON", line_of_fault(error, text), "Correct the line, or the one before")


def _netplan(text: str) -> Iterator[Remark]:
    remarks = list(_yaml(text))
    yield from remarks
    documents = [] if remarks else load_documents(text, "")
    network = documents[0].value.get("network") if documents and isinstance(documents[0].value, dict) else None
    if not isinstance(network, dict):
        if not remarks:
            yield Remark(NETPLAN, "the file has no mapping network", 1, "Put everything below network:")
        return
    if network.get("version") != 2:
        yield Remark(
            NETPLAN, "the version of network is not 2", documents[0].lines.get("network", 1), "Write version: 2"
        )
    for name in network:
        if name not in _NETPLAN:
            line = documents[0].lines.get(f"network.{name}", 1)
            yield Remark(
                NETPLAN, f"netplan knows no key {name} in network", line, suggested_fix(name, _NETPLAN, "Remove it")
            )


def _crictl(text: str) -> Iterator[Remark]:
    remarks = list(_yaml(text))
    yield from remarks
    for document in [] if remarks else load_documents(text, ""):
        for name in document.value if isinstance(document.value, dict) else ():
            if name not in _CRICTL:
                fix = suggested_fix(name, _CRICTL, "Remove it")
                yield Remark(CRICTL, f"crictl knows no key {name}", document.lines.get(name, 1), fix)


_LOOKS: Final = tuple(
    (re.compile(path), look)
    for path, look in (
        (
            r"/etc/sysctl(\.d/.+)?\.conf",
            _each_line(SYSCTL, _SYSCTL_LINE, "the line is no assignment such as net.ipv4.ip_forward = 1", "#;"),
        ),
        (r"/etc/modules-load\.d/.+\.conf", _each_line(MODULES, _MODULE, "the line names no kernel module", "#;")),
        (r"/etc/apt/sources\.list(\.d/.+\.list)?", _each_line(APT_SOURCE, _APT_LINE, "the line is no source of apt")),
        (r"/etc/apt/sources\.list\.d/.+\.sources", _apt_sources),
        (r"/etc/netplan/.+\.yaml", _netplan),
        (r"/etc/crictl\.yaml", _crictl),
        (r"/etc/environment", _each_line(ENVIRONMENT, _VARIABLE, "the line is no assignment such as NAME=value")),
        # The kubelet's own configuration has a check of its own.
        (r"/etc/kubernetes/manifests/.+\.ya?ml|/etc/cloud/.+\.cfg", _yaml),
        (r"/etc/.+\.json|/etc/cni/net\.d/.+\.conf(list)?", _json),
    )
)
