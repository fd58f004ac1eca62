"""A live cluster as a source: what is read of it and what is not, on real API servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.commands.boot.lane.definitions import definition
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube import api as door
from osm_gitops.kube.api import Api, connect
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Manifest, ObjectRef, Origin
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.named_facts import MOST_GETS
from osm_gitops.sources.cluster import read_facts, read_machines, read_profiles
from osm_gitops.sources.machines import read_machine
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.rights import allow, rule
from tests.cli.scenes import facts, pool, profile, secret
from tests.faults import Expected

_OSM = "operatingsystemmanager.k8c.io"
_TOKEN_LABEL = "machinedeployment.k8s.io/name"
_PROFILE_NAMESPACE = "k8c.io/operating-system-profile-namespace"


def _api(cluster: Cluster, folder: Path, user: str = "admin") -> Api:
    return connect(ContextRef(str(cluster.kubeconfig(folder / f"{cluster.name}-{user}", user))), {})


def _create(cluster: Cluster, *bodies: Object) -> None:
    for body in bodies:
        cluster.client().create(body)


def _with_facts(cluster: Cluster, *more: Object) -> None:
    cluster.namespace("cloud-init-settings")
    _create(cluster, *facts(), *more)


def _machines(*bodies: Object) -> tuple[MachineDeployment, ...]:
    """MachineDeployments that came from somewhere else."""
    found = []
    for body in bodies:
        metadata = body["metadata"]
        ref = ObjectRef("MachineDeployment", metadata["namespace"], metadata["name"])
        machine = read_machine(Manifest(ref, body, Origin("t"), {})).value
        assert machine is not None
        found.append(machine)
    return tuple(found)


def _old(name: str, **cloud_spec: Any) -> Object:
    """A pool whose kubelet still reads a cloud-config."""
    return pool(name, kubelet="1.28.0", cloudProvider="vsphere", cloudProviderSpec=cloud_spec)


def _read_facts(api: Api, *machines: Object, settings: Settings | None = None) -> Inputs:
    return read_facts(api, _machines(*machines), settings or Settings(), {})


def test_pools_of_all_namespaces_are_read_without_what_rendering_never_looks_at(
    worker: Cluster, tmp_path: Path
) -> None:
    worker.namespace("teams")
    _create(worker, pool("a"), pool("b", namespace="teams"))
    path = "/apis/cluster.k8s.io/v1alpha1/namespaces/teams/machinedeployments/b/status"
    worker.client().merge(path, {"status": {"replicas": 3}})
    api = _api(worker, tmp_path)
    inputs = read_machines(api)
    assert [str(machine.ref) for machine in inputs.machines] == [
        "MachineDeployment kube-system/a",
        "MachineDeployment teams/b",
    ]
    manifest = inputs.machines[1].manifest
    assert "status" not in manifest.body
    assert "managedFields" not in manifest.body["metadata"]
    assert set(manifest.body["metadata"]) >= {"uid", "resourceVersion"}
    assert str(manifest.origin) == f"{worker.server} (context worker)"
    assert inputs.sources == (f"cluster {worker.server}",)
    assert api.requests == 1


def test_what_is_wrong_with_a_pool_is_told_with_its_cluster(worker: Cluster, tmp_path: Path) -> None:
    body = pool("a")
    del body["spec"]["template"]["spec"]["providerSpec"]["value"]
    _create(worker, body, pool("x-y", namespace="kube-system"))
    worker.namespace("y-kube-system")
    _create(worker, pool("x", namespace="y-kube-system"))
    inputs = read_machines(_api(worker, tmp_path))
    assert inputs.machines == ()
    told = [problem for problems in inputs.broken.values() for problem in problems]
    place = f"{worker.server} (context worker): MachineDeployment"
    assert told[0] == Expected(Code.MISSING_KEY, place, "kube-system/a", "spec.template.spec.providerSpec.value")
    assert told[1] == Expected(Code.POOL_NAMES_CLASH, place, "kube-system/x-y")


def test_a_list_comes_in_pages(worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "PAGE", 5)
    _create(worker, *(pool(f"pool-{number}") for number in range(12)))
    api = _api(worker, tmp_path)
    assert len(read_machines(api).machines) == 12
    assert api.requests == 3


def test_profiles_are_read_where_settings_and_pools_look_for_them(management: Cluster, tmp_path: Path) -> None:
    for namespace in ("osm", "shared", "elsewhere"):
        management.namespace(namespace)
        body = profile(f"osp-{namespace}")
        body["metadata"]["namespace"] = namespace
        _create(management, body)
    pools = _machines(
        pool("a", annotations={_PROFILE_NAMESPACE: "shared"}),
        pool("b", annotations={_PROFILE_NAMESPACE: "../elsewhere"}),
    )
    inputs = read_profiles(_api(management, tmp_path), pools, "osm")
    assert sorted(inputs.profiles) == [("osm", "osp-osm"), ("shared", "osp-shared")]
    assert inputs.broken == {}


def test_profiles_of_kkp_count_where_there_is_no_other_of_their_name(management: Cluster, tmp_path: Path) -> None:
    management.define(definition(_OSM, "CustomOperatingSystemProfile"))
    management.namespace("kubermatic")
    custom = [profile(f"osp-{name}", version="v2.0.0") for name in ("a", "b", "ubuntu")]
    for body in custom:
        body["kind"] = "CustomOperatingSystemProfile"
        body["metadata"]["namespace"] = "kubermatic"
    _create(management, profile("osp-a"), *custom)
    unnamed = pool("c")
    unnamed["metadata"]["annotations"] = {}
    for pools, count in (((pool("a", "osp-a"),), 1), ((pool("b", "osp-b"),), 3), ((unnamed,), 3)):
        inputs = read_profiles(_api(management, tmp_path), _machines(*pools), "kube-system")
        assert inputs.profiles["kube-system", "osp-a"].version == "v1.0.0"
        assert len(inputs.profiles) == count


def test_facts_are_what_is_named_and_nothing_else(worker: Cluster, tmp_path: Path) -> None:
    token = secret("bootstrap-token-abcdef", "kube-system", {}, metadata={"labels": {_TOKEN_LABEL: "kube-system-a"}})
    _with_facts(worker, token, secret("bootstrap-token-kubeadm", "kube-system", {}), secret("other", "default", {}))
    _create(worker, secret("vsphere", "default", {"user": "u"}), secret("also", "cloud-init-settings", {}))
    api = _api(worker, tmp_path)
    settings = Settings(registry_credentials_secret=("default", "missing"))
    reference = {"namespace": "default", "name": "vsphere", "key": "user"}
    found = _read_facts(api, _old("a", username={"secretKeyRef": reference}), settings=settings)
    assert sorted(found.facts.secrets) == [
        ("cloud-init-settings", "cloud-init-getter-token"),
        ("default", "vsphere"),
        ("kube-system", "bootstrap-token-abcdef"),
    ]
    assert found.facts.secrets["default", "vsphere"].data == {"user": b"u"}
    assert list(found.facts.config_maps) == [("kube-public", "cluster-info")]
    assert found.facts.certificate_authority == worker.authority
    assert not found.facts.incomplete
    # Three Secrets by name, the ConfigMap, the list of tokens.
    assert api.requests == 5


def test_of_the_environment_credentials_of_clouds_are_kept(worker: Cluster, tmp_path: Path) -> None:
    _with_facts(worker)
    found = read_facts(_api(worker, tmp_path), (), Settings(), {"OS_USER_NAME": "u", "HOME": "/root"})
    assert found.facts.environment == {"OS_USER_NAME": "u"}


def test_of_a_service_account_the_secrets_are_read_that_it_lists(worker: Cluster, tmp_path: Path) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "joiner", "namespace": "kube-system"},
        "secrets": [{"name": "joiner-token"}, {"name": "gone"}],
    }
    annotated = {"annotations": {"kubernetes.io/service-account.name": "joiner"}}
    token = secret(
        "joiner-token", "kube-system", {"token": "t"}, metadata=annotated, type="kubernetes.io/service-account-token"
    )
    _with_facts(worker, account, token)
    settings = Settings(bootstrap_token_service_account=("kube-system", "joiner"))
    found = _read_facts(_api(worker, tmp_path), settings=settings).facts
    assert found.service_accounts["kube-system", "joiner"].secrets == ("joiner-token", "gone")
    assert ("kube-system", "joiner-token") in found.secrets


def test_servers_are_looked_for_only_where_cluster_info_does_not_tell_them(worker: Cluster, tmp_path: Path) -> None:
    worker.namespace("cloud-init-settings")
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "a", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": 6443}],
    }
    other = endpoints | {"metadata": {"name": "b", "namespace": "default", "labels": {}}}
    info, token = facts()
    broken = info | {"data": {"kubeconfig": "clusters: 7"}}
    _create(worker, endpoints, other, token, broken)
    (found,) = _read_facts(_api(worker, tmp_path)).facts.endpoint_slices
    assert found["metadata"]["name"] == "a"
    worker.client().replace("/api/v1/namespaces/kube-public/configmaps/cluster-info", info)
    assert _read_facts(_api(worker, tmp_path)).facts.endpoint_slices == ()


def test_many_secrets_of_a_namespace_are_read_with_a_list_and_few_by_name(worker: Cluster, tmp_path: Path) -> None:
    names = [f"vsphere-{number}" for number in range(MOST_GETS + 1)]
    _with_facts(worker, *(secret(name, "default", {"user": "u"}) for name in (*names, "other")))
    machines = [
        _old(name, username={"secretKeyRef": {"namespace": "default", "name": name, "key": "user"}}) for name in names
    ]
    for number, requests in ((MOST_GETS, 3 + MOST_GETS), (MOST_GETS + 1, 4)):
        api = _api(worker, tmp_path)
        found = _read_facts(api, *machines[:number]).facts
        assert len(found.secrets) == 1 + number
        assert ("default", "other") not in found.secrets
        assert api.requests == requests


def test_a_kubeconfig_that_names_its_authority_as_a_file_gives_an_empty_one_and_a_warning(
    worker: Cluster, tmp_path: Path
) -> None:
    _with_facts(worker)
    (tmp_path / "ca.pem").write_text(worker.authority, "utf-8")
    path = worker.kubeconfig(tmp_path / "config")
    config = yaml.safe_load(path.read_text("utf-8"))
    config["clusters"][0]["cluster"] = {"server": worker.server, "certificate-authority": "ca.pem"}
    path.write_text(yaml.safe_dump(config), "utf-8")
    api = connect(ContextRef(str(path)), {})
    found = _read_facts(api)
    assert found.facts.certificate_authority == ""
    (warning,) = found.warnings
    assert warning.code is Code.CLUSTER_CA_UNKNOWN
    assert _read_facts(api, settings=Settings(kubernetes_ca_bundle="own")).warnings == ()


_READS = {
    "list machinedeployments.cluster.k8s.io": ("", rule("list", "machinedeployments.cluster.k8s.io")),
    f"list operatingsystemprofiles.{_OSM} in namespace kube-system": (
        "kube-system",
        rule("list", f"operatingsystemprofiles.{_OSM}"),
    ),
    "get secrets cloud-init-getter-token in namespace cloud-init-settings": (
        "cloud-init-settings",
        rule("get", "secrets", ["cloud-init-getter-token"]),
    ),
    "get configmaps cluster-info in namespace kube-public": (
        "kube-public",
        rule("get", "configmaps", ["cluster-info"]),
    ),
    "list secrets in namespace kube-system": ("kube-system", rule("list", "secrets")),
}


def _read_all(api: Api) -> tuple[Inputs, ...]:
    machines = read_machines(api)
    return (
        machines,
        read_profiles(api, machines.machines, "kube-system"),
        read_facts(api, machines.machines, Settings(), {}),
    )


def test_these_rights_are_enough(management: Cluster, tmp_path: Path) -> None:
    _with_facts(management, pool("a"), profile("osp-a"))
    for namespace, right in _READS.values():
        allow(management, "reader", [right], namespace)
    machines, profiles, found = _read_all(_api(management, tmp_path, "reader"))
    assert (len(machines.machines), len(profiles.profiles), len(found.facts.secrets)) == (1, 1, 1)


@pytest.mark.parametrize("missing", _READS)
def test_a_read_that_is_forbidden_is_an_error_that_names_it(management: Cluster, tmp_path: Path, missing: str) -> None:
    _with_facts(management, pool("a"), profile("osp-a"))
    for name, (namespace, right) in _READS.items():
        if name != missing:
            allow(management, "reader", [right], namespace)
    with pytest.raises(ClusterError) as refused:
        _read_all(_api(management, tmp_path, "reader"))
    (problem,) = refused.value.problems
    assert refused.value.status == 403
    assert problem == Expected(Code.REQUEST_REFUSED, f"{management.server} (context management): {missing}: ")


def test_profiles_of_kkp_that_may_not_be_read_are_an_error_of_who_needs_them(
    management: Cluster, tmp_path: Path
) -> None:
    management.define(definition(_OSM, "CustomOperatingSystemProfile"))
    allow(management, "reader", [rule("list", f"operatingsystemprofiles.{_OSM}")])
    api = _api(management, tmp_path, "reader")
    _create(management, profile("osp-a"))
    inputs = read_profiles(api, _machines(pool("a", "osp-a"), pool("b", "osp-missing")), "kube-system")
    assert list(inputs.profiles) == [("kube-system", "osp-a")]
    assert list(inputs.unreadable) == [
        Expected(Code.REQUEST_REFUSED, f"list customoperatingsystemprofiles.{_OSM} in namespace {namespace}")
        for namespace in ("kube-system", "kubermatic")
    ]
    _create(management, profile("osp-missing"))
    assert read_profiles(api, _machines(pool("b", "osp-missing")), "kube-system").unreadable == ()
