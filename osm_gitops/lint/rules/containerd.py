"""Checks of containerd's config.toml and of the hosts.toml of registries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from osm_gitops.gocompat.toml import TomlError, read_toml
from osm_gitops.lint.rules.boot_file import (
    BootDocument,
    BootFile,
    Remark,
    line_of,
    line_with,
    suggested_fix,
    to_finding,
    words,
)
from osm_gitops.lint.rules.slips import misspelled
from osm_gitops.lint.tables import read_table
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.model.objects import value_at

SYNTAX: Final = Rule("toml-syntax", Severity.ERROR, "a configuration file of containerd is not TOML")
VERSION: Final = Rule("containerd-version", Severity.ERROR, "the configuration of containerd has an invalid version")
UNKNOWN_KEY: Final = Rule("containerd-unknown-key", Severity.ERROR, "containerd does not know a key and ignores it")
UNKNOWN_PLUGIN: Final = Rule(
    "containerd-unknown-plugin", Severity.ERROR, "containerd does not have a plugin that its configuration names"
)
RUNC_OPTION: Final = Rule(
    "containerd-runc-option", Severity.ERROR, "runc does not know an option, or expects another type"
)
VALUE: Final = Rule("containerd-value", Severity.ERROR, "containerd does not accept a value of its configuration")
TOO_OLD: Final = Rule("containerd-too-old", Severity.ERROR, "the installed containerd cannot read its configuration")
HOSTS: Final = Rule("containerd-hosts", Severity.ERROR, "containerd cannot use the hosts.toml of a registry")
NOT_READ: Final = Rule("containerd-not-read", Severity.ERROR, "containerd does not read a file with its configuration")
SOCKET: Final = Rule("crictl-endpoint", Severity.WARNING, "crictl asks at a socket that no container runtime has")
RULES: Final = (SYNTAX, VERSION, TOO_OLD, UNKNOWN_KEY, UNKNOWN_PLUGIN, RUNC_OPTION, VALUE, HOSTS, NOT_READ, SOCKET)

_TABLE: Final = read_table("containerd.toml")
_TOP: Final = words(_TABLE["top"])
_TABLES: Final = {name: words(keys) for name, keys in _TABLE["tables"].items()}
_PLUGINS: Final = {
    version: words(_TABLE["plugins"]["common"]) | words(_TABLE["plugins"][f"version_{version}"]) for version in (2, 3)
}
_PLUGIN_TABLES: Final = {
    version: {
        tuple(path.split("/")): words(keys) for path, keys in _TABLE["plugin_tables"][f"version_{version}"].items()
    }
    for version in (2, 3)
}
_RUNTIME_KEYS: Final = {
    2: words(_TABLE["runtime_keys"]),
    3: words(_TABLE["runtime_keys"]) | words(_TABLE["runtime_keys_3"]),
}
_RUNTIMES: Final = {
    2: ("io.containerd.grpc.v1.cri", "containerd", "runtimes"),
    3: ("io.containerd.cri.v1.runtime", "containerd", "runtimes"),
}
"""The path of the runtime handlers, by the configuration's version."""
_TYPES: Final[Mapping[str, tuple[type, str]]] = {
    "bool": (bool, "true or false"),
    "int": (int, "a number"),
    "str": (str, "a text"),
}
_RUNC_OPTIONS: Final = {
    option: _TYPES[name] for name, options in _TABLE["runc_options"].items() for option in options.split()
}
_HOST_KEYS: Final = words(_TABLE["host_keys"])
_CAPABILITIES: Final = words(_TABLE["capabilities"])

