"""How a run works, and what it comes to: the words that all parts of a run share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from osm_gitops.errors import Problem
from osm_gitops.fleet.connections import Connections
from osm_gitops.fleet.spec import ClusterSpec
from osm_gitops.gitdoor.clone import Clone
from osm_gitops.gitdoor.credentials import TokenFile
from osm_gitops.model.plan import Plan
from osm_gitops.model.progress import Advance
from osm_gitops.plan.compare import PlanOptions
from osm_gitops.sops.search import KeySearch
from osm_gitops.targets.sealing import Sealing


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOptions:
    """How a run commits and pushes; ``None`` leaves it to the fleet file. ``clone`` was made for this run."""

    push: bool | None = None
    sign: bool | None = None
    own_branch: str = ""
    token: TokenFile | None = None
    clone: Clone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run works. ``environment`` is the process's, read at its outer end; ``note`` takes
    sentences for ``-v``, ``advance`` the progress of a cluster's work; ``keys`` open what is encrypted."""

    environment: Mapping[str, str]
    keys: KeySearch
    note: Callable[[str], None]
    advance: Callable[[str, str], Advance]
    connections: Connections
    only: str = ""
    plan: PlanOptions = field(default_factory=PlanOptions)
    plaintext_secrets: bool = False
    age_recipients: tuple[str, ...] = ()
    git: GitOptions = field(default_factory=GitOptions)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: a plan of the clusters that could be planned, and what failed as a whole."""

    plan: Plan
    problems: tuple[Problem, ...] = ()
    commits: Mapping[str, str] = field(default_factory=dict)
    pushed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return bool(self.problems) or any(cluster.failed for cluster in self.plan.clusters)


Confirm = Callable[[Plan], bool]
"""Shows a plan and asks whether to apply it."""

ReadClusters = Callable[[], Sequence[ClusterSpec]]
"""Reads the clusters of a run, again where the fleet file may have come anew with the commits of others."""


def sealing_of(options: RunOptions) -> Sealing:
    """Encryption as a run asks for it. Above a clone lie folders of others, whose rules are not ours."""
    sealing = Sealing(options.environment, options.age_recipients, options.keys)
    return sealing.anew(options.git.clone.root) if options.git.clone else sealing
