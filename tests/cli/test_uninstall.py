"""``osm-gitops uninstall``: what is there afterwards is what Operating System Manager would have left itself."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.apiserver.after_osm import REVISION, AfterOsm, after_osm, recorded_authority, with_machine_sets
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import profile
from tests.faults import Expected, told

_OSM = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system"
_SECRETS = "/api/v1/namespaces/cloud-init-settings/secrets"
_TOKENS = "/api/v1/namespaces/kube-system/secrets"
_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_PLURALS = (f"{_OSM}/operatingsystemprofiles", f"{_OSM}/operatingsystemconfigs", _SECRETS, _TOKENS)
_FINALIZER = "kubermatic.io/cleanup-operating-system-configs"


class Managed:
    """A cluster that osm-gitops has taken over from OSM."""

    def __init__(self, osm: AfterOsm, folder: Path) -> None:
        self.osm = osm
        self.client = osm.management.client()
        self._where = ("--kubeconfig", str(osm.management.kubeconfig(folder / "kubeconfig")))
        self._settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(folder / "ca.pem"))
        self.left = self.content()
        assert self.apply().err == "default: 5 pools written\n"

    def apply(self, command: str = "apply") -> Ran:
        settle = ("--yes", "--settle", "0s") if command == "apply" else ()
        return osm_gitops(command, "--from", "cluster", "--to", "cluster", *self._where, *self._settings, *settle)

    def uninstall(self, *more: str) -> Ran:
        return osm_gitops("uninstall", "--yes", *self._where, *more)

    def roll(self, number: int) -> None:
        """New templates of all pools, and what machine-controller does about them."""
        for name in self.osm.pools():
            template = {"spec": {"versions": {"kubelet": f"1.34.{number}"}}}
            change = {"spec": {"template": template}, "metadata": {"annotations": {REVISION: str(number)}}}
            found = self.client.merge(f"{_MACHINES}/{name}", change)
            self.osm.objects["MachineDeployment", "kube-system", name] = found
            self.osm.machine_set(name)

    def owners(self) -> set[str]:
        """Everybody who owns anything of what uninstall gives back."""
        return {
            entry["manager"]
            for plural in _PLURALS
            for body in self.client.get(plural)["items"]
            for entry in body["metadata"].get("managedFields") or [{"manager": "none"}]
        }

    def content(self) -> dict[str, Object]:
        """All objects by path, without what the API server adds, and who owns what."""
        unseen = {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"}
        found = {}
        for plural in _PLURALS:
            for body in self.client.get(plural)["items"]:
                metadata = {key: value for key, value in body["metadata"].items() if key not in unseen}
                found[f"{plural}/{metadata['name']}"] = body | {"metadata": metadata}
        return found

    def finalizers(self) -> list[Any]:
        return [body["metadata"].get("finalizers") for body in self.client.get(_MACHINES)["items"]]


@pytest.fixture
def managed(management: Cluster, tmp_path: Path) -> Managed:
    (tmp_path / "ca.pem").write_text(recorded_authority(), "utf-8")
    return Managed(with_machine_sets(after_osm(management)), tmp_path)


def _deploy(managed: Managed) -> None:
    """OSM's Deployment, switched off."""
    labels = {"app": "operating-system-manager"}
    container = {"name": "operating-system-manager", "image": "osm:1", "command": ["/usr/local/bin/osm-controller"]}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    metadata = {"name": "operating-system-manager", "namespace": "kube-system"}
    managed.client.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})


def test_what_osm_left_is_there_again_but_for_tokens_that_live(managed: Managed) -> None:
    ran = managed.uninstall()
    assert (ran.code, "Warning" in ran.err) == (0, False), ran.err
    now = managed.content()
    kubeconfigs = {path for path in now if path.endswith("-kubelet-bootstrap-config")}
    tokens = {path for path in now if "/bootstrap-token-" in path}
    assert {path: now[path] for path in now.keys() - kubeconfigs - tokens} == {
        path: body for path, body in managed.left.items() if path not in kubeconfigs and "/bootstrap-token-" not in path
    }
    for path in kubeconfigs:
        assert now[path]["metadata"] == managed.left[path]["metadata"]
    labels = {body["metadata"]["labels"]["machinedeployment.k8s.io/name"] for body in map(now.get, tokens) if body}
    assert labels == {f"kube-system-pool-0000{number}" for number in range(5)}
    assert {tuple(body["metadata"]["labels"]) for body in map(now.get, tokens) if body} == {
        ("machinedeployment.k8s.io/name",)
    }
    for path in tokens:
        body = now[path]
        text = ".".join(b64decode(body["data"][key]).decode() for key in ("token-id", "token-secret"))
        key = body["metadata"]["labels"]["machinedeployment.k8s.io/name"]
        kubeconfig = now[f"{_SECRETS}/{key}-kubelet-bootstrap-config"]["data"]["kubeconfig"]
        assert text in b64decode(kubeconfig).decode()