_CONFIG: Final = "/etc/containerd/config.toml"
_READ: Final = re.compile(r"/etc/containerd/(?:config\.toml|conf\.d/.*|certs\.d/.*)")
_ANY_VERSION: Final = re.compile(r"^version[ \t]*=[ \t]*[0-9]", re.MULTILINE)
_PLUGINS_TABLE: Final = re.compile(r"^[ \t]*\[plugins\b", re.MULTILINE)
_CRICTL: Final = "/etc/crictl.yaml"
_ENDPOINT: Final = re.compile(
    r"^(?:runtime|image)-endpoint:[ \t]*[\"']?(?:unix://)?(/[\w./-]+)[\"']?[ \t]*$", re.MULTILINE
)
_DEFAULT_SOCKET: Final = "unix:///run/containerd/containerd.sock"
_SOCKETS: Final = frozenset(
    f"{folder}/{socket}"
    for folder in ("/run", "/var/run")
    for socket in ("containerd/containerd.sock", "crio/crio.sock", "cri-dockerd.sock", "dockershim.sock")
)
_INSTALLS_OLD: Final = re.compile(r"^(?![ \t]*#).*\binstall\b.*\bcontainerd(?:\.io)?[-=](1\.[0-9]+)", re.MULTILINE)
_VERSION_3: Final = re.compile(r"^version[ \t]*=[ \t]*3\b", re.MULTILINE)
_AT_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")
_RUNC: Final = "io.containerd.runc.v2"
_RUNTIME_TYPE: Final = re.compile(r"io\.containerd\.[a-z0-9-]+\.v[0-9]+|/\S+")


def check_containerd(file: BootFile) -> Iterator[Remark]:
    """Check ``/etc/containerd/config.toml``, its imports from conf.d, and ``certs.d/*/hosts.toml``."""
    is_config = file.path == _CONFIG or re.fullmatch(r"/etc/containerd/conf\.d/[^/]+\.toml", file.path)
    is_hosts = re.fullmatch(r"/etc/containerd/certs\.d/[^/]+/hosts\.toml", file.path)
    if not (is_config or is_hosts):
        return
    try:
        document = read_toml(file.text)
    except TomlError as error:
        yield toml_remark(str(error), file.text)
        return
    yield from _Config(file.text, document).remarks() if is_config else _Hosts(file.text, document).remarks()


def check_installed_containerd(document: BootDocument) -> Iterator[Finding]:
    """Check the version: containerd 1.x cannot read version 3; containerd 2 can read version 2."""
    version = next((found for file in document.files if (found := _installed_old(file.text))), "")
    for file in document.files if version else ():
        if file.path == _CONFIG and (match := _VERSION_3.search(file.text)):
            message = f"containerd {version} is installed, which cannot read a configuration of version 3"
            line = line_of(file.text, match.start())
            yield to_finding(
                document, file, Remark(TOO_OLD, message, line, "Write version = 2, or install containerd 2")
            )


@lru_cache(maxsize=1_024)
def _installed_old(text: str) -> str:
    """The version 1.x of containerd that a script installs, or an empty text."""
    match = _INSTALLS_OLD.search(text)
    return match[1] if match else ""


def check_containerd_files(document: BootDocument) -> Iterator[Finding]:
    """Files with the configuration of containerd that it does not read, and the sockets that crictl asks at."""
    for file in document.files:
        if file.path == _CRICTL:
            for match in _ENDPOINT.finditer(file.text):
                if match[1] not in _SOCKETS and not _is_named(document, file, match[1]):
                    message = f"no container runtime listens on {match[1]}"
                    remark = Remark(SOCKET, message, line_of(file.text, match.start(1)), f"Write {_DEFAULT_SOCKET}")
                    yield to_finding(document, file, remark)
        elif _is_unread(file.path) and _is_configuration(file.text):
            folder, _, name = file.path.rpartition("/")
            # The usual name is in many scripts, so only its folder tells something.
            names = (file.path, folder if name == "config.toml" else name)
            if not any(_is_named(document, file, each) for each in names):
                message = f"containerd reads {_CONFIG}, and nothing names {file.path}"
                yield to_finding(document, file, Remark(NOT_READ, message, 0, f"Write it to {_CONFIG}"))


