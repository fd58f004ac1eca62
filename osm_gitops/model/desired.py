"""Desired state: the manifests that should exist for one cluster, their lines with secrets, and skipped pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.pool_facts import PoolFacts
from osm_gitops.model.promotion import Promotion

_LOOK_AT_CONTROLLER = "Check the logs of machine-controller, and kubectl describe machinedeployment"
_APPLY_TO_GIT = "Run osm-gitops apply, and check that Flux or Argo CD has applied the commit"


class LeftReason(Enum):
    """Why a pool is skipped: a ``code`` for programs, and the next step. ``lasts``: it is intended, or the run fails
    for it anyway, so a long duration is not a problem."""

    ABSENT = ("absent", "Apply its manifest to the cluster, or remove it from the source")
    OTHER_TEMPLATE = (
        "other-template",
        "Apply the manifest to the cluster, or read MachineDeployments from the cluster (machineDeployments: cluster)",
    )
    NOT_NUMBERED = ("not-numbered", _LOOK_AT_CONTROLLER)
    NO_MACHINE_SET = ("no-machine-set", _LOOK_AT_CONTROLLER)
    OLD_MACHINE_SET = ("old-machine-set", _LOOK_AT_CONTROLLER)
    CHANGED = ("changed", "Find out what changes the MachineDeployment continuously")
    NOT_AS_SHOWN = ("not-as-shown", "Create a new plan")
    SECRET_MISSING = ("secret-missing", _APPLY_TO_GIT)
    SECRETS_DIFFER = ("secrets-differ", _APPLY_TO_GIT)
    OTHER_SECRETS = ("other-secrets", _APPLY_TO_GIT)
    NOT_IN_SOURCE = ("not-in-source", "Add its manifest to the source, or delete it from the cluster", True)
    PAUSED = ("paused", "Resume it with spec.paused: false", True)
    DELETING = ("deleting", "Wait until it is deleted", True)
    WEBHOOK = ("webhook", "Make the webhook answer", True)

    def __init__(self, code: str, fix: str, lasts: bool = False) -> None:
        self.code = code
        self.fix = fix
        self.lasts = lasts


@dataclass(frozen=True, slots=True)
class Left:
    """A skipped pool: ``why`` is a clause. ``since`` (RFC 3339 in UTC) is the first time, ``age`` the duration; both
    are known only after a run that left a record."""

    reason: LeftReason
    why: str
    since: str = ""
    age: timedelta = timedelta()


PAUSED = Left(LeftReason.PAUSED, "it is paused")
ABSENT = Left(LeftReason.ABSENT, "the cluster has no such MachineDeployment")
APPLIED = Left(
    LeftReason.NOT_NUMBERED, "its MachineDeployment was applied, and machine-controller has not numbered it yet"
)
MOVED = Left(LeftReason.CHANGED, "it changed during this run")


@dataclass(frozen=True, slots=True)
class SecretTexts:
    """The parts of a pool's texts that were made from secrets, by any function of a template.

    ``lines`` are such lines, stripped. ``texts`` are the names of texts with such lines, ``reading`` of texts whose
    templates read a secret, visible or not. Names are those of reports (``bootstrap /opt/bin/setup``); ``known`` are
    all texts that were checked. ``whole``: it is unknown, so everything counts as made from secrets.
    """

    lines: frozenset[str] = field(default=frozenset(), repr=False)
    texts: frozenset[str] = frozenset()
    reading: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    whole: bool = False

    def __bool__(self) -> bool:
        return self.whole or bool(self.texts)

    def hides(self, line: str) -> bool:
        """Whether a line of any text was made from secrets."""
        return self.whole or line.strip() in self.lines

    def touches(self, name: str) -> bool:
        """Whether the text of this name is made from secrets, as far as known."""
        # Texts with other names show whole objects, including all their secrets.
        unusual = name not in self.known and name.startswith(("data ", "spec "))
        return self.whole or name in self.texts or (unusual and bool(self.texts))

    def reads(self, name: str) -> bool:
        """Whether the text of this name is made from secrets or by a template that reads one."""
        return self.touches(name) or name in self.reading


NO_SECRETS = SecretTexts()
ALL_SECRET = SecretTexts(whole=True)


def together(found: Iterable[SecretTexts]) -> SecretTexts:
    """Several results for the texts of one pool, combined."""
    every = tuple(found)
    return SecretTexts(
        lines=frozenset().union(*(each.lines for each in every)),
        texts=frozenset().union(*(each.texts for each in every)),
        reading=frozenset().union(*(each.reading for each in every)),
        known=frozenset().union(*(each.known for each in every)),
        whole=any(each.whole for each in every),
    )


MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "osm-gitops"


class Side(Enum):
    """The API server of an object (design.md, "Terms")."""

    MANAGEMENT = "management"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class DesiredObject:
    """One manifest; ``pool`` is its MachineDeployment, ``None`` for a profile.

    ``digest`` is the SHA-256 of its YAML text, if known: files with the same digest need no comparison. ``sealed``: its
    source was encrypted, so it is secret regardless of its kind.
    """

    ref: ObjectRef
    side: Side
    body: Mapping[str, Json] = field(repr=False)
    pool: ObjectRef | None = None
    digest: bytes = b""
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Desired:
    """All that should exist for one cluster, and the problems of pools that failed.

    ``failed`` has the problems of each MachineDeployment that could not be rendered. ``keep`` names objects of failed
    or unselected pools, which are never pruned. ``foreign`` are profiles of others in the cluster, which are neither
    written nor pruned. ``no_deletion`` are reasons (unreadable documents) that forbid deletions. ``narrowed``: only
    some pools were selected. ``left`` are skipped pools, of which a git target keeps its files. ``sensitive`` are
    values that no report may show (design.md, "Masking"); ``rendered``: objects may have other texts that were made
    from secrets. ``hosts`` are the API servers that were read, ``sources`` the trees and files; ``uncommitted`` are
    differences from their commits. ``facts`` has each pool, also failed ones, in runs that ask for them.
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
    rendered: bool = False
    sources: tuple[str, ...] = ()
    uncommitted: tuple[Problem, ...] = ()
    hosts: tuple[str, ...] = ()
    narrowed: bool = False
    left: Mapping[ObjectRef, Left] = field(default_factory=dict)
    promotion: Promotion | None = None
    facts: Mapping[ObjectRef, PoolFacts] = field(default_factory=dict)
