"""The clusters of a run with their sources, settings and targets (design.md, "Fleet file")."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from osm_gitops.config.settings import RawSetting
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import Problem
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.model.promotion import Promotion, Wave
from osm_gitops.sources.trust import TRUSTED, Trust

if TYPE_CHECKING:
    from osm_gitops.sources.kkp.records import Cluster, Datacenter

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestSpec:
    """A pull request for commits. ``{cluster}`` in ``branch`` and ``title`` is the name of the cluster, which then has
    a pull request of its own. A reviewer with a slash is a team. ``auto_merge`` is empty, merge, squash or rebase."""

    branch: str = "osm-gitops/update"
    title: str = ""
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    draft: bool = False
    auto_merge: str = ""


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A folder, normally in a git work tree. An empty ``branch`` means the one that is checked out. ``sign`` is
    ``None`` for git's configuration, ``pull_request`` for commits without one. ``commit``: one for each ``cluster``, or
    one for the ``run``."""

    path: Path
    display: str
    branch: str = ""
    remote: str = "origin"
    push: bool = False
    sign: bool | None = None
    pull_request: PullRequestSpec | None = None
    commit: str = "cluster"


@dataclass(frozen=True, slots=True)
class LiveTarget:
    """The live clusters: OSPs and OSCs go to the management cluster, Secrets to the worker cluster."""

    display: str = LIVE


class WhilePaused(Enum):
    """What a run may do in a user cluster that is paused in KKP: only plan, renew tokens, or write everything."""

    PLAN = "plan"
    RENEW = "renew"
    WRITE = "write"


class Address(Enum):
    """Where the API server of a user cluster is reached: inside of the seed, or from outside. ``AUTO``: the former for
    a pod of the seed."""

    AUTO = ""
    INTERNAL = "internal"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCluster:
    """A user cluster of a KKP seed, as the run found it. ``settings`` are those of KKP."""

    seed: ContextRef
    cluster: Cluster
    datacenter: Datacenter
    settings: tuple[RawSetting, ...] = field(repr=False)
    address: Address = Address.AUTO
    while_paused: WhilePaused = WhilePaused.PLAN


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One cluster of a run. ``settings`` have one entry per name, after precedence.

    ``worker_access`` is how the user named a worker cluster; :attr:`worker` is the result. ``overlays`` are in the
    order in which they are applied; with ``lacks_profiles`` the source does not have all profiles, so patches may match
    none. ``frozen``: MachineDeployments of a tree keep the fields that servers added. ``fleet_file`` names the cluster,
    if any. ``trust`` limits what may be read. ``kkp`` is set for a user cluster of a seed: then ``management`` and
    ``worker`` are that cluster. With ``problems`` nothing can be done for the cluster; ``is_seed``: it stands for the
    clusters of a seed that cannot be read. ``wave`` is its wave, and ``promotion`` the revision of the shared inputs
    that a run renders it from.
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
    kkp: UserCluster | None = field(default=None, kw_only=True)
    problems: tuple[Problem, ...] = field(default=(), kw_only=True)
    is_seed: bool = field(default=False, kw_only=True)
    wave: Wave | None = field(default=None, kw_only=True)
    promotion: Promotion | None = field(default=None, kw_only=True)

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
        live = isinstance(self.target, LiveTarget) or any(isinstance(part, LiveRef) for part in self.source.parts)
        return live or self.kkp is not None


CLUSTER_PLACEHOLDER: Final = "{cluster}"
PLACEHOLDERS: Final = (CLUSTER_PLACEHOLDER, "{project}", "{datacenter}")
"""In names and paths of a ``kkp`` entry: the id of the cluster, that of its project, and its datacenter."""
_IN_PATHS: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which clusters of a seed an entry means. Projects, datacenters and names are globs, empty ones select all; names
    are ids or human-readable names. All ``labels`` must be there with these values."""

    projects: tuple[str, ...] = ()
    datacenters: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def has(self, cluster: Cluster) -> bool:
        """Whether it selects a cluster."""
        return (
            _matches(self.projects, cluster.project)
            and _matches(self.datacenters, cluster.datacenter)
            and _matches(self.names, cluster.id, cluster.human_name)
            and all(cluster.labels.get(key) == value for key, value in self.labels.items())
        )


def _matches(globs: tuple[str, ...], *texts: str) -> bool:
    return not globs or any(fnmatchcase(text, glob) for glob in globs for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class KkpEntry:
    """An entry of a fleet file that means the user clusters of a seed.

    ``template`` is a cluster of the entry, in whose name and paths placeholders are to be replaced, ``overrides`` the
    same with the overrides of a cluster, by id. ``where`` is its place in the fleet file. ``profiles`` are those that
    git owns on the seed.
    """

    seed: ContextRef
    selection: Selection
    template: ClusterSpec
    overrides: Mapping[str, ClusterSpec]
    address: Address
    while_paused: WhilePaused
    where: str
    profiles: TreeRef | None = None

    def unfilled(self, cluster: Cluster) -> tuple[str, ...]:
        """The placeholders in the name and the paths of a user cluster for which it has no value, or none that is fit
        for a path."""
        spec = self.overrides.get(cluster.id, self.template)
        trees = (str(part.path) for part in spec.source.parts if isinstance(part, TreeRef))
        texts = (spec.name, *trees, *(str(each.path) for each in spec.overlays))
        used = (pair for pair in _values(cluster).items() if any(pair[0] in text for text in texts))
        return tuple(placeholder for placeholder, value in used if not _IN_PATHS.fullmatch(value))

    def of(self, cluster: Cluster) -> ClusterSpec:
        """The template for a user cluster, with its name and paths."""

        def filled(text: str) -> str:
            for placeholder, value in _values(cluster).items():
                text = text.replace(placeholder, value)
            return text

        def tree(ref: SourceRef) -> SourceRef:
            if isinstance(ref, LiveRef):
                return ref
            return TreeRef(Path(filled(str(ref.path))), filled(ref.display), ref.revision)

        spec = self.overrides.get(cluster.id, self.template)
        parts = map(tree, spec.source.parts)
        overlays = (
            each if each.built_in else replace(each, path=Path(filled(str(each.path))), display=filled(each.display))
            for each in spec.overlays
        )
        return replace(
            spec,
            name=filled(spec.name),
            source=SourceSpec(*parts, applies_machines=spec.source.applies_machines),
            overlays=tuple(overlays),
        )


def _values(cluster: Cluster) -> Mapping[str, str]:
    """The value of each placeholder."""
    return dict(zip(PLACEHOLDERS, (cluster.id, cluster.project, cluster.datacenter), strict=True))


@dataclass(frozen=True, slots=True)
class Fleet:
    """The clusters that a fleet file names, its seeds, whose clusters are found when a run begins, and its waves."""

    clusters: tuple[ClusterSpec, ...] = ()
    kkp: tuple[KkpEntry, ...] = ()
    waves: tuple[Wave, ...] = ()