def _is_unread(path: str) -> bool:
    """Whether containerd does not read the path: no file of another program or one that is switched off."""
    if _READ.fullmatch(path) or not path.startswith("/etc/"):
        return False
    return not (re.search(r"rancher|k3s|k0s|microk8s", path) or path.startswith(f"{_CONFIG}.") or path.endswith("~"))


@lru_cache(maxsize=1_024)
def _is_configuration(text: str) -> bool:
    return bool(_ANY_VERSION.search(text) and _PLUGINS_TABLE.search(text))


def _is_named(document: BootDocument, besides: BootFile, name: str) -> bool:
    """Whether another file, a unit or a command has the name, or imports all files of its folder."""
    folder = name.rpartition("/")[0] + "/*"
    texts = (file.text for file in document.texts if file is not besides)
    modules = map(str, (document.modules,))  # only if no file has the name
    return any(name in text or (folder != "/*" and folder in text) for text in chain(texts, modules))


def toml_remark(message: str, text: str) -> Remark:
    """The error of the TOML reader, at its line."""
    match = _AT_LINE.search(message)
    line = int(match[1]) if match else len(text.splitlines())
    what = _AT_LINE.sub("", message).replace("(at end of document)", "").strip()
    return Remark(SYNTAX, f"this is not TOML: {what[:1].lower()}{what[1:]}", max(line, 1), "Correct the line")


_CRI: Final = ("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.")
_OLD_CRI: Final = "io.containerd.grpc.v1.cri"
_REGISTRIES: Final = ((_OLD_CRI, "registry"), ("io.containerd.cri.v1.images", "registry"))
_IMAGES: Final = ((_OLD_CRI, "containerd"), ("io.containerd.cri.v1.images",))
_CNI: Final = ((_OLD_CRI, "cni"), ("io.containerd.cri.v1.runtime", "cni"))
_SNAPSHOTTERS: Final = words("overlayfs native btrfs zfs devmapper blockfile stargz nydus fuse-overlayfs erofs soci")
_NUMBERS: Final = ("max_concurrent_downloads", "stats_collect_period", "max_container_log_line_size")


