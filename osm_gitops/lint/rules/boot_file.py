"""The input of checks, the boot files of one pool, and their output, remarks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from posixpath import normpath
from typing import Final, Literal, Protocol

from osm_gitops.errors import closest
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.profile import Modules, OperatingSystemProfile


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def closest_match(name: str, known: Collection[str]) -> str:
    """The known name that ``name`` probably is, or an empty text."""
    return closest(name, known, 0.8)


def suggested_fix(name: str, known: Collection[str], otherwise: str) -> str:
    """The fix for an unknown name: the most similar known one, or else ``otherwise``."""
    near = closest_match(name, known)
    return f"Write {near}" if near else otherwise


def line_of(text: str, position: int) -> int:
    """The line (from 1) of an index into the text."""
    return text.count("\n", 0, position) + 1


def line_with(text: str, *names: str) -> int:
    """The first line with the last of ``names`` after the names before it, or 1."""
    position = 0
    for name in names:
        found = text.find(name, position)
        position = found if found >= 0 else position
    return line_of(text, position)


_BEGINS_AS_SCRIPT: Final = re.compile(r"\s*#!")

Half = Literal["bootstrap", "provisioning"]
HALVES: tuple[Half, Half] = ("bootstrap", "provisioning")


def _nowhere(_line: int) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class BootFile:
    """One file on the node; also the text of a systemd unit or a drop-in.

    ``text`` is the decoded content. ``permissions`` is a decimal number read as octal digits (644). ``place(line)`` is
    ``file:line`` in the source (profile, part or overlay) of a line of ``text``, or for line 0 of the entry with path
    and permissions. It can be slow, so it is called only for findings.
    """

    path: str
    text: str
    permissions: int
    half: Half
    place: Callable[[int], str] = field(default=_nowhere, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BootUnit:
    """A systemd unit: ``content`` is ``None`` if the profile only enables or masks it.

    ``content`` and ``drop_ins`` are files at the paths where systemd reads them.
    """

    name: str
    enable: bool | None
    mask: bool | None
    half: Half
    content: BootFile | None = None
    drop_ins: tuple[BootFile, ...] = ()

    @property
    def files(self) -> Iterator[BootFile]:
        if self.content is not None:
            yield self.content
        yield from self.drop_ins


@dataclass(frozen=True, slots=True)
class BootDocument:
    """Everything that one pool, real or synthetic, boots from.

    ``pool`` is its shown name: ``MachineDeployment kube-system/workers``, or ``aws, Kubernetes 1.36.1, HTTPProxy``.
    ``user_data`` are the bytes of both cloud-config Secrets; ``modules`` are cloud-init's, which are not rendered.
    ``secrets`` are texts that came from secrets, if they are known.
    """

    profile: OperatingSystemProfile
    pool: str
    os: str
    utility: str
    provider: str
    kube_version: str
    files: tuple[BootFile, ...]
    units: tuple[BootUnit, ...]
    modules: Mapping[Half, Modules | None]
    user_data: Mapping[Half, bytes]
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def texts(self) -> Iterator[BootFile]:
        """Its files, units and drop-ins."""
        yield from self.files
        for unit in self.units:
            yield from unit.files


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding in a file without its place. ``line`` starts at 1; 0 is the entry with path and permissions.

    Equal files of several profiles and pools are checked once; a remark becomes a finding in each of them. ``quoted``
    is the part of the message that only the file has, where a plan shows it too.
    """

    rule: Rule
    message: str
    line: int = 1
    fix: str = ""
    quoted: str = ""


@lru_cache(maxsize=4_096)
def normal_path(path: str) -> str:
    """``posixpath.normpath``, as many documents have the same paths."""
    return normpath(path)


FileCheck = Callable[[BootFile], Iterable[Remark]]
"""A pure check of one file alone."""

DocumentCheck = Callable[[BootDocument], Iterable[Finding]]
"""A pure check of everything that a node gets. Findings have ``where`` (``file.place(1)``,
``profile.manifest.line_of(…)``); the caller sets ``about`` and ``seen_in``."""


class Checker(Protocol):
    """An external program that checks files.

    A ``slow`` one gets only a subset of each profile's files that contains every pair of neighbouring lines.
    """

    @property
    def slow(self) -> bool: ...

    def check(self, files: Sequence[BootFile]) -> Iterable[tuple[BootFile, Remark]]:
        """Check those of ``files`` that it supports, each with a distinct path or text. Uses few processes."""

    def missing(self) -> Finding | None:
        """What to install if the program is missing; then ``check`` is not called."""


MOST_REMARKS: Final = 100
"""Maximum number of remarks of one check on one file."""


def is_script(path: str, text: str) -> bool:
    """Whether a shell runs a file."""
    return _BEGINS_AS_SCRIPT.match(text) is not None or path.endswith((".sh", ".bash"))


def first_remarks(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """The first :data:`MOST_REMARKS` remarks; the check does not search for more."""
    for number, remark in enumerate(remarks):
        if number == MOST_REMARKS:
            yield Remark(
                remark.rule, f"more than these {MOST_REMARKS} findings; the others are not listed", remark.line
            )
            return
        yield remark


def to_finding(document: BootDocument, file: BootFile, remark: Remark) -> Finding:
    """The remark as a finding of the document's profile."""
    profile = document.profile
    return Finding(
        remark.rule,
        remark.message,
        where=file.place(remark.line) or profile.manifest.line_of(f"spec.{file.half}Config"),
        about=f"OperatingSystemProfile {profile.namespace}/{profile.name}, {file.path}",
        fix=remark.fix,
    )
