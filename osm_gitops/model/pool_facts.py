"""What reports show of a pool beside its plan: the versions that its machines run, and the size of its user-data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HalfSize:
    """The bytes of a half (``bootstrap``, ``provisioning``), in the encoding that is ``counted``, and their limit.

    ``limit`` is ``None`` if none is known; ``note`` is the source of the limit, or why there is none.
    """

    half: str
    size: int
    counted: str
    limit: int | None
    note: str

    @property
    def share(self) -> float:
        """The part of the limit that is used; 0 without a limit."""
        return self.size / self.limit if self.limit else 0.0


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """``kubelet`` is the version in the MachineDeployment, ``profile`` ``NAMESPACE/NAME``. Texts are empty if they
    cannot be read, ``profile_version`` also if the profile does not exist. ``sizes`` has both halves of a rendered
    pool."""

    os: str
    provider: str
    kubelet: str
    profile: str
    profile_version: str
    sizes: tuple[HalfSize, ...] = ()
