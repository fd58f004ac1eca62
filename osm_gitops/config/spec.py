"""The clusters of a run with their sources, settings and targets (design.md, "Fleet file")."""

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
"""The word that means the live clusters, instead of a path."""


@dataclass(frozen=True, slots=True)
class TreeRef:
    """A tree of manifests: its path, and the name that the user gave it.

    With a ``revision`` (a branch, a tag, a commit) it is the tree at that revision; the path need not exist now.
    """

    path: Path
    display: str = field(compare=False)
    revision: str = ""


def tree_ref(base: Path, text: str) -> TreeRef:
    """Parse ``PATH`` or ``PATH@REVISION``: an existing path takes precedence, else the last ``@`` splits."""
    path, at, revision = text.rpartition("@")
    if not (at and revision) or os.path.lexists(base / text):
        return TreeRef(base / text, text)
    return TreeRef(base / path, path, revision)


@dataclass(frozen=True, slots=True)
class LiveRef:
    """The live clusters: profiles are read from the management cluster, all else from the worker cluster."""

    display: str = LIVE


SourceRef = TreeRef | LiveRef


def source_ref(base: Path, text: str) -> SourceRef:
    """Parse ``cluster``, ``PATH`` or ``PATH@REVISION``; a folder named cluster is ``./cluster``."""
    return LiveRef() if text == LIVE else tree_ref(base, text)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where a cluster's objects are read; the three may be the same. ``applies_machines``: apply the MachineDeployments
    of a tree to the worker cluster, if the target is live."""

    machines: SourceRef
    profiles: SourceRef
    facts: SourceRef
    applies_machines: bool = field(default=False, kw_only=True)

    @property
    def parts(self) -> tuple[SourceRef, SourceRef, SourceRef]:
        return self.machines, self.profiles, self.facts


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A folder, normally in a git work tree. An empty ``branch`` means the one that is checked out. ``sign`` is
    ``None`` for git's configuration."""

    path: Path
    display: str
    branch: str = ""
    remote: str = "origin"
    push: bool = False
    sign: bool | None = None


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """The live clusters: OSPs and OSCs go to the management cluster, Secrets to the worker cluster."""

    display: str = LIVE


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One cluster of a run. ``settings`` have one entry per name, after precedence.

    ``worker_access`` is how the user named a worker cluster; :attr:`worker` is the result. ``overlays`` are in the
    order in which they are applied; with ``lacks_profiles`` the source does not have all profiles, so patches may match
    none. ``frozen``: MachineDeployments of a tree keep the fields that servers added. ``fleet_file`` names the cluster,
    if any. ``trust`` limits what may be read.
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
        """The worker cluster: by default the management cluster; a context alone is in the same kubeconfig."""
        named = self.worker_access
        if named == UNNAMED:
            return self.management
        return replace(named, kubeconfig=named.kubeconfig or self.management.kubeconfig)

    @property
    def is_live(self) -> bool:
        """Whether a live cluster is read or written."""
        return isinstance(self.target, LiveTarget) or any(isinstance(part, LiveRef) for part in self.source.parts)
