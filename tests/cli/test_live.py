"""``plan`` and ``apply`` where the target is live clusters."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.commands.install.install_plan import Part
from osm_gitops.errors import Code
from tests.apiserver.after_osm import REVISION, AfterOsm, recorded_authority
from tests.apiserver.client import path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import present, webhooks
from tests.cli.adopted import Adopted
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_tree
from tests.commands.install.installing import PLAN, install, until_allowed, until_refused
from tests.faults import Expected, told

_OURS = "app.kubernetes.io/managed-by%3Dosm-gitops"
_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"
_SECRETS = "/api/v1/namespaces/cloud-init-settings/secrets"
_CONFIGS = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs"
_PROFILES = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles"


def _pools(plan: str) -> dict[str, int]:
    (cluster,) = json.loads(plan)["clusters"]
    found: dict[str, int] = cluster["pools"]
    return found


def test_what_osm_left_is_taken_over_without_a_change_of_content(adopted: Adopted) -> None:
    name = "pool-00000-kube-system-bootstrap-config"
    before = adopted.secret(name)
    ran = adopted.run("plan", "--output", "json")
    (cluster,) = json.loads(ran.out)["clusters"]
    changed = [each for each in cluster["changes"] if not each["upkeep"]]
    assert {(each["action"], each["reason"].partition(":")[0]) for each in changed} == {("update", "only metadata")}
    assert {diff["name"] for each in changed for diff in each["diffs"]} == {"metadata"}
    assert "new machines get the new one" not in adopted.run("plan").out
    assert adopted.run("apply").err == "default: 5 pools written\n"
    after = adopted.secret(name)
    assert (after["data"], after["immutable"]) == (before["data"], True)
    ran = adopted.run("apply")
    assert (ran.code, ran.out.splitlines()[-1], ran.err) == (0, "No changes.", "")
    assert "~" not in ran.out


def test_every_plan_names_the_cluster(adopted: Adopted) -> None:
    assert f"cluster {adopted.osm.management.server}" in adopted.run("plan").out


def test_a_run_without_changes_writes_nothing_but_the_lease(adopted: Adopted) -> None:
    adopted.run("apply")
    client = adopted.osm.management.client()
    kinds = ("/api/v1/secrets", "/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemconfigs", _MACHINES)
    before = [client.get(kind)["items"] for kind in kinds]
    adopted.run("apply")
    assert [client.get(kind)["items"] for kind in kinds] == before


_DELIVERY = {"kustomize.toolkit.fluxcd.io/substitute": "disabled", "argocd.argoproj.io/sync-wave": "1"}


def test_annotations_for_flux_and_argo_cd_are_not_written_to_a_cluster(adopted: Adopted) -> None:
    adopted.run("apply")
    live = [adopted.secret(f"pool-00001-kube-system-{half}-config") for half in ("bootstrap", "provisioning")]
    assert not any(_DELIVERY.keys() & _annotations(each).keys() for each in live)


def test_annotations_of_an_earlier_version_change_nothing_by_themselves_and_go_with_the_next_change(
    adopted: Adopted,
) -> None:
    adopted.run("apply")
    name = "pool-00001-kube-system-bootstrap-config"
    live: Any = adopted.secret(name)
    metadata = {key: live["metadata"][key] for key in ("name", "namespace", "labels")}
    metadata["annotations"] = _annotations(live) | _DELIVERY
    earlier = {key: live[key] for key in ("apiVersion", "kind", "type", "data", "immutable")}
    adopted.osm.worker.client().apply({**earlier, "metadata": metadata}, manager="osm-gitops")
    assert adopted.run("plan").out.splitlines()[-1] == "No changes."
    other = {"metadata": {"annotations": {"k8c.io/osp-version": "v0.0.1"}}}
    adopted.osm.worker.client().merge(f"{_SECRETS}/{name}?fieldManager=osm-controller", other)
    assert adopted.run("apply").code == 0
    after = _annotations(adopted.secret(name))
    assert not _DELIVERY.keys() & after.keys()
    assert after == _annotations(live)


def _annotations(body: Any) -> dict[str, str]:
    return dict(body["metadata"].get("annotations") or {})


def test_what_a_pool_left_that_is_gone_is_told_as_no_pool(adopted: Adopted) -> None:
    adopted.run("apply")
    client = adopted.osm.worker.client()
    client.merge(f"{_MACHINES}/pool-00000", {"metadata": {"finalizers": None}})
    client.delete(f"{_MACHINES}/pool-00000")
    ran = adopted.run("apply")
    assert (ran.code, ran.err) == (0, "default: objects of no pool written\n")


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_cluster_without_pools_is_no_error(management: Cluster, tmp_path: Path, command: str) -> None:
    """The CronJob is installed before the first MachineDeployment."""
    (tmp_path / "ca.pem").write_text(recorded_authority(), "utf-8")
    ran = Adopted(AfterOsm(management, management), tmp_path).run(command)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "No changes."


_HOOKS = {
    "operatingsystemconfigs": ("/operatingsystemconfig", "operatingsystemmanager.k8c.io"),
    "machinedeployments": ("/mutate-v1alpha1-machinedeployment", "cluster.k8s.io"),
}


@contextmanager
def _without_pod(adopted: Adopted, kind: str, resource: str) -> Iterator[str]:
    """A webhook of OSM's that nothing answers; its name. The API server knows of it."""
    path, group = _HOOKS[resource]
    client = adopted.osm.management.client()
    (found, *_) = client.get(f"/apis/{group}/v1alpha1/namespaces/kube-system/{resource}")["items"]
    kinds = {"operatingsystemconfigs": "OperatingSystemConfig", "machinedeployments": "MachineDeployment"}
    metadata = {"name": found["metadata"]["name"], "namespace": "kube-system", "labels": {"a": "b"}}
    body = {"apiVersion": f"{group}/v1alpha1", "kind": kinds[resource], "metadata": metadata}
    with present(adopted.osm.management, webhooks(kind, "osm", [(path, group, resource)])):
        until_refused(client, body, "failed calling webhook")
        yield f"{resource}.osm.example.com"


