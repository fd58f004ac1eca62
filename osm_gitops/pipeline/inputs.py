"""The inputs of one run over a cluster: put together step by step, and built once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from osm_gitops.errors import Problem
from osm_gitops.model.inputs import Facts, Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.overlay import Patch
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.pipeline.provenance import Origin
from osm_gitops.sources.manifests import PROFILE

ProfileKey = tuple[str, str]


@dataclass(slots=True)
class ClusterInputs:
    """What :meth:`build` makes :class:`Inputs` of, field by field.

    It begins with what the source of MachineDeployments gave. Facts and profiles of other sources take the places of
    its own; what is told beside them (problems, warnings, notes) is told of all.
    """

    machines: tuple[MachineDeployment, ...] = ()
    profiles: dict[ProfileKey, OperatingSystemProfile] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    broken: dict[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unfit: dict[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unreadable: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    uncommitted: tuple[Problem, ...] = ()
    hosts: tuple[str, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    unread: frozenset[ProfileKey] = frozenset()
    patched: dict[ObjectRef, tuple[Patch, ...]] = field(default_factory=dict)
    left_out: dict[ObjectRef, str] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    value_places: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, read: Inputs) -> ClusterInputs:
        """What one source gave, to go on from."""
        return cls(
            machines=read.machines,
            profiles=dict(read.profiles),
            facts=read.facts,
            broken=dict(read.broken),
            unfit=dict(read.unfit),
            unreadable=read.unreadable,
            warnings=read.warnings,
            notes=read.notes,
            sources=read.sources,
            uncommitted=read.uncommitted,
            hosts=read.hosts,
            sensitive=read.sensitive,
            unread=read.unread,
            patched=dict(read.patched),
            left_out=dict(read.left_out),
            values=read.values,
            value_places=read.value_places,
        )

    def build(self) -> Inputs:
        """The inputs; what several parts tell is told once."""
        return Inputs(
            machines=self.machines,
            profiles=dict(self.profiles),
            facts=self.facts,
            broken=dict(self.broken),
            unfit=dict(self.unfit),
            unreadable=tuple(dict.fromkeys(self.unreadable)),
            warnings=tuple(dict.fromkeys(self.warnings)),
            notes=tuple(dict.fromkeys(self.notes)),
            sources=tuple(dict.fromkeys(self.sources)),
            uncommitted=tuple(dict.fromkeys(self.uncommitted)),
            hosts=self.hosts,
            sensitive=self.sensitive,
            unread=self.unread,
            patched=dict(self.patched),
            left_out=dict(self.left_out),
            values=self.values,
            value_places=self.value_places,
        )

    def take_facts(self, read: Inputs) -> None:
        """The facts of another source (``from.facts``)."""
        self.facts = read.facts
        self._tell(read)

    def take_profiles(self, read: Inputs) -> None:
        """The profiles of another source (``--profiles-from``)."""
        self.profiles = dict(read.profiles)
        self.broken = _of_both(self.broken, read.broken)
        self.unfit = _of_both(self.unfit, read.unfit)
        self._tell(read)

    def take_origins(self, origins: Iterable[Origin]) -> None:
        """Files beside the sources that decide what is rendered, or who can read it."""
        for each in origins:
            self.sources += (each.source,)
            self.uncommitted += each.uncommitted
            self.warnings += each.warnings

    def change_machines(self, change: Callable[[MachineDeployment], MachineDeployment]) -> None:
        """Put other MachineDeployments in the places of those that are known."""
        self.machines = tuple(map(change, self.machines))

    def break_profiles(self, broken: Mapping[ObjectRef, tuple[Problem, ...]]) -> None:
        """Profiles that must not be used: pools that name them fail with the reason."""
        self.broken |= broken
        self.profiles = {key: each for key, each in self.profiles.items() if ObjectRef(PROFILE, *key) not in broken}

    def break_unfit(self) -> None:
        """Break what has a name that no API server takes, where it else is only warned about (design.md, "Success and
        refusal")."""
        told = {problem for problems in self.unfit.values() for problem in problems}
        self.machines = tuple(each for each in self.machines if each.ref not in self.unfit)
        self.profiles = {key: each for key, each in self.profiles.items() if ObjectRef(PROFILE, *key) not in self.unfit}
        self.broken = {**self.unfit, **self.broken}
        self.warnings = tuple(each for each in self.warnings if each not in told)

    def _tell(self, read: Inputs) -> None:
        self.unreadable += read.unreadable
        self.warnings += read.warnings
        self.notes += read.notes
        self.sources += read.sources
        self.sensitive |= read.sensitive


def _of_both(
    own: Mapping[ObjectRef, tuple[Problem, ...]], theirs: Mapping[ObjectRef, tuple[Problem, ...]]
) -> dict[ObjectRef, tuple[Problem, ...]]:
    """The problems of all but profiles, and those of the profiles of another source."""
    kept = {ref: problems for ref, problems in own.items() if ref.kind != PROFILE}
    return kept | {ref: problems for ref, problems in theirs.items() if ref.kind == PROFILE}
