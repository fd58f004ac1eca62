"""Operating System Manager itself: what it writes for a fleet is what we would write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apiserver.cluster import Cluster
from tests.bench.fleets import CHANGE, PROFILES, read_fleet, write_fleet
from tests.bench.osm import write_all
from tests.cli.running import osm_gitops

pytestmark = [pytest.mark.osm, pytest.mark.conformance]

_POOLS = 60
_ADOPTED = ("only metadata: ", "another's token taken over", "takes over the kubeconfig of another writer")


def _changed(cluster: Cluster, folder: Path, *more: str) -> list[str]:
    """What a plan would change beyond adopting it; each object is at least adopted."""
    kubeconfig = str(cluster.kubeconfig(folder / "kubeconfig"))
    place = ("--from", "cluster", "--to", "cluster", "--kubeconfig", kubeconfig)
    ran = osm_gitops("plan", *place, "--external-cloud-provider", "--output", "json", *more)
    assert ran.code == 0, ran.err
    (planned,) = json.loads(ran.out)["clusters"]
    assert planned["pools"]["desired"] == _POOLS
    changes = [(change["kind"], change["name"], change["action"], change["reason"]) for change in planned["changes"]]
    assert len(changes) == 5 * _POOLS
    return [
        f"{kind} {name}: {reason}"
        for kind, name, action, reason in changes
        if action != "update" or not reason.startswith(_ADOPTED)
    ]


def test_what_osm_has_written_is_only_adopted(worker: Cluster, tmp_path: Path) -> None:
    """Every field that a template reads differs from pool to pool."""
    fleet = write_fleet(tmp_path / "fleet", _POOLS, distinct=True, profiles=PROFILES)
    worker.namespace("cloud-init-settings")
    for body in read_fleet(fleet):
        worker.client().create(body)
    _, missing = write_all(worker, tmp_path, _POOLS, ["-external-cloud-provider"])
    assert missing == 0
    assert _changed(worker, tmp_path) == []
    # It would see a setting that OSM was not given.
    others = _changed(worker, tmp_path, *CHANGE)
    assert sum(each.startswith("OperatingSystemConfig ") for each in others) == _POOLS
