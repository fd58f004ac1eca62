"""Pools that a run passes over for now: why, since when, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

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
