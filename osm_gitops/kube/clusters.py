"""The clusters of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from osm_gitops.kube.api import Api


@dataclass(frozen=True, slots=True)
class Clusters:
    """Where OSCs and profiles live, and where Secrets and Machines do: one and the same in the single mode."""

    management: Api
    worker: Api

    def hurry(self) -> None:
        """The run was interrupted: what is under way gets two seconds more. For any thread."""
        for api in (self.management, self.worker):
            api.hurry()

    def checked(self, check: Callable[[], None]) -> Clusters:
        """The same clusters; ``check`` is called before every try of a request that writes."""
        management = self.management.checked(check)
        return Clusters(management, management if self.worker is self.management else self.worker.checked(check))
