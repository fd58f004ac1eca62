"""Collect everything that the nodes of a pool ask for, from boot files and the commands of systemd units."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.downloads.commands import IMAGE_REPOSITORIES, asked_by
from osm_gitops.downloads.files import (
    asked_by_modules,
    asked_in,
    is_containerd_config,
    mentioned,
    names_sandbox,
)
from osm_gitops.downloads.need import ARCHITECTURES, Kind, Need, Needs, Spot, Unresolved, joined, need
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, BootFile, Half
from osm_gitops.shell.follow import Follower
from osm_gitops.shell.state import Host, Place, State, clean, shown

_UNIT: Final = re.compile(r"\.(?:service|socket|mount|timer|path|conf)$")
_COMMAND: Final = re.compile(r"^(Exec(?:Start|StartPre|StartPost|Reload|Stop|StopPost|Condition))=[@:+!|-]*(.*)$")
_SET: Final = re.compile(r"^Environment=(.*)$")
_FILE: Final = re.compile(r"^EnvironmentFile=-?(\S+)$")
_ASSIGNED: Final = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_MOST_NAMED: Final = 4 << 20
"""Characters of environment files that are read for a unit."""


def commands_of(file: BootFile) -> Iterator[tuple[int, str]]:
    """The commands of a unit, each with its first line number; continued lines stay separate lines."""
    if not is_unit(file):
        return
    lines = file.text.splitlines()
    number = 0
    while number < len(lines):
        match = _COMMAND.match(lines[number])
        first = number + 1
        number += 1
        if match is None:
            continue
        parts = [match[2]]
        while parts[-1].endswith("\\") and number < len(lines):
            parts.append(lines[number])
            number += 1
        if match[2].strip():
            yield first, "\n".join(parts)


def variables_of(file: BootFile, files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The variables that a unit sets, also in environment files that are rendered."""
    left = _MOST_NAMED
    for line in file.text.splitlines() if is_unit(file) else ():
        given = _SET.match(line)
        try:
            words = shlex.split(given[1]) if given else []
        except ValueError:
            words = []
        for word in words:
            match = _ASSIGNED.match(word)
            if match:
                yield match[1], match[2]
        named = _FILE.match(line)
        text = files.get(named[1], "") if named else ""
        left -= len(text)
        for entry in text.splitlines() if left >= 0 else ():
            match = _ASSIGNED.match(entry.strip())
            if match:
                yield match[1], match[2].strip("'\"")


def is_unit(file: BootFile) -> bool:
    """Whether a file is a systemd unit or a drop-in."""
    return "/systemd/system/" in file.path and _UNIT.search(file.path) is not None


_MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_DISTRIBUTIONS: Final = {"amzn2": "amzn", "rockylinux": "rocky"}
_SHELL: Final = re.compile(r"^#!\s*\S*(?:/env\s+(?:-S\s+)?)?(?:ba|da|)sh\b|^#!\s*/usr/bin/env\s+(?:ba|da)?sh\b")
_LOCAL: Final = re.compile(r"(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)(?::\d+)?")
_MENTION: Final = "text"


@dataclass(frozen=True, slots=True)
class Network:
    """How nodes connect: the API server's URL, and the proxy or an empty text."""

    server: str
    proxy: str = ""


def needs_of(document: BootDocument, network: Network) -> Needs:
    """Everything that a node with these boot files asks for, for both architectures."""
    collector = _Collector(document, network)
    for half in HALVES:
        for architecture in ARCHITECTURES:
            collector.follow(half, architecture)
        collector.read(half)
    collector.mention()
    return collector.needs()


