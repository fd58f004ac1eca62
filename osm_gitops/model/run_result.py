"""What one run over some clusters leaves for those who look at all runs of a fleet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FailedCluster:
    """A cluster in which something failed. ``errors`` contain no secret and may be cut."""

    name: str
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of one run of a command. ``shard`` is its index and their number, such as ``0/4``, or empty. ``job``
    is the Job of the run, if it is known: its shards are one run, though some may be started again.

    Pools are ``changed`` if their boot configuration was written, ``failed``, or ``skipped`` for now. ``failures`` are
    the first of ``failed_clusters``, ``errors`` those of the run that belong to no cluster.
    """

    command: str
    shard: str = ""
    job: str = ""
    started: datetime
    ended: datetime
    clusters: int = 0
    failed_clusters: int = 0
    pools: int = 0
    changed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[FailedCluster, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return not self.failed_clusters and not self.errors

    @property
    def index(self) -> int:
        """The index of its shard; 0 without shards."""
        return int(self.shard.partition("/")[0] or 0)

    @property
    def count(self) -> int:
        """The number of shards; 1 without."""
        return int(self.shard.partition("/")[2] or 1)
