"""Sprig's semantic versions (osm-behaviour.md, "Version constraints")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from osm_gitops.gocompat.semver import Version, parse_constraint, parse_version
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.functions.signature import GoFunction
from osm_gitops.gotemplate.values import Pointer, Struct, Uint64

_CHARS: Final = 12
"""Binary logarithm of what counts as a step; a list of ranges is rewritten range by range."""
_WRAP: Final = 1 << 64


@dataclass(frozen=True)
class SemanticVersion(Struct):
    """``semver.Version``: hidden fields behind methods; it prints normalised."""

    go_type: ClassVar[str] = "semver.Version"
    methods: ClassVar[frozenset[str]] = frozenset(
        {"Major", "Minor", "Patch", "Prerelease", "Metadata", "Original", "String", "IncMajor", "IncMinor", "IncPatch"}
    )
    major: Uint64
    minor: Uint64
    patch: Uint64
    pre: str
    metadata: str
    original: str

    def Major(self) -> Uint64:
        return self.major

    def Minor(self) -> Uint64:
        return self.minor

    def Patch(self) -> Uint64:
        return self.patch

    def Prerelease(self) -> str:
        return self.pre

    def Metadata(self) -> str:
        return self.metadata

    def Original(self) -> str:
        return self.original

    def String(self) -> str:
        return str(Version(self.major, self.minor, self.patch, self.pre, self.metadata))

    def IncMajor(self) -> SemanticVersion:
        return self._next(self.major + 1, 0, 0)

    def IncMinor(self) -> SemanticVersion:
        return self._next(self.major, self.minor + 1, 0)

    def IncPatch(self) -> SemanticVersion:
        """The release of a pre-release, else the next patch."""
        return self._next(self.major, self.minor, self.patch if self.pre else self.patch + 1)

    def _next(self, major: int, minor: int, patch: int) -> SemanticVersion:
        prefix = "v" if self.original.startswith("v") else ""
        return _version(Version(major % _WRAP, minor % _WRAP, patch % _WRAP), prefix)


def semver(text: str) -> Pointer:
    """``semver``: a pointer to the version."""
    return Pointer(_version(parse_version(text)), SemanticVersion.go_type)


def compare(constraint: str, version: str) -> bool:
    """``semverCompare constraint version``. Raises GoError for either that does not parse."""
    budget().step(len(constraint) ** 2 >> _CHARS)
    return parse_constraint(constraint).check(parse_version(version))


def _version(found: Version, prefix: str = "") -> SemanticVersion:
    return SemanticVersion(
        Uint64(found.major),
        Uint64(found.minor),
        Uint64(found.patch),
        found.prerelease,
        found.metadata,
        found.original or f"{prefix}{found}",
    )


FUNCTIONS: Final = (
    GoFunction("semver", "string", semver),
    GoFunction("semverCompare", "string string", compare, returns="bool"),
)
