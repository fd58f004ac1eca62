"""Checks of how the kubelet starts, with the other files of a node: whether it is told to join a cluster, and whether
containerd uses the same driver for cgroups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from osm_gitops.errors import InputError
from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, Remark, is_script, line_of, to_finding
from osm_gitops.lint.rules.kubelet_flags import UNIT, VARIABLE, CommandLine, command_lines
from osm_gitops.lint.rules.systemd import is_unit_file, unit_of
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.yaml.kubernetes import load_documents

MISSING: Final = Rule("kubelet-flag-missing", Severity.ERROR, "without a flag the kubelet does not join a cluster")
FILE: Final = Rule("kubelet-file", Severity.ERROR, "nothing writes a file that the kubelet reads")
ENDPOINT: Final = Rule("kubelet-endpoint", Severity.ERROR, "the kubelet asks containerd at another socket than its own")
CGROUP_DRIVER: Final = Rule(
    "kubelet-cgroup-driver", Severity.ERROR, "the kubelet and containerd use different drivers for cgroups"
)
RULES: Final = (MISSING, FILE, ENDPOINT, CGROUP_DRIVER)


def check_kubelet_start(document: BootDocument) -> Iterator[Finding]:
    """Check the command line of kubelet.service and the configuration that it names, with the other files."""
    services = [(file, command, _values(command)) for file, command in _service(document)]
    configurations = {file.path: file for file in document.files if _is_configuration(file)}
    for file, command, values in services:
        yield from _missing(document, file, command, values, configurations)
    for file in configurations.values():
        yield from _configured_files(document, file)
    yield from _endpoints(document, services, configurations.values())
    yield from _cgroup_driver(document, services, configurations.values())


def _service(document: BootDocument) -> Iterator[tuple[BootFile, CommandLine]]:
    """The command lines that start the kubelet, without those whose arguments are not all known."""
    for file in document.texts:
        if is_unit_file(file.path) and unit_of(file.path)[0] == UNIT:
            for command in command_lines(file.path, file.text):
                if command.is_whole and not any(each.startswith("$") for each in command.arguments):
                    yield file, command


def _values(command: CommandLine) -> dict[str, str]:
    found = {}
    for at, argument in enumerate(command.arguments):
        name, equals, value = argument.removeprefix("--").partition("=")
        if argument.startswith("--"):
            following = command.arguments[at + 1] if at + 1 < len(command.arguments) else ""
            found[name.replace("_", "-")] = value if equals else following
    return found


def _missing(
    document: BootDocument,
    file: BootFile,
    command: CommandLine,
    values: Mapping[str, str],
    configurations: Mapping[str, BootFile],
) -> Iterator[Finding]:
    if "kubeconfig" not in values:
        message = "without --kubeconfig the kubelet runs alone and does not join the cluster"
        remark = Remark(MISSING, message, command.line, "Add --kubeconfig=/var/lib/kubelet/kubeconfig")
        yield to_finding(document, file, remark)
    path = values.get("config", "")
    if not path and configurations:
        message = f"without --config the kubelet does not read {min(configurations)}"
        remark = Remark(MISSING, message, command.line, f"Add --config={min(configurations)}")
        yield to_finding(document, file, remark)
    elif path and configurations and path not in configurations and not _is_mentioned(document, path, file):
        message = f"nothing writes {path}, which the kubelet reads its configuration from"
        fix = f"Write --config={min(configurations)}"
        yield to_finding(document, file, Remark(FILE, message, command.line_of("--config"), fix))
    path = values.get("bootstrap-kubeconfig", "")
    if path and configurations and not _is_mentioned(document, path, file):
        message = f"nothing writes {path}, with which the kubelet joins the cluster"
        line = command.line_of("--bootstrap-kubeconfig")
        yield to_finding(
            document, file, Remark(FILE, message, line, "Name the file that a script or the profile writes")
        )


def _configured_files(document: BootDocument, file: BootFile) -> Iterator[Finding]:
    for match in _CLIENT_CA.finditer(file.text):
        if not _is_mentioned(document, match[1], file):
            message = f"nothing writes {match[1]}, with which the kubelet checks the API server's certificate"
            line = line_of(file.text, match.start(1))
            yield to_finding(document, file, Remark(FILE, message, line, "Write the file, or correct its name"))


_CLIENT_CA: Final = re.compile(r"^[ \t]*clientCAFile:[ \t]*[\"']?(/[^\s\"'#]+)", re.MULTILINE)


def _is_configuration(file: BootFile) -> bool:
    return "kind: KubeletConfiguration" in file.text and not is_script(file.path, file.text)


def _is_mentioned(document: BootDocument, path: str, besides: BootFile) -> bool:
    """Whether another file or a command has the path: then something may write it."""
    if VARIABLE.search(path):
        return True
    others = (file for file in document.texts if file is not besides)
    return any(file.path == path or path in file.text for file in others) or path in str(document.modules)


_ENDPOINT: Final = re.compile(r"^[ \t]*containerRuntimeEndpoint:[ \t]*[\"']?(?:unix://)?(/[^\s\"'#]+)", re.MULTILINE)
_SOCKETS: Final = frozenset({"/run/containerd/containerd.sock", "/var/run/containerd/containerd.sock"})
_SERVED: Final = re.compile(r"containerd(?:\.service)?$|/etc/containerd/.*\.toml$|containerd\.service\.d/")


def _endpoints(
    document: BootDocument,
    services: Sequence[tuple[BootFile, CommandLine, Mapping[str, str]]],
    configurations: Iterable[BootFile],
) -> Iterator[Finding]:
    """Compare the kubelet's endpoint with the sockets that containerd listens on."""
    named = [
        (file, command.line_of("--container-runtime-endpoint"), values["container-runtime-endpoint"])
        for file, command, values in services
        if "container-runtime-endpoint" in values
    ]
    named += [
        (file, line_of(file.text, match.start(1)), match[1])
        for file in configurations
        for match in _ENDPOINT.finditer(file.text)
    ]
    moved = next(
        ((file, match) for file in document.files if file.path == _CONFIG and (match := _ADDRESS.search(file.text))),
        None,
    )
    if (
        services
        and moved
        and moved[1][1] not in _SOCKETS
        and not any(moved[1][1] in endpoint for _, _, endpoint in named)
    ):
        file, match = moved
        message = f"containerd listens on {match[1]}, where no kubelet asks it"
        fix = "Remove the address, or set containerRuntimeEndpoint of the kubelet"
        yield to_finding(document, file, Remark(ENDPOINT, message, line_of(file.text, match.start(1)), fix))
    for file, line, endpoint in named:
        path = endpoint.removeprefix("unix://")
        listens = any(_SERVED.search(each.path) and path in each.text for each in document.texts if each is not file)
        if path.startswith("/") and path not in _SOCKETS and not listens and "crio" not in path:
            message = f"containerd does not listen on {path}"
            fix = "Write unix:///run/containerd/containerd.sock"
            yield to_finding(document, file, Remark(ENDPOINT, message, line, fix))


