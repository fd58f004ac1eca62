"""Runs over the user clusters of a seed: a fleet file with an entry for it, and what the clusters have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.apiserver.after_osm import REVISION, AfterOsm
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import osm_in_kkp
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet
from tests.git.repos import git
from tests.kkp.seed import Seed, UserCluster, fill

ID: Final = "abcdefghij"
SCRIPT: Final = "#!/bin/sh\necho {{ .PauseImage }} {{ .ServerURL }} {{ .Token }}\n{{ .KubernetesCACert }}"


@dataclass(frozen=True, slots=True)
class Scene:
    """A seed, and a repository for the fleet file."""

    seed: Seed
    folder: Path

    def fleet(
        self, to: str = "to: cluster", *, entry: str = "", more: str = "", through: Cluster | None = None, **kkp: Any
    ) -> Path:
        """Commit a fleet file with one entry for the seed, as it is seen ``through`` a proxy.

        ``to`` and ``entry`` are further keys of the entry, ``more`` further entries.
        """
        (through or self.seed.server).kubeconfig(self.folder.parent / "seed.yaml")
        body = {"seed": {"kubeconfig": "../seed.yaml"}, **kkp}
        lines = [f"- kkp: {json.dumps(body)}", *(f"  {line}" for line in (to, *entry.splitlines()) if line)]
        path = write_fleet(self.folder, "clusters:\n" + "\n".join(lines) + f"\n{more}")
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--allow-empty", "--message", "fleet")
        return path

    def run(self, command: str, *more: str) -> Ran:
        """Run a command; nothing is asked, waited for or encrypted."""
        waiting = ("--settle", "0s") if command in {"apply", "refresh"} else ()
        yes = ("--yes", "--dangerously-plaintext-secrets") if command == "apply" else ()
        return osm_gitops(command, "--fleet", str(self.folder / "osm-gitops.yaml"), *waiting, *yes, *more)

    def plan(self, *more: str) -> tuple[dict[str, Any], Ran]:
        """The clusters of a plan by name, and how the command ended."""
        ran = self.run("plan", "--output", "json", "--dangerously-plaintext-secrets", *more)
        return {each["name"]: each for each in json.loads(ran.out)["clusters"]}, ran


def user_cluster(seed: Seed, server: Cluster, name: str = ID, *, replicas: int = 0, **more: Any) -> UserCluster:
    """A user cluster whose Operating System Manager is off."""
    namespace = f"cluster-{name}"
    osm = osm_in_kkp("-namespace", "kube-system", namespace=namespace, replicas=replicas)
    return seed.user_cluster(name, server, osm=more.pop("osm", osm), **more)


def fill_with_pool(server: Cluster, name: str = "workers", boot: Object | None = None, **more: Any) -> AfterOsm:
    """What KKP and machine-controller have in a user cluster with one pool, whose profile prints facts."""
    fill(server, boot or profile(script=SCRIPT))
    loaded = AfterOsm(server, server)
    add_pool(loaded, name, **more)
    return loaded


def add_pool(loaded: AfterOsm, name: str, **more: Any) -> Object:
    """A pool, and its MachineSet."""
    body = pool(name, more.pop("profile", "osp-a"), annotations={REVISION: "1"} | more.pop("annotations", {}), **more)
    body["spec"]["template"]["metadata"] = {"labels": {"pool": name}}
    body["metadata"]["annotations"] = {key: text for key, text in body["metadata"]["annotations"].items() if text}
    created = loaded.create(body, "kubectl")
    loaded.machine_set(name)
    return created


def secrets_of(server: Cluster) -> Mapping[str, Object]:
    """The Secrets that machines boot with, by name."""
    found = server.client().get("/api/v1/namespaces/cloud-init-settings/secrets")["items"]
    return {each["metadata"]["name"]: each for each in found if each["metadata"]["name"] != "cloud-init-getter-token"}
