"""``osm-gitops init --from cluster``: a repository that says what a cluster has, and loses or tells nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.commands.init import osm_settings
from osm_gitops.errors import Code
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings
from osm_gitops.sources import builtin
from tests.apiserver.after_osm import AfterOsm, after_osm, recorded_authority
from tests.apiserver.client import path_of
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import RECORDED_FLAGS, deploy_as_recorded, osm
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import profile, secret
from tests.faults import Expected, told
from tests.profiles.sets import SOURCE, write_set


@pytest.fixture
def kubeconfig(management: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cluster that kubectl would take."""
    path = management.kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.fixture
def loaded(management: Cluster, kubeconfig: Path) -> AfterOsm:
    """The recorded cluster."""
    assert kubeconfig.exists()
    return after_osm(management)


def _init(*more: str) -> Ran:
    return osm_gitops("init", "nodes", "--from", "cluster", "--cluster", "prod", *more)


def _fleet(root: Path) -> dict[str, Any]:
    (cluster,) = yaml.safe_load((root / "osm-gitops.yaml").read_text("utf-8"))["clusters"]
    return dict(cluster)


def test_settings_profiles_and_pools_are_those_of_the_cluster_and_it_says_how_they_were_found(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    deploy_as_recorded(management, "-leader-elect=false")
    ran = _init()
    assert ran.code == 0, ran.err
    for line in (
        "Found 5 MachineDeployments and 6 OperatingSystemProfiles.",
        "Settings come from Deployment kube-system/operating-system-manager (0 of 1 replicas run):",
        "  externalCloudProvider: flag -external-cloud-provider",
        "  -leader-elect is ignored: osm-gitops elects no leader",
        "CA certificates are pinned: the kubeconfig that flag -kubeconfig names.",
        "5 of 5 OperatingSystemConfigs are rendered as they are in the cluster.",
    ):
        assert f"{line}\n" in ran.err
    root = tmp_path / "nodes"
    assert _fleet(root) == {
        "name": "prod",
        "from": {"machineDeployments": "cluster", "profiles": "osps", "facts": "cluster"},
        "settings": {"kubernetesCABundle": "ca/prod/kubernetes.pem", "externalCloudProvider": True},
        "to": "cluster",
        "management": {"namespace": "kube-system"},
    }
    assert (root / "ca/prod/kubernetes.pem").read_text("utf-8") == recorded_authority()
    assert len(list((root / "osps").rglob("*.yaml"))) == 6
    assert len(loaded.pools()) == 5
    assert not (root / "pools").exists()
    assert "pools/" not in (root / "README.md").read_text("utf-8")
    assert sorted(ran.out.splitlines()) == sorted(
        path.relative_to(tmp_path).as_posix()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    )


def test_pools_are_kept_in_the_repo_where_that_is_asked_for(
    management: Cluster, loaded: AfterOsm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy_as_recorded(management)
    assert _init("--with-pools").code == 0
    root = tmp_path / "nodes"
    assert _fleet(root)["from"]["machineDeployments"] == {"path": "pools/prod", "apply": True}
    assert "pools/prod/" in (root / "README.md").read_text("utf-8")
    assert {path.stem for path in (root / "pools/prod/kube-system").iterdir()} == set(loaded.pools())
    body = yaml.safe_load((root / "pools/prod/kube-system/pool-00000.yaml").read_text("utf-8"))
    live = loaded.objects["MachineDeployment", "kube-system", "pool-00000"]
    assert body["spec"] == live["spec"]
    assert body["metadata"] == {
        "name": "pool-00000",
        "namespace": "kube-system",
        "annotations": {"k8c.io/operating-system-profile": "osp-ubuntu"},
    }
    monkeypatch.chdir(root)
    ran = osm_gitops("plan")
    assert (ran.code, "MachineDeployment kube-system/pool-00000: changed" in ran.out) == (0, False)


def test_a_pool_that_comes_later_gets_its_boot_configuration(
    management: Cluster, loaded: AfterOsm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy_as_recorded(management)
    assert _init().code == 0
    monkeypatch.chdir(tmp_path / "nodes")
    live = loaded.objects["MachineDeployment", "kube-system", "pool-00000"]
    metadata = {"name": "later", "namespace": "kube-system", "annotations": live["metadata"]["annotations"]}
    loaded.create({**{key: live[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}, "kubectl")
    assert "create Secret cloud-init-settings/later-kube-system-bootstrap-config: new pool\n" in osm_gitops("plan").out


def test_where_nobody_knows_the_ca_any_more_it_is_taken_from_what_machines_were_given(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    assert len(loaded.pools()) == 5
    management.client().create(osm(*RECORDED_FLAGS))
    ran = _init()
    assert "CA certificates are pinned: OperatingSystemConfig pool-0000" in ran.err
    assert "5 of 5 OperatingSystemConfigs are rendered" in ran.err
    assert (tmp_path / "nodes/ca/prod/kubernetes.pem").read_text("utf-8") == recorded_authority()


def test_what_differs_is_told(management: Cluster, loaded: AfterOsm, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(loaded.pools()) == 5
    tried: list[str | None] = []

    def spy(inputs: Inputs, settings: Settings, live: osm_settings.LiveConfigs) -> osm_settings.Agreement:
        tried.append(settings.kubernetes_ca_bundle)
        return agreement(inputs, settings, live)

    agreement = osm_settings.agreement
    monkeypatch.setattr(osm_settings, "agreement", spy)
    deploy_as_recorded(management, "-pause-image=registry.example.com/pause:3.10")
    ran = _init()
    assert "0 of 5 OperatingSystemConfigs are rendered as they are in the cluster.\n" in ran.err
    assert "Different: pool-00000-kube-system-config, " in ran.err
    assert "CA certificates are pinned: the kubeconfig that flag -kubeconfig names.\n" in ran.err
    assert 1 < len(set(tried)) >= len(tried) - 1  # each once, wherever it stands, and the chosen one with all pools


def test_nothing_that_a_secret_holds_is_written_in_clear_text_or_told(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    variable = {"name": "PROXY", "valueFrom": {"secretKeyRef": {"name": "proxy", "key": "url"}}}
    management.client().create(secret("proxy", "kube-system", {"url": "http://u:hunter2@proxy:3128"}))
    deploy_as_recorded(management, "-node-http-proxy=$(PROXY)", container={"env": [variable]})
    live = loaded.objects["MachineDeployment", "kube-system", "pool-00001"]
    spec = live["spec"]["template"]["spec"]["providerSpec"]["value"]
    management.client().merge(
        path_of(live),
        {
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"a": "s3cr3t-cloud"}'}},
            "spec": {
                "template": {
                    "spec": {
                        "providerSpec": {
                            "value": {
                                **spec,
                                "cloudProviderSpec": {**spec["cloudProviderSpec"], "secretAccessKey": "s3cr3t-cloud"},
                            }
                        }
                    }
                }
            },
        },
    )
    ran = _init("--with-pools")
    assert ran.code == 0, ran.err
    for text in ("hunter2", "s3cr3t-cloud"):
        assert text not in ran.out + ran.err
        assert not [
            path for path in (tmp_path / "nodes").rglob("*") if path.is_file() and text.encode() in path.read_bytes()
        ]
    field = "spec.template.spec.providerSpec.value.cloudProviderSpec.secretAccessKey"
    assert Expected(Code.CREDENTIAL_IN_PLAIN_TEXT, "MachineDeployment", "kube-system/pool-00001", field) in told(
        ran.err
    )
    assert "# nodeHTTPProxy has a credential: set OSM_GITOPS_NODE_HTTP_PROXY instead" in (
        tmp_path / "nodes/osm-gitops.yaml"
    ).read_text("utf-8")
    assert "it has a credential, so set OSM_GITOPS_NODE_HTTP_PROXY" in ran.err


def test_an_empty_argument_is_refused_and_nothing_is_written(
    management: Cluster, loaded: AfterOsm, tmp_path: Path
) -> None:
    assert len(loaded.pools()) == 5
    deploy_as_recorded(management, "", "-pause-image=pause:3")
    ran = _init()
    assert ran.code == 1
    assert Expected(Code.FLAGS_END_EARLY, "1") in told(ran.err)
    assert not (tmp_path / "nodes").exists()


def test_where_osm_is_gone_it_is_said_how_to_go_on(loaded: AfterOsm, tmp_path: Path) -> None:
    assert len(loaded.pools()) == 5
    ran = _init()
    assert ran.code == 1
    assert Expected(Code.OSM_NOT_FOUND) in told(ran.err)
    assert _init("--osm-deployment", "none").code == 0
    assert "externalCloudProvider" not in _fleet(tmp_path / "nodes")["settings"]


def test_in_kkp_its_deployment_is_in_another_cluster(worker: Cluster, loaded: AfterOsm, tmp_path: Path) -> None:
    assert len(loaded.pools()) == 5
    worker.namespace("cluster-x")
    worker.client().create(osm(*RECORDED_FLAGS, namespace="cluster-x"))
    seed = worker.kubeconfig(tmp_path / "seed")
    ran = _init("--osm-kubeconfig", str(seed), "--osm-deployment", "cluster-x/operating-system-manager")
    assert ran.code == 0, ran.err
    assert "Settings come from Deployment cluster-x/operating-system-manager" in ran.err


def test_what_belongs_to_clusters_is_refused_without_one() -> None:
    for flag, value in (("--context", "a"), ("--osm-deployment", "a/b"), ("--host-ca-bundle", "x.pem")):
        ran = osm_gitops("init", "nodes", flag, value)
        assert (ran.code, ran.out) == (1, "")
        assert Expected(Code.OPTIONS_CONFLICT, flag) in told(ran.err)
    ran = osm_gitops("init", "nodes", "--from", "somewhere")
    assert Expected(Code.INVALID_OPTION) in told(ran.err)


def test_what_was_written_renders_to_what_the_cluster_has(
    management: Cluster, loaded: AfterOsm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy_as_recorded(management)
    assert _init().code == 0
    monkeypatch.chdir(tmp_path / "nodes")
    ran = osm_gitops("render", "--to", "-")
    assert ran.code == 0, ran.err
    rendered = {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(ran.out)}
    for (kind, _, name), live in loaded.objects.items():
        if kind == "OperatingSystemConfig":
            assert rendered[kind, name]["spec"] == live["spec"]
        if name.endswith(("-kube-system-bootstrap-config", "-provisioning-config")):
            assert rendered[kind, name]["data"] == live["data"]
            wanted = live["metadata"]["annotations"].items()
            assert wanted <= rendered[kind, name]["metadata"]["annotations"].items()


def test_a_built_in_profile_of_an_earlier_run_is_written_down_as_it_is_and_the_newest_set_is_pinned(
    management: Cluster, loaded: AfterOsm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"greet.sh": "", "name.sh": ""}
    monkeypatch.setattr(builtin, "FOLDER", write_set(tmp_path / "sets", {"osp-a": SOURCE}, parts, "v2.7.0"))
    body = profile()
    body["metadata"] |= {
        "labels": {"app.kubernetes.io/managed-by": "osm-gitops"},
        "annotations": {"osm-gitops.io/built-in": "v1.0.0"},
    }
    loaded.create(body, "osm-gitops")
    change = {"metadata": {"annotations": {"k8c.io/operating-system-profile": "osp-a"}}}
    management.client().merge(path_of(loaded.objects["MachineDeployment", "kube-system", "pool-00000"]), change)
    deploy_as_recorded(management)
    assert _init().code == 0
    root = tmp_path / "nodes"
    assert yaml.safe_load((root / "osps/kube-system/osp-a.yaml").read_text("utf-8"))["spec"]["version"] == "v1.0.0"
    fleet = yaml.safe_load((root / "osm-gitops.yaml").read_text("utf-8"))
    assert fleet["defaults"] == {"profilesVersion": "v2.7.0"}