def test_a_webhook_without_a_pod_is_named_and_ends_the_run_at_once(adopted: Adopted, patient: list[float]) -> None:
    with _without_pod(adopted, "ValidatingWebhookConfiguration", "operatingsystemconfigs") as name:
        ran = adopted.run("apply", "--concurrency", "1", "--settle", "1h")
    assert ran.code == 1
    assert patient == []  # nothing is tried again, and nothing is waited for
    assert ran.err.count("Error: ") == 1
    assert (
        f"the API server cannot call webhook {name} of ValidatingWebhookConfiguration osm "
        '(500: service "operating-system-manager-webhook" not found). Start its pods; if it was uninstalled, '
        "kubectl delete validatingwebhookconfiguration osm [OG1715]\n"
    ) in ran.err
    assert "default: 0 of 5 pools written\n" in ran.err
    (left,) = [line for line in ran.err.splitlines() if "left for now" in line]
    assert "kube-system/pool-00001" in left
    assert f": the API server cannot call webhook {name} of ValidatingWebhookConfiguration osm" in left
    # Machines that boot meanwhile can join.
    tokens = adopted.osm.worker.client().get("/api/v1/namespaces/kube-system/secrets?labelSelector=" + _OURS)["items"]
    assert len(tokens) == 5
    assert adopted.run("apply").code == 0


def test_pools_that_were_written_before_a_webhook_failed_are_counted(adopted: Adopted, patient: list[float]) -> None:
    client = adopted.osm.worker.client()
    client.merge(f"{_MACHINES}/pool-00003", {"metadata": {"finalizers": None}})
    with _without_pod(adopted, "MutatingWebhookConfiguration", "machinedeployments") as name:
        ran = adopted.run("apply", "--concurrency", "1")
    assert (ran.code, patient) == (1, [])
    assert Expected(Code.WEBHOOK_UNREACHABLE, f"{name} of MutatingWebhookConfiguration osm") in told(ran.err)
    assert "default: 3 of 5 pools written\n" in ran.err
    # The pool that met the webhook has its token too.
    tokens = client.get("/api/v1/namespaces/kube-system/secrets?labelSelector=" + _OURS)["items"]
    assert len(tokens) == 5


def test_the_last_pools_do_not_go_with_their_manifests(adopted: Adopted) -> None:
    """Where nothing is desired all of a sudden, tokens and kubeconfigs stay too."""
    adopted.run("apply")
    client = adopted.osm.worker.client()
    for name in adopted.osm.pools():
        client.merge(f"{_MACHINES}/{name}", {"metadata": {"finalizers": None}})
        client.delete(f"{_MACHINES}/{name}")
    before = client.get(_SECRETS)["items"]
    ran = adopted.run("apply")
    assert (ran.code, "use --allow-empty" in ran.err) == (1, True)
    assert client.get(_SECRETS)["items"] == before
    assert adopted.run("apply", "--allow-empty", "--max-delete", "100%").code == 0
    assert adopted.run("apply").code == 0