class _Config:
    def __init__(self, text: str, document: Mapping[str, Any]) -> None:
        self.text = text
        self.document = document
        self.version = document.get("version", 1)

    def remark(self, rule: Rule, message: str, fix: str, *names: str) -> Remark:
        return Remark(rule, message, line_with(self.text, *names), fix)

    def remarks(self) -> Iterator[Remark]:
        if type(self.version) is not int or self.version not in _PLUGINS:
            fix = "Write version = 3 for containerd 2.x, version = 2 for containerd 1.7"
            yield self.remark(
                VERSION, f"version {self.version!r} of the configuration is neither 2 nor 3", fix, "version"
            )
            return
        yield from self.keys(self.document, _TOP, "at the top", ())
        for name, known in _TABLES.items():
            if isinstance(table := self.document.get(name), Mapping):
                yield from self.keys(table, known, f"in [{name}]", (name,))
        plugins = self.document.get("plugins", {})
        if not isinstance(plugins, Mapping):
            yield self.remark(VALUE, "plugins is not a table", "Correct it", "plugins")
            return
        yield from self.disabled_remarks()
        yield from self.plugin_remarks(plugins)
        yield from self.registry_remarks(plugins)
        yield from self.runtime_remarks(plugins)

    def keys(
        self, table: Mapping[str, Any], known: frozenset[str], where: str, path: tuple[str, ...]
    ) -> Iterator[Remark]:
        for name in table:
            if name not in known:
                yield self.remark(
                    UNKNOWN_KEY,
                    f"containerd does not know the key {name} {where}",
                    suggested_fix(name, known, "Remove it"),
                    *path,
                    name,
                )

    def plugin_remarks(self, plugins: Mapping[str, Any]) -> Iterator[Remark]:
        known = _PLUGINS[self.version]
        for name in plugins:
            if name in known:
                continue
            elsewhere = [version for version, ids in _PLUGINS.items() if name in ids]
            fix = suggested_fix(name, known, "Remove it, or suppress this finding if it is your own")
            if elsewhere:
                fix = f"Write version = {elsewhere[0]}, or use the plugins of version {self.version}"
            message = f"containerd does not have a plugin {name} in version {self.version} of its configuration"
            yield self.remark(UNKNOWN_PLUGIN, message, fix, name)
        for path, keys in _PLUGIN_TABLES[self.version].items():
            table = value_at(plugins, path)
            if isinstance(table, Mapping):
                yield from self.keys(table, keys, f"in plugin {'.'.join(path)}", path)

    def disabled_remarks(self) -> Iterator[Remark]:
        disabled = self.document.get("disabled_plugins")
        for name in disabled if isinstance(disabled, list) else ():
            if isinstance(name, str) and (name == "cri" or name.startswith(_CRI)):
                message = f"disabled_plugins has {name}, without which the kubelet starts no pod"
                yield self.remark(VALUE, message, "Remove it", "disabled_plugins")

    def registry_remarks(self, plugins: Mapping[str, Any]) -> Iterator[Remark]:
        for path in _REGISTRIES:
            registry = value_at(plugins, path)
            if isinstance(registry, Mapping) and registry.get("config_path"):
                for name in ("mirrors", "configs"):
                    given = registry.get(name)
                    has = name == "mirrors" or any("tls" in each for each in _tables(given))
                    if given and has:
                        message = (
                            f"registry.{name} cannot be beside config_path: containerd starts without its CRI plugin"
                        )
                        fix = "Write /etc/containerd/certs.d/HOST/hosts.toml instead"
                        yield self.remark(VALUE, message, fix, f"registry.{name}")
        images = next((found for path in _IMAGES if isinstance(found := value_at(plugins, path), Mapping)), {})
        snapshotter = images.get("snapshotter")
        near = misspelled(snapshotter, _SNAPSHOTTERS) if isinstance(snapshotter, str) else ""
        if near:
            yield self.remark(VALUE, f"{snapshotter} is not a snapshotter", f"Write {near}", "snapshotter")
        for name in _NUMBERS:
            if not isinstance(images.get(name, 0), int):
                yield self.remark(VALUE, f"{name} must be a number", "Write it without quotes", name)
        cni = next((found for path in _CNI if isinstance(found := value_at(plugins, path), Mapping)), {})
        for name in ("bin_dir", "conf_dir"):
            folder = cni.get(name)
            if isinstance(folder, str) and folder and not folder.startswith("/"):
                yield self.remark(VALUE, f"{name} of cni is not an absolute path", "Start it with a slash", name)

    def runtime_remarks(self, plugins: Mapping[str, Any]) -> Iterator[Remark]:
        path = _RUNTIMES[self.version]
        containerd, runtimes = value_at(plugins, path[:-1]), value_at(plugins, path)
        if not isinstance(runtimes, Mapping) or not isinstance(containerd, Mapping):
            return
        default = containerd.get("default_runtime_name")
        if isinstance(default, str) and default not in {*runtimes, "runc"}:
            fix = suggested_fix(default, runtimes, "Name one of the runtimes")
            yield self.remark(VALUE, f"default_runtime_name {default} is not a runtime", fix, "default_runtime_name")
        for name, runtime in runtimes.items():
            if not isinstance(runtime, Mapping):
                yield self.remark(VALUE, f"the runtime {name} is not a table", "Correct it", f"runtimes.{name}")
                continue
            yield from self.one_runtime(name, runtime)

    def one_runtime(self, name: str, runtime: Mapping[str, Any]) -> Iterator[Remark]:
        at = f"runtimes.{name}"
        yield from self.keys(runtime, _RUNTIME_KEYS[self.version], f"in runtime {name}", (at,))
        kind = runtime.get("runtime_type", _RUNC)
        if not isinstance(kind, str) or not _RUNTIME_TYPE.fullmatch(kind):
            yield self.remark(
                VALUE, f"runtime_type of {name} is not the name of a shim", f"Write {_RUNC}", at, "runtime_type"
            )
            return
        options = runtime.get("options", {})
        if kind != _RUNC:
            return
        if not isinstance(options, Mapping):
            yield self.remark(
                RUNC_OPTION, f"the options of runtime {name} are not a table", "Correct it", at, "options"
            )
            return
        for option, value in options.items():
            wanted = _RUNC_OPTIONS.get(option)
            if wanted is None:
                fix = suggested_fix(option, _RUNC_OPTIONS, "Remove it")
                yield self.remark(
                    RUNC_OPTION, f"runc does not have an option {option}, and ignores it", fix, at, option
                )
            elif type(value) is not wanted[0]:
                yield self.remark(RUNC_OPTION, f"{option} must be {wanted[1]}", "Correct it", at, option)