_CONFIG: Final = "/etc/containerd/config.toml"
_ADDRESS: Final = re.compile(r"""^\[grpc\](?:\n(?!\[).*)*?\naddress[ \t]*=[ \t]*["'](/[^"']*)["']""", re.MULTILINE)
_CONTAINERD: Final = re.compile(r"/etc/containerd/(?:config|conf\.d/[^/]+)\.toml")
_RUNC_OPTIONS: Final = re.compile(r"^[ \t]*\[plugins\..*runtimes\.['\"]?runc['\"]?\.options\]", re.MULTILINE)
_SYSTEMD: Final = re.compile(r"^[ \t]*SystemdCgroup[ \t]*=[ \t]*(true|false)\b", re.MULTILINE)


def _cgroup_driver(
    document: BootDocument,
    services: Sequence[tuple[BootFile, CommandLine, Mapping[str, str]]],
    configurations: Iterable[BootFile],
) -> Iterator[Finding]:
    """Compare the kubelet's driver with containerd's SystemdCgroup, which is false unless it is set."""
    files = [file for file in document.files if _CONTAINERD.fullmatch(file.path)]
    if not any(file.path == _CONFIG for file in files):
        return
    chosen = [(file, match) for file in files for match in _SYSTEMD.finditer(file.text)]
    containerd = "systemd" if any(match[1] == "true" for _, match in chosen) else "cgroupfs"
    # A flag counts more than the configuration.
    drivers = [
        (file, command.line_of("--cgroup-driver"), values["cgroup-driver"])
        for file, command, values in services
        if "cgroup-driver" in values
    ] or [(file, *_driver(file.text)) for file in configurations]
    for file, line, driver in drivers:
        if driver == "cgroupfs" and containerd == "systemd":
            message = "the kubelet's driver is cgroupfs, but containerd has SystemdCgroup = true"
            yield to_finding(document, file, Remark(CGROUP_DRIVER, message, line, "Write cgroupDriver: systemd"))
        elif driver == "systemd" and containerd == "cgroupfs":
            at, place = _containerd_place(files, chosen)
            message = f"containerd does not have SystemdCgroup = true, but the driver in {file.path} is systemd"
            yield to_finding(document, at, Remark(CGROUP_DRIVER, message, place, "Write SystemdCgroup = true for runc"))


def _containerd_place(
    files: Sequence[BootFile], chosen: Sequence[tuple[BootFile, re.Match[str]]]
) -> tuple[BootFile, int]:
    for file, match in chosen:
        return file, line_of(file.text, match.start(1))
    for file in files:
        if options := _RUNC_OPTIONS.search(file.text):
            return file, line_of(file.text, options.end())
    return files[0], 1


@lru_cache(maxsize=1_024)
def _driver(text: str) -> tuple[int, str]:
    """The line of ``cgroupDriver`` in a configuration, and its value; empty if it does not set it."""
    try:
        documents = load_documents(text, "")
    except InputError:  # another check reports it
        return 0, ""
    value = documents[0].value if documents else None
    driver = value.get("cgroupDriver") if isinstance(value, Mapping) else None
    return (documents[0].lines.get("cgroupDriver", 1), driver) if isinstance(driver, str) else (0, "")
