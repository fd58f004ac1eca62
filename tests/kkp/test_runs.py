"""Runs over the user clusters of a seed, on real API servers."""

from __future__ import annotations

import json
import socket
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from osm_gitops.errors import Code
from tests.apiserver.client import Object
from tests.apiserver.cluster import Cluster
from tests.apiserver.osm_deployment import osm_in_kkp
from tests.apiserver.proxy import Proxy, drop, during
from tests.cli.running import Ran
from tests.cli.scenes import profile
from tests.faults import Expected, told
from tests.kkp.scene import ID, Scene, add_pool, fill_with_pool, secrets_of, user_cluster
from tests.kkp.seed import DATACENTER, GETTER_TOKEN, NAMESPACE, UserCluster, kubeconfig

_RUNTIME: Final = {"containerRuntimeOpts": {"pauseImage": "registry.example.com/pause"}}
_OSP: Final = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles/osp-a"


def boot_script(server: Cluster, name: str = "workers") -> str:
    """What the machines of a pool run first."""
    secret = secrets_of(server)[f"{name}-kube-system-bootstrap-config"]
    files = yaml.safe_load(b64decode(secret["data"]["cloud-config"]))["write_files"]
    return next(b64decode(each["content"]).decode() for each in files if each["path"] == "/opt/bin/bootstrap")


def is_fine(ran: Ran) -> bool:
    return (ran.code, told(ran.err)) == (0, [])


def put_kubeconfig(scene: Scene, cluster: UserCluster, text: str) -> None:
    """What KKP does when it renews the certificate of a kubeconfig."""
    path = f"/api/v1/namespaces/{cluster.namespace}/secrets/internal-admin-kubeconfig"
    scene.seed.server.client().merge(path, {"stringData": {"kubeconfig": text}})


def test_a_user_cluster_is_found_and_rendered_with_the_settings_of_kkp(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker, spec=_RUNTIME)
    fill_with_pool(worker)
    scene.fleet()
    ran = scene.run("apply")
    assert is_fine(ran)
    assert f"cluster {worker.server} (user cluster {ID})" in ran.out
    assert "registry.example.com/pause" in boot_script(worker)
    assert worker.authority in boot_script(worker)
    ran = scene.run("plan", "--detailed-exitcode")
    assert ran.code == 0


@pytest.mark.exhaustive
def test_settings_of_overlays_the_fleet_file_and_flags_win_in_this_order(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker, spec=_RUNTIME)
    fill_with_pool(worker)

    def pause_image(entry: str, *flags: str) -> str:
        scene.fleet(entry=entry)
        assert is_fine(scene.run("apply", *flags))
        return boot_script(worker).splitlines()[1].split()[1]

    overlay = scene.folder / "overlay" / "overlay.yaml"
    overlay.parent.mkdir()
    head = "apiVersion: osm-gitops.io/v1alpha1\nkind: Overlay\n"
    overlay.write_text(f"{head}settings: {{pauseImage: overlay}}\n")
    with_overlay = "overlays: [overlay]\n"
    assert pause_image("") == "registry.example.com/pause"
    assert pause_image(with_overlay) == "overlay"
    override = f"overrides: {{{ID}: {{settings: {{pauseImage: override}}}}}}"
    assert pause_image(f"{with_overlay}settings: {{pauseImage: entry}}") == "entry"
    assert pause_image(f"{with_overlay}settings: {{pauseImage: entry}}\n{override}") == "override"
    assert pause_image(f"{with_overlay}{override}", "--pause-image", "flag") == "flag"