def _tables(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value.values() if isinstance(each, Mapping)] if isinstance(value, Mapping) else []


class _Hosts:
    def __init__(self, text: str, document: Mapping[str, Any]) -> None:
        self.text = text
        self.document = document

    def remark(self, message: str, fix: str, *names: str) -> Remark:
        return Remark(HOSTS, message, line_with(self.text, *names), fix)

    def remarks(self) -> Iterator[Remark]:
        yield from self.table(self.document, "")
        hosts = self.document.get("host", {})
        if not isinstance(hosts, Mapping):
            yield self.remark("host is not a table of hosts", 'Write [host."https://…"]', "host")
            return
        for name, host in hosts.items():
            yield from self.address(name, name)
            if isinstance(host, Mapping):
                yield from self.table(host, name)
            else:
                yield self.remark(f"host {_shown(name)} is not a table", "Correct it", name)

    def table(self, table: Mapping[str, Any], host: str) -> Iterator[Remark]:
        where = f"of host {_shown(host)}" if host else "of hosts.toml"
        for key in table:
            if key not in _HOST_KEYS:
                fix = suggested_fix(key, _HOST_KEYS, "Remove it")
                yield self.remark(f"containerd does not know the key {key} {where}", fix, host, key)
        for name in ("skip_verify", "override_path"):
            if not isinstance(table.get(name, False), bool):
                yield self.remark(f"{name} {where} must be true or false", "Correct it", host, name)
        capabilities = table.get("capabilities", [])
        if not isinstance(capabilities, list):
            yield self.remark(f"capabilities {where} is not a list", "Correct it", host, "capabilities")
            return
        for each in capabilities:
            if not (isinstance(each, str) and each in _CAPABILITIES):
                fix = suggested_fix(str(each), _CAPABILITIES, f"Use {', '.join(sorted(_CAPABILITIES))}")
                yield self.remark(f"registries do not have a capability {each!r}", fix, host, "capabilities")
        server = table.get("server")
        if server:  # an empty one counts as missing
            yield from self.address(server, "server")

    def address(self, address: Any, name: str) -> Iterator[Remark]:
        """Check an address. Without a scheme containerd uses https, unless the name itself starts with http."""
        text = address if isinstance(address, str) else ""
        scheme, separator, rest = text.partition("://")
        if separator and (scheme not in ("http", "https") or not rest):
            yield self.remark(f"{_shown(text)} is not the URL of a registry", "Start it with https://", name)
        elif not text or (not separator and text.startswith("http")):
            fix = "Start it with https://"
            yield self.remark(f"containerd does not find a host in {_shown(text)}", fix, name)


def _shown(address: str) -> str:
    """An address without user and password."""
    return re.sub(r"//[^/@]*@", "//…@", address) or "an empty address"
