"""How a run writes to clusters, as its options say. Apart from the writing: every command has them, few write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOCK_TIMEOUT: Final = 90.0
"""Seconds. Longer than a Lease lives, so that the run after one that was killed takes over by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How a plan is carried out.

    ``concurrency``: pools at a time; ``force_conflicts``: fields of others are taken over; ``finalizers``:
    MachineDeployments are held until they are cleaned up after; ``nudge``: Machines that had to wait are woken.
    ``namespace`` is where OSCs are.
    """

    concurrency: int = 8
    force_conflicts: bool = False
    finalizers: bool = True
    nudge: bool = True
    namespace: str = "kube-system"
