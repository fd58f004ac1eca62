"""Kubeconfigs as kubectl finds them: whether they can be read, and whether their context leads anywhere.

Which cluster answers is not asked: no network is used.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from osm_gitops.errors import InputError, Problem, input_error
from osm_gitops.fleet.doctor.finding import Finding, State, found, note, ok
from osm_gitops.model.objects import Json
from osm_gitops.yamldoor.kubernetes import load_documents

_LISTS = ("contexts", "clusters", "users")
# Where an entry names files, which are relative to the kubeconfig's folder.
_FILES = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}


@dataclass(frozen=True, slots=True)
class Connection:
    """A kubeconfig and a context that the user named for one ``side``; empty: kubectl's own choice."""

    side: str = ""
    kubeconfig: str = ""
    context: str = ""

    @property
    def is_named(self) -> bool:
        return bool(self.kubeconfig or self.context)


def look_at_kubeconfigs(connections: Sequence[Connection], environment: Mapping[str, str]) -> Iterator[Finding]:
    """A line on each kubeconfig that was named, else on what kubectl would take."""
    named = [connection for connection in connections if connection.is_named]
    for connection in named or [Connection()]:
        # What nobody named is nothing that a run from trees to git needs.
        state = State.FIX if connection.is_named else State.NOTE
        area = f"kubeconfig, {connection.side}" if connection.side else "kubeconfig"
        config = _Config(environment)
        files, missing_counts = _files(connection, environment)
        config.read(files, missing_counts=missing_counts)
        if not config.files and not config.problems:
            yield note(area, "there is none; none is needed as long as sources are trees and targets are git")
            continue
        where = config.look(connection.context)
        yield from found(area, config.problems, state)
        if where:
            yield ok(area, where)


def _files(connection: Connection, environment: Mapping[str, str]) -> tuple[list[Path], bool]:
    """kubectl's order; whether one that is missing is worth a word."""
    if connection.kubeconfig:
        return [Path(connection.kubeconfig)], True
    listed = [name for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    if listed:
        return [Path(name) for name in listed], True
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    return [Path(home, ".kube", "config")] if home else [], connection.is_named


@dataclass(slots=True)
class _Config:
    """Several files as one: of two entries of one name the first counts, as for kubectl."""

    environment: Mapping[str, str]
    context: str = ""
    files: list[Path] = field(default_factory=list)
    entries: dict[tuple[str, str], tuple[Path, Mapping[str, Json]]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, files: Sequence[Path], *, missing_counts: bool) -> None:
        """Take in files; what cannot be read is a problem."""
        for path in files:
            try:
                body = _read(path)
            except InputError as failure:
                self.problems.extend(failure.problems)
                continue
            if body is not None:
                self._add(path, body)
            elif missing_counts:
                self.problems.append(Problem("the file is not there", where=str(path), fix="Correct the path"))

    def _add(self, path: Path, body: Mapping[str, Json]) -> None:
        self.files.append(path)
        self.context = self.context or str(body.get("current-context") or "")
        for kind in _LISTS:
            for item in body.get(kind) or []:
                entry = item.get(kind.removesuffix("s")) or {}
                self.entries.setdefault((kind, str(item.get("name"))), (path, entry))

    def look(self, chosen: str) -> str:
        """Where a context leads, empty together with problems. Without a choice it is the current one."""
        if not self.files:
            return ""
        name = chosen or self.context
        known = ", ".join(sorted(each for kind, each in self.entries if kind == "contexts"))
        if ("contexts", name) not in self.entries:
            what = f'there is no context "{name}"' if name else "no context is chosen"
            how = f"Name one of {known}" if known else ""
            self.problems.append(Problem(what, where=", ".join(map(str, self.files)), fix=how))
            return ""
        path, context = self.entries["contexts", name]
        lacking = [*self._lacking(context)]
        self.problems.extend(Problem(what, where=str(path), about=f"context {name}") for what in lacking)
        if lacking:
            return ""
        _, cluster = self.entries["clusters", str(context["cluster"])]
        return f"{path}: context {name} leads to {_host(cluster)}"

    def _lacking(self, context: Mapping[str, Json]) -> Iterator[str]:
        """What the entries of a context name and is not there."""
        for kind, files in _FILES.items():
            part = kind.removesuffix("s")
            name = str(context.get(part) or "")
            if (kind, name) not in self.entries:
                yield f'it names the {part} "{name}", of which there is no entry'
                continue
            path, entry = self.entries[kind, name]
            for key in files:
                file = entry.get(key)
                if isinstance(file, str) and file and not os.path.exists(path.parent / file):  # noqa: PTH110 - takes any text
                    # Of a user untold: who mixes up client-key and client-key-data has the key itself in this place.
                    yield f"{key} {file} is not there" if kind == "clusters" else f"the file of {key} is not there"
            plugin = entry.get("exec")
            command = plugin.get("command") if isinstance(plugin, Mapping) else None
            if isinstance(command, str) and not shutil.which(command, path=self.environment.get("PATH", "")):
                yield f"credentials come from {command}, which is not installed"


def _read(path: Path) -> Mapping[str, Json] | None:
    """One file; ``None`` where it is not there. Raises InputError."""
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise _wrong(path, f"it cannot be read: {fault.strerror}") from None
    try:
        documents = load_documents(text, str(path))
    except InputError:
        # What the reader would cite may be a token.
        raise _wrong(path, "it is no YAML") from None
    body = documents[0].value if len(documents) == 1 else None
    if not isinstance(body, Mapping) or body.get("kind", "Config") != "Config":
        raise _wrong(path, "it is no kubeconfig")
    for kind in _LISTS:
        items = body.get(kind) or []
        if not isinstance(items, list) or not all(_is_entry(item, kind) for item in items):
            raise _wrong(path, f"its {kind} are no list of named entries")
    return body


def _is_entry(item: Json, kind: str) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get(kind.removesuffix("s")) or {}, Mapping)


def _wrong(path: Path, what: str) -> InputError:
    return input_error(what, where=str(path), fix="Write it anew, for example with your provider's tool")


def _host(cluster: Mapping[str, Json]) -> str:
    server = str(cluster.get("server") or "")
    try:
        return urlsplit(server).netloc.rpartition("@")[2] or "no server"
    except ValueError:
        return "no server"
