"""Waves of a fleet, and the revision of the shared inputs that each cluster gets (docs/explanation/promotion.md).

Shared inputs are the profiles, overlays, defaults and settings of a fleet at a commit of its repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from osm_gitops.errors import Problem

SOAK: Final = timedelta(hours=24)
WAITING: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What a wave waits for: that all clusters of ``wave`` have carried a revision for ``soak``, and with ``healthy``
    that they are healthy now. Then no Machine may have waited longer than ``waiting`` for its Node, and at least
    ``machines`` Machines of the wave must have joined with the revision."""

    wave: str
    soak: timedelta = SOAK
    healthy: bool = True
    waiting: timedelta = WAITING
    machines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """A wave with the globs that ``select`` its clusters. ``hold`` is why it gets no change at present, if it is set.
    ``where`` is its place in the fleet file."""

    name: str
    select: tuple[str, ...]
    after: After | None = None
    hold: str = ""
    where: str = ""
    field: str = ""


class Step(Enum):
    """What a run does with a cluster of a wave. ``NEWEST``: it has, or gets, the newest shared inputs. ``WAITS``: it
    stays at an earlier revision. ``PROMOTED``: ``--promote`` gives it the newest now. ``UNKNOWN``: it is not known
    which revision it has, so nothing is changed."""

    NEWEST = "newest"
    WAITS = "waits"
    PROMOTED = "promoted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The revision of a cluster in a wave.

    ``commit`` is the commit whose shared inputs it is rendered from, ``digest`` that of these inputs for this cluster
    (:class:`Carried`); both are empty if the inputs are not committed. ``newest`` is the commit of HEAD, and
    ``offered`` the one that it waits for. ``after`` is the wave before. ``since`` is when that wave had ``offered`` as
    a whole, ``until`` the end of the soak. ``reasons`` are why it waits, as clauses. ``moves``: this run gives it other
    shared inputs than it has. ``warnings`` name what waves cannot hold back.
    """

    wave: str
    step: Step
    commit: str = ""
    digest: str = ""
    newest: str = ""
    offered: str = ""
    after: str = ""
    since: datetime | None = None
    until: datetime | None = None
    reasons: tuple[str, ...] = ()
    moves: bool = False
    warnings: tuple[Problem, ...] = ()


INPUTS_TRAILER: Final = "Osm-Gitops-Inputs"
"""In commits of desired state: a cluster, the commit of its shared inputs, their digest, and whether pools failed."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The shared inputs that a cluster was last rendered from: their commit, a digest that is equal for equal inputs
    of this cluster, and since when it has had inputs with this digest. ``whole``: no pool failed."""

    commit: str
    digest: str
    since: datetime
    whole: bool = True