def test_the_internal_address_is_used_in_the_seed_with_its_trailing_dot(
    scene: Scene, worker: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    resolve = socket.getaddrinfo

    def dns_of_the_seed(host: Any, *args: Any, **more: Any) -> Any:
        asked.append(host)
        return resolve("127.0.0.1" if host == "localhost." else host, *args, **more)

    # Names that end with a dot are resolved by the DNS of the seed; the certificate has the name without it.
    monkeypatch.setattr(socket, "getaddrinfo", dns_of_the_seed)
    port = worker.server.rpartition(":")[2]
    outside = {"address": {"url": "https://outside.invalid:6443"}}
    user_cluster(scene.seed, worker, address=f"https://localhost.:{port}", status=outside)
    fill_with_pool(worker)
    scene.fleet(address="internal")
    assert is_fine(scene.run("apply"))
    assert "localhost." in asked
    assert "outside.invalid" not in asked


def test_from_outside_the_external_address_is_used_with_the_same_kubeconfig(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker, address="https://inside.invalid.")
    fill_with_pool(worker)
    scene.fleet()
    assert is_fine(scene.run("apply"))
    scene.fleet(address="external")
    assert is_fine(scene.run("apply"))
    scene.seed.report(found, {"address": {"url": None}})
    ran = scene.run("apply")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.KKP_KUBECONFIG_MISSING, ID, "status.address.url")]


@pytest.mark.parametrize("kind", ["file", "program"])
def test_a_kubeconfig_of_the_seed_reads_no_file_and_runs_no_program(
    scene: Scene, worker: Cluster, tmp_path: Path, kind: str
) -> None:
    found = user_cluster(scene.seed, worker)
    config = yaml.safe_load(kubeconfig(worker, ID))
    proof = tmp_path / "proof"
    proof.write_text("a token of this machine")
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "rm", "args": [str(proof)]}
    config["users"][0]["user"] = {"tokenFile": str(proof)} if kind == "file" else {"exec": plugin}
    put_kubeconfig(scene, found, yaml.safe_dump(config))
    scene.fleet()
    ran = scene.run("plan")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.KUBECONFIG_INVALID, f"{found.namespace}/internal-admin-kubeconfig")]
    assert proof.exists()


def test_a_missing_kubeconfig_stops_only_its_cluster(scene: Scene, management: Cluster, worker: Cluster) -> None:
    lost = user_cluster(scene.seed, management, "lost")
    user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    path = f"/api/v1/namespaces/{lost.namespace}/secrets/internal-admin-kubeconfig"
    scene.seed.server.client().delete(path)
    scene.fleet()
    ran = scene.run("apply")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.KKP_KUBECONFIG_MISSING, "Cluster lost", "internal-admin-kubeconfig")]
    assert len(secrets_of(worker)) == 3


def test_a_new_ca_reaches_every_configuration_with_the_next_run(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    scene.fleet()
    assert is_fine(scene.run("apply"))
    assert boot_script(worker).count("BEGIN CERTIFICATE") == 1
    rotated = f"{worker.authority}{scene.seed.server.authority}"
    config = yaml.safe_load(kubeconfig(worker, ID))
    put_kubeconfig(scene, found, yaml.safe_dump(_with_authority(config, rotated)))
    plan, ran = scene.plan()
    assert ran.code == 0
    assert {each["action"] for each in plan[ID]["changes"]} == {"update"}
    assert is_fine(scene.run("apply"))
    assert rotated in boot_script(worker)


def _with_authority(config: Object, authority: str) -> Object:
    entry = config["clusters"][0]["cluster"] | {"certificate-authority-data": b64encode(authority.encode()).decode()}
    return config | {"clusters": [{"name": ID, "cluster": entry}]}


def beside(scene: Scene, worker: Cluster, proxy: Proxy) -> Proxy:
    """Two user clusters, of which the first is behind a proxy; its pool is still to be made."""
    user_cluster(scene.seed, proxy.cluster, "aaaaaaaaaa")
    user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    return proxy


def test_a_cluster_that_disappears_in_mid_run_stops_only_itself(
    scene: Scene, management: Cluster, worker: Cluster, through: Callable[[Cluster], Proxy], patient: list[float]
) -> None:
    proxy = beside(scene, worker, through(management))
    fill_with_pool(management)
    scene.fleet("to: {git: {path: clusters}}")
    assert is_fine(scene.run("apply"))
    before = sorted((scene.folder / "clusters" / "aaaaaaaaaa").rglob("*"))
    fill = {"metadata": {"annotations": {"new": "annotation"}}}
    for server in (management, worker):
        server.client().merge("/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments/workers", fill)
    proxy.when(drop, path="/configmaps/cluster-info", times=None)
    ran = scene.run("apply")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.API_SERVER_UNREACHABLE, "aaaaaaaaaa")]
    assert patient
    assert sorted((scene.folder / "clusters" / "aaaaaaaaaa").rglob("*")) == before
    assert f"{ID}: committed" in ran.err


