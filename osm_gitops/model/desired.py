"""Desired state: the manifests that should exist for one cluster, which of their lines were made from secrets, and the
pools that a run passes over for now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from osm_gitops.errors import Problem
from osm_gitops.model.objects import Json, ObjectRef

_LOOK_AT_CONTROLLER = "Look at the logs of machine-controller, and at kubectl describe machinedeployment"
_APPLY_TO_GIT = "Run osm-gitops apply, and see that Flux or Argo CD has applied the commit"


class LeftReason(Enum):
    """Why a pool is passed over: a ``code`` for programs, and the next step. ``lasts``: somebody wants it so, or the
    run fails for it anyway, so it is no trouble of its own however long it is so."""

    ABSENT = ("absent", "Apply its manifest to the cluster, or remove it from the source")
    OTHER_TEMPLATE = (
        "other-template",
        "Apply the manifest to the cluster, or read MachineDeployments from the cluster (machineDeployments: cluster)",
    )
    NOT_NUMBERED = ("not-numbered", _LOOK_AT_CONTROLLER)
    NO_MACHINE_SET = ("no-machine-set", _LOOK_AT_CONTROLLER)
    OLD_MACHINE_SET = ("old-machine-set", _LOOK_AT_CONTROLLER)
    CHANGED = ("changed", "See who changes the MachineDeployment all the time")
    NOT_AS_SHOWN = ("not-as-shown", "Make a new plan")
    SECRET_MISSING = ("secret-missing", _APPLY_TO_GIT)
    SECRETS_DIFFER = ("secrets-differ", _APPLY_TO_GIT)
    OTHER_SECRETS = ("other-secrets", _APPLY_TO_GIT)
    NOT_IN_SOURCE = ("not-in-source", "Add its manifest to the source, or delete it from the cluster", True)
    PAUSED = ("paused", "Resume it with spec.paused: false", True)
    DELETING = ("deleting", "Wait until it is gone", True)
    WEBHOOK = ("webhook", "Make the webhook answer", True)

    def __init__(self, code: str, fix: str, lasts: bool = False) -> None:
        self.code = code
        self.fix = fix
        self.lasts = lasts


@dataclass(frozen=True, slots=True)
class Left:
    """A pool that was passed over: ``why`` is a clause. ``since`` is when that was first so (RFC 3339 in UTC), and
    ``age`` how long it has been so; both are known only after a run that left a record."""

    reason: LeftReason
    why: str
    since: str = ""
    age: timedelta = timedelta()


PAUSED = Left(LeftReason.PAUSED, "it is paused")
ABSENT = Left(LeftReason.ABSENT, "the cluster has no such MachineDeployment")
APPLIED = Left(
    LeftReason.NOT_NUMBERED, "its MachineDeployment was applied, and machine-controller has not numbered it yet"
)
MOVED = Left(LeftReason.CHANGED, "it changed while this run was under way")


@dataclass(frozen=True, slots=True)
class SecretTexts:
    """What of a pool's texts was made from secrets, whatever a template did to them.

    ``lines`` are such lines without the white space around them; ``texts`` the names of the texts that hold them, and
    ``reading`` of those whose templates read a secret, whether or not it shows. Names are those of reports
    (``bootstrap /opt/bin/setup``); ``known`` are all that were looked at. ``whole``: it could not be found out, so
    everything counts as made from secrets.
    """

    lines: frozenset[str] = field(default=frozenset(), repr=False)
    texts: frozenset[str] = frozenset()
    reading: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    whole: bool = False

    def __bool__(self) -> bool:
        return self.whole or bool(self.texts)

    def hides(self, line: str) -> bool:
        """Whether a line, of whichever text, was made from secrets."""
        return self.whole or line.strip() in self.lines

    def touches(self, name: str) -> bool:
        """Whether the text of this name is made from secrets, as far as can be told."""
        # A text that is shown in another form than usual is a whole object's: it holds whatever the object does.
        unusual = name not in self.known and name.startswith(("data ", "spec "))
        return self.whole or name in self.texts or (unusual and bool(self.texts))

    def reads(self, name: str) -> bool:
        """Whether the text of this name is made from secrets or by a template that reads one."""
        return self.touches(name) or name in self.reading


NO_SECRETS = SecretTexts()
ALL_SECRET = SecretTexts(whole=True)

FindSecretTexts = Callable[[ObjectRef | None], SecretTexts]
"""Tells it of a pool, or of the profiles where none is named. It takes its time, so it is asked for what is shown."""


def no_secret_texts(_pool: ObjectRef | None) -> SecretTexts:
    """Where nothing is rendered."""
    return NO_SECRETS


def together(found: Iterable[SecretTexts]) -> SecretTexts:
    """What several say of the texts of one pool."""
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
