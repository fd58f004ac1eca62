"""Which API servers a run connects to: each once, and none twice as a target."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget, SourceSpec
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import Code, InputError, LostLockError, Problem
from osm_gitops.kube.kinds import CONFIG_MAP
from osm_gitops.model.desired import Side
from osm_gitops.pipeline.connections import Connections, check_live_targets
from tests.apiserver.cluster import Cluster
from tests.faults import Expected, placed, refused

_SERVERS = {"seed": "https://seed:6443", "eu": "https://eu:6443", "same": "https://eu:6443", "us": "https://us:6443"}


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    """A kubeconfig with several contexts, two of which lead to one server."""
    clusters = [{"name": name, "cluster": {"server": server}} for name, server in _SERVERS.items()]
    contexts = [{"name": name, "context": {"cluster": name, "user": "u"}} for name in _SERVERS]
    users = [{"name": "u", "user": {"token": "t"}}]
    config = {"kind": "Config", "clusters": clusters, "contexts": contexts, "users": users}
    (tmp_path / "config").write_text(json.dumps(config), "utf-8")
    return Connections({"KUBECONFIG": str(tmp_path / "config")})


def _spec(name: str, management: str, worker: str = "") -> ClusterSpec:
    source = SourceSpec(LiveRef(), LiveRef(), LiveRef())
    return ClusterSpec(name, source, (), LiveTarget(), ContextRef("", management), ContextRef("", worker))


def test_a_server_is_connected_to_once(connections: Connections) -> None:
    clusters = connections.clusters(_spec("a", "seed", "eu"))
    assert (clusters.management.host, clusters.worker.host) == ("https://seed:6443", "https://eu:6443")
    assert connections.clusters(_spec("b", "seed", "us")).management is clusters.management
    one = connections.clusters(_spec("c", "seed"))
    assert one.management is one.worker is clusters.management


def test_servers_are_named_by_what_they_are_for(connections: Connections) -> None:
    split = _spec("a", "seed", "eu")
    management, worker = connections.hosts(split)
    assert management == "management cluster https://seed:6443 (context seed)"
    assert worker == "worker cluster https://eu:6443 (context eu)"
    assert connections.hosts(split, {Side.WORKER}) == (worker,)
    assert connections.hosts(_spec("b", "eu"), {Side.WORKER}) == ("cluster https://eu:6443 (context eu)",)


def test_two_desired_states_in_one_worker_cluster_are_refused(connections: Connections) -> None:
    specs = [_spec("a", "seed", "eu"), _spec("b", "seed", "same"), _spec("c", "us")]
    with pytest.raises(InputError) as refused:
        check_live_targets(specs, connections)
    assert placed(refused.value.problems) == [(Code.CLUSTERS_SHARE_TARGET, "cluster b")]
    assert Expected(Code.CLUSTERS_SHARE_TARGET, "https://eu:6443", "same") in refused.value.problems
    check_live_targets([specs[0], replace(specs[1], target=None), specs[2]], connections)


def test_two_clusters_in_one_management_namespace_are_refused(connections: Connections) -> None:
    named = (RawSetting("namespace", "kube-system", ""),)
    specs = [_spec("a", "seed", "eu"), replace(_spec("b", "seed", "us"), settings=named)]
    with pytest.raises(InputError) as refused:
        check_live_targets(specs, connections)
    assert placed(refused.value.problems) == [(Code.CLUSTERS_SHARE_TARGET, "cluster b")]
    assert Expected(Code.CLUSTERS_SHARE_TARGET, "kube-system", "https://seed:6443", "seed") in refused.value.problems
    other = replace(named[0], value="cluster-b")
    check_live_targets([specs[0], replace(specs[1], settings=(other,))], connections)


def test_a_context_that_leads_nowhere_is_left_to_who_uses_it(connections: Connections) -> None:
    lost = _spec("a", "nowhere")
    check_live_targets([lost, lost, _spec("b", "eu")], connections)
    with refused(Expected(Code.CONTEXT_NOT_FOUND, "nowhere")):
        connections.worker(lost)


def _lost() -> None:
    raise LostLockError([Problem(Code.INVALID_VALUE, "somebody else holds the Lease")])


def test_while_a_lease_is_held_every_connection_asks_before_it_writes(worker: Cluster, tmp_path: Path) -> None:
    access = ContextRef(str(worker.kubeconfig(tmp_path / "kubeconfig")))
    spec = ClusterSpec("prod", SourceSpec(LiveRef(), LiveRef(), LiveRef()), (), None, management=access)
    connections = Connections({})
    checked = connections.checked(_lost)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    for api in (checked.management(spec), checked.worker(spec), connections.clusters(spec).checked(_lost).worker):
        with pytest.raises(LostLockError):
            api.create(body)
        assert api.get(CONFIG_MAP, "default", "a") is None
    assert checked.management(spec) is checked.worker(spec)
    connections.worker(spec).create(body)
    assert checked.worker(spec).requests == connections.worker(spec).requests
    connections.close()