def test_a_cluster_that_goes_while_it_is_written_loses_nothing_in_others(
    scene: Scene, management: Cluster, worker: Cluster, through: Callable[[Cluster], Proxy], patient: list[float]
) -> None:
    proxy = beside(scene, worker, through(management))
    fill_with_pool(management)
    scene.fleet()
    proxy.when(during(lambda: proxy.when(drop, times=None), after=True), method="PATCH", path="/secrets/")
    ran = scene.run("apply")
    assert ran.code == 1
    assert {code for code, _ in told(ran.err)} <= {Code.API_SERVER_UNREACHABLE, Code.POOL_NOT_TRIED, Code.LOCK_LOST}
    assert all("aaaaaaaaaa" in sentence for _, sentence in told(ran.err))
    assert patient
    assert len(secrets_of(worker)) == 3


def test_a_seed_that_does_not_answer_stops_only_its_own_clusters(
    scene: Scene, management: Cluster, through: Callable[[Cluster], Proxy], patient: list[float]
) -> None:
    proxy = through(scene.seed.server)
    proxy.when(drop, times=None)
    management.kubeconfig(scene.folder.parent / "static.yaml")
    fill_with_pool(management)
    static = "- {name: static, from: cluster, to: cluster, management: {kubeconfig: ../static.yaml}}\n"
    scene.fleet(through=proxy.cluster, more=static)
    for command in ("plan", "apply", "refresh", "status"):
        ran = scene.run(command)
        assert ran.code == 1
        assert told(ran.err) == [Expected(Code.API_SERVER_UNREACHABLE, "seed of", proxy.cluster.server)], command
    assert len(secrets_of(management)) == 3
    proxy.clear()
    proxy.when(drop, times=None)
    assert is_fine(scene.run("apply", "--cluster", "static"))
    assert proxy.seen == []
    ran = scene.run("apply", "--cluster", ID)
    assert told(ran.err) == [Expected(Code.API_SERVER_UNREACHABLE, "seed of")]
    assert patient


def test_an_empty_seed_is_an_error_and_deletes_nothing_in_git(scene: Scene, worker: Cluster) -> None:
    found = user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    scene.fleet("to: {git: {path: clusters}}")
    assert is_fine(scene.run("apply"))
    before = sorted((scene.folder / "clusters").rglob("*"))
    scene.seed.server.client().delete(found.path)
    for command in ("plan", "apply"):
        ran = scene.run(command)
        assert ran.code == 1
        assert told(ran.err) == [Expected(Code.KKP_NO_CLUSTER, "osm-gitops.yaml:4", "--allow-empty")]
        ran = scene.run(command, "--allow-empty")
        assert ran.code == 0
        assert told(ran.err) == [Expected(Code.KKP_FOLDER_WITHOUT_CLUSTER, f"clusters/{ID}")]
    assert sorted((scene.folder / "clusters").rglob("*")) == before