def test_nobody_owns_fields_in_our_name_any_more(managed: Managed) -> None:
    managed.uninstall()
    owners = {
        entry["manager"]
        for plural in (*_PLURALS, _MACHINES)
        for body in managed.client.get(plural)["items"]
        for entry in body["metadata"].get("managedFields") or ()
        if plural != _MACHINES
    }
    assert not any(owner.startswith("osm-gitops") for owner in owners)


def test_lease_and_status_go_last_and_nothing_is_left_for_a_second_time(managed: Managed) -> None:
    managed.uninstall("--finalizers", "keep")
    assert "osm-gitops" not in {body["metadata"]["name"] for body in managed.client.get(_LEASES)["items"]}
    names = {
        body["metadata"]["name"] for body in managed.client.get("/api/v1/namespaces/kube-system/configmaps")["items"]
    }
    assert "osm-gitops-status" not in names
    again = managed.uninstall("--finalizers", "keep")
    assert (again.code, again.out.splitlines()[-1]) == (0, "There is nothing of osm-gitops in this cluster.")


def test_finalizers_stay_where_osm_is_there_to_clean_up(managed: Managed) -> None:
    _deploy(managed)
    ran = managed.uninstall()
    assert f"keep the finalizer {_FINALIZER} on 5 MachineDeployments" in ran.out
    assert "because Deployment kube-system/operating-system-manager cleans up" in ran.out
    assert managed.finalizers() == [[_FINALIZER]] * 5


def test_finalizers_go_where_nobody_is_left_and_those_of_others_stay(managed: Managed) -> None:
    managed.client.merge(f"{_MACHINES}/pool-00000", {"metadata": {"finalizers": ["example.com/other", _FINALIZER]}})
    ran = managed.uninstall()
    assert f"remove the finalizer {_FINALIZER} from 5 MachineDeployments" in ran.out
    assert managed.finalizers() == [["example.com/other"], None, None, None, None]


def test_it_can_be_told_to_remove_them_all_the_same(managed: Managed) -> None:
    _deploy(managed)
    managed.uninstall("--finalizers", "remove")
    assert managed.finalizers() == [None] * 5


def test_the_cluster_can_be_taken_over_again(managed: Managed) -> None:
    managed.uninstall()
    assert managed.apply().err == "default: 5 pools written\n"
    assert managed.apply().out.splitlines()[-1] == "No changes."


def test_a_cluster_is_tried_given_back_and_tried_again_three_times(managed: Managed) -> None:
    """Each time the pools have changed meanwhile, so that other content is written than what is there."""
    for number in (5, 6, 7):
        ran = managed.uninstall("--finalizers", "keep")
        assert (ran.code, managed.owners()) == (0, {"osm-controller"}), ran.err
        managed.roll(number)
        assert managed.apply().err == "default: 5 pools written\n"
        assert managed.apply().out.splitlines()[-1] == "No changes."
        config = managed.client.get(f"{_OSM}/operatingsystemconfigs/pool-00000-kube-system-config")
        assert f"1.34.{number}" in str(config["spec"])