def test_a_paused_pool_is_passed_over_with_the_reason(adopted: Adopted) -> None:
    adopted.osm.worker.client().merge(f"{_MACHINES}/pool-00001", {"spec": {"paused": True}})
    ran = adopted.run("apply")
    assert ran.code == 0
    assert "default: 4 pools written\n" in ran.err
    assert "default: left for now: kube-system/pool-00001: " in ran.err


def test_a_pool_whose_machine_set_is_behind_waits(adopted: Adopted) -> None:
    name = "pool-00002-kube-system-bootstrap-config"
    before = adopted.secret(name)
    template = {"spec": {"versions": {"kubelet": "1.35.0"}}}
    adopted.osm.worker.client().merge(f"{_MACHINES}/pool-00002", {"spec": {"template": template}})
    ran = adopted.run("apply")
    assert ran.code == 0
    assert "left for now: kube-system/pool-00002: " in ran.err
    assert adopted.secret(name) == before


def test_a_pool_that_two_runs_in_a_row_have_left_fails_the_second(adopted: Adopted) -> None:
    template = {"spec": {"versions": {"kubelet": "1.35.0"}}}
    adopted.osm.worker.client().merge(f"{_MACHINES}/pool-00002", {"spec": {"template": template}})
    adopted.osm.worker.client().merge(f"{_MACHINES}/pool-00001", {"spec": {"paused": True}})
    figures = adopted.folder / "metrics.prom"
    why = "the MachineSet of its revision 1 has another template (old-machine-set"
    fix = "Check the logs of machine-controller, and kubectl describe machinedeployment"
    ran = adopted.run("apply")
    assert ran.code == 0
    assert f"default: left for now: kube-system/pool-00002: {why}). {fix}\n" in ran.err
    ran = adopted.run("apply", "--metrics-file", str(figures))
    assert ran.code == 1
    (error,) = [line for line in ran.err.splitlines() if line.startswith("Error: ")]
    assert error.startswith("Error: pool kube-system/pool-00002: left by two runs in a row, since 20")
    assert error.endswith(f": {why}). {fix} [OG3346]")
    told = figures.read_text("utf-8")
    assert 'osm_gitops_pools{cluster="default",state="stuck"} 1\n' in told
    assert 'osm_gitops_pools{cluster="default",state="left"} 1\n' in told  # the paused one
    assert 'osm_gitops_run_success{cluster="default"} 0\n' in told
    kubeconfig = str(adopted.osm.management.kubeconfig(adopted.folder / "kubeconfig"))
    settings = ("--external-cloud-provider", "--kubernetes-ca-bundle", str(adopted.folder / "ca.pem"))
    status = json.loads(osm_gitops("status", "--kubeconfig", kubeconfig, *settings, "--output", "json").out)
    pools = {each["name"]: each for each in status["clusters"][0]["pools"]}
    assert pools["pool-00002"]["lastRun"]["code"] == "old-machine-set"
    (told,) = [each for each in pools["pool-00002"]["troubles"] if each.startswith("runs have skipped it since 20")]
    assert told.endswith(f"{why}). {fix}")
    assert not any("runs have skipped it" in each for each in pools["pool-00001"]["troubles"])


def test_one_pool_that_cannot_be_rendered_stops_no_other(adopted: Adopted) -> None:
    change = {"metadata": {"annotations": {"k8c.io/operating-system-profile": "osp-none"}}}
    adopted.osm.worker.client().merge(f"{_MACHINES}/pool-00003", change)
    ran = adopted.run("apply")
    assert ran.code == 1
    assert Expected(Code.PROFILE_NOT_FOUND, "osp-none") in told(ran.err)
    assert "default: 4 pools written" in ran.err


def test_a_narrowed_run_writes_these_pools_alone(adopted: Adopted) -> None:
    assert "default: 1 pool written" in adopted.run("apply", "--only", "*-00004").err
    assert _pools(adopted.run("plan", "--output", "json").out)["changed"] == 4


def test_more_changed_pools_than_allowed_are_refused(adopted: Adopted) -> None:
    ran = adopted.run("apply", "--max-changed-pools", "2")
    assert ran.code == 1
    assert Expected(Code.TOO_MANY_CHANGES, "5", "2") in told(ran.err)
    assert adopted.secret("pool-00000-kube-system-bootstrap-config")["metadata"].get("labels") is None  # type: ignore[attr-defined] # JSON