def test_a_cluster_that_two_entries_apply_to_is_refused(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    worker.kubeconfig(scene.folder.parent / "static.yaml")
    twice = '- {kkp: {seed: {kubeconfig: ../seed.yaml}, name: "x-{cluster}"}, to: cluster}\n'
    static = "- {name: static, from: cluster, to: cluster, management: {kubeconfig: ../static.yaml}}\n"
    for more, other, name in ((twice, ID, f"x-{ID}"), (static, "static", ID)):
        scene.fleet(more=more)
        ran = scene.run("apply")
        assert ran.code == 1
        assert told(ran.err) == [Expected(Code.CLUSTERS_SHARE_TARGET, f"cluster {name}", f"cluster {other}")]
    assert secrets_of(worker) == {}


def test_a_server_that_is_no_seed_is_named(scene: Scene, worker: Cluster) -> None:
    scene.fleet(through=worker)
    ran = scene.run("plan")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.NOT_A_SEED, worker.server, "seed of")]


def test_a_seed_with_two_configurations_is_refused_as_in_kkp(scene: Scene) -> None:
    scene.seed.create("KubermaticConfiguration", "another", spec={})
    scene.fleet()
    ran = scene.run("plan")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.NOT_A_SEED, "KubermaticConfiguration", "2 objects")]


def custom(name: str, version: str, script: str) -> Object:
    """A CustomOperatingSystemProfile, with a label and an annotation that KKP does not copy."""
    body = profile(name, script, version=version)
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/managed-by": "osm-gitops"}}
    return body | {"kind": "CustomOperatingSystemProfile", "metadata": metadata}


def test_profiles_of_kkp_are_used_by_the_rule_of_its_synchronizer(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker)
    loaded = fill_with_pool(worker)
    add_pool(loaded, "fresh", profile="osp-custom")
    scene.seed.server.client().create(custom("osp-a", "v1.0.0", "#!/bin/sh\necho same version\n"))
    scene.seed.server.client().create(custom("osp-custom", "v3.0.0", "#!/bin/sh\necho custom\n"))
    scene.fleet()
    assert is_fine(scene.run("apply"))
    assert "same version" not in boot_script(worker)  # KKP does not replace a profile of the same version
    assert "echo custom" in boot_script(worker, "fresh")
    path = f"/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/{NAMESPACE}/customoperatingsystemprofiles/osp-a"
    change = custom("osp-a", "v0.9.0", "#!/bin/sh\necho older version\n")["spec"]
    scene.seed.server.client().merge(path, {"spec": change})
    assert is_fine(scene.run("apply"))
    assert "echo older version" in boot_script(worker)
    assert worker.client().get(_OSP)["spec"]["version"] == "v1.0.0"  # that is the task of KKP


def test_the_default_profile_of_a_datacenter_is_used_by_a_pool_that_names_none(scene: Scene, worker: Cluster) -> None:
    places = {DATACENTER: {"spec": {"hetzner": {}, "operatingSystemProfiles": {"ubuntu": "osp-a"}}}}
    path = f"/apis/kubermatic.k8c.io/v1/namespaces/{NAMESPACE}/seeds/{NAMESPACE}"
    scene.seed.server.client().merge(path, {"spec": {"datacenters": places}})
    user_cluster(scene.seed, worker)
    fill_with_pool(worker, annotations={"k8c.io/operating-system-profile": ""})
    scene.fleet()
    assert is_fine(scene.run("apply"))
    assert "echo" in boot_script(worker)


_OPENSTACK: Final[Object] = {"cloud": {"providerName": "openstack", "hetzner": None, "openstack": {}}, "features": None}
_CREDENTIALS: Final = {"username": "cloud-user", "password": "cloud-password", "domain": "d", "project": "p"}


