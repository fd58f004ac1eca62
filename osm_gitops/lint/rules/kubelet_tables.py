"""What a kubelet knows: the fields of its configuration, feature gates, quantities and durations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.gocompat.duration import parse_duration
from osm_gitops.gocompat.fault import GoError
from osm_gitops.lint.rules.boot_file import words
from osm_gitops.lint.tables import read_table

_TABLE: Final = read_table("kubelet.toml")
TYPES: Final[Mapping[str, str]] = {path: name for name, paths in _TABLE["types"].items() for path in paths.split()}
"""Type by path."""
SINCE: Final[Mapping[str, int]] = _TABLE["since"]
"""The Kubernetes minor (1.x) that added a field, if after 1.31."""
NEEDED_GATES: Final[Mapping[str, tuple[str, int]]] = {
    path: (name, since) for path, (name, since) in _TABLE["needed_gates"].items()
}
"""Feature gates that a field requires, and the minor since which they are on by default; 0: never."""
RANGES: Final[Mapping[str, tuple[int, int]]] = {path: (least, most) for path, (least, most) in _TABLE["ranges"].items()}
"""The smallest and the largest value; 0 usually means the default."""
WORDS: Final[Mapping[str, frozenset[str]]] = {path: words(values) for path, values in _TABLE["words"].items()}
"""The values of fields with a few allowed words; an empty text means the default."""
EVICTION_SIGNALS: Final = words(_TABLE["eviction_signals"])
RESERVED_RESOURCES: Final = words(_TABLE["reserved_resources"])
CIPHERS: Final = words(_TABLE["ciphers"])

OLDEST: Final[int] = _TABLE["gates"]["oldest"]
NEWEST: Final[int] = _TABLE["gates"]["newest"]
_GATE: Final = re.compile(r"(\w+)(?::(\d*)-(\d*))?(?:=(\w+)@(\d+))?")
_QUANTITY: Final = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Gate:
    """A feature gate: known in the minors ``first`` to ``last``; since ``locked_since`` its value is ``locked``."""

    name: str
    first: int
    last: int
    locked: bool | None
    locked_since: int


def _gate(match: re.Match[str]) -> Gate:
    name, first, last, locked, since = match.groups()
    value = None if locked is None else locked == "true"
    return Gate(name, int(first or OLDEST), int(last or NEWEST), value, int(since or NEWEST + 1))


GATES: Final[Mapping[str, Gate]] = {match[1]: _gate(match) for match in _GATE.finditer(_TABLE["gates"]["known"])}
"""All feature gates by name."""


def gate_fault(name: str, minor: int, *, value: bool) -> str:
    """Why kubelet 1.``minor`` refuses this value of the gate; empty if it does not, or the minor is unknown."""
    if not OLDEST <= minor <= NEWEST:
        return ""
    gate = GATES.get(name)
    if gate is None:
        return "no kubelet knows it"
    if minor < gate.first:
        return f"it was added in Kubernetes 1.{gate.first}"
    if minor > gate.last:
        return f"it was removed in Kubernetes 1.{gate.last + 1}"
    if gate.locked is not None and minor >= gate.locked_since and value is not gate.locked:
        return f"it is always {str(gate.locked).lower()} since Kubernetes 1.{gate.locked_since}"
    return ""


def is_quantity(text: str) -> bool:
    """Whether the text is a Kubernetes quantity (``500Mi``, ``100m``)."""
    return _QUANTITY.fullmatch(text) is not None


def is_positive_quantity(text: str) -> bool:
    """Whether the text is a quantity above zero."""
    match = _QUANTITY.fullmatch(text)
    return match is not None and match[1] != "-" and float(match[2]) > 0


def duration(text: str) -> int | None:
    """Nanoseconds of a duration (``1h30m``); ``None`` if Go cannot parse it."""
    try:
        return parse_duration(text)
    except GoError:
        return None
