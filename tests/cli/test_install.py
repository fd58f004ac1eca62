"""``osm-gitops install``: what it prints for flags, fleet files and trees, and what it refuses."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from tests.apiserver.after_osm import after_osm
from tests.apiserver.client import path_of
from tests.apiserver.cluster import Cluster
from tests.cli.running import command_group, osm_gitops
from tests.cli.scenes import pool, write_fleet, write_tree
from tests.conformance_data import DATA
from tests.faults import Expected, told

_IMAGE = ("--image", "registry.example.com/osm-gitops:1")
_REPO = ("--repo", "https://git.example.com/nodes.git")
_SECRETS = ("--git-token-secret", "git", "--forge-token-secret", "forge", "--notify-url-secret", "hook")


def _installed(*arguments: str) -> list[dict[str, Any]]:
    ran = osm_gitops("install", *arguments)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("---\n")
    return [body for body in yaml.safe_load_all(ran.out) if body]


def _refused(*arguments: str) -> str:
    ran = osm_gitops("install", *arguments)
    assert (ran.code, ran.out) == (1, "")
    return ran.err


def _kinds(bodies: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(body["kind"] for body in bodies))


def _named(bodies: list[dict[str, Any]], kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    (found,) = (
        body
        for body in bodies
        if (body["kind"], body["metadata"]["name"]) == (kind, name)
        and namespace in ("", body["metadata"].get("namespace"))
    )
    return found


def _container(job: dict[str, Any]) -> dict[str, Any]:
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_everything_comes_in_an_order_in_which_it_can_be_applied() -> None:
    kinds = _kinds(_installed(*_IMAGE))
    assert kinds[0] == "CustomResourceDefinition"
    assert kinds.index("Namespace") < kinds.index("ServiceAccount") < kinds.index("Role") < kinds.index("RoleBinding")
    assert kinds[-3:] == ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "CronJob"]


def test_the_same_is_printed_every_time() -> None:
    assert osm_gitops("install", *_IMAGE) == osm_gitops("install", *_IMAGE)


def test_settings_become_arguments_of_the_runs() -> None:
    authority = DATA / "ca.pem"
    bodies = _installed(
        *(*_IMAGE, "-cluster-dns=10.96.0.10", "-external-cloud-provider=false", "-namespace=osm"),
        *("--node-containerd-registry-mirrors", "docker.io=https://a", "-kubernetes-ca-bundle", str(authority)),
        *("--node-containerd-registry-mirrors", "quay.io=https://b"),
    )
    job = _named(bodies, "CronJob", "osm-gitops")
    assert _container(job)["args"] == [
        *("apply", "--yes", "--require-clean", "--from=cluster", "--to=cluster", "--cluster-dns=10.96.0.10"),
        *("--no-external-cloud-provider", "--kubernetes-ca-bundle=/etc/osm-gitops/files/kubernetes-ca-bundle.pem"),
        *("--namespace=osm", "--node-containerd-registry-mirrors=docker.io=https://a"),
        "--node-containerd-registry-mirrors=quay.io=https://b",
    ]
    files = _named(bodies, "ConfigMap", "osm-gitops-files")
    assert files["data"] == {"kubernetes-ca-bundle.pem": authority.read_text("utf-8")}
    assert {"name": "files", "mountPath": "/etc/osm-gitops/files", "readOnly": True} in _container(job)["volumeMounts"]
    assert _named(bodies, "Role", "osm-gitops", "osm")


def test_a_password_in_a_setting_is_refused_with_another_way() -> None:
    said = _refused(*_IMAGE, "--node-http-proxy", "http://me:swordfish@proxy:3128")
    assert "swordfish" not in said
    assert "flag --node-http-proxy: has a URL with a password" in said
    assert "OSM_GITOPS_NODE_HTTP_PROXY in a Secret (--env-secret)" in said


def test_variables_of_the_runs_come_from_secrets() -> None:
    job = _named(_installed(*_IMAGE, "--env-secret", "clouds", "--image-pull-secret", "pull"), "CronJob", "osm-gitops")
    assert _container(job)["envFrom"] == [{"secretRef": {"name": "clouds"}}]
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "pull"}]


def test_rights_reach_the_secrets_that_settings_and_pools_name(tmp_path: Path) -> None:
    credentials = {"secretKeyRef": {"namespace": "clouds", "name": "vsphere", "key": "password"}}
    vsphere = pool(cloudProvider="vsphere", kubelet="1.28.0", cloudProviderSpec={"password": credentials})
    profiles = {"k8c.io/operating-system-profile-namespace": "profiles"}
    write_tree(tmp_path / "tree", vsphere, pool("other", annotations=profiles))
    bodies = _installed(
        *(*_IMAGE, "--from", "tree", "-node-registry-credentials-secret=pulls/registry", "--secret", "clouds/more")
    )

    def rules(account: str, namespace: str) -> Any:
        return _named(bodies, "Role", account, namespace)["rules"]

    for account in ("osm-gitops", "osm-gitops-reader"):
        secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
        assert rules(account, "clouds") == [secrets | {"resourceNames": ["more", "vsphere"]}]
        assert rules(account, "pulls") == [secrets | {"resourceNames": ["registry"]}]
        assert [rule["resources"] for rule in rules(account, "profiles")] == [["operatingsystemprofiles"]]


def test_pools_of_a_cluster_are_asked_too(management: Cluster, tmp_path: Path) -> None:
    after_osm(management)
    profiles = {"k8c.io/operating-system-profile-namespace": "profiles"}
    management.client().create(pool("other", annotations=profiles))
    config = management.kubeconfig(tmp_path / "config")
    bodies = _installed(*_IMAGE, "--from", "cluster", "--kubeconfig", str(config))
    assert _named(bodies, "Role", "osm-gitops-reader", "profiles")


def test_what_another_installer_has_brought_is_left_out(management: Cluster, tmp_path: Path) -> None:
    """KubeOne applies OSM's CRDs and the getter's Role server-side, with other content."""
    after_osm(management)
    client = management.client()
    role = {"name": "cloud-init-getter", "namespace": "cloud-init-settings", "labels": {"a": "kubeone"}}
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]
    api = "rbac.authorization.k8s.io/v1"
    client.apply({"apiVersion": api, "kind": "Role", "metadata": role, "rules": rules}, "kubeone")
    command = (*_IMAGE, "--from", "cluster", "--kubeconfig", str(management.kubeconfig(tmp_path / "config")))
    ran = osm_gitops("install", *command)
    bodies = list(yaml.safe_load_all(ran.out))
    assert ("CustomResourceDefinition" in _kinds(bodies), "CronJob" in _kinds(bodies)) == (False, True)
    assert "Role cloud-init-settings/cloud-init-getter" in ran.err
    assert "--force-conflicts" in ran.err
    for body in bodies:  # nothing conflicts with anybody
        path = f"{path_of(body)}?fieldManager=kubectl&force=false"
        client.text(path, "PATCH", body, Content_Type="application/apply-patch+yaml")
    again = list(yaml.safe_load_all(osm_gitops("install", *command).out))
    assert again == bodies


def test_tokens_of_a_service_account_take_no_right_to_secrets_of_the_system() -> None:
    bodies = _installed(*_IMAGE, "-bootstrap-token-service-account-name=joiners/node")
    assert "secrets" not in str(_named(bodies, "Role", "osm-gitops", "kube-system")["rules"])
    rules = _named(bodies, "Role", "osm-gitops", "joiners")["rules"]
    assert {"serviceaccounts/token"} <= {resource for rule in rules for resource in rule["resources"]}


# --- two clusters ---


def test_two_clusters_get_a_half_each() -> None:
    management = _installed(*_IMAGE, "--side", "management", "--worker-kubeconfig-secret", "workers")
    worker = _installed("--side", "worker")
    assert {"CustomResourceDefinition", "CronJob"} <= set(_kinds(management))
    assert {"CustomResourceDefinition", "CronJob"}.isdisjoint(_kinds(worker))
    container = _container(_named(management, "CronJob", "osm-gitops"))
    assert "--worker-cluster-kubeconfig=/etc/osm-gitops/worker/kubeconfig" in container["args"]
    assert "secrets" not in str([body["rules"] for body in management if body["kind"].endswith("Role")])
    assert _named(worker, "Secret", "osm-gitops-token")["type"] == "kubernetes.io/service-account-token"
    assert _named(worker, "Secret", "cloud-init-getter-token")
    both = _installed(*_IMAGE, "--side", "both", "--worker-kubeconfig-secret", "workers")
    assert both == [*management, *worker]


def test_a_worker_cluster_of_its_own_asks_which_half(tmp_path: Path) -> None:
    said = _refused(*_IMAGE, "--worker-kubeconfig-secret", "workers")
    assert "the worker cluster is separate" in said
    write_tree(tmp_path / "tree", pool())
    write_fleet(tmp_path, "clusters:\n- {name: a, from: tree, to: cluster, worker: {context: workers}}\n")
    repo = (*_IMAGE, "--repo", "https://git.example.com/nodes.git")
    assert "--side management or --side worker" in _refused(*repo)
    assert "the runs need the kubeconfig of the worker cluster" in _refused(*repo, "--side", "management")


# --- a config repo ---


def test_a_config_repo_is_planned_by_who_reads_and_kept_alive_by_who_writes() -> None:
    bodies = _installed(
        *(*_IMAGE, "--repo", "https://git.example.com/nodes.git", "--ref", "main", "--git-token-secret", "git"),
        *("--age-key-secret", "sops-age", "--commit-as", "Robot <robot@example.com>"),
    )
    clone = ["--repo=https://git.example.com/nodes.git", "--ref=main", "--git-token-file=/etc/osm-gitops/git/token"]
    apply, refresh = (_named(bodies, "CronJob", f"osm-gitops-{name}") for name in ("apply", "refresh"))
    assert _container(apply)["args"] == ["apply", "--yes", "--require-clean", "--push", *clone]
    assert _container(refresh)["args"] == ["refresh", *clone]
    accounts = [
        job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["serviceAccountName"] for job in (apply, refresh)
    ]
    assert accounts == ["osm-gitops-reader", "osm-gitops"]
    variables = {each["name"]: each["value"] for each in _container(apply)["env"]}
    assert variables["GIT_AUTHOR_EMAIL"] == variables["GIT_COMMITTER_EMAIL"] == "robot@example.com"
    assert variables["SOPS_AGE_KEY_FILE"] == "/etc/osm-gitops/age/age.agekey"


def test_secrets_of_forges_and_webhooks_are_mounted_where_runs_read_them() -> None:
    bodies = _installed(*_IMAGE, *_REPO, "--forge-token-secret", "forge", "--notify-url-secret", "hook")
    apply, refresh = (_named(bodies, "CronJob", f"osm-gitops-{name}") for name in ("apply", "refresh"))
    notify = "--notify-url-file=/etc/osm-gitops/notify/url"
    assert [word for word in _container(apply)["args"] if "-file=" in word] == [
        notify,
        "--forge-token-file=/etc/osm-gitops/forge/token",
    ]
    assert [word for word in _container(refresh)["args"] if "-file=" in word] == [notify]
    pod = apply["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    secrets = {each["secret"]["secretName"]: each["name"] for each in pod["volumes"] if "secret" in each}
    places = {each["name"]: each["mountPath"] for each in _container(apply)["volumeMounts"]}
    assert {name: places[volume] for name, volume in secrets.items()} == {
        "forge": "/etc/osm-gitops/forge",
        "hook": "/etc/osm-gitops/notify",
    }
    assert "--forge-token-secret" in _refused(*_IMAGE, "--forge-token-secret", "forge")


def test_a_fleet_that_goes_straight_to_its_cluster_is_applied_by_who_writes(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool())
    write_fleet(tmp_path, "clusters:\n- {name: a, from: tree, to: cluster, settings: {clusterDNS: 10.96.0.10}}\n")
    bodies = _installed(*_IMAGE, "--repo", "https://git.example.com/nodes.git")
    (job,) = (body for body in bodies if body["kind"] == "CronJob")
    assert job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["serviceAccountName"] == "osm-gitops"
    assert _container(job)["args"] == ["apply", "--yes", "--require-clean", "--repo=https://git.example.com/nodes.git"]


def test_a_fleet_whose_trees_no_pod_has_needs_its_repo(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool())
    write_fleet(tmp_path, "clusters:\n- {name: a, from: tree, to: cluster}\n")
    said = _refused(*_IMAGE)
    assert "runs in a cluster cannot read the folder tree" in said
    assert "--repo" in said


def test_settings_of_the_fleet_file_are_those_of_the_runs(management: Cluster, tmp_path: Path) -> None:
    config = management.kubeconfig(tmp_path / "config")
    write_fleet(
        tmp_path,
        "defaults: {from: cluster, to: cluster}\nclusters:\n"
        f"- {{name: a, settings: {{clusterDNS: 10.96.0.10}}, management: {{kubeconfig: {config}}}}}\n"
        "- {name: b, management: {context: b}}\n",
    )
    assert "the fleet has several clusters. Choose one with --cluster: a, b" in _refused(*_IMAGE)
    job = _named(_installed(*_IMAGE, "--cluster", "a"), "CronJob", "osm-gitops")
    assert "--cluster-dns=10.96.0.10" in _container(job)["args"]


@pytest.mark.parametrize("more", [(), (*_REPO, *_SECRETS)], ids=["straight", "git"])
def test_the_parser_takes_the_arguments_of_runs(more: tuple[str, ...]) -> None:
    bodies = _installed(
        *_IMAGE, *more, "-external-cloud-provider=true", "--worker-kubeconfig-secret", "w", "--side", "both"
    )
    group = command_group()
    for job in (body for body in bodies if body["kind"] == "CronJob"):
        name, *words = _container(job)["args"]
        group.commands[name].make_context(name, words)  # raises for what it does not know


# --- what is refused ---


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--image: the runs need an image"),
        ((*_IMAGE, "--secret", "registry"), '--secret: "registry" does not name a Secret'),
        ((*_IMAGE, "--commit-as", "me"), '--commit-as: "me" is not an author'),
        ((*_IMAGE, "--repo", "https://me:swordfish@git.example.com/x.git"), "--repo"),
        ((*_IMAGE, "-cluster-dns=x"), '"x" is not an IP address'),
    ],
)
def test_what_cannot_be_is_said(arguments: tuple[str, ...], said: str) -> None:
    message = _refused(*arguments)
    assert said in message
    assert "swordfish" not in message


def test_parts_without_runs_need_no_image() -> None:
    assert _kinds(_installed("--part", "crds")) == ["CustomResourceDefinition"]
    assert _kinds(_installed("--part", "getter", "--part", "admission"))[-1] == "ValidatingAdmissionPolicyBinding"


# --- who else writes ---

_FLUX = "system:serviceaccount:flux-system:kustomize-controller"


@pytest.mark.parametrize("source", ["fleet", "flag"])
def test_into_git_it_says_that_flux_and_argo_cd_have_to_be_named(tmp_path: Path, source: str) -> None:
    write_tree(tmp_path / "tree", pool())
    write_fleet(tmp_path, "clusters:\n- {name: a, from: tree, to: {git: {path: clusters}}}\n")
    more = ("--part", "admission") if source == "fleet" else (*_IMAGE, "--repo", "https://git.example.com/nodes.git")
    ran = osm_gitops("install", *more)
    assert ran.code == 0, ran.err
    for said in ("osm-gitops-configurations", "--writer", _FLUX, "argocd-application-controller"):
        assert said in ran.err
    assert osm_gitops("install", *more, "--writer", _FLUX).err == ""


def test_straight_to_the_cluster_it_says_that_nobody_else_writes() -> None:
    ran = osm_gitops("install", "--part", "admission")
    assert "only system:serviceaccount:osm-gitops:osm-gitops" in ran.err
    assert _FLUX not in ran.err
    assert osm_gitops("install", "--part", "crds").err == ""
    assert osm_gitops("install", "--part", "admission", "--side", "worker").err == ""


@pytest.mark.parametrize(
    ("answer", "users"),
    [(f"{_FLUX}, group:deployers\n", [_FLUX]), ("\n", []), ("", [])],
    ids=["named", "empty", "end of input"],
)
def test_on_a_terminal_it_asks_who_else_writes(answer: str, users: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    ran = osm_gitops("install", "--part", "admission")
    assert ran.code == 0, ran.err
    assert "Other users, separated by commas, or nothing: " in ran.err
    policy = _named(list(yaml.safe_load_all(ran.out)), "ValidatingAdmissionPolicy", "osm-gitops-configurations")
    (validation,) = policy["spec"]["validations"]
    assert (_FLUX in validation["expression"]) == bool(users)
    assert ('"deployers"' in validation["expression"]) == bool(users)


def test_a_seed_gets_one_account_and_runs_from_the_config_repo() -> None:
    bodies = _installed("--kkp", *_IMAGE, *_REPO, "--git-token-secret", "git")
    assert _kinds(bodies) == [
        *("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "CronJob")
    ]
    assert _container(_named(bodies, "CronJob", "osm-gitops"))["args"] == [
        *("apply", "--yes", "--require-clean", "--repo=https://git.example.com/nodes.git"),
        "--git-token-file=/etc/osm-gitops/git/token",
    ]
    rules = _named(bodies, "ClusterRole", "osm-gitops")["rules"]
    secrets = ["internal-admin-kubeconfig", "cloud-credentials"]
    assert {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": secrets} in rules
    assert [each["verbs"] for each in rules if "clusters" in each["resources"]] == [["list"]]


def test_the_rights_to_switch_are_printed_by_name_only() -> None:
    bodies = _installed("--kkp", "--part", "switch")
    role = _named(bodies, "ClusterRole", "osm-gitops-switch")
    assert {"apiGroups": ["kubermatic.k8c.io"], "resources": ["clusters"], "verbs": ["patch"]} in role["rules"]
    assert _kinds(bodies) == ["ClusterRole", "ClusterRoleBinding"]


def test_the_runs_on_a_seed_are_those_of_the_fleet_file(tmp_path: Path) -> None:
    write_fleet(tmp_path, "clusters:\n- kkp: {}\n  to: {git: {path: clusters}}\n")
    bodies = _installed("--kkp", *_IMAGE, *_REPO)
    apply = _named(bodies, "CronJob", "osm-gitops-apply")
    assert "--push" in _container(apply)["args"]
    pod = apply["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "osm-gitops"
    assert _container(_named(bodies, "CronJob", "osm-gitops-refresh"))["args"][0] == "refresh"
    write_fleet(tmp_path, "clusters:\n- kkp: {}\n  to: cluster\n")
    assert [each["metadata"]["name"] for each in _installed("--kkp", *_IMAGE, *_REPO) if each["kind"] == "CronJob"] == [
        "osm-gitops"
    ]
    write_fleet(tmp_path, "clusters:\n- {name: prod, from: cluster}\n")
    assert told(_refused("--kkp", *_IMAGE, *_REPO)) == [Expected(Code.NO_SOURCE, "--kkp")]


def test_each_seed_may_have_a_fleet_file_of_its_own(tmp_path: Path) -> None:
    write_fleet(tmp_path / "eu", "clusters: [{kkp: {}, to: cluster}]")
    job = _named(_installed("--kkp", *_IMAGE, *_REPO, "--fleet", "eu/osm-gitops.yaml"), "CronJob", "osm-gitops")
    assert _container(job)["args"][-1] == "--fleet=eu/osm-gitops.yaml"
    absolute = str(tmp_path / "eu" / "osm-gitops.yaml")
    assert told(_refused("--kkp", *_IMAGE, *_REPO, "--fleet", absolute)) == [Expected(Code.INVALID_OPTION, absolute)]
    both = "clusters: [{kkp: {seed: {context: eu}}, to: cluster}, {kkp: {seed: {context: us}}, to: cluster}]"
    for text in (both, "clusters: [{kkp: {}, to: cluster}, {name: prod, from: cluster, to: cluster}]"):
        write_fleet(tmp_path, text)
        assert "Give each seed a fleet file of its own" in osm_gitops("install", "--kkp", *_IMAGE, *_REPO).err


def test_what_has_no_meaning_for_a_seed_is_refused_all_at_once() -> None:
    said = _refused(
        *("--kkp", "--side", "both", "--writer", "me", "--secret", "a/b", "--from", "cluster"),
        *("--worker-kubeconfig-secret", "w", "--part", "crds", "--part", "jobs", "--home-namespace", "kubermatic"),
    )
    assert told(said) == [
        *(Expected(Code.OPTIONS_CONFLICT, f"--{option}") for option in ("side", "worker-kubeconfig-secret", "writer")),
        *(Expected(Code.OPTIONS_CONFLICT, f"--{option}") for option in ("secret", "from", "part crds")),
        Expected(Code.INVALID_OPTION, "--home-namespace kubermatic"),
        *(Expected(Code.MISSING_ARGUMENT, f"--{option}") for option in ("image", "repo")),
    ]


def test_the_switch_part_is_for_a_seed_only() -> None:
    assert told(_refused("--part", "switch")) == [Expected(Code.OPTIONS_CONFLICT, "--part switch", "--kkp")]


def test_runs_of_a_fleet_can_be_shared_by_pods() -> None:
    bodies = _installed(*_IMAGE, *("--repo", "https://git.example.com/nodes.git", "--shards=4", "--part=jobs"))
    for body in bodies:
        job = body["spec"]["jobTemplate"]["spec"]
        assert (job["completionMode"], job["completions"], job["parallelism"]) == ("Indexed", 4, 4)
        assert "--shard=$(JOB_COMPLETION_INDEX)/4" in _container(body)["args"]
        rules = job["podFailurePolicy"]["rules"]
        assert [rule["action"] for rule in rules] == ["Ignore", "FailIndex"]
        assert rules[1]["onExitCodes"] == {
            "containerName": _container(body)["name"],
            "operator": "In",
            "values": [1],
        }


@pytest.mark.parametrize("more", [(), ("--repo", "https://git.example.com/nodes.git", "--watch")])
def test_runs_of_one_cluster_and_runs_that_go_on_cannot_be_shared(more: tuple[str, ...]) -> None:
    assert told(_refused(*_IMAGE, "--shards=4", *more)) == [Expected(Code.OPTIONS_CONFLICT, "--shards 4")]
