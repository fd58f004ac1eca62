"""Results of earlier runs of ``validate``, by the digest of all that they depend on.

An entry is JSON. It is never code, and nothing made from a Secret is stored. Without a folder that can be used nothing
is stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from osm_gitops.cache.digest import digest_of
from osm_gitops.cache.folder import CacheFolder, open_folder
from osm_gitops.cache.program import program_digest
from osm_gitops.commands.validate.results import Counts, PartResult
from osm_gitops.errors import Code
from osm_gitops.lint.external import identities
from osm_gitops.model.finding import Finding, Rule, Severity

_MOST_BYTES: Final = 64 << 20
"""Size of all entries."""
_LARGEST: Final = 4 << 20
_EVERYTHING: Final = ("",)
_LIBRARIES: Final = ("jinja2", "yaml", "tree_sitter", "tree_sitter_bash")
"""Libraries on which findings depend."""


class Cache:
    """The entries in a folder, for programs as they are in ``environment``. Without a ``folder`` there is none."""

    def __init__(self, folder: CacheFolder | None, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._programs = identities(environment) if folder else ()

    def key(self, *values: Any) -> str:
        """The key of what depends on these values alone, and on this program."""
        return digest_of(program_digest(_EVERYTHING, _LIBRARIES), self._programs, values) if self._folder else ""

    def get(self, key: str) -> PartResult | None:
        """The result of an earlier run."""
        content = self._folder.get(key) if self._folder is not None else None
        if content is None:
            return None
        try:
            return _result(json.loads(content))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def put(self, key: str, result: PartResult) -> None:
        """Store a result, if that is possible."""
        if self._folder is not None and not result.hidden:
            self._folder.put(key, json.dumps(_entry(result)).encode())

    def close(self) -> None:
        """Remove the oldest entries beyond the size of all."""
        if self._folder is not None:
            self._folder.trim()


def open_cache(environment: Mapping[str, str]) -> Cache:
    """The cache of the user, or none if there is no folder for it that only the user can write."""
    return Cache(open_folder(environment, "validate", _MOST_BYTES, _LARGEST), environment)


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