def test_cloud_credentials_are_read_where_rendering_needs_them(
    scene: Scene, worker: Cluster, through: Callable[[Cluster], Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_PASSWORD", "password-of-this-process")
    proxy = through(scene.seed.server)
    found = user_cluster(scene.seed, worker, spec=_OPENSTACK)
    metadata = {"name": "cloud-credentials", "namespace": found.namespace}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": _CREDENTIALS}
    scene.seed.server.client().create(body)
    path = f"/apis/kubermatic.k8c.io/v1/namespaces/{NAMESPACE}/seeds/{NAMESPACE}"
    url = {"openstack": {"authURL": "https://keystone.example.com"}}
    scene.seed.server.client().merge(path, {"spec": {"datacenters": {DATACENTER: {"spec": url}}}})
    script = "#!/bin/sh\n# {{ .CloudConfig | b64enc }}\n"
    places: Object = {"supportedCloudProviders": [{"name": "openstack"}]}
    loaded = fill_with_pool(
        worker, boot=profile("osp-a", script, **places), cloudProvider="openstack", cloudProviderSpec={}
    )
    scene.fleet(through=proxy.cluster)
    assert is_fine(scene.run("apply"))
    assert not [each for each in proxy.seen if each.path.endswith("/cloud-credentials")]
    add_pool(loaded, "old", kubelet="1.28.9", cloudProvider="openstack", cloudProviderSpec={})
    ran = scene.run("apply")
    assert is_fine(ran)
    assert [each for each in proxy.seen if each.path.endswith(f"/{found.namespace}/secrets/cloud-credentials")]
    text = b64decode(boot_script(worker, "old").splitlines()[1].split()[1]).decode()
    assert 'password    = "cloud-password"' in text
    assert "https://keystone.example.com" in text
    assert "password-of-this-process" not in text
    assert "cloud-password" not in ran.out + ran.err


def test_settings_that_differ_from_the_real_arguments_are_named(scene: Scene, worker: Cluster) -> None:
    arguments = ("-namespace", "kube-system", "-external-cloud-provider", "-container-runtime", "containerd")
    flags = ("-pause-image", "other", "-node-http-proxy", "http://user:word@proxy", "-cluster-dns", "169.254.20.10")
    namespace = f"cluster-{ID}"
    variable = {"name": "X", "valueFrom": {"secretKeyRef": {"name": "none", "key": "none"}}}
    container = {"env": [variable]}  # is not read
    osm = osm_in_kkp(*arguments, *flags, namespace=namespace, replicas=0, container=container)
    user_cluster(scene.seed, worker, spec=_RUNTIME, osm=osm)
    fill_with_pool(worker)
    scene.fleet()
    ran = scene.run("status", "--output", "json")
    (cluster,) = json.loads(ran.out)["clusters"]
    told_of = [each for each in cluster["findings"] if each["kind"] == "kkp-setting"]
    assert [each["code"] for each in told_of] == [Code.KKP_SETTING_DIFFERS.value] * 2
    proxy, image = (each["message"] for each in told_of)
    assert "-node-http-proxy" in proxy
    assert "@proxy" in proxy
    assert "word" not in ran.out
    assert all(text in image for text in ("-pause-image", "other", "registry.example.com/pause", "pauseImage"))
    ran = scene.run("doctor")
    assert ran.out.count(Code.KKP_SETTING_DIFFERS.value) == 2
    scene.fleet(entry='settings: {pauseImage: other, nodeHTTPProxy: "http://user:word@proxy", clusterDNS: 10.0.0.9}')
    assert Code.KKP_SETTING_DIFFERS.value not in scene.run("status").out


def test_doctor_names_the_clusters_of_a_seed_and_why_others_are_left_out(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    user_cluster(scene.seed, worker, "creating", status={"namespaceName": None})
    user_cluster(scene.seed, worker, "sick", status={"extendedHealth": {"etcd": "HealthStatusDown"}})
    scene.fleet()
    ran = scene.run("doctor")
    assert "1 user cluster of KKP can be worked on" in ran.out
    assert "cluster creating: it is left out: it is not ready" in ran.out
    assert Code.KKP_CLUSTER_UNHEALTHY.value in ran.out
    assert f"cluster {ID}: MachineDeployments: 1" in ran.out


@pytest.mark.exhaustive
def test_several_processes_plan_the_same(scene: Scene, management: Cluster, worker: Cluster) -> None:
    user_cluster(scene.seed, management, "aaaaaaaaaa")
    user_cluster(scene.seed, worker)
    user_cluster(scene.seed, worker, "sick", status={"extendedHealth": {"etcd": "HealthStatusDown"}})
    fill_with_pool(management)
    fill_with_pool(worker)
    scene.fleet("to: {git: {path: clusters}}")
    one, many = (scene.run("plan", "--dangerously-plaintext-secrets", "--jobs", jobs) for jobs in ("1", "2"))
    assert (one.code, one.out, one.err) == (many.code, many.out, many.err)
    assert told(many.err) == [Expected(Code.KKP_CLUSTER_UNHEALTHY, "sick")]


def test_a_change_of_the_repository_is_shown_against_a_revision(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker, spec=_RUNTIME)
    fill_with_pool(worker)
    scene.fleet("to: {git: {path: clusters}}")
    scene.fleet("to: {git: {path: clusters}}", entry="settings: {pauseImage: new}")
    plan, ran = scene.plan("--against", "HEAD~1")
    assert is_fine(ran)
    assert {each["name"] for each in plan[ID]["changes"] if each["action"] == "update"} == {
        "workers-kube-system-config",
        "workers-kube-system-bootstrap-config",
    }
    # What settings come from is not in git.
    plan, ran = scene.plan("--changed-since", "HEAD")
    assert (ran.code, list(plan)) == (0, [ID])
    assert "1 of them because git does not know what servers have" in ran.err
    ran = scene.run("explain", "workers")
    assert ran.code == 0
    assert f"Cluster {ID}: spec.features.externalCloudProvider" in ran.out


def test_an_untrusted_run_asks_no_seed(scene: Scene, through: Callable[[Cluster], Proxy]) -> None:
    proxy = through(scene.seed.server)
    scene.fleet(through=proxy.cluster)
    ran = scene.run("plan", "--untrusted")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.SERVER_IN_UNTRUSTED_RUN, "kkp.seed")]
    assert scene.run("validate", "--untrusted").code == 0
    assert proxy.seen == []


def test_no_secret_of_a_seed_is_shown_or_kept(scene: Scene, worker: Cluster) -> None:
    user_cluster(scene.seed, worker)
    fill_with_pool(worker)
    scene.fleet("to: {git: {path: clusters}}")
    secrets = {"an.admin-token", *worker.tokens.values(), *scene.seed.server.tokens.values()}
    said = ""
    for command in (
        ("plan", "-v"),
        ("plan", "--output", "json"),
        ("apply", "-v"),
        ("status",),
        ("status", "-o", "json"),
        ("doctor",),
        ("refresh", "-v"),
        ("validate",),
        ("explain", "workers"),
        ("render", "--to", "-"),
    ):
        ran = scene.run(*command)
        said += ran.out + ran.err
    assert GETTER_TOKEN in said  # render prints what machines get
    files = [path for path in scene.folder.rglob("*") if path.is_file()]
    said += "".join(path.read_bytes().decode("latin-1") for path in files)
    assert len(files) > 5
    assert [secret for secret in secrets if secret in said] == []


def test_requests_for_each_cluster_are_few(scene: Scene, worker: Cluster, through: Callable[[Cluster], Proxy]) -> None:
    proxy = through(scene.seed.server)
    for name in ("aaa", "bbb", "ccc"):
        user_cluster(scene.seed, worker, name)
    fill_with_pool(worker)
    scene.fleet("to: {git: {path: clusters}}", through=proxy.cluster)
    assert scene.run("plan", "--dangerously-plaintext-secrets", "--jobs", "1").code == 0
    # Clusters, Seeds, the configuration and CustomOperatingSystemProfiles; of each cluster kubeconfig and Deployment.
    assert len(proxy.seen) == 4 + 3 * 2
