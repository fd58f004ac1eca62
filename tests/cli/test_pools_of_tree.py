"""MachineDeployments in git beside those of the cluster: what differs is told."""

from __future__ import annotations

import copy
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.commands.install.install_plan import WRITER, Part
from osm_gitops.errors import Code
from tests.cli.adopted import Adopted
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import write_fleet
from tests.commands.install.installing import PLAN, install, until_allowed_to_list
from tests.faults import Expected, told

MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"


class Repo:
    """A config repo with the MachineDeployments of a cluster; everything else is read from the cluster."""

    def __init__(self, adopted: Adopted, machines: str = "pools") -> None:
        self.adopted = adopted
        self.folder = adopted.folder
        kubeconfig = adopted.osm.management.kubeconfig(self.folder / "kubeconfig")
        write_fleet(
            self.folder,
            f"clusters:\n- name: prod\n  from: {{machineDeployments: {machines}, profiles: cluster, facts: cluster}}\n"
            f"  to: cluster\n  management: {{kubeconfig: {kubeconfig}}}\n"
            "  settings: {externalCloudProvider: true, kubernetesCABundle: ca.pem}\n",
        )
        (self.folder / "pools").mkdir()
        for name in adopted.osm.pools():
            self.write(adopted.osm.objects["MachineDeployment", "kube-system", name])

    def path(self, name: str) -> Path:
        return self.folder / "pools" / f"{name}.yaml"

    def read(self, name: str) -> dict[str, Any]:
        return dict(yaml.safe_load(self.path(name).read_text("utf-8")))

    def write(self, body: dict[str, Any]) -> None:
        """What its author would have written."""
        metadata = body["metadata"]
        annotations = {key: text for key, text in metadata["annotations"].items() if "clusters.k8s.io" not in key}
        kept = {"name": metadata["name"], "namespace": "kube-system", "annotations": annotations}
        written = {key: body[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept}
        self.path(metadata["name"]).write_text(yaml.safe_dump(written), "utf-8")

    def change(self, name: str, kubelet: str = "", **spec: Any) -> None:
        body = copy.deepcopy(self.read(name))
        body["spec"] |= spec
        if kubelet:
            body["spec"]["template"]["spec"]["versions"]["kubelet"] = kubelet
        self.path(name).write_text(yaml.safe_dump(body), "utf-8")

    def run(self, command: str, *more: str) -> Ran:
        settle = () if command in {"plan", "status"} or "--settle" in more else ("--settle", "0s")
        yes = ("--yes",) if command == "apply" else ()
        return osm_gitops(command, "--fleet", str(self.folder / "osm-gitops.yaml"), *yes, *settle, *more)

    def live(self, name: str) -> dict[str, Any]:
        return self.adopted.osm.worker.client().get(f"{MACHINES}/{name}")


@pytest.fixture
def repo(adopted: Adopted) -> Repo:
    return Repo(adopted)


def _pool(status: str, name: str) -> dict[str, Any]:
    (cluster,) = json.loads(status)["clusters"]
    return dict(next(pool for pool in cluster["pools"] if pool["name"] == name))


def test_where_both_have_the_same_nothing_is_told(repo: Repo) -> None:
    ran = repo.run("plan")
    assert (ran.code, ran.err, "Warning" in ran.out) == (0, "", False)
    assert "other values" not in repo.run("status").out


def test_a_machine_deployment_that_the_repo_lacks_is_named(repo: Repo) -> None:
    repo.path("pool-00001").unlink()
    ran = repo.run("plan")
    assert ran.code == 0
    (warning,) = (sentence for code, sentence in told(ran.out) if code is Code.POOLS_NOT_IN_SOURCE)
    assert warning.startswith("pools: the cluster also has MachineDeployment kube-system/pool-00001, ")
    assert "pool-00001" not in repo.run("plan", "--only", "*2").out
    ran = repo.run("status", "-o", "json")
    pool = _pool(ran.out, "pool-00001")
    assert pool["gate"]["reason"] == "pools has no such MachineDeployment"
    assert (pool["gate"]["revision"], pool["gate"]["accepts"]) == ("1", True)
    assert "osm-gitops does not write it now: pools has no such MachineDeployment" in pool["troubles"]
    assert "could not be read" not in ran.out
    assert "pool-00001" not in repo.run("status", "--only", "*2").out
    # Its boot configuration goes, as with every pool that leaves git, and the reason says what is special.
    assert repo.run("apply").code == 0
    repo.path("pool-00002").unlink()
    assert (
        "- delete Secret cloud-init-settings/pool-00002-kube-system-bootstrap-config: its MachineDeployment is in the "
        "cluster, but no longer in the source\n"
    ) in repo.run("plan").out


def test_a_machine_deployment_that_the_cluster_lacks_is_named(repo: Repo) -> None:
    _new(repo, "later")
    ran = repo.run("plan")
    (warning,) = (sentence for code, sentence in told(ran.out) if code is Code.POOLS_NOT_IN_CLUSTER)
    assert warning.startswith("pools: the cluster lacks MachineDeployment kube-system/later. ")
    assert "the cluster lacks MachineDeployment kube-system/later" in repo.run("status").out


def test_what_the_cluster_has_otherwise_is_named_by_its_fields(repo: Repo) -> None:
    repo.change("pool-00000", "1.35.9", replicas=7)
    repo.change("pool-00003", "1.35.9", minReadySeconds=3)
    repo.change("pool-00004", replicas=7)  # autoscalers change it, and no machine boots otherwise
    for ran in (repo.run("plan"), repo.run("status")):
        fields = "spec.minReadySeconds, spec.template.spec.versions.kubelet"
        assert f"pools: the cluster has other values in MachineDeployment kube-system/pool-00003: {fields}" in ran.out
        field = "spec.template.spec.versions.kubelet"
        assert f"pools: the cluster has other values in MachineDeployment kube-system/pool-00000: {field}" in ran.out
        assert "MachineDeployment kube-system/pool-00004" not in ran.out


# --- apply: true ---


@pytest.fixture
def applying(adopted: Adopted) -> Repo:
    """A repo whose MachineDeployments are applied, after its first run."""
    repo = Repo(adopted, "{path: pools, apply: true}")
    ran = repo.run("apply")
    assert ran.code == 0, ran.err
    return repo


def test_a_repo_that_agrees_with_the_cluster_applies_nothing(applying: Repo) -> None:
    before = [applying.live(name) for name in applying.adopted.osm.pools()]
    ran = applying.run("apply")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No changes.")
    assert [applying.live(name) for name in applying.adopted.osm.pools()] == before


def _number(repo: Repo, name: str, revision: str) -> None:
    """Do what machine-controller does for a new template."""
    body = repo.live(name)
    repo.adopted.osm.objects["MachineDeployment", "kube-system", name] = body
    repo.adopted.osm.machine_set(name, revision=revision)
    change = {"metadata": {"annotations": {"machinedeployment.clusters.k8s.io/revision": revision}}}
    repo.adopted.osm.worker.client().merge(f"{MACHINES}/{name}", change)


def test_a_new_machine_deployment_comes_before_what_its_machines_boot_with(applying: Repo) -> None:
    body = copy.deepcopy(applying.adopted.osm.objects["MachineDeployment", "kube-system", "pool-00000"])
    body["metadata"]["name"] = "later"
    # What a dump brings along is nobody's wish.
    body["metadata"]["annotations"]["machinedeployment.clusters.k8s.io/revision"] = "41"
    body |= {"status": {"replicas": 9}}
    applying.path("later").write_text(yaml.safe_dump(body), "utf-8")
    ran = applying.run("plan")
    assert "  + create MachineDeployment kube-system/later: the cluster lacks it\n" in ran.out
    assert "the cluster lacks MachineDeployment" not in ran.out
    assert "Left for now" not in ran.out
    ran = applying.run("apply")
    assert ran.code == 0, ran.err
    assert (
        "prod: left for now: kube-system/later: its MachineDeployment was applied, and machine-controller has not "
        "numbered it yet (not-numbered). "
    ) in ran.err
    live = applying.live("later")
    assert live["spec"] == body["spec"]
    assert "machinedeployment.clusters.k8s.io/revision" not in live["metadata"]["annotations"]
    assert "status" not in live
    secrets = applying.adopted.osm.worker.client().get("/api/v1/namespaces/cloud-init-settings/secrets")["items"]
    assert not [each for each in secrets if each["metadata"]["name"] == "later-kube-system-bootstrap-config"]
    _number(applying, "later", "1")
    assert applying.run("apply").code == 0
    made = applying.adopted.secret("later-kube-system-bootstrap-config")
    assert made["metadata"]["annotations"]["k8c.io/machine-deployment-revision"] == "1"  # type: ignore[index] # JSON
    assert applying.run("plan").out.splitlines()[-1] == "No changes."


def test_a_new_template_is_applied_first_and_its_boot_configuration_in_the_same_run(applying: Repo) -> None:
    applying.adopted.osm.machine(applying.adopted.osm.objects["MachineSet", "kube-system", "pool-00001-1"], "old")
    applying.change("pool-00001", "1.35.9")
    applying.change("pool-00002", replicas=4)
    ran = applying.run("plan")
    assert (
        "  ~ update MachineDeployment kube-system/pool-00001: changed: spec.template.spec.versions.kubelet\n" in ran.out
    )
    assert '"kubelet": "1.35.9"' in ran.out
    assert "1 pool with another template: machine-controller replaces 1 machine, rolling.\n" in ran.out
    assert "To replace the machines of a pool" not in ran.out
    seen: list[str] = []

    def machine_controller() -> None:
        while applying.live("pool-00001")["metadata"]["generation"] == generation:
            time.sleep(0.05)
        bootstrap = applying.adopted.secret("pool-00001-kube-system-bootstrap-config")
        # Machines of the new template are refused until its own boot configuration is there.
        seen.append(bootstrap["metadata"]["annotations"]["k8c.io/machine-deployment-revision"])  # type: ignore[index] # JSON
        _number(applying, "pool-00001", "2")

    generation = applying.live("pool-00001")["metadata"]["generation"]
    thread = threading.Thread(target=machine_controller)
    thread.start()
    ran = applying.run("apply", "--settle", "30s")
    thread.join()
    assert (ran.code, "left for now" in ran.err) == (0, False), ran.err
    assert seen == ["1"]
    assert applying.live("pool-00001")["spec"]["template"]["spec"]["versions"]["kubelet"] == "1.35.9"
    assert applying.live("pool-00002")["spec"]["replicas"] == 4
    made = applying.adopted.secret("pool-00001-kube-system-bootstrap-config")
    assert made["metadata"]["annotations"]["k8c.io/machine-deployment-revision"] == "2"  # type: ignore[index] # JSON
    assert applying.run("plan").out.splitlines()[-1] == "No changes."


def test_a_field_that_leaves_the_file_leaves_the_cluster(applying: Repo) -> None:
    applying.change("pool-00001", minReadySeconds=7)
    assert applying.run("apply").code == 0
    assert applying.live("pool-00001")["spec"]["minReadySeconds"] == 7
    body = applying.read("pool-00001")
    del body["spec"]["minReadySeconds"]
    applying.write(body)
    assert "update MachineDeployment kube-system/pool-00001: gone: spec.minReadySeconds\n" in applying.run("plan").out
    assert applying.run("apply").code == 0
    assert "minReadySeconds" not in applying.live("pool-00001")["spec"]
    assert applying.run("plan").out.splitlines()[-1] == "No changes."


def test_what_somebody_else_owns_fails_the_pool_with_the_owner(applying: Repo) -> None:
    client = applying.adopted.osm.worker.client()
    path = f"{MACHINES}/pool-00001?fieldManager=autoscaler"
    client.merge(path, {"spec": {"replicas": 5}})
    applying.change("pool-00001", replicas=2)
    applying.change("pool-00002", replicas=2)
    ran = applying.run("apply")
    assert ran.code == 1
    assert Expected(Code.REQUEST_REFUSED, "MachineDeployment", "kube-system/pool-00001") in told(ran.err)
    assert Expected(Code.REQUEST_REFUSED, "autoscaler") in told(ran.err)
    assert (applying.live("pool-00001")["spec"]["replicas"], applying.live("pool-00002")["spec"]["replicas"]) == (5, 2)
    assert applying.run("apply", "--force-conflicts").code == 0
    assert applying.live("pool-00001")["spec"]["replicas"] == 2


def test_no_machine_deployment_is_deleted(applying: Repo) -> None:
    applying.path("pool-00001").unlink()
    ran = applying.run("plan")
    assert "the cluster also has MachineDeployment kube-system/pool-00001" in ran.out
    assert "delete MachineDeployment" not in ran.out
    assert applying.run("apply").code == 0
    assert "deletionTimestamp" not in applying.live("pool-00001")["metadata"]


def test_a_machine_deployment_that_cannot_be_rendered_or_is_not_chosen_is_not_applied(applying: Repo) -> None:
    applying.change("pool-00001", replicas=2)
    applying.change("pool-00002", replicas=2)
    body = applying.read("pool-00002")
    body["metadata"]["annotations"]["k8c.io/operating-system-profile"] = "osp-none"
    applying.path("pool-00002").write_text(yaml.safe_dump(body), "utf-8")
    applying.change("pool-00003", replicas=2)
    ran = applying.run("apply", "--only", "*-0000[12]")
    assert ran.code == 1
    found = {name: applying.live(name)["spec"]["replicas"] for name in ("pool-00001", "pool-00002", "pool-00003")}
    assert found == {"pool-00001": 2, "pool-00002": 1, "pool-00003": 1}


def test_one_that_is_being_deleted_is_left_alone(applying: Repo) -> None:
    applying.adopted.osm.worker.client().delete(f"{MACHINES}/pool-00001")
    applying.change("pool-00001", replicas=2)
    assert "update MachineDeployment kube-system/pool-00001: changed" not in applying.run("plan").out


@pytest.mark.parametrize("password", ["hunter2-and-more", "abc"])
def test_no_credential_is_shown_neither_the_new_one_nor_the_old(applying: Repo, password: str) -> None:
    def with_password(text: str) -> dict[str, Any]:
        body = applying.read("pool-00001")
        config = body["spec"]["template"]["spec"]["providerSpec"]["value"]
        config["cloudProviderSpec"] = {**config["cloudProviderSpec"], "password": text, "zone": f"zone-{text[0]}"}
        return body

    former = password[::-1]
    applying.write(with_password(former))
    assert applying.run("apply").code == 0
    applying.write(with_password(password))
    for ran in (applying.run("plan"), applying.run("plan", "-o", "json"), applying.run("plan", "-v")):
        assert "zone-" in ran.out
        assert f'"{password}"' not in ran.out.replace("\\", "")
        assert f'"{former}"' not in ran.out.replace("\\", "")


def _new(repo: Repo, name: str) -> None:
    body = copy.deepcopy(repo.adopted.osm.objects["MachineDeployment", "kube-system", "pool-00000"])
    body["metadata"]["name"] = name
    repo.write(body)


def test_the_right_to_create_is_installed_where_it_is_needed(applying: Repo) -> None:
    def verbs() -> set[str]:
        fleet = str(applying.folder / "osm-gitops.yaml")
        ran = osm_gitops("install", "--part", "accounts", "--repo", "https://git.example.com/x.git", "--fleet", fleet)
        assert ran.code == 0, ran.err
        rules = (rule for body in yaml.safe_load_all(ran.out) for rule in body.get("rules", ()))
        return {verb for rule in rules if "machinedeployments" in rule["resources"] for verb in rule["verbs"]}

    assert verbs() == {"get", "list", "create", "patch"}
    fleet = applying.folder / "osm-gitops.yaml"
    fleet.write_text(fleet.read_text("utf-8").replace("apply: true", "apply: false"), "utf-8")
    assert verbs() == {"get", "list", "patch"}


@pytest.mark.parametrize("applies", [True, False])
def test_the_account_of_runs_applies_machine_deployments_with_that_right(applying: Repo, applies: bool) -> None:
    management = applying.adopted.osm.management
    install(management, replace(PLAN, applies_machines=applies), without=(Part.GETTER,))
    user = management.account(PLAN.home, WRITER)
    until_allowed_to_list(management.client(user), "/api/v1/namespaces/kube-system/secrets")
    kubeconfig = str(management.kubeconfig(applying.folder / "writer", user))
    _new(applying, "later")
    ran = applying.run("apply", "--only", "later", "--kubeconfig", kubeconfig)
    assert (ran.code, "forbidden" in ran.err) == ((0, False) if applies else (1, True)), ran.err
