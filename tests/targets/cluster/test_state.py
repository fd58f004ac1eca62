"""What of live clusters is read to compare, and how little of it."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest

from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import ClusterError, Code
from osm_gitops.kube.api import Api, Clusters, connect
from osm_gitops.model.desired import Desired
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.plan import Action, ClusterPlan
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder, in_no_git
from osm_gitops.targets.cluster.applied import applied_body
from osm_gitops.targets.cluster.target import Scope, read_state
from tests.apiserver.cluster import Cluster
from tests.cli.scenes import pool, profile, secret, write_tree
from tests.faults import Expected, refused

_SCOPE = Scope("kube-system", frozenset({"kube-system"}))
_BOOTSTRAP = "/api/v1/namespaces/cloud-init-settings/secrets/workers-kube-system-bootstrap-config"


@pytest.fixture
def live(management: Cluster, worker: Cluster, tmp_path: Path) -> Clusters:
    worker.namespace("cloud-init-settings")
    return Clusters(_api(management, tmp_path), _api(worker, tmp_path))


def _api(cluster: Cluster, folder: Path, user: str = "admin") -> Api:
    return connect(ContextRef(str(cluster.kubeconfig(folder / f"{cluster.name}-{user}", user))), {})


def _desired(folder: Path, *pools: str, script: str = "#!/bin/sh\n", version: str = "v1.0.0") -> Desired:
    tree = write_tree(folder, profile(script=script, version=version), *(pool(name) for name in pools))
    inputs = read_tree(Folder(tree, str(tree), in_no_git), management_namespace="kube-system", environment={})
    return render_cluster("prod", inputs, Settings()).desired


def _apply(live: Clusters, desired: Desired) -> None:
    for wanted in desired.objects:
        api = live.worker if wanted.ref.kind == "Secret" else live.management
        api.apply(applied_body(wanted.body, wanted.digest))


def _plan(live: Clusters, desired: Desired, scope: Scope = _SCOPE) -> ClusterPlan:
    return make_cluster_plan(desired, read_state(live, desired, scope), PlanOptions())


def test_what_was_applied_is_unchanged_by_its_metadata_alone(live: Clusters, tmp_path: Path) -> None:
    desired = _desired(tmp_path / "tree", "workers")
    _apply(live, desired)
    before = live.management.requests + live.worker.requests
    state = read_state(live, desired, _SCOPE)
    assert live.management.requests + live.worker.requests - before == 3
    assert state.identical == {wanted.ref for wanted in desired.objects}


def test_an_empty_cluster_needs_everything(live: Clusters, tmp_path: Path) -> None:
    plan = _plan(live, _desired(tmp_path / "tree", "workers"))
    assert plan.count()[Action.CREATE] == 4


def test_a_change_by_others_is_found_and_shown(live: Clusters, worker: Cluster, tmp_path: Path) -> None:
    desired = _desired(tmp_path / "tree", "workers")
    _apply(live, desired)
    worker.client().merge(_BOOTSTRAP, {"data": {"cloud-config": b64encode(b"#evil\n").decode()}})
    (change,) = _plan(live, desired).effective
    assert (change.action, change.ref.name) == (Action.UPDATE, "workers-kube-system-bootstrap-config")
    assert change.before is not None
    assert change.before["data"] == {"cloud-config": b64encode(b"#evil\n").decode()}


def test_what_others_write_without_changing_it_is_unchanged(live: Clusters, tmp_path: Path) -> None:
    desired = _desired(tmp_path / "tree", "workers")
    for wanted in desired.objects:
        api = live.worker if wanted.ref.kind == "Secret" else live.management
        api.apply(dict(wanted.body), manager="kustomize-controller")
    assert not _plan(live, desired).has_changes


def test_a_new_version_of_a_profile_updates_what_came_of_it(live: Clusters, tmp_path: Path) -> None:
    _apply(live, _desired(tmp_path / "tree", "workers"))
    plan = _plan(live, _desired(tmp_path / "new", "workers", script="#!/bin/sh\necho\n", version="v1.1.0"))
    assert plan.count()[Action.UPDATE] == 4
    assert {change.before is not None for change in plan.effective} == {True}


def test_a_pool_that_is_gone_goes_and_nothing_of_others(live: Clusters, worker: Cluster, tmp_path: Path) -> None:
    _apply(live, _desired(tmp_path / "tree", "workers", "others"))
    for name in ("others-kube-system-bootstrap-config-2", "kube-system-others-kubelet-bootstrap-config"):
        worker.client().create(secret(name, "cloud-init-settings", {"kubeconfig": "x"}))
    ours = {"app.kubernetes.io/managed-by": "osm-gitops"}
    kubeconfig = secret("kube-system-workers-kubelet-bootstrap-config", "cloud-init-settings", {"kubeconfig": "x"})
    worker.client().create(kubeconfig | {"metadata": kubeconfig["metadata"] | {"labels": ours}})
    (tmp_path / "tree" / "MachineDeployment-others.yaml").unlink()
    plan = _plan(live, _desired(tmp_path / "tree", "workers"))
    assert {(change.action, change.ref.name) for change in plan.effective} == {
        (Action.DELETE, f"others-kube-system-{kind}") for kind in ("config", "bootstrap-config", "provisioning-config")
    }


def test_many_objects_in_doubt_are_read_in_pages(live: Clusters, tmp_path: Path) -> None:
    desired = _desired(tmp_path / "tree", *(f"pool-{number:03}" for number in range(51)))
    _apply(live, desired)
    stranger = replace(desired, objects=tuple(replace(wanted, digest=b"x") for wanted in desired.objects))
    before = live.management.requests + live.worker.requests
    assert not _plan(live, stranger).has_changes
    requests = live.management.requests + live.worker.requests - before
    assert requests == 3 + 1 + 51 + 1  # metadata; the profile; configurations one by one; Secrets at once


def test_what_may_not_be_read_is_no_absence(management: Cluster, worker: Cluster, tmp_path: Path) -> None:
    worker.namespace("cloud-init-settings")
    live = Clusters(_api(management, tmp_path), _api(worker, tmp_path, "applier"))
    with refused(Expected(Code.REQUEST_REFUSED, "secrets"), kind=ClusterError):
        read_state(live, _desired(tmp_path / "tree", "workers"), _SCOPE)


def test_what_osm_left_of_a_pool_in_deletion_counts(live: Clusters, worker: Cluster, tmp_path: Path) -> None:
    left = secret("gone-kube-system-bootstrap-config", "cloud-init-settings", {"cloud-config": "x"})
    left["metadata"]["annotations"] = {"k8c.io/mdannotations-hash": "x"}
    worker.client().create(left)
    desired = _desired(tmp_path / "tree", "workers")
    ref = ObjectRef("MachineDeployment", "kube-system", "gone")
    assert not read_state(live, desired, _SCOPE).objects
    assert set(read_state(live, desired, replace(_SCOPE, leaving=frozenset({ref}))).objects) == {
        ObjectRef("Secret", "cloud-init-settings", "gone-kube-system-bootstrap-config")
    }