def test_osm_and_kubectl_take_what_was_given_back(managed: Managed) -> None:
    managed.uninstall()
    path = f"{_OSM}/operatingsystemconfigs/pool-00000-kube-system-config"
    config = managed.client.get(path)
    # OSM's plain updates, kubectl edit and kubectl apply, and kubectl apply --server-side of what is there.
    for number, manager in enumerate(("osm-controller", "kubectl-edit")):
        config["spec"]["osVersion"] = f"changed-{number}"
        config = json.loads(managed.client.text(f"{path}?fieldManager={manager}", "PUT", config))
    kept = {key: config["metadata"][key] for key in ("name", "namespace", "annotations")}
    body = {key: config[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept}
    media = "application/apply-patch+yaml"
    applied = managed.client.text(f"{path}?fieldManager=kubectl&force=false", "PATCH", body, Content_Type=media)
    assert "before-first-apply" not in {entry["manager"] for entry in json.loads(applied)["metadata"]["managedFields"]}


def test_what_an_earlier_release_gave_back_without_an_owner_is_taken_over(managed: Managed) -> None:
    managed.uninstall("--finalizers", "keep")
    for plural in (f"{_OSM}/operatingsystemconfigs", _SECRETS):
        for body in managed.client.get(plural)["items"]:
            path = f"{plural}/{body['metadata']['name']}"
            managed.client.merge(path, {"metadata": {"managedFields": [{}]}})
    path = f"{_OSM}/operatingsystemconfigs/pool-00000-kube-system-config"
    managed.client.merge(path, {"spec": {"bootstrapConfig": {"modules": {"runcmd": ["an-old-command"]}}}})
    assert managed.client.get(path)["metadata"].get("managedFields") is None
    managed.roll(5)
    assert managed.apply().err == "default: 5 pools written\n"
    assert managed.apply().out.splitlines()[-1] == "No changes."
    assert "an-old-command" not in str(managed.client.get(path)["spec"])


def test_the_annotation_of_machines_that_waited_goes(managed: Managed) -> None:
    managed.osm.machine(managed.osm.machine_set("pool-00000", revision="2"), "waited", waits=True)
    path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines/waited"
    managed.client.merge(path, {"metadata": {"annotations": {"osm-gitops.io/nudged": "1", "theirs": "stays"}}})
    ran = managed.uninstall("--finalizers", "keep")
    assert "  ~ remove our annotation from 1 Machine\n" in ran.out
    assert managed.client.get(path)["metadata"]["annotations"] == {"theirs": "stays"}
    assert (
        managed.uninstall("--finalizers", "keep").out.splitlines()[-1]
        == "There is nothing of osm-gitops in this cluster."
    )


def test_pools_that_osm_would_render_anew_or_leave_alone_are_named(managed: Managed) -> None:
    managed.client.merge(f"{_MACHINES}/pool-00001", {"metadata": {"annotations": {REVISION: "2"}}})
    change = {"k8c.io/operating-system-profile": None}
    managed.client.merge(f"{_MACHINES}/pool-00002", {"metadata": {"annotations": change}})
    ran = managed.uninstall()
    assert ran.code == 0
    assert Expected(Code.RENDERED_ANEW_BY_OSM, "MachineDeployment", "kube-system/pool-00001") in told(ran.err)
    assert Expected(Code.RENDERED_ANEW_BY_OSM, "MachineDeployment", "kube-system/pool-00002") in told(ran.err)
    assert "pool-00000" not in ran.err


def _jinja(name: str, labels: dict[str, str]) -> Object:
    body = profile(name)
    body["metadata"] |= {"annotations": {"osm-gitops.io/template": "jinja2/v1"}, "labels": labels}
    return body


def test_a_profile_that_osm_cannot_read_is_in_the_way_where_pools_use_it(managed: Managed) -> None:
    managed.client.create(_jinja("ours", {"app.kubernetes.io/managed-by": "osm-gitops"}))
    uses = {"metadata": {"annotations": {"k8c.io/operating-system-profile": "ours"}}}
    managed.client.merge(f"{_MACHINES}/pool-00003", uses)
    before = managed.content()
    ran = managed.uninstall()
    assert ran.code == 1
    assert Expected(Code.JINJA_PROFILE_BESIDE_OSM, "OperatingSystemProfile kube-system/ours: ") in told(ran.err)
    assert managed.content() == before


def test_unused_profiles_of_ours_that_osm_cannot_read_go(managed: Managed) -> None:
    managed.client.create(_jinja("ours", {"app.kubernetes.io/managed-by": "osm-gitops"}))
    managed.client.create(_jinja("somebodys", {}))
    assert "- delete 1 OperatingSystemProfile\n" in managed.uninstall().out
    names = {body["metadata"]["name"] for body in managed.client.get(f"{_OSM}/operatingsystemprofiles")["items"]}
    assert "ours" not in names
    assert "somebodys" in names


def test_who_else_applies_is_named(managed: Managed) -> None:
    name = "pool-00000-kube-system-config"
    metadata = {"name": name, "namespace": "kube-system", "labels": {"app.kubernetes.io/managed-by": "osm-gitops"}}
    version = "operatingsystemmanager.k8c.io/v1alpha1"
    managed.client.apply(
        {"apiVersion": version, "kind": "OperatingSystemConfig", "metadata": metadata}, "kustomize-controller"
    )
    assert Expected(Code.APPLIED_ELSEWHERE, "kustomize-controller") in told(managed.uninstall().err)


def test_a_run_that_is_under_way_is_waited_for(managed: Managed) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "osm-gitops", "namespace": "kube-system"},
        "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600},
    }
    managed.client.apply(lease)
    before = managed.content()
    ran = managed.uninstall("--lock-timeout", "0s")
    assert ran.code == 1
    assert Expected(Code.LOCK_NOT_TAKEN) in told(ran.err)
    assert managed.content() == before


def test_it_is_shown_object_by_object_where_asked(managed: Managed) -> None:
    ran = managed.uninstall("-v")
    assert "      OperatingSystemConfig kube-system/pool-00000-kube-system-config\n" in ran.out