@dataclass(slots=True)
class _Collector:
    """Collects what a document asks for. ``replaced`` are package managers whose repositories the scripts replace."""

    document: BootDocument
    network: Network
    found: list[Need] = field(default_factory=list)
    unresolved: dict[Unresolved, None] = field(default_factory=dict)
    replaced: set[tuple[Half, str]] = field(default_factory=set)

    def needs(self) -> Needs:
        server = need(Kind.API, self.network.server, "kubelet", "and what fetches Secrets")
        proxy = [need(Kind.PROXY, self.network.proxy, "setting")] if self.network.proxy else []
        found = [self._of_server(each) for each in self.found if not (_LOCAL.fullmatch(each.host) or self._gone(each))]
        return Needs(joined([replace(server, architectures=ARCHITECTURES), *proxy, *found]), tuple(self.unresolved))

    def _gone(self, each: Need) -> bool:
        """Whether the need is for repositories of the image that scripts disable before they are used."""
        return each.name == IMAGE_REPOSITORIES and any((spot.half, each.by) in self.replaced for spot in each.spots)

    def _of_server(self, each: Need) -> Need:
        """A need with kind API, if it is a request to the API server."""
        server = self.network.server.rstrip("/")
        is_api = each.kind is Kind.URL and (each.name == server or each.name.startswith(f"{server}/"))
        return replace(each, kind=Kind.API) if is_api else each

    def follow(self, half: Half, architecture: str) -> None:
        """Follow everything that a half runs on one architecture."""
        files = {file.path: file for file in self.document.texts if file.half != half}
        files |= {file.path: file for file in self.document.texts if file.half == half}
        follower = Follower(_host(self.document, architecture, {path: file.text for path, file in files.items()}))
        for file in self.document.texts:
            if file.half == half:
                self._unit(follower, file)
        self._modules(follower, half)
        for file in self.document.texts:
            if file.half == half and file.path not in follower.reached and _is_script(file):
                follower.script(file.path)
        places = _Places(half, files)
        self.replaced |= {(half, manager) for manager in _replaced(follower)}
        for command in follower.commands:
            self._add(asked_by(command), places.spot(command.path, command.line), architecture)
        for written in follower.written:
            spot = places.spot(written.path, written.line)
            self._add((each for _, each in asked_in(shown(written.target), written.text)), spot, architecture)
        for each in follower.unfollowed:
            self.unresolved.setdefault(Unresolved(shown(each.why), places.spot(each.path, each.line)))

    def _unit(self, follower: Follower, file: BootFile) -> None:
        given = {name: clean(value) for name, value in variables_of(file, follower.host.files)}
        state = State(variables=given, exported=frozenset(given))
        for line, command in commands_of(file):
            follower.top(command, Place(file.path, shift=line - 1), state)

    def _modules(self, follower: Follower, half: Half) -> None:
        modules = self.document.modules.get(half)
        if modules is None:
            return
        for name, commands in (("bootcmd", modules.bootcmd), ("runcmd", modules.runcmd)):
            for index, command in enumerate(commands):
                follower.top(_as_shell(command), Place(f"{name}[{index}]", shift=-1), State())

    def _add(self, needs: Iterable[Need], spot: Spot, architecture: str) -> None:
        self.found += (replace(each, architectures=(architecture,), spots=(spot,)) for each in needs)

    def read(self, half: Half) -> None:
        """Read the configuration files of a half, and its modules."""
        for file in self.document.texts:
            if file.half != half:
                continue
            for line, each in asked_in(file.path, clean(file.text)):
                self._add_everywhere(each, Spot(half, file.path, line, file.place(line)))
            if is_containerd_config(file.path) and not names_sandbox(file.text):
                why = "containerd's configuration names no sandbox image, so it pulls the default of its version"
                if not any(each.kind is Kind.IMAGE and each.by == "kubelet" for each in self.found):
                    self.unresolved.setdefault(Unresolved(why, Spot(half, file.path, 1, file.place(1))))
        modules = self.document.modules.get(half)
        for name, each in asked_by_modules(modules) if modules else ():
            self._add_everywhere(each, Spot(half, name, 0))

    def _add_everywhere(self, each: Need, spot: Spot) -> None:
        self.found.append(replace(each, architectures=ARCHITECTURES, spots=(spot,)))

    def mention(self) -> None:
        """Add URLs in files that nothing else asks for; it is not known how they are used."""
        names = {each.name.rstrip("/") for each in self.found} | {self.network.proxy.rstrip("/")}
        hosts = {each.host for each in self.found if each.kind is not Kind.MENTIONED}
        for file in self.document.texts:
            for line, url in mentioned(file.text):
                each = need(Kind.MENTIONED, clean(url), _MENTION)
                if each.host and each.host not in hosts and each.name.rstrip("/") not in names:
                    self._add_everywhere(each, Spot(file.half, file.path, line, file.place(line)))


@dataclass(frozen=True, slots=True)
class _Places:
    """Finds the spot of a line of a rendered file."""

    half: Half
    files: Mapping[str, BootFile]

    def spot(self, path: str, line: int) -> Spot:
        file = self.files.get(path)
        if file is None:
            return Spot(self.half, path, 0)
        return Spot(file.half, path, line, file.place(line))


def _replaced(follower: Follower) -> Iterator[str]:
    """The package managers for which scripts replace the repositories of the image."""
    if any(written.target == "/etc/apt/sources.list" for written in follower.written):
        yield "apt"
    for command in follower.commands:
        words = command.words
        if words[0] in {"sed", "rm", "mv"} and any(word.startswith("/etc/yum.repos.d/") for word in words):
            yield "yum"


def _host(document: BootDocument, architecture: str, files: Mapping[str, str]) -> Host:
    machine = _MACHINES[architecture]
    answers = {
        ("uname", "-m"): machine,
        ("uname", "--machine"): machine,
        ("arch",): machine,
        ("dpkg", "--print-architecture"): architecture,
        ("rpm", "-E", "%{_arch}"): machine,
        ("rpm", "--eval", "%{_arch}"): machine,
    }
    if document.os == "ubuntu":
        answers |= {("lsb_release", "-si"): "Ubuntu", ("lsb_release", "-is"): "Ubuntu"}
    release = {"ID": _DISTRIBUTIONS.get(document.os, document.os)}
    sourced = dict.fromkeys(("/etc/os-release", "/usr/lib/os-release"), release)
    return Host(
        {path: clean(text) for path, text in files.items()},
        {words: f"{answer}\n" for words, answer in answers.items()},
        sourced,
    )


def _is_script(file: BootFile) -> bool:
    return _SHELL.match(file.text) is not None or (file.path.endswith(".sh") and not file.text.startswith("#!"))


def _as_shell(command: str) -> str:
    """A command of cloud-init as shell text; it may be a list of words in brackets."""
    if not command.startswith("["):
        return clean(command)
    words: Iterator[str] = (part.strip().strip("'\"") for part in command.strip("[] ").split(","))
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in map(clean, words))
