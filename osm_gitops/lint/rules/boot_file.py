"""What checks look at, the boot files of one pool, and how they say what is wrong with them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.profile import Modules, OperatingSystemProfile

_LONGEST_NAME: Final = 80


def words(text: str) -> frozenset[str]:
    """The words of a table that is written as text."""
    return frozenset(text.split())


def closest_match(name: str, known: Collection[str]) -> str:
    """The known name that somebody will have meant by ``name``, or an empty text."""
    by_case = {each.lower(): each for each in known}
    if found := by_case.get(name.lower()):
        return found
    if len(name) > _LONGEST_NAME:  # comparing is slow, and nobody meant it
        return ""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
    return near[0] if near else ""


def suggested_fix(name: str, known: Collection[str], otherwise: str) -> str:
    """The fix for an unknown name: the one that was meant, else ``otherwise``."""
    near = closest_match(name, known)
    return f"Write {near}" if near else otherwise


def line_of(text: str, position: int) -> int:
    """The line (from 1) of an index into the text."""
    return text.count("\n", 0, position) + 1


def line_with(text: str, *names: str) -> int:
    """The first line that has the last of ``names``, looked for behind the ones before; 1 where there is none."""
    position = 0
    for name in names:
        found = text.find(name, position)
        position = found if found >= 0 else position
    return line_of(text, position)


Half = Literal["bootstrap", "provisioning"]
HALVES: tuple[Half, Half] = ("bootstrap", "provisioning")


def _nowhere(_line: int) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class BootFile:
    """One file as it lies on the node; also the text of a systemd unit or of a drop-in.

    ``text`` is the content that the node gets, decoded. ``permissions`` is a decimal number read as octal digits (644).
    ``place(line)`` is ``file:line`` in the source (profile, part or overlay) of a line of ``text``, from 1 on, and of
    the entry with its path and permissions for 0; it may take a while, so it is asked for findings only.
    """

    path: str
    text: str
    permissions: int
    half: Half
    place: Callable[[int], str] = field(default=_nowhere, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BootUnit:
    """A systemd unit: ``content`` is ``None`` where the profile only enables or masks it.

    ``content`` and ``drop_ins`` are files at the places where systemd reads them.
    """

    name: str
    enable: bool | None
    mask: bool | None
    half: Half
    content: BootFile | None = None
    drop_ins: tuple[BootFile, ...] = ()

    @property
    def files(self) -> Iterator[BootFile]:
        """Its texts."""
        if self.content is not None:
            yield self.content
        yield from self.drop_ins


@dataclass(frozen=True, slots=True)
class BootDocument:
    """All that one pool, real or made up, boots from.

    ``pool`` names it for people: ``MachineDeployment kube-system/workers``, or ``aws, Kubernetes 1.36.1, HTTPProxy``.
    ``user_data`` are the bytes of both cloud-config Secrets; ``modules`` are cloud-init's, never rendered.
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

    @property
    def texts(self) -> Iterator[BootFile]:
        """Its files, units and drop-ins."""
        yield from self.files
        for unit in self.units:
            yield from unit.files


@dataclass(frozen=True, slots=True)
class Remark:
    """What a check says of a file: a finding but for its place. ``line`` is one of the file's text, from 1 on,
    or 0 for its entry with path and permissions.

    Equal files of several profiles and pools are looked at once; a remark becomes a finding in each of them.
    """

    rule: Rule
    message: str
    line: int = 1
    fix: str = ""


FileCheck = Callable[[BootFile], Iterable[Remark]]
"""A pure check of one file, whatever else the node gets."""

DocumentCheck = Callable[[BootDocument], Iterable[Finding]]
"""A pure check of all that a node gets. Findings name ``where`` (``file.place(1)``, ``profile.manifest.line_of(…)``);
who runs it fills in ``about`` and ``seen_in``."""


class Checker(Protocol):
    """A program or library of somebody else that judges files.

    One that is ``slow`` gets of each profile's files those alone that together have every line behind every other.
    """

    @property
    def slow(self) -> bool: ...

    def check(self, files: Sequence[BootFile]) -> Iterable[tuple[BootFile, Remark]]:
        """Judge those of ``files`` that are its business; each is a distinct path and text. Uses few processes."""

    def missing(self) -> Finding | None:
        """What to install where it is not there; then ``check`` is not called."""


MOST_REMARKS: Final = 100
"""How much one check says of one file."""


def first_remarks(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """What a check says of a file, up to :data:`MOST_REMARKS`; the rest is not even looked for."""
    for number, remark in enumerate(remarks):
        if number == MOST_REMARKS:
            yield Remark(remark.rule, f"there is more than these {MOST_REMARKS} findings, not listed", remark.line)
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
