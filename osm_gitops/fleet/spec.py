"""What a run works on: clusters with their sources, settings and targets (design §4)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from osm_gitops.resolve.settings import RawSetting

DEFAULT_CLUSTER = "default"


@dataclass(frozen=True, slots=True)
class TreeRef:
    """A tree of manifests: where it lies, and how the user named it."""

    path: Path
    display: str


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where a cluster's objects are read; the three may be the same tree."""

    machines: TreeRef
    profiles: TreeRef
    facts: TreeRef


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A folder, normally in a git work tree; ``branch`` empty means the one checked out."""

    path: Path
    display: str
    branch: str = ""
    remote: str = "origin"
    push: bool = False


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One cluster of a run. ``settings`` have one entry a name, precedence already decided."""

    name: str
    source: SourceSpec
    settings: tuple[RawSetting, ...]
    target: TargetSpec | None
