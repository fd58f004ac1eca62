"""What a run works on: clusters with their sources, settings and targets (design.md, "Fleet file")."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from osm_gitops.config.settings import RawSetting
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.sources.trust import TRUSTED, Trust

DEFAULT_CLUSTER = "default"
LIVE = "cluster"
"""What stands in the place of a path for the clusters themselves."""


@dataclass(frozen=True, slots=True)
class TreeRef:
    """A tree of manifests: where it lies, and how the user named it.

    With a ``revision`` (a branch, a tag, a commit) it is the tree that git has there; then the
    path need not exist now.
    """

    path: Path
    display: str = field(compare=False)
    revision: str = ""


def tree_ref(base: Path, text: str) -> TreeRef:
    """What ``PATH`` or ``PATH@REVISION`` names: a path that exists wins, else the last ``@`` splits."""
    path, at, revision = text.rpartition("@")
    if not (at and revision) or os.path.lexists(base / text):
        return TreeRef(base / text, text)
    return TreeRef(base / path, path, revision)


@dataclass(frozen=True, slots=True)
class LiveRef:
    """The clusters as they are now: profiles are read in the management cluster, all else in the worker cluster."""

    display: str = LIVE


SourceRef = TreeRef | LiveRef


def source_ref(base: Path, text: str) -> SourceRef:
    """What ``cluster``, ``PATH`` or ``PATH@REVISION`` names; a folder of that name is ``./cluster``."""
    return LiveRef() if text == LIVE else tree_ref(base, text)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where a cluster's objects are read; the three may be the same. ``applies_machines``: MachineDeployments of a tree
    are applied to the worker cluster, where that is the target."""

    machines: SourceRef
    profiles: SourceRef
    facts: SourceRef
    applies_machines: bool = field(default=False, kw_only=True)

    @property
    def parts(self) -> tuple[SourceRef, SourceRef, SourceRef]:
        return self.machines, self.profiles, self.facts


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A folder, normally in a git work tree; ``branch`` empty means the one checked out.

    ``sign`` is as git's configuration says unless told.
    """

    path: Path
    display: str
    branch: str = ""
    remote: str = "origin"
    push: bool = False
    sign: bool | None = None


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """The clusters themselves: OSPs and OSCs go to the management cluster, Secrets to the worker cluster."""

    display: str = LIVE


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One cluster of a run. ``settings`` have one entry a name, precedence already decided.

    ``worker_access`` is what was named of a worker cluster; :attr:`worker` is what that means.
    ``overlays`` are in the order in which they are applied; where the source ``lacks_profiles`` of the cluster, what
    they say may be for nothing that is there. ``frozen``: MachineDeployments of a tree are those of a cluster, with all
    that servers added to them. ``fleet_file`` is the file that names the cluster, if one does. ``trust`` says what of
    all this may be read.
    """

    name: str
    source: SourceSpec
    settings: tuple[RawSetting, ...]
    target: TargetSpec | LiveTarget | None
    management: ContextRef = UNNAMED
    worker_access: ContextRef = UNNAMED
    overlays: tuple[OverlayRef, ...] = field(default=(), kw_only=True)
    lacks_profiles: bool = field(default=False, kw_only=True)
    frozen: bool = field(default=False, kw_only=True)
    fleet_file: TreeRef | None = field(default=None, kw_only=True)
    trust: Trust = field(default=TRUSTED, kw_only=True)

    @property
    def worker(self) -> ContextRef:
        """The management cluster where no other is named; a context alone is one of the same kubeconfig."""
        named = self.worker_access
        if named == UNNAMED:
            return self.management
        return replace(named, kubeconfig=named.kubeconfig or self.management.kubeconfig)

    @property
    def is_live(self) -> bool:
        """Whether a cluster is read or written at all."""
        return isinstance(self.target, LiveTarget) or any(isinstance(part, LiveRef) for part in self.source.parts)
