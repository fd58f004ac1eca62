"""Kubeconfigs as kubectl finds and merges them; where a context leads. No network is used.

The kubernetes client's own merge takes the last file's current context (kubectl: the first's), so that it would go to
another cluster; and it takes a list of files for one name. Hence only what a context leads to is handed to it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.yaml.kubernetes import load_documents

_LISTS = ("contexts", "clusters", "users")
# Where an entry names files, which are relative to the kubeconfig's folder.
_FILES = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a kubeconfig, and the file that it is in."""

    path: Path
    body: Mapping[str, Any]

    def text(self, key: str) -> str:
        """A value; empty where there is none, or it is no text."""
        value = self.body.get(key)
        return value if isinstance(value, str) else ""

    def file(self, key: str) -> Path | None:
        """A file that it names, relative to its own folder."""
        name = self.text(key)
        return self.path.absolute().parent / name if name else None


@dataclass(frozen=True, slots=True)
class Context:
    """Where a context leads, and as whom."""

    name: str
    path: Path
    cluster: Entry
    user: Entry


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Several files as one: of two entries of one name the first counts, and the first current context."""

    files: tuple[Path, ...]
    missing: tuple[Path, ...]
    problems: tuple[Problem, ...]
    current: str
    entries: Mapping[tuple[str, str], Entry]

    def absences(self) -> list[Problem]:
        """Of each file that is missing that it is."""
        return [
            Problem(Code.KUBECONFIG_NOT_FOUND, "the file is not there", where=str(path), fix="Correct the path")
            for path in self.missing
        ]

    def lead(self, chosen: str, environment: Mapping[str, str]) -> Context:
        """Where a context leads; without a choice the current one. Raises InputError with all that it lacks."""
        name = chosen or self.current
        known = ", ".join(sorted(each for kind, each in self.entries if kind == "contexts"))
        if ("contexts", name) not in self.entries:
            what = f'there is no context "{name}"' if name else "no context is chosen"
            where = ", ".join(map(str, self.files))
            raise input_error(Code.CONTEXT_NOT_FOUND, what, where=where, fix=f"Name one of {known}" if known else "")
        context = self.entries["contexts", name]
        lacking = [*self._lacking(context, environment)]
        if lacking:
            raise InputError(
                Problem(Code.KUBECONFIG_INVALID, what, where=str(context.path), about=f"context {name}")
                for what in lacking
            )
        cluster, user = (self.entries[kind, context.text(kind.removesuffix("s"))] for kind in _FILES)
        return Context(name, context.path, cluster, user)

    def _lacking(self, context: Entry, environment: Mapping[str, str]) -> Iterator[str]:
        """What the entries of a context name and is not there."""
        for kind, files in _FILES.items():
            part = kind.removesuffix("s")
            name = context.text(part)
            entry = self.entries.get((kind, name))
            if entry is None:
                yield f'it names the {part} "{name}", of which there is no entry'
                continue
            yield from (f"{key} of the {part} is not as it should be" for key in _misshapen(entry))
            for key in files:
                file = entry.file(key)
                if file is not None and not os.path.exists(file):  # noqa: PTH110 - takes any text
                    # Of a user untold: who mixes up client-key and client-key-data has the key itself in this place.
                    named = f"{key} {entry.text(key)}" if kind == "clusters" else f"the file of {key}"
                    yield f"{named} is not there"
            command = plugin_command(entry)
            if command and not shutil.which(command, path=environment.get("PATH", "")):
                yield f"credentials come from {command}, which is not installed"


def _misshapen(entry: Entry) -> Iterator[str]:
    """What of an entry has another shape than kubectl takes, as far as it is more than a text."""
    plugin = entry.body.get("exec") or _EMPTY
    extra = entry.body.get("as-user-extra") or _EMPTY
    shapes = {
        "exec": isinstance(plugin, Mapping) and _is_list(plugin.get("args")) and _is_list(plugin.get("env"), Mapping),
        "as-groups": _is_list(entry.body.get("as-groups")),
        "as-user-extra": isinstance(extra, Mapping) and all(_is_list(values) for values in extra.values()),
        "extensions": _is_list(entry.body.get("extensions"), Mapping),
    }
    return (key for key, fits in shapes.items() if not fits)


def _is_list(value: Any, of: type = str) -> bool:
    """Whether it is a list of these, or is not there."""
    return value is None or (isinstance(value, list) and all(isinstance(item, of) for item in value))


def plugin_command(user: Entry) -> str:
    """The program that makes a user's credentials, or nothing; with a folder in it, it is relative to the file."""
    plugin = user.body.get("exec")
    command = plugin.get("command") if isinstance(plugin, Mapping) else None
    if not isinstance(command, str):
        return ""
    return str(user.path.absolute().parent / command) if os.path.dirname(command) else command  # noqa: PTH120 - is text


def read_kubeconfig(access: ContextRef, environment: Mapping[str, str]) -> Kubeconfig:
    """The files in kubectl's order: the one that is named, else those of KUBECONFIG, else the one in the home."""
    files: list[Path] = []
    missing: list[Path] = []
    problems: list[Problem] = []
    current = ""
    entries: dict[tuple[str, str], Entry] = {}
    for path in _files(access, environment):
        try:
            body = _read(path)
        except InputError as failure:
            problems.extend(failure.problems)
            continue
        if body is None:
            missing.append(path)
            continue
        files.append(path)
        current = current or str(body.get("current-context") or "")
        for key, value in _entries(body):
            entries.setdefault(key, Entry(path, value))
    return Kubeconfig(tuple(files), tuple(missing), tuple(problems), current, entries)


def _files(access: ContextRef, environment: Mapping[str, str]) -> Sequence[Path]:
    if access.kubeconfig:
        return [Path(access.kubeconfig)]
    listed = [name for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    if listed:
        return [Path(name) for name in dict.fromkeys(listed)]
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    return [Path(home, ".kube", "config")] if home else []


def _read(path: Path) -> Mapping[str, Any] | None:
    """One file; ``None`` where it is not there. Raises InputError."""
    try:
        text = read_file(path, DOCUMENT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise _wrong(path, f"it cannot be read: {fault.strerror}") from None
    try:
        documents = load_documents(text, str(path))
    except InputError:
        # What the reader would cite may be a token.
        raise _wrong(path, "it is no YAML") from None
    body = documents[0].value if documents else None
    if len(documents) < 2 and body is None:
        return _EMPTY  # as kubectl takes it
    if len(documents) > 1 or not isinstance(body, Mapping) or body.get("kind", "Config") != "Config":
        raise _wrong(path, "it is no kubeconfig")
    for kind in _LISTS:
        items = body.get(kind) or []
        if not isinstance(items, list) or not all(_is_entry(item, kind) for item in items):
            raise _wrong(path, f"its {kind} are no list of named entries")
    return body


def _is_entry(item: Any, kind: str) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get(kind.removesuffix("s")) or {}, Mapping)


def _entries(body: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    for kind in _LISTS:
        for item in body.get(kind) or []:
            yield (kind, str(item.get("name"))), item.get(kind.removesuffix("s")) or _EMPTY


def _wrong(path: Path, what: str) -> InputError:
    return input_error(
        Code.KUBECONFIG_INVALID, what, where=str(path), fix="Write it anew, for example with your provider's tool"
    )
