"""A run that is ended at any write is finished by the next one, in the state that it would have come to itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from osm_gitops.kube.api import Clusters
from tests.targets.cluster.scene import (
    Counting,
    EndedError,
    Scene,
    config_path,
    machine_path,
    secret_path,
)

Begin = Callable[[Scene, str], None]


def _new(there: Scene, name: str) -> None:
    there.pool(name)


def _rolled(there: Scene, name: str) -> None:
    there.pool(name)
    there.run()
    there.roll(name, "2", "1.35.0")


def _immutable(there: Scene, name: str) -> None:
    there.pool(name)
    there.osm_wrote(name)


def _of_osm(there: Scene, name: str) -> None:
    there.pool(name)
    there.osm_wrote(name, immutable=False)


# How many writes each takes.
BEGINNINGS: dict[str, tuple[Begin, int]] = {
    "a new pool": (_new, 4),
    "a new revision": (_rolled, 3),
    "what is immutable": (_immutable, 6),
    "what OSM may still own": (_of_osm, 6),
}


def _state(there: Scene, name: str) -> Any:
    """All of a pool that outlives a run, under a name that does not matter."""
    found = {}
    paths = {
        "machine": machine_path(name),
        "config": config_path(name),
        "provisioning": secret_path(name, "provisioning"),
        "bootstrap": secret_path(name),
    }
    for part, path in paths.items():
        body = there.get(path)
        metadata = body["metadata"]
        owners = sorted((each["manager"], each["operation"]) for each in metadata["managedFields"])
        told = {key: value for key, value in metadata.get("annotations", {}).items() if "digest" not in key}
        found[part] = (
            sorted(body),
            told,
            metadata.get("finalizers"),
            metadata.get("labels"),
            owners,
            len(str(body.get("data"))),
        )
    return found


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_run_that_is_ended_at_any_write_is_finished_by_the_next(single: Scene, beginning: str, done: bool) -> None:
    begin, writes = BEGINNINGS[beginning]
    single.pool("pool-x")  # so that the profile is there
    single.run()
    begin(single, "pool-0")
    assert single.run().failed == {}
    whole = _state(single, "pool-0")
    there = single.live
    for last in range(1, writes + 1):
        begin(single, f"pool-{last}")
        counting = Counting(there.worker, last, done=done)
        single.live = Clusters(counting.as_api, counting.as_api)
        with pytest.raises(EndedError):
            single.run()
        single.live = there
        assert single.run().failed == {}
        assert _state(single, f"pool-{last}") == whole
        counting = Counting(there.worker)
        single.live = Clusters(counting.as_api, counting.as_api)
        single.run()
        assert counting.writes == []
        single.live = there


def test_the_number_of_writes_is_known(single: Scene) -> None:
    single.pool("pool-x")
    single.run()
    there = single.live
    for number, (begin, writes) in enumerate(BEGINNINGS.values()):
        begin(single, f"pool-{number}")
        counting = Counting(there.worker)
        single.live = Clusters(counting.as_api, counting.as_api)
        single.run()
        assert len(counting.writes) == writes, begin
        single.live = there
