"""A cluster that OSM has run on, and the command line that goes on from there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.after_osm import AfterOsm
from tests.cli.running import Ran, osm_gitops

_SECRETS = "/api/v1/namespaces/cloud-init-settings/secrets"


@dataclass(frozen=True, slots=True)
class Adopted:
    """The cluster, and a folder for what a command line needs."""

    osm: AfterOsm
    folder: Path

    def arguments(self, command: str, *more: str, user: str = "admin") -> tuple[str, ...]:
        """A command line that reads this cluster and writes to it, with the settings that OSM had."""
        kubeconfig = self.osm.management.kubeconfig(self.folder / f"kubeconfig-{user}", user)
        where = ("--from", "cluster", "--to", "cluster", "--kubeconfig", str(kubeconfig))
        waiting = () if command == "plan" or "--settle" in more else ("--settle", "0s")
        settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(self.folder / "ca.pem"))
        yes = ("--yes",) if command == "apply" else ()
        return (command, *where, *settings, *waiting, *yes, *more)

    def run(self, command: str, *more: str, user: str = "admin") -> Ran:
        return osm_gitops(*self.arguments(command, *more, user=user))

    def secret(self, name: str) -> dict[str, object]:
        return self.osm.worker.client().get(f"{_SECRETS}/{name}")
