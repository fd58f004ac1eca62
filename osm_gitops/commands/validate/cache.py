"""Results of earlier runs in the user's cache folder, by the digest of all that they depend on.

An entry is JSON. It is never code, and nothing made from a Secret is stored. What is not exactly as it was written, or
could have been written by somebody else, counts as missing. Without a folder that can be used nothing is stored.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from osm_gitops import __version__
from osm_gitops.bounded.files import read_file
from osm_gitops.commands.validate.digest import digest_of
from osm_gitops.commands.validate.results import Counts, PartResult
from osm_gitops.errors import Code
from osm_gitops.lint.external import identities
from osm_gitops.model.finding import Finding, Rule, Severity

_MOST_BYTES: Final = 64 << 20
"""Size of all entries; the oldest ones are removed."""
_LARGEST: Final = 4 << 20
_SUFFIX: Final = ".json"
_LIBRARIES: Final = ("jinja2", "pyyaml", "tree-sitter", "tree-sitter-bash")
"""Libraries on which findings depend."""


class Cache:
    """The entries in a folder, for programs as they are in ``environment``. Without a ``folder`` there is none."""

    def __init__(self, folder: Path | None, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._programs = identities(environment) if folder else ()
        self._changed = False

    def key(self, *values: Any) -> str:
        """The key of what depends on these values alone, and on this program."""
        return digest_of(_program(), self._programs, values) if self._folder else ""

    def get(self, key: str) -> PartResult | None:
        """The result of an earlier run."""
        if self._folder is None:
            return None
        path = self._folder / f"{key}{_SUFFIX}"
        try:
            if not _is_ours(path.lstat()):
                return None
            entry = json.loads(read_file(path, _LARGEST, follow=False))
            return _result(entry["result"]) if entry["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def put(self, key: str, result: PartResult) -> None:
        """Store a result, if that is possible."""
        if self._folder is None or result.hidden:
            return
        text = json.dumps({"key": key, "result": _entry(result)}).encode()
        if len(text) > _LARGEST:
            return
        with suppress(OSError):
            descriptor, temporary = tempfile.mkstemp(suffix=".tmp", dir=self._folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(text)
                Path(temporary).replace(self._folder / f"{key}{_SUFFIX}")
                self._changed = True
            except OSError:
                Path(temporary).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the oldest entries beyond the size of all, and what interrupted runs left."""
        if self._folder is None or not self._changed:
            return
        with suppress(OSError):
            found = [(path, path.lstat()) for path in self._folder.iterdir()]
            left = _MOST_BYTES
            for path, status in sorted(found, key=lambda each: -each[1].st_mtime):
                left -= status.st_size
                if left < 0:
                    path.unlink(missing_ok=True)


def open_cache(environment: Mapping[str, str]) -> Cache:
    """The cache of the user, or none if there is no folder for it that only the user can write."""
    return Cache(_folder(environment), environment)


def _folder(environment: Mapping[str, str]) -> Path | None:
    if not hasattr(os, "geteuid"):
        return None
    named, home = environment.get("XDG_CACHE_HOME", ""), environment.get("HOME", "")
    parent = Path(named) if named else Path(home) / ".cache"
    if not parent.is_absolute() or not (named or home):
        return None
    folder = parent / "osm-gitops" / "validate"
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, exist_ok=True)
            if not (stat.S_ISDIR(each.lstat().st_mode) and _is_ours(each.lstat())):
                return None
    except (OSError, ValueError):
        return None
    return folder


def _is_ours(found: os.stat_result) -> bool:
    """Whether only this user could have written it."""
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@lru_cache(maxsize=1)
def _program() -> str:
    """The digest of this program: its version, its own files, Python, and the libraries."""
    package = Path(__file__).parents[2]
    files = sorted(path for path in package.rglob("*") if path.suffix in {".py", ".toml"})
    digests = [(str(path.relative_to(package)), sha256(path.read_bytes()).hexdigest()) for path in files]
    return digest_of(__version__, sys.version, tuple(_versions()), digests)


def _versions() -> Iterator[str]:
    for name in _LIBRARIES:
        try:
            yield version(name)
        except PackageNotFoundError:  # without metadata, in an image or an archive: the version of this program counts
            yield ""


def _entry(result: PartResult) -> dict[str, Any]:
    found = asdict(result)
    for finding in found["findings"]:
        finding["problem"] = finding["problem"].value if finding["problem"] else None
        finding["rule"]["severity"] = finding["rule"]["severity"].value
    return found


def _result(entry: Mapping[str, Any]) -> PartResult:
    """The result of an entry. Raises ValueError, KeyError or TypeError if it is not one."""
    findings = tuple(_finding(each) for each in entry["findings"])
    counts = Counts(**{name: _number(number) for name, number in entry["counts"].items()})
    return PartResult(findings, counts)


def _finding(entry: Mapping[str, Any]) -> Finding:
    rule = entry["rule"]
    return Finding(
        rule=Rule(_text(rule["id"]), Severity(rule["severity"]), _text(rule["meaning"]), _text(rule["family"])),
        message=_text(entry["message"]),
        where=_text(entry["where"]),
        about=_text(entry["about"]),
        field=_text(entry["field"]),
        fix=_text(entry["fix"]),
        seen_in=tuple(map(_text, entry["seen_in"])),
        suppressed=_text(entry["suppressed"]),
        problem=None if entry["problem"] is None else Code(entry["problem"]),
        others=tuple(map(_text, entry["others"])),
        consequences=tuple(map(_text, entry["consequences"])),
        group=_text(entry["group"]),
        rank=_number(entry["rank"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value
