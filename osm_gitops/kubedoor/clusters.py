"""The clusters of a run."""

from __future__ import annotations

from dataclasses import dataclass

from osm_gitops.kubedoor.api import Api


@dataclass(frozen=True, slots=True)
class Clusters:
    """Where OSCs and profiles live, and where Secrets and Machines do: one and the same in the single mode."""

    management: Api
    worker: Api
