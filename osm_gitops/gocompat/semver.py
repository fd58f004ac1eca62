"""``Masterminds/semver`` 3.4.0: versions and constraints (osm-behaviour.md, "Kubelet version" and "Version
constraints")."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Final

from osm_gitops.gocompat import regex
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import RangeFault, parse_uint

_TAIL: Final = r"(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
_VERSION: Final = re.compile(r"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?" + _TAIL)
_PARTIAL: Final = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?" + _TAIL
_OPERATOR: Final = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^"
_BLANKS: Final = "\t\n\f\r "
_ONE: Final = re.compile(rf"({_OPERATOR})[{_BLANKS}]*({_PARTIAL})")
_EACH: Final = rf"({_OPERATOR})\s*({_PARTIAL})"
_GROUP: Final = rf"^(\s*({_OPERATOR})\s*({_PARTIAL})\s*)((?:\s+|,\s*)({_OPERATOR})\s*({_PARTIAL})\s*)*$"
_RANGE: Final = rf"\s*({_PARTIAL})\s+-\s+({_PARTIAL})\s*"
_LONGEST_REMEMBERED: Final = 200
_FIT_SURELY: Final = 20  # digits into 64 bits
_WILDCARDS: Final = frozenset({"", "x", "X", "*"})


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A semantic version; ``str`` gives it normalised, without the ``v``. Build metadata does not count in order."""

    major: int
    minor: int
    patch: int
    prerelease: str = ""
    metadata: str = ""
    original: str = ""

    def __str__(self) -> str:
        prerelease = f"-{self.prerelease}" if self.prerelease else ""
        metadata = f"+{self.metadata}" if self.metadata else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{metadata}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[int, int, int, bool, tuple[tuple[int, int, str], ...]]:
        return self.major, self.minor, self.patch, not self.prerelease, _identifiers(self.prerelease)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One ``>=1.2``: ``given`` says how many of major, minor and patch were written out."""

    operator: str
    version: Version
    given: int

    def holds(self, version: Version) -> bool:
        operator = "~" if self.operator in {"", "="} and self.given < 3 else self.operator
        return _CHECKS[operator](self, version)


@dataclass(frozen=True, slots=True)
class Constraint:
    """Groups of comparisons: all of any one group must hold."""

    groups: tuple[tuple[_Comparison, ...], ...]

    def check(self, version: Version) -> bool:
        """Whether ``version`` satisfies it; a pre-release only where its group names one."""
        for group in self.groups:
            if version.prerelease and not any(part.version.prerelease for part in group):
                continue
            for part in group:
                if not part.holds(version):
                    break
            else:
                return True
        return False


def parse_version(text: str) -> Version:
    """``NewVersion``: an optional ``v``, one to three integers, ``-pre``, ``+meta`` (osm-behaviour.md, "Kubelet
    version").

    Raises :class:`GoError`: ``invalid semantic version``, or a sentence on the part at fault.
    """
    return _remembered_version(text) if len(text) <= _LONGEST_REMEMBERED else _parse_version(text)


def _parse_version(text: str) -> Version:
    match = _VERSION.fullmatch(text)
    if match is None:
        raise GoError("invalid semantic version")
    major, minor, patch, prerelease, metadata = match.group(1, 2, 3, 5, 8)
    numbers = _segment(major), _segment(minor[1:]) if minor else 0, _segment(patch[1:]) if patch else 0
    for part in prerelease.split(".") if prerelease else ():
        if len(part) > 1 and part.startswith("0") and part.isdigit():
            raise GoError("version segment starts with 0")
    return Version(*numbers, prerelease or "", metadata or "", text)


def parse_constraint(text: str) -> Constraint:
    """``NewConstraint``: ``||`` between groups; commas or blanks between comparisons.

    Raises :class:`GoError`: ``improper constraint: …`` or ``constraint parser error``.
    """
    return _remembered_constraint(text) if len(text) <= _LONGEST_REMEMBERED else _parse_constraint(text)


def _parse_constraint(text: str) -> Constraint:
    alone = None if "||" in text else _ONE.fullmatch(text.strip(_BLANKS))
    if alone:  # nearly always, and it saves loading RE2
        return Constraint(((_comparison(alone),),))
    return Constraint(tuple(map(_parse_group, _without_ranges(text).split("||"))))


_remembered_version = lru_cache(maxsize=1024)(_parse_version)
_remembered_constraint = lru_cache(maxsize=1024)(_parse_constraint)


def _segment(digits: str) -> int:
    if len(digits) < _FIT_SURELY:
        return int(digits)
    try:
        return parse_uint(digits)
    except RangeFault as fault:
        raise GoError(f"error parsing version segment: {fault}") from fault


def _identifiers(prerelease: str) -> tuple[tuple[int, int, str], ...]:
    """Sort keys: numeric identifiers (of 64 bits at most) before all others."""
    if not prerelease:
        return ()
    return tuple(
        (0, int(part), "") if part.isdigit() and len(part) <= 20 and int(part) < 1 << 64 else (1, 0, part)
        for part in prerelease.split(".")
    )


def _without_ranges(text: str) -> str:
    """``text`` with each ``a - b`` written as ``>= a, <= b ``."""
    result = text
    for groups in regex.compile_pattern(_RANGE).find_all_groups(text):
        whole, low, high = groups[0], groups[1], groups[11]
        result = result.replace(whole or "", f">= {low}, <= {high} ", 1)
    return result


def _parse_group(text: str) -> tuple[_Comparison, ...]:
    if not regex.compile_pattern(_GROUP).matches(text):
        raise GoError(f"improper constraint: {text}")
    found = map(_ONE.fullmatch, regex.compile_pattern(_EACH).find_all(text, -1))
    return tuple(_comparison(match) for match in found if match)


def _comparison(match: re.Match[str]) -> _Comparison:
    """What one match of ``_ONE`` says."""
    operator, full, major, minor, patch, prerelease = match.groups()[:6]
    numbers = [major, (minor or "").removeprefix("."), (patch or "").removeprefix(".")]
    given = next((count for count, number in enumerate(numbers) if number in _WILDCARDS), 3)
    if given < 3:
        full = ".".join([*numbers[:given], *["0"] * (3 - given)]) + (prerelease or "")
    try:
        return _Comparison(operator, parse_version(full), given)
    except GoError as fault:
        raise GoError("constraint parser error") from fault


def _not_equal(part: _Comparison, version: Version) -> bool:
    wanted = part.version
    if part.given not in {1, 2}:
        return version != wanted
    if version.major != wanted.major:
        return True
    if part.given == 1:
        return False
    return version.minor != wanted.minor or version.prerelease != wanted.prerelease


def _greater(part: _Comparison, version: Version) -> bool:
    wanted = part.version
    if part.given not in {1, 2}:
        return version > wanted
    if version.major != wanted.major:
        return version.major > wanted.major
    return part.given == 2 and version.minor > wanted.minor


def _at_most(part: _Comparison, version: Version) -> bool:
    wanted = part.version
    if part.given == 3:
        return version <= wanted
    if part.given == 1:
        return version.major <= wanted.major
    return (version.major, version.minor) <= (wanted.major, wanted.minor)


def _tilde(part: _Comparison, version: Version) -> bool:
    wanted = part.version
    near = version.major == wanted.major and (part.given == 1 or version.minor == wanted.minor)
    if not near and (part.given in {1, 2} or (wanted.major, wanted.minor, wanted.patch) != (0, 0, 0)):
        return False  # most are told apart by this
    return not version < wanted


def _caret(part: _Comparison, version: Version) -> bool:
    wanted = part.version
    if version < wanted:
        return False
    if wanted.major > 0 or part.given == 1 or version.major > 0:
        return version.major == wanted.major
    if wanted.minor > 0 or part.given == 2 or version.minor > 0:
        return version.minor == wanted.minor
    return version.patch == wanted.patch


_CHECKS: Final[dict[str, Callable[[_Comparison, Version], bool]]] = {
    "": lambda part, version: version == part.version,
    "=": lambda part, version: version == part.version,
    "!=": _not_equal,
    ">": _greater,
    "<": lambda part, version: version < part.version,
    ">=": lambda part, version: version >= part.version,
    "=>": lambda part, version: version >= part.version,
    "<=": _at_most,
    "=<": _at_most,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}