def test_a_plan_needs_no_right_to_write(adopted: Adopted) -> None:
    client = adopted.osm.management.client()
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "look"}}
    client.create(role | {"rules": rules})
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "look"}}
    subject = {"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "ClusterRole", "name": "look", "apiGroup": "rbac.authorization.k8s.io"}
    client.create(binding | {"subjects": [subject], "roleRef": ref})
    for _ in range(100):  # the server's view of its roles follows within milliseconds
        ran = adopted.run("plan", "--detailed-exitcode", user="reader")
        if ran.code == 2:
            break
    assert ran.code == 2, ran.err
    assert adopted.run("apply", user="reader").code == 1


def test_a_saved_plan_is_applied_or_refused(adopted: Adopted) -> None:
    plan = adopted.folder / "plan.json"
    adopted.run("plan", "--out", str(plan))
    adopted.osm.worker.client().merge(f"{_MACHINES}/pool-00000", {"metadata": {"annotations": {"example.com/a": "b"}}})
    ran = osm_gitops("apply", str(plan), "--settle", "0s")
    assert ran.code == 1
    assert Expected(Code.SAVED_PLAN_STALE) in told(ran.err)
    adopted.run("plan", "--out", str(plan))
    assert osm_gitops("apply", str(plan), "--settle", "0s").err == "default: 5 pools written\n"


def test_profiles_and_pools_of_a_tree_meet_the_facts_of_a_cluster(adopted: Adopted) -> None:
    tree = write_tree(adopted.folder / "tree", profile(script="#!/bin/sh\n"), pool("web"), pool("later"))
    live = pool("web", annotations={REVISION: "1"})
    live["spec"]["template"]["metadata"] = {"labels": {"pool": "web"}}
    adopted.osm.create(live, "kubectl")
    adopted.osm.machine_set("web")
    fleet = adopted.folder / "osm-gitops.yaml"
    kubeconfig = adopted.osm.management.kubeconfig(adopted.folder / "kubeconfig")
    fleet.write_text(
        "apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\nclusters:\n- name: prod\n"
        f"  from: {{machineDeployments: {tree}, profiles: {tree}, facts: cluster}}\n"
        f"  to: cluster\n  management: {{kubeconfig: {kubeconfig}}}\n",
        "utf-8",
    )
    ran = osm_gitops("apply", "--yes", "--fleet", str(fleet), "--settle", "0s", "-v")
    assert ran.code == 0, ran.err
    assert "prod: 1 pool and objects of no pool written" in ran.err
    assert "prod: left for now: kube-system/later: " in ran.err
    made = adopted.secret("web-kube-system-bootstrap-config")
    assert made["metadata"]["annotations"]["k8c.io/machine-deployment-revision"] == "1"  # type: ignore[index] # JSON
    assert adopted.osm.management.client().get(f"{_PROFILES}/osp-a")["spec"]["version"] == "v1.0.0"
    write_tree(tree, profile(script="#!/bin/sh\necho other\n"))
    ran = osm_gitops("plan", "--fleet", str(fleet))
    assert ran.code == 1
    assert Expected(Code.PROFILE_VERSION_UNCHANGED, "v1.0.0") in told(ran.err)
    write_tree(tree, profile(), profile("Osp-B"), pool("Big"), pool("other", "Osp-B"))
    ran = osm_gitops("plan", "--fleet", str(fleet))
    refused = [line.partition("Error: ")[2].split(":")[2:] for line in ran.err.splitlines() if "will refuse" in line]
    assert [line[0] for line in refused] == [
        " OperatingSystemProfile kube-system/Osp-B",
        " MachineDeployment kube-system/Big",
    ]
    assert "Warning" not in ran.err


def test_no_profile_in_jinja_goes_where_osm_would_read_it(adopted: Adopted) -> None:
    tree = adopted.folder / "tree"
    body = profile(script="#!/bin/sh\n{% if true %}echo{% endif %}\n")
    body["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
    write_tree(tree, body)
    container = {"name": "operating-system-manager", "image": "osm", "command": ["/usr/local/bin/osm-controller"]}
    labels = {"app": "operating-system-manager"}
    osm = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "operating-system-manager", "namespace": "kube-system"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    client = adopted.osm.management.client()
    client.create(osm)
    ran = adopted.run("plan", "--profiles-from", str(tree))
    manager = "Operating System Manager (Deployment kube-system/operating-system-manager)"
    assert Expected(Code.JINJA_PROFILE_BESIDE_OSM, manager) in told(ran.err)
    client.merge(path_of(osm), {"spec": {"replicas": 0}})
    assert "Jinja2" not in adopted.run("plan", "--profiles-from", str(tree)).err


def test_patched_profiles_are_written_only_where_profiles_come_from_elsewhere(adopted: Adopted) -> None:
    overlay = adopted.folder / "mine" / "overlay.yaml"
    overlay.parent.mkdir()
    overlay.write_text(
        "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\npatches:\n"
        '- target: {name: "*"}\n'
        "  merge: {spec: {provisioningConfig: {files: [{path: /mine, content: {inline: {data: x}}}]}}}\n"
    )
    client = adopted.osm.management.client()
    before = client.get(_PROFILES)["items"]
    ran = adopted.run("apply", "--overlay", str(overlay.parent))
    assert (ran.code, ran.err) == (0, "default: 5 pools written\n")
    assert client.get(_PROFILES)["items"] == before
    configs = client.get("/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemconfigs")["items"]
    assert all("+mine." in each["metadata"]["annotations"]["k8c.io/osp-version"] for each in configs)
    ran = adopted.run("apply", "--overlay", str(overlay.parent))
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No changes.")
    profiles = write_tree(adopted.folder / "osps", *(_plain(each) for each in before))
    ran = adopted.run("apply", "--overlay", str(overlay.parent), "--profiles-from", str(profiles), "--force-conflicts")
    assert ran.code == 0, ran.err
    used = [each for each in client.get(_PROFILES)["items"] if "+mine." in each["spec"]["version"]]
    assert used
    # Now they are what the cluster has, and are not patched again.
    ran = adopted.run("plan", "--overlay", str(overlay.parent))
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No changes."), ran.err


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: body["metadata"][key] for key in ("name", "namespace")}
    return {**{key: body[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


def test_a_user_whom_our_own_policy_refuses_is_told_its_name_and_the_way_past_it(adopted: Adopted) -> None:
    install(adopted.osm.management, without=[Part.GETTER])
    (config, *_) = adopted.osm.management.client().get(_CONFIGS)["items"]
    metadata = {key: config["metadata"][key] for key in ("name", "namespace")}
    body = {key: config[key] for key in ("apiVersion", "kind")} | {"metadata": metadata}
    until_refused(adopted.osm.management.client(), body | {"spec": {"osName": "rhel"}}, "osm-gitops-configurations")
    ran = adopted.run("apply", "-cluster-dns=10.0.0.10")
    assert ran.code == 1
    assert Expected(Code.REQUEST_REFUSED, "ValidatingAdmissionPolicy", "osm-gitops-configurations", "403") in told(
        ran.err
    )
    assert Expected(Code.REQUEST_REFUSED, "--part", "--writer", "admin") in told(ran.err)
    assert "Ask the administrators of the cluster" not in ran.err
    install(adopted.osm.management, replace(PLAN, writers=("admin",)), without=[Part.GETTER])
    until_allowed(adopted.osm.management.client(), [body | {"spec": config["spec"] | {"osVersion": "other"}}])
    ran = adopted.run("apply", "-cluster-dns=10.0.0.10")
    assert ran.code == 0, ran.err


def test_a_server_that_never_answers_holds_no_other_cluster(adopted: Adopted) -> None:
    folder = adopted.folder
    real = adopted.osm.management.kubeconfig(folder / "kubeconfig")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"https://127.0.0.1:{silent.getsockname()[1]}"
        text = real.read_text("utf-8").replace(adopted.osm.management.server, address)
        (folder / "silent").write_text(text, "utf-8")
        fleet = folder / "osm-gitops.yaml"
        fleet.write_text(
            "apiVersion: osm-gitops.io/v1alpha1\nkind: Fleet\n"
            "defaults: {from: cluster, to: cluster, "
            "settings: {externalCloudProvider: true, kubernetesCABundle: ca.pem}}\n"
            "clusters:\n- {name: silent, management: {kubeconfig: silent}}\n"
            "- {name: default, management: {kubeconfig: kubeconfig}}\n",
            "utf-8",
        )
        flags = ("--fleet", str(fleet), "--cluster-timeout", "10s", "--jobs", "2")
        ran = osm_gitops("apply", "--yes", "--settle", "0s", *flags)
    assert ran.code == 1
    errors = [each for each in told(ran.err) if "silent" in each[1]]
    assert errors == [Expected(Code.CLUSTER_TIMEOUT, "cluster silent", "10 s")], ran.err
    assert "default: 5 pools written\n" in ran.err
