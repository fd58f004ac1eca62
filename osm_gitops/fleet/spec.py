"""What a run works on: clusters with their sources, settings and targets (design §4)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from osm_gitops.resolve.settings import RawSetting

DEFAULT_CLUSTER = "default"


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
class SourceSpec:
    """Where a cluster's objects are read; the three may be the same tree."""

    machines: TreeRef
    profiles: TreeRef
    facts: TreeRef


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
class ClusterSpec:
    """One cluster of a run. ``settings`` have one entry a name, precedence already decided."""

    name: str
    source: SourceSpec
    settings: tuple[RawSetting, ...]
    target: TargetSpec | None
