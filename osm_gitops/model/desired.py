"""Desired state: the manifests that should exist for one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.left import Left
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.secret_texts import FindSecretTexts, no_secret_texts

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "osm-gitops"


class Side(Enum):
    """Which of a cluster's two API servers an object belongs to (design.md, "Terms")."""

    MANAGEMENT = "management"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class DesiredObject:
    """One manifest; ``pool`` is the MachineDeployment it was made for, ``None`` for a profile.

    ``digest`` is the SHA-256 of its YAML text where that is known already: a file with
    the same digest needs no body to compare with. ``sealed``: what it was made of stood encrypted,
    so it is a secret whatever its kind.
    """

    ref: ObjectRef
    side: Side
    body: Mapping[str, Json] = field(repr=False)
    pool: ObjectRef | None = None
    digest: bytes = b""
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Desired:
    """Everything that should exist for one cluster, and what could not be made.

    ``failed`` holds the problems of each MachineDeployment that could not be rendered;
    ``keep`` names the objects of failed or left-out pools, which are never pruned; ``foreign`` are profiles of others
    that were read from the cluster, which are neither written nor pruned;
    ``no_deletion`` are the reasons (unreadable documents) that forbid any deletion; ``narrowed`` says that pools were
    left out, so what they need is not known.
    ``left`` are pools of which a git target keeps what it has.
    ``sensitive`` are the values that no report may show (design.md, "Masking"), ``secret_texts`` tells which lines were
    made from secrets. ``hosts`` are the API servers that were read, ``sources`` the trees and files; ``uncommitted``
    name what of these differs from the commit that is named.
    """

    cluster: str
    objects: tuple[DesiredObject, ...]
    pools: tuple[ObjectRef, ...] = ()
    failed: Mapping[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    keep: frozenset[ObjectRef] = frozenset()
    foreign: frozenset[ObjectRef] = frozenset()
    no_deletion: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    sensitive: frozenset[str] = frozenset()
    secret_texts: FindSecretTexts = field(default=no_secret_texts, repr=False, compare=False)
    sources: tuple[str, ...] = ()
    uncommitted: tuple[Problem, ...] = ()
    hosts: tuple[str, ...] = ()
    narrowed: bool = False
    left: Mapping[ObjectRef, Left] = field(default_factory=dict)
