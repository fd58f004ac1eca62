"""Paths as Go's ``path`` and ``path/filepath`` have them, and sprig's URLs and semantic versions
(osm-behaviour.md, "Template functions" and "Version constraints")."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import URL, parse_url
from osm_gitops.gocompat.semver import Version, parse_constraint, parse_version
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.values import Pointer, Struct, Uint64, go_type


def base(path: str) -> str:
    """``base``: the last element; ``.`` of nothing, ``/`` of slashes only."""
    if not path:
        return "."
    return path.rstrip("/").rpartition("/")[2] or "/"


def directory(path: str) -> str:
    """``dir``: all but the last element, cleaned."""
    head, slash, _ = path.rpartition("/")
    return clean(head + slash)


def clean(path: str) -> str:
    """``clean``: the shortest name of the same file, by words alone."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def extension(path: str) -> str:
    """``ext``: the last element from its last dot on."""
    _, dot, after = path.rpartition("/")[2].rpartition(".")
    return dot + after if dot else ""


def is_absolute(path: str) -> bool:
    return path.startswith("/")


def url_parse(text: str) -> dict[str, Any]:
    """``urlParse``: scheme, host, hostname, path, query, opaque, fragment and userinfo."""
    url = parse_url(text)
    return {
        "scheme": url.scheme,
        "host": url.host,
        "hostname": url.hostname,
        "path": url.path,
        "query": url.raw_query,
        "opaque": url.opaque,
        "fragment": url.fragment,
        "userinfo": url.userinfo,
    }


def url_join(parts: dict[str, Any]) -> str:
    """``urlJoin``: the URL of such a dict; keys may be missing."""
    userinfo = _text(parts, "userinfo")
    url = URL(
        scheme=_text(parts, "scheme"),
        host=_text(parts, "host"),
        path=_text(parts, "path"),
        raw_query=_text(parts, "query"),
        opaque=_text(parts, "opaque"),
        fragment=_text(parts, "fragment"),
        user=parse_url(f"proto://{userinfo}@host").user if userinfo else None,
    )
    return url.string()


def _text(parts: dict[str, Any], key: str) -> str:
    value = parts.get(key, "")
    if not isinstance(value, str):
        raise GoError(f"the key {key} of a URL must be a string, but it is of type {go_type(value)}")
    return str(value)


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


def semver_compare(constraint: str, version: str) -> bool:
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
    GoFunction("base", "string", base, returns="string"),
    GoFunction("osBase", "string", base, returns="string"),
    GoFunction("dir", "string", directory, returns="string"),
    GoFunction("osDir", "string", directory, returns="string"),
    GoFunction("clean", "string", clean, returns="string"),
    GoFunction("osClean", "string", clean, returns="string"),
    GoFunction("ext", "string", extension, returns="string"),
    GoFunction("osExt", "string", extension, returns="string"),
    GoFunction("isAbs", "string", is_absolute, returns="bool"),
    GoFunction("osIsAbs", "string", is_absolute, returns="bool"),
    GoFunction("urlParse", "string", url_parse),
    GoFunction("urlJoin", "map", url_join, returns="string"),
    GoFunction("semver", "string", semver),
    GoFunction("semverCompare", "string string", semver_compare, returns="bool"),
)
