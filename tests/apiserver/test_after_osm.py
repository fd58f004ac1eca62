"""The recorded cluster is in the API servers as OSM left it."""

from __future__ import annotations

from tests.apiserver.after_osm import HAS_INSTANCE, OSM, REVISION, after_osm, recorded, with_machine_sets
from tests.apiserver.client import Object, path_of
from tests.apiserver.cluster import Cluster


def _content(body: Object) -> Object:
    metadata = {
        key: body["metadata"][key] for key in ("labels", "annotations", "finalizers") if key in body["metadata"]
    }
    return {key: value for key, value in body.items() if key not in {"metadata", "status"}} | metadata


def test_all_that_osm_left_is_loaded_as_it_was_recorded(management: Cluster) -> None:
    loaded = after_osm(management)
    assert len(loaded.pools()) == 5
    for body in recorded():
        found = management.client().get(path_of(body))
        assert _content(found) == _content(body)


def test_what_osm_wrote_is_owned_by_its_field_manager(management: Cluster) -> None:
    after_osm(management)
    secrets = management.client().get("/api/v1/namespaces/cloud-init-settings/secrets")["items"]
    owners = {(each["manager"], each["operation"]) for found in secrets for each in found["metadata"]["managedFields"]}
    assert owners == {(OSM, "Update")}


def test_in_the_split_mode_profiles_and_configurations_are_in_the_management_cluster(
    management: Cluster, worker: Cluster
) -> None:
    after_osm(management, worker)
    for cluster, kinds in ((management, 6), (worker, 0)):
        path = "/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemprofiles"
        assert len(cluster.client().get(path)["items"]) == kinds
    assert management.client().get("/apis/cluster.k8s.io/v1alpha1/machinedeployments")["items"] == []


def test_pools_have_machine_sets_of_their_revision_and_machines_that_wait_or_run(management: Cluster) -> None:
    loaded = with_machine_sets(after_osm(management))
    sets = management.client().get("/apis/cluster.k8s.io/v1alpha1/machinesets")["items"]
    assert [each["metadata"]["annotations"][REVISION] for each in sets] == ["1"] * 5
    waiting, running = (loaded.machine(sets[0], name, waits=name == "waits") for name in ("waits", "runs"))
    assert "finalizers" not in waiting["metadata"]
    assert HAS_INSTANCE in running["metadata"]["finalizers"]
    assert running["metadata"]["ownerReferences"][0]["uid"] == sets[0]["metadata"]["uid"]
