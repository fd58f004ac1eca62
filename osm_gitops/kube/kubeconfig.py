"""Kubeconfigs, found and merged by kubectl's rules. No network access.

The kubernetes client merges differently: it uses the current context of the last file (kubectl: of the first), so it
would access another cluster; and it treats a list of files as one name. So it gets only the entries of one context.
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
# Keys that name files, relative to the kubeconfig's folder.
_FILES = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a kubeconfig, and its file."""

    path: Path
    body: Mapping[str, Any]

    def text(self, key: str) -> str:
        """A value; empty if it is missing or not a text."""
        value = self.body.get(key)
        return value if isinstance(value, str) else ""

    def file(self, key: str) -> Path | None:
        """A file that the entry names, relative to its folder."""
        name = self.text(key)
        return self.path.absolute().parent / name if name else None


@dataclass(frozen=True, slots=True)
class Context:
    """The cluster and the user of a context."""

    name: str
    path: Path
    cluster: Entry
    user: Entry


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Several merged files: the first entry of a name and the first current context count."""

    files: tuple[Path, ...]
    missing: tuple[Path, ...]
    problems: tuple[Problem, ...]
    current: str
    entries: Mapping[tuple[str, str], Entry]

    def absences(self) -> list[Problem]:
        """A problem for each missing file."""
        return [
            Problem(Code.KUBECONFIG_NOT_FOUND, "the file does not exist", where=str(path), fix="Correct the path")
            for path in self.missing
        ]

    def lead(self, chosen: str, environment: Mapping[str, str]) -> Context:
        """Resolve the chosen or the current context. Raises InputError with all problems."""
        name = chosen or self.current
        known = ", ".join(sorted(each for kind, each in self.entries if kind == "contexts"))
        if ("contexts", name) not in self.entries:
            what = f'there is no context "{name}"' if name else "no context is selected"
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
        """Missing and invalid parts of a context."""
        for kind, files in _FILES.items():
            part = kind.removesuffix("s")
            name = context.text(part)
            entry = self.entries.get((kind, name))
            if entry is None:
                yield f'it names the {part} "{name}", of which there is no entry'
                continue
            yield from (f"{key} of the {part} has the wrong type" for key in _misshapen(entry))
            for key in files:
                file = entry.file(key)
                if file is not None and not os.path.exists(file):  # noqa: PTH110 - takes any text
                    # Not shown for users: with client-key instead of client-key-data, this is the key itself.
                    named = f"{key} {entry.text(key)}" if kind == "clusters" else f"the file of {key}"
                    yield f"{named} does not exist"
            command = plugin_command(entry)
            if command and not shutil.which(command, path=environment.get("PATH", "")):
                yield f"credentials need {command}, which is not installed"


def _misshapen(entry: Entry) -> Iterator[str]:
    """Keys of an entry with the wrong type, except texts."""
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
    """Whether a value is missing, or a list of this type."""
    return value is None or (isinstance(value, list) and all(isinstance(item, of) for item in value))


def plugin_command(user: Entry) -> str:
    """The credential program of a user, or an empty text. A path with folders is relative to the kubeconfig."""
    plugin = user.body.get("exec")
    command = plugin.get("command") if isinstance(plugin, Mapping) else None
    if not isinstance(command, str):
        return ""
    return str(user.path.absolute().parent / command) if os.path.dirname(command) else command  # noqa: PTH120 - is text


def read_kubeconfig(access: ContextRef, environment: Mapping[str, str]) -> Kubeconfig:
    """Read the files in kubectl's order: the named one, else those of KUBECONFIG, else the one in the home folder."""
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


def parse_inline_kubeconfig(text: bytes, where: str) -> Kubeconfig:
    """A kubeconfig that is not a file, such as the value of a Secret. Raises InputError, also if it names files or
    programs of this machine: whoever may write the object must not have them read or run."""
    body = _parsed(text, where)
    entries = {key: Entry(Path(where), value) for key, value in _entries(body)}
    for (kind, _), entry in entries.items():
        outside = [key for key in (*_FILES.get(kind, ()), "exec", "auth-provider") if entry.body.get(key)]
        if outside:
            raise _wrong(where, f"it must not have {', '.join(outside)}, as it is not a file of this machine")
    return Kubeconfig((Path(where),), (), (), str(body.get("current-context") or ""), entries)


def _files(access: ContextRef, environment: Mapping[str, str]) -> Sequence[Path]:
    if access.kubeconfig:
        return [Path(access.kubeconfig)]
    listed = [name for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    if listed:
        return [Path(name) for name in dict.fromkeys(listed)]
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    return [Path(home, ".kube", "config")] if home else []


def _read(path: Path) -> Mapping[str, Any] | None:
    """One file; ``None`` if it does not exist. Raises InputError."""
    try:
        text = read_file(path, DOCUMENT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise _wrong(str(path), f"it cannot be read: {fault.strerror}") from None
    return _parsed(text, str(path))


def _parsed(text: bytes, where: str) -> Mapping[str, Any]:
    """The content of a kubeconfig. Raises InputError."""
    try:
        documents = load_documents(text, where)
    except InputError:
        # The parser's message may quote a token.
        raise _wrong(where, "it is not YAML") from None
    body = documents[0].value if documents else None
    if len(documents) < 2 and body is None:
        return _EMPTY  # as in kubectl
    if len(documents) > 1 or not isinstance(body, Mapping) or body.get("kind", "Config") != "Config":
        raise _wrong(where, "it is not a kubeconfig")
    for kind in _LISTS:
        items = body.get(kind) or []
        if not isinstance(items, list) or not all(_is_entry(item, kind) for item in items):
            raise _wrong(where, f"its {kind} are not a list of named entries")
    return body


def _is_entry(item: Any, kind: str) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get(kind.removesuffix("s")) or {}, Mapping)


def _entries(body: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    for kind in _LISTS:
        for item in body.get(kind) or []:
            yield (kind, str(item.get("name"))), item.get(kind.removesuffix("s")) or _EMPTY


def _wrong(where: str, what: str) -> InputError:
    return input_error(
        Code.KUBECONFIG_INVALID, what, where=where, fix="Create it again, for example with your provider's tool"
    )
