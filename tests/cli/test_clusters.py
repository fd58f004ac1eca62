"""Live clusters as the source of commands: what OSM would read there, the same bytes, nothing but reads."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from tests.apiserver.after_osm import RECORDED, after_osm, recorded, recorded_authority
from tests.apiserver.cluster import Cluster
from tests.apiserver.rights import allow, rule
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, file, objects_of, pool, profile, write_fleet, write_tree
from tests.conformance.test_cases import check_objects, flags_of, objects_in, profile_of, profile_text
from tests.conformance_data import load_case, outside
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_FLAGS = ("-namespace", "kube-system", "-external-cloud-provider", "--immutable-secrets")


def _rendered(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*.yaml"))}


def _bundle(folder: Path) -> str:
    path = folder / "ca.pem"
    path.write_text(recorded_authority(), "utf-8")
    return str(path)


def _contents(objects: Mapping[str, Any]) -> dict[str, Any]:
    """What an OSC or a Secret of OSM holds that a machine gets, by kind and name."""
    kind, name = objects["kind"], objects["metadata"]["name"]
    annotations = {key: text for key, text in objects["metadata"]["annotations"].items() if "k8c.io" in key}
    if kind == "Secret":
        return {f"{kind} {name}": (annotations, {key: b64decode(text) for key, text in objects["data"].items()})}
    return {f"{kind} {name}": (annotations, objects["spec"])}


def _render(target: Path, *arguments: str, source: str = "cluster") -> Ran:
    return osm_gitops("render", "--from", source, "--to", str(target), *_FLAGS, *arguments)


def _config(folder: Path, *clusters: Cluster, user: str = "admin") -> Path:
    """One kubeconfig with a context for each cluster; the first is the current one."""
    merged: dict[str, Any] = {}
    for cluster in clusters:
        one = yaml.safe_load(cluster.kubeconfig(folder / cluster.name, user).read_text("utf-8"))
        one["users"][0]["name"] = one["contexts"][0]["context"]["user"] = f"{user}-{cluster.name}"
        for kind in ("clusters", "users", "contexts"):
            merged.setdefault(kind, []).extend(one[kind])
        merged.setdefault("current-context", cluster.name)
    path = folder / "config"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **merged}), "utf-8")
    return path


def _small(management: Cluster, worker: Cluster) -> None:
    """One pool, its profile, what it needs."""
    worker.namespace("cloud-init-settings")
    management.client().create(profile(script="cluster: {{ .Token }}\n"))
    for body in (*facts("token-of-the-cluster"), pool()):
        worker.client().create(body)


def test_a_cluster_that_osm_has_run_on_renders_to_what_osm_wrote_there(management: Cluster, tmp_path: Path) -> None:
    after_osm(management)
    kubeconfig = str(management.kubeconfig(tmp_path / "config"))
    ran = _render(tmp_path / "live", "--kubeconfig", kubeconfig, "--kubernetes-ca-bundle", _bundle(tmp_path))
    assert (ran.code, "Error" in ran.err) == (0, False)
    live = _rendered(tmp_path / "live")
    wanted: dict[str, Any] = {}
    for body in recorded():
        if "k8c.io/osp-version" in body["metadata"].get("annotations", {}):
            wanted |= _contents(body)
    found: dict[str, Any] = {}
    for path, text in live.items():
        if "operatingsystemconfigs" in path or "secrets" in path:
            found |= _contents(yaml.safe_load(text))
    assert len(wanted) == 15
    assert found == wanted
    ran = _render(tmp_path / "tree", "--kubernetes-ca-bundle", _bundle(tmp_path), source=str(RECORDED))
    assert ran.code == 0
    # The profiles of a cluster are not ours to write; those of a tree are.
    whole = _rendered(tmp_path / "tree")
    of_tree = {path: text for path, text in whole.items() if "operatingsystemprofiles" not in path}
    listing = "default/management/kustomization.yaml"
    assert "- operatingsystemprofiles/" in of_tree.pop(listing)
    assert "- operatingsystemprofiles/" not in live.pop(listing)
    assert of_tree == live


def test_two_clusters_render_to_the_same_as_one(management: Cluster, worker: Cluster, tmp_path: Path) -> None:
    config = _config(tmp_path, management, worker)
    bundle = ("--kubernetes-ca-bundle", _bundle(tmp_path), "--kubeconfig", str(config))
    after_osm(management, worker)
    ran = _render(tmp_path / "two", *bundle, "--worker-context", "worker")
    assert ran.code == 0
    management.restore()
    after_osm(management)
    assert _render(tmp_path / "one", *bundle).code == 0
    assert len(_rendered(tmp_path / "two")) == 17
    assert _rendered(tmp_path / "two") == _rendered(tmp_path / "one")


def test_the_authority_of_the_worker_clusters_kubeconfig_is_the_one_of_machines(
    management: Cluster, worker: Cluster, tmp_path: Path
) -> None:
    _small(management, worker)
    files = [file("/etc/kubernetes/pki/ca.crt", "{{ .KubernetesCACert }}")]
    management.client().create(profile("osp-ca", provisioningConfig={"files": files}))
    worker.client().create(pool("with-ca", "osp-ca"))
    config = str(_config(tmp_path, management, worker))
    flags = ("--only", "with-ca", "--kubeconfig", config)
    ran = osm_gitops("render", "--from", "cluster", "--to", "-", *flags, "--worker-context", "worker")
    assert ran.code == 0
    found = objects_of(ran.out)["OperatingSystemConfig", "with-ca-kube-system-config"]
    assert found["spec"]["provisioningConfig"]["files"][0]["content"]["inline"]["data"] == worker.authority


@pytest.mark.parametrize(
    ("parts", "pools", "script"),
    [
        ("{machineDeployments: tree, facts: cluster}", "planned", "tree: token-of-the-cluster\n"),
        ("{machineDeployments: tree, profiles: cluster, facts: cluster}", "planned", "cluster: token-of-the-cluster\n"),
        ("{machineDeployments: cluster, profiles: tree}", "workers", "tree: token-of-the-cluster\n"),
        ("{machineDeployments: cluster, profiles: tree, facts: tree}", "workers", "tree: token-of-the-tree\n"),
        ("{machineDeployments: cluster, facts: tree}", "workers", "cluster: token-of-the-tree\n"),
    ],
)
def test_each_part_of_a_source_is_read_where_the_fleet_file_says(
    management: Cluster, worker: Cluster, tmp_path: Path, parts: str, pools: str, script: str
) -> None:
    _small(management, worker)
    _config(tmp_path, management, worker)
    tree = (profile(script="tree: {{ .Token }}\n"), pool("planned"))
    write_tree(tmp_path / "tree", *tree, token="token-of-the-tree")
    places = "management: {kubeconfig: config, context: management}, worker: {context: worker}"
    fleet = write_fleet(tmp_path, f"clusters: [{{name: a, from: {parts}, {places}}}]\n")
    ran = osm_gitops("render", "--fleet", str(fleet), "--to", "-")
    assert ran.code == 0
    config = objects_of(ran.out)["OperatingSystemConfig", f"{pools}-kube-system-config"]
    assert config["spec"]["bootstrapConfig"]["files"][0]["content"]["inline"]["data"] == script


def test_profiles_may_come_from_a_cluster_by_a_flag(management: Cluster, worker: Cluster, tmp_path: Path) -> None:
    _small(management, worker)
    config = str(_config(tmp_path, management, worker))
    tree = str(write_tree(tmp_path / "tree", profile(script="tree: {{ .Token }}\n"), pool("planned")))
    ran = osm_gitops("render", "--from", tree, "--to", "-", "--profiles-from", "cluster", "--kubeconfig", config)
    assert "cluster: " in ran.out
    ran = osm_gitops("osp", "list", "--from", "cluster", "--kubeconfig", config, "--worker-context", "worker")
    assert ran.out.splitlines()[1].split()[:6] == ["kube-system/osp-a", "ubuntu", "24.04", "v1.0.0", "go", "1"]


def test_who_may_only_read_can_plan_from_a_cluster_and_the_servers_are_named(
    management: Cluster, worker: Cluster, tmp_path: Path
) -> None:
    _small(management, worker)
    allow(management, "reader", [rule("list", "operatingsystemprofiles.operatingsystemmanager.k8c.io")], "kube-system")
    kinds = ("machinedeployments.cluster.k8s.io", "machinesets.cluster.k8s.io")
    allow(worker, "reader", [rule("list", kind) for kind in kinds])
    for namespace, right in (
        ("cloud-init-settings", rule("get", "secrets", ["cloud-init-getter-token"])),
        ("kube-public", rule("get", "configmaps", ["cluster-info"])),
        ("kube-system", rule("list", "secrets")),
    ):
        allow(worker, "reader", [right], namespace)
    config = str(_config(tmp_path, management, worker, user="reader"))
    clusters = ("--from", "cluster", "--kubeconfig", config, "--worker-context", "worker")
    ran = osm_gitops("plan", *clusters, "--to", str(tmp_path / "state"))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "Cluster default\n"
        f"  Servers: management cluster {management.server} (context management), "
        f"worker cluster {worker.server} (context worker)\n"
    )
    assert "  + create Secret cloud-init-settings/workers-kube-system-bootstrap-config: new pool\n" in ran.out
    assert "token-of-the-cluster" not in ran.out


def test_a_read_that_fails_is_told_with_the_cluster_and_nothing_is_deleted(
    management: Cluster, worker: Cluster, tmp_path: Path
) -> None:
    _small(management, worker)
    rendered = tmp_path / "rendered"
    config = str(_config(tmp_path, management, worker))
    flags = ("--from", "cluster", "--to", str(rendered), "--worker-context", "worker")
    assert osm_gitops("render", *flags, "--kubeconfig", config).code == 0
    before = _rendered(rendered)
    config = str(_config(tmp_path, management, worker, user="reader"))
    ran = osm_gitops("render", *flags, "--kubeconfig", config)
    assert ran.code == 1
    assert told(ran.err) == [
        Expected(
            Code.REQUEST_REFUSED,
            worker.server,
            "worker",
            "default",
            "machinedeployments.cluster.k8s.io",
            "403",
            "reader",
        )
    ]
    assert _rendered(rendered) == before


def test_a_context_that_is_not_there_is_told_before_anything_is_asked(tmp_path: Path, worker: Cluster) -> None:
    config = str(_config(tmp_path, worker))
    ran = osm_gitops("plan", "--from", "cluster", "--to", str(tmp_path / "x"), "--kubeconfig", config, "--context", "y")
    assert ran.code == 1
    assert Expected(Code.CONTEXT_NOT_FOUND, '"y"') in told(ran.err)


def test_what_is_in_git_names_the_cluster_that_it_was_made_from(worker: Cluster, tmp_path: Path) -> None:
    _small(worker, worker)
    repository = new_repository(tmp_path / "repository")
    config = str(_config(tmp_path, worker))
    flags = ("--to", str(repository / "clusters"), "--kubeconfig", config, "--dangerously-plaintext-secrets")
    ran = osm_gitops("apply", "--yes", "--from", "cluster", *flags)
    assert ran.code == 0
    assert f"Osm-Gitops-Source: cluster {worker.server}\n" in git(repository, "log", "-1", "--format=%B")
    assert osm_gitops("apply", "--yes", "--from", "cluster", *flags).out.endswith("No changes.\n")


def _apply_to_git(worker: Cluster, tmp_path: Path, repository: Path, *more: str) -> Ran:
    config = str(_config(tmp_path, worker))
    flags = ("--to", str(repository / "clusters"), "--kubeconfig", config, "--dangerously-plaintext-secrets")
    return osm_gitops("apply", "--yes", "--from", "cluster", *flags, *more)


def test_a_profile_of_the_cluster_is_not_written_to_git(worker: Cluster, tmp_path: Path) -> None:
    """Flux and Argo CD would delete it from the cluster with its last pool."""
    _small(worker, worker)
    worker.client().create(pool("built-in", "osp-ubuntu"))
    repository = new_repository(tmp_path / "repository")
    ran = _apply_to_git(worker, tmp_path, repository)
    assert (ran.code, ran.err.partition("default: committed")[0]) == (0, "")
    management = repository / "clusters/default/management"
    assert {path.name for path in management.rglob("*.yaml")} == {
        "built-in-kube-system-config.yaml",
        "kustomization.yaml",
        "osp-ubuntu.yaml",  # the cluster has none, so this one comes from osm-gitops
        "workers-kube-system-config.yaml",
    }
    assert "osp-a" not in (management / "kustomization.yaml").read_text("utf-8")
    ran = osm_gitops("render", "--from", "cluster", "--to", "-", "--kubeconfig", str(tmp_path / "config"))
    assert ("OperatingSystemProfile", "osp-a") not in objects_of(ran.out)
    assert ("OperatingSystemConfig", "workers-kube-system-config") in objects_of(ran.out)


def test_a_profile_of_the_cluster_that_an_earlier_version_wrote_to_git_stays_there_with_a_warning(
    worker: Cluster, tmp_path: Path
) -> None:
    _small(worker, worker)
    repository = new_repository(tmp_path / "repository")
    tree = write_tree(tmp_path / "tree", profile(script="cluster: {{ .Token }}\n"))
    assert _apply_to_git(worker, tmp_path, repository, "--profiles-from", str(tree)).code == 0
    folder = repository / "clusters/default/management"
    file = folder / "operatingsystemprofiles/kube-system/osp-a.yaml"
    before = file.read_bytes()
    for machine in ("workers", "other"):  # with pools that use it, and without any
        ran = _apply_to_git(worker, tmp_path, repository, "--max-delete", "100%")
        assert ran.code == 0
        (warning,) = (sentence for code, sentence in told(ran.out) if code is Code.OLD_PROFILE_FILE)
        assert warning.startswith("OperatingSystemProfile kube-system/osp-a: its file in the target is of an earlier ")
        assert (
            "kubectl annotate operatingsystemprofile osp-a --namespace kube-system "
            "kustomize.toolkit.fluxcd.io/prune=disabled argocd.argoproj.io/sync-options=Prune=false"
        ) in warning
        assert "Kept:" not in ran.out
        assert file.read_bytes() == before
        assert "osp-a.yaml" in (folder / "kustomization.yaml").read_text("utf-8")
        if machine == "workers":
            worker.client().create(pool("other", "osp-ubuntu"))
            worker.client().delete("/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments/workers")
    file.unlink()
    git(repository, "commit", "--quiet", "--all", "--message", "without")
    ran = _apply_to_git(worker, tmp_path, repository)
    assert (ran.code, "Warning" in ran.out) == (0, False)
    assert "osp-a" not in (folder / "kustomization.yaml").read_text("utf-8")


def _load(cluster: Cluster, case: dict[str, Any]) -> None:
    """A conformance case in a cluster, with the namespaces that it needs."""
    bodies = [*case["objects"], profile_of(case, profile_text(case)), case["md"]]
    there = {body["metadata"]["name"] for body in cluster.client().get("/api/v1/namespaces")["items"]}
    for namespace in sorted({body["metadata"].get("namespace", "default") for body in bodies} - there):
        cluster.namespace(namespace)
    for body in bodies:
        body["metadata"].setdefault("namespace", "default")
        cluster.client().create(body)


def _authority_of(case: dict[str, Any], folder: Path) -> list[str]:
    """What the recorded cluster was trusted by, where the case does not say it."""
    if "kubernetes-ca-bundle" in case["flags"]:
        return []
    info = next(body for body in case["objects"] if body["metadata"]["name"] == "cluster-info")
    cluster = yaml.safe_load(info["data"]["kubeconfig"])["clusters"][0]["cluster"]
    (folder / "ca.pem").write_bytes(b64decode(cluster["certificate-authority-data"]))
    return ["--kubernetes-ca-bundle", str(folder / "ca.pem")]


@pytest.mark.parametrize(
    "name",
    [
        *("own-kubeconfig-inline", "own-modules", "own-units-ignition"),
        *outside(("default-ubuntu-edge", "endpointslice-v4", "management-namespace", "intree-ubuntu-vsphere-131")),
        *outside(("registry-credentials-dockerconfig", "static-flatcar")),
    ],
)
def test_a_conformance_case_in_a_cluster_renders_to_what_osm_wrote(
    management: Cluster, tmp_path: Path, name: str
) -> None:
    case = load_case(name)
    _load(management, case)
    flags = (*flags_of(case), *_authority_of(case, tmp_path), "--kubeconfig", str(_config(tmp_path, management)))
    ran = osm_gitops("render", "--from", "cluster", "--to", "-", "--immutable-secrets", *flags)
    assert ran.code == 0
    check_objects(case, objects_in(ran.out))


def test_a_cluster_that_cannot_be_read_stops_no_other_of_the_fleet(
    management: Cluster, worker: Cluster, tmp_path: Path
) -> None:
    _small(management, management)
    _config(tmp_path, management, worker, user="reader")
    management.kubeconfig(tmp_path / "admin")
    clusters = "{name: shut, management: {kubeconfig: config}}, {name: open, management: {kubeconfig: admin}}"
    fleet = write_fleet(tmp_path, f"defaults: {{from: cluster}}\nclusters: [{clusters}]\n")
    ran = osm_gitops("render", "--fleet", str(fleet), "--to", str(tmp_path / "out"))
    assert ran.code == 1
    assert Expected(Code.REQUEST_REFUSED, "shut", "machinedeployments.cluster.k8s.io", "403") in told(ran.err)
    assert "open: 3 objects of 1 pool" in ran.err
    assert [path.name for path in (tmp_path / "out").iterdir() if path.is_dir()] == ["open"]


def test_profiles_of_a_tree_are_compared_with_an_earlier_revision_for_live_pools(
    worker: Cluster, tmp_path: Path
) -> None:
    _small(worker, worker)
    repository = new_repository(tmp_path / "repository")
    worker.kubeconfig(tmp_path / "config")
    write_tree(repository / "osps", profile(script="one\n"))
    parts = "{machineDeployments: cluster, profiles: osps}"
    write_fleet(repository, f"clusters: [{{name: a, from: {parts}, management: {{kubeconfig: {tmp_path}/config}}}}]\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message", "one")
    write_tree(repository / "osps", profile(script="two\n", version="v2.0.0"))
    ran = osm_gitops("plan", "--fleet", str(repository / "osm-gitops.yaml"), "--against", "HEAD")
    assert (ran.code, ran.err) == (0, "")
    assert f"Servers: cluster {worker.server} (context worker)" in ran.out
    assert "        -one\n        +two\n" in ran.out


def test_a_cluster_alone_has_no_earlier_revision(tmp_path: Path) -> None:
    ran = osm_gitops("plan", "--from", "cluster", "--to", str(tmp_path), "--against", "main")
    assert (ran.code, ran.err) == (
        1,
        "Error: --against main: a cluster has no revisions. Name a tree in git [OG4003]\n",
    )


def test_flags_and_variables_replace_their_own_key_of_the_fleet_file(
    worker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _small(worker, worker)
    config = str(_config(tmp_path, worker))
    fleet = write_fleet(tmp_path, "clusters: [{name: a, from: cluster, management: {kubeconfig: x, context: gone}}]\n")
    plan = ("plan", "--fleet", str(fleet), "--to", str(tmp_path / "out"))
    assert Expected(Code.KUBECONFIG_NOT_FOUND, f"{tmp_path}/x") in told(osm_gitops(*plan).err)
    assert Expected(Code.CONTEXT_NOT_FOUND, "gone") in told(osm_gitops(*plan, "--kubeconfig", config).err)
    assert osm_gitops(*plan, "--kubeconfig", config, "--context", "worker").code == 0
    monkeypatch.setenv("OSM_GITOPS_KUBECONFIG", config)
    monkeypatch.setenv("OSM_GITOPS_CONTEXT", "worker")
    assert osm_gitops(*plan).code == 0
    monkeypatch.setenv("OSM_GITOPS_WORKER_CONTEXT", "other")
    assert Expected(Code.CONTEXT_NOT_FOUND, "other") in told(osm_gitops(*plan).err)


def test_a_context_for_all_clusters_of_a_fleet_is_refused_where_they_are_the_target(
    worker: Cluster, tmp_path: Path
) -> None:
    config = str(_config(tmp_path, worker))
    clusters = "clusters: [{name: a, management: {context: a}}, {name: b, management: {context: b}}]"
    fleet = write_fleet(tmp_path, f"defaults: {{from: tree, to: cluster}}\n{clusters}\n")
    ran = osm_gitops("plan", "--fleet", str(fleet), "--kubeconfig", config, "--context", "worker")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.CLUSTERS_SHARE_TARGET, "worker", worker.server, "--cluster")]
