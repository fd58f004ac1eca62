"""Events on MachineDeployments: one for each new error, so that ``kubectl describe`` tells why nothing happens.

An Event's name is a digest of what it says, so that nobody tells the same twice while the API server keeps it (an
hour, by default); what was told before that, the record of runs knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from osm_gitops.errors import ClusterError, Code, Problem
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import EVENT, MACHINE_DEPLOYMENT
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.report.mask import Masker

PROFILE_ERROR: Final = "OperatingSystemProfileError"
"""As Operating System Manager tells of a profile that does not fit (osm-behaviour.md, "Profile selection")."""
RENDERING_FAILED: Final = "RenderingFailed"
APPLY_FAILED: Final = "ApplyFailed"

_OSM_PREFIX: Final = "failed to validate referenced OSP: "
_CONTROLLER: Final = "osm-gitops"
_LONGEST_NAME: Final = 236  # and a dot and the digest: 253, the API's bound
_LONGEST_NOTE: Final = 1024  # bytes, the API's bound
_MOST: Final = 100  # a mistake that hits a fleet needs no ten thousand Events


@dataclass(frozen=True, slots=True)
class PoolNews:
    """Errors of a pool that are new, from ``rendering`` it or from writing it."""

    pool: ObjectRef
    uid: str
    problems: tuple[Problem, ...]
    rendering: bool
    masker: Masker = field(repr=False)

    @property
    def reason(self) -> str:
        if not self.rendering:
            return APPLY_FAILED
        unfit = any(problem.code is Code.PROFILE_DOES_NOT_FIT for problem in self.problems)
        return PROFILE_ERROR if unfit else RENDERING_FAILED

    @property
    def note(self) -> str:
        """Of a profile that does not fit what Operating System Manager says, of anything else all that is known."""
        if self.reason == PROFILE_ERROR:
            unfit = (problem.what for problem in self.problems if problem.code is Code.PROFILE_DOES_NOT_FIT)
            text = self.masker.text(_OSM_PREFIX + "; ".join(unfit))
        else:
            text = "; ".join(str(self.masker.problem(problem)) for problem in self.problems)
        return text.encode()[:_LONGEST_NOTE].decode(errors="ignore")


def tell(worker: Api, news: Iterable[PoolNews], at: datetime) -> tuple[Problem, ...]:
    """Make an Event of each, at most a hundred; the first failure, which ends it. That one is there already is none."""
    for each in islice(news, _MOST):
        try:
            worker.create(_event(each, at))
        except ClusterError as failure:
            if failure.status != 409:
                return failure.problems
    return ()


def _event(news: PoolNews, at: datetime) -> dict[str, Json]:
    pool, reason, note = news.pool, news.reason, news.note
    digest = hashlib.sha256("\0".join((news.uid, reason, note)).encode()).hexdigest()[:16]
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.name,
        "metadata": {"name": f"{pool.name[:_LONGEST_NAME].rstrip('.-')}.{digest}", "namespace": pool.namespace},
        "type": "Warning",
        "reason": reason,
        "note": note,
        "action": "Rendering" if news.rendering else "Applying",
        "eventTime": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": _CONTROLLER,
        "reportingInstance": _CONTROLLER,
        "regarding": {
            "apiVersion": MACHINE_DEPLOYMENT.api_version,
            "kind": MACHINE_DEPLOYMENT.name,
            "namespace": pool.namespace,
            "name": pool.name,
            "uid": news.uid,
        },
    }
