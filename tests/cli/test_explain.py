"""``osm-gitops explain``: what made a pool's configuration, and one rendered text of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from osm_gitops.sources.builtin import FOLDER, newest
from tests.cli.adopted import Adopted
from tests.cli.running import osm_gitops
from tests.cli.scenes import GETTER_TOKEN, file, pool, profile, write_fleet, write_tree
from tests.cli.schemas import checked
from tests.demo_fleet import DEMO
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_KUBELET = "v1.kubelet-config.machine-controller.kubermatic.io"


def _explained(*arguments: str) -> dict[str, Any]:
    ran = osm_gitops("explain", *arguments, "-o", "json")
    return checked("explanation", ran.out)


def test_a_profile_is_told_with_the_reason_for_it(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    told = _explained("workers", "--from", "tree")["profile"]
    assert told["name"] == "osp-a"
    assert told["why"] == "annotation k8c.io/operating-system-profile (tree/MachineDeployment-workers.yaml:7)"
    assert told["whyNamespace"] == "setting namespace"
    assert told["where"] == "tree/OperatingSystemProfile-osp-a.yaml:1"
    assert (told["version"], told["templates"], told["builtIn"]) == ("v1.0.0", "go", "")


def test_a_profile_that_no_annotation_names_is_the_default(tmp_path: Path) -> None:
    plain = pool(annotations={"k8c.io/operating-system-profile-namespace": "profiles"})
    del plain["metadata"]["annotations"]["k8c.io/operating-system-profile"]
    body = profile("osp-ubuntu")
    body["metadata"]["namespace"] = "profiles"
    write_tree(tmp_path / "tree", body, plain)
    told = _explained("workers", "--from", "tree")["profile"]
    assert told["why"] == "the default for ubuntu, as no annotation names one"
    assert told["whyNamespace"].startswith("annotation k8c.io/operating-system-profile-namespace (tree/")


def test_each_setting_is_told_with_the_place_that_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    write_fleet(
        tmp_path,
        "defaults:\n  settings: {pauseImage: 'registry.k8s.io/pause:3.10'}\n"
        "clusters:\n- name: eu\n  from: tree\n  settings:\n"
        "    nodeNoProxy: .svc\n    clusterDNS: [10.0.0.1, 10.0.0.2]\n",
    )
    monkeypatch.setenv("OSM_GITOPS_NODE_HTTP_PROXY", "http://proxy:3128")
    settings = {each["name"]: each for each in _explained("workers", "--node-no-proxy=.local")["settings"]}
    places = {name: (each["value"], each["where"]) for name, each in settings.items() if not each["default"]}
    assert places == {
        "node-no-proxy": (".local", "flag --node-no-proxy"),
        "node-http-proxy": ("http://proxy:3128", "environment OSM_GITOPS_NODE_HTTP_PROXY"),
        "cluster-dns": ("10.0.0.1,10.0.0.2", "osm-gitops.yaml:10 clusters[0].settings.clusterDNS"),
        "pause-image": ("registry.k8s.io/pause:3.10", "osm-gitops.yaml:4 defaults.settings.pauseImage"),
    }
    assert settings["container-runtime"]["value"] == "containerd"
    assert settings["container-runtime"]["where"] == "default"
    assert settings["external-cloud-provider"]["value"] == "false"


def test_values_that_templates_ask_for_are_told(tmp_path: Path) -> None:
    script = '#!/bin/sh\ncurl {{ value("downloads.cni", "https://cni.example.com") }}/{{ value("n", 3) }}\n'
    body = profile(script=script, provisioningConfig={})
    body["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
    write_tree(tmp_path / "tree", body, pool())
    where = "profile's default"
    assert _explained("workers", "--from", "tree")["values"] == [
        {"name": "downloads.cni", "value": "https://cni.example.com", "where": where, "default": True},
        {"name": "n", "value": "3", "where": where, "default": True},
    ]


def test_facts_are_named_and_not_shown(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    ran = osm_gitops("explain", "workers", "--from", "tree")
    facts = {each["name"]: each for each in _explained("workers", "--from", "tree")["rendering"]["facts"]}
    info = "ConfigMap kube-public/cluster-info (tree/ConfigMap-cluster-info.yaml:1)"
    assert (facts["API server"]["value"], facts["API server"]["where"]) == ("https://api.example.com:6443", info)
    assert (facts["CA of the cluster"]["value"], facts["CA of the cluster"]["where"]) == ("present", info)
    getter = facts["token that fetches the provisioning Secret"]
    assert getter["where"].startswith("Secret cloud-init-settings/cloud-init-getter-token, key token (tree/")
    assert getter["value"] == "present"
    assert facts["bootstrap token"]["value"] == "none yet"
    assert GETTER_TOKEN not in ran.out


def test_annotations_of_the_kubelet_are_told_whether_they_count_or_not(tmp_path: Path) -> None:
    annotations = {
        f"{_KUBELET}/MaxPods": "50",
        f"{_KUBELET}X/MaxPods": "60",
        f"{_KUBELET}/MaxPodz": "70",
        "v1.kubelet-feature-gates.machine-controller.kubermatic.io/FeatureGates": "A=true",
        "unrelated": "x",
    }
    machine = pool(annotations=annotations)
    machine["spec"]["template"]["metadata"] = {"annotations": {f"{_KUBELET}/KubeReserved": "cpu=1"}}
    machine["spec"]["template"]["spec"]["metadata"] = {"annotations": {f"{_KUBELET}/KubeReserved": "cpu=2"}}
    write_tree(tmp_path / "tree", profile(), machine)
    told = _explained("workers", "--from", "tree")["annotations"]
    assert [(each["option"], each["value"]) for each in told] == [
        ("MaxPods", "50"),
        ("", "70"),
        ("", "60"),
        ("", "A=true"),
        ("", "cpu=1"),
        ("", "cpu=2"),
    ]
    reasons = [each["why"] for each in told[1:]]
    assert reasons[0].startswith("the options are KubeReserved, ")
    assert reasons[1] == f"{_KUBELET}/MaxPods sets MaxPods"
    assert reasons[2].endswith("feature gates are a setting, --node-kubelet-feature-gates")
    assert "spec.template.metadata.annotations" in reasons[3]
    assert "spec.template.spec.metadata.annotations" in reasons[4]


def test_objects_files_and_sizes_are_told(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    told = _explained("workers", "--from", "tree")["rendering"]
    assert [f"{each['side']} {each['namespace']}/{each['name']}" for each in told["objects"] + told["live"]] == [
        "management kube-system/osp-a",
        "management kube-system/workers-kube-system-config",
        "worker cloud-init-settings/workers-kube-system-provisioning-config",
        "worker cloud-init-settings/workers-kube-system-bootstrap-config",
        "worker cloud-init-settings/kube-system-workers-kubelet-bootstrap-config",
    ]
    assert [(each["half"], each["mode"], each["path"]) for each in told["files"]] == [
        ("bootstrap", "0755", "/opt/bin/bootstrap"),
        ("provisioning", "0755", "/opt/bin/setup"),
        ("provisioning", "0600", "/etc/containerd/certs.d/docker.io/hosts.toml"),
    ]
    assert told["files"][1]["bytes"] == len("#!/bin/sh\necho v1.34.2\n")
    assert told["files"][1]["where"].startswith("tree/OperatingSystemProfile-osp-a.yaml:")
    bootstrap, provisioning = told["userData"]
    assert (bootstrap["counted"], bootstrap["limit"]) == ("raw", 32_768)
    assert bootstrap["headroom"] == 32_768 - bootstrap["raw"]
    assert provisioning["limit"] == 1_048_576


def test_user_data_that_a_provider_would_refuse_is_a_warning(tmp_path: Path) -> None:
    body = profile(script="#!/bin/sh\n" + "# much ado\n" * 4_000)
    write_tree(tmp_path / "tree", body, pool())
    told = _explained("workers", "--from", "tree")
    assert told["rendering"]["userData"][0]["headroom"] < 0
    assert "bytes too large: Hetzner Cloud API" in told["warnings"][0]["message"]
    ran = osm_gitops("explain", "workers", "--from", "tree")
    assert (ran.code, ran.err) == (0, "")
    assert "bytes more than the limit of 32,768 raw" in ran.out


def test_a_pool_that_cannot_be_rendered_is_explained_as_far_as_it_goes(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(script="{{ .Nothing }}"), pool())
    explained = _explained("workers", "--from", "tree")
    assert (explained["rendering"], explained["profile"]["name"]) == (None, "osp-a")
    assert explained["problems"][0]["code"] == Code.TEMPLATE_FAILED.value
    ran = osm_gitops("explain", "workers", "--from", "tree")
    assert ran.code == 1
    assert "Cannot be rendered" in ran.out
    ran = osm_gitops("explain", "workers", "--from", "tree", "--file", "/opt/bin/setup")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.TEMPLATE_FAILED) in told(ran.err)


def test_a_profile_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool(profile="osp-x"))
    ran = osm_gitops("explain", "workers", "--from", "tree")
    assert ran.code == 1
    assert "kube-system/osp-x, not found" in ran.out
    strange = pool("b", operatingSystem="plan9")
    del strange["metadata"]["annotations"]["k8c.io/operating-system-profile"]
    write_tree(tmp_path / "tree", strange)
    ran = osm_gitops("explain", "b", "--from", "tree")
    assert "none: no annotation names one, and there is no default" in ran.out


def test_one_file_is_printed_with_its_secrets_masked(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    ran = osm_gitops("explain", "workers", "--from", "tree", "--file", "/opt/bin/bootstrap")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "#!/bin/sh\n***\n"
    ran = osm_gitops("explain", "workers", "--from", "tree", "--file", "/opt/bin/setpu")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.BOOT_FILE_NOT_FOUND, "/opt/bin/setpu", "/opt/bin/setup?") in told(ran.err)


def test_a_file_that_is_looked_for_in_the_wrong_half_is_told_where_it_is(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    ran = osm_gitops("explain", "workers", "--from", "tree", "--file", "/opt/bin/setup", "--half", "bootstrap")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.BOOT_FILE_NOT_FOUND, "bootstrap", "/opt/bin/setup") in told(ran.err)


def test_a_file_of_both_halves_must_be_told_apart(tmp_path: Path) -> None:
    twice = [file("/opt/bin/bootstrap", "#!/bin/sh\necho second\n"), file("/opt/bin/setup", "")]
    write_tree(tmp_path / "tree", profile(provisioningConfig={"files": twice}), pool())
    arguments = ("explain", "workers", "--from", "tree", "--file", "/opt/bin/bootstrap")
    ran = osm_gitops(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.BOOT_FILE_NOT_FOUND) in told(ran.err)
    assert osm_gitops(*arguments, "--half", "provisioning").out == "#!/bin/sh\necho second\n"
    assert osm_gitops(*arguments, "--half", "bootstrap").out == "#!/bin/sh\n***\n"


def test_whole_user_data_is_printed_with_its_secret_lines_masked(tmp_path: Path) -> None:
    body = profile()
    plain = {"path": "/etc/token", "content": {"inline": {"data": "of: {{ .KubeVersion }}\ntoken: {{ .Token }}\n"}}}
    body["spec"]["bootstrapConfig"]["files"].append(plain)
    write_tree(tmp_path / "tree", body, pool())
    ran = osm_gitops("explain", "workers", "--from", "tree", "--user-data", "bootstrap")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("#cloud-config\n")
    assert "\n    of: v1.34.2\n    ***\n" in ran.out
    # The script stands in base64, in which the token is too.
    assert "encoding: 'b64'\n  content: |-\n    ***\n" in ran.out


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    for more in (("--file", "/x", "--user-data", "bootstrap"), ("--half", "bootstrap")):
        ran = osm_gitops("explain", "workers", "--from", "tree", *more)
        assert (ran.code, ran.out) == (1, "")


def test_a_name_must_mean_one_pool(tmp_path: Path) -> None:
    for name in ("eu", "us"):
        write_tree(tmp_path / name, profile(), pool(), pool("other"))
    write_fleet(tmp_path, "clusters: [{name: prod-eu, from: eu}, {name: prod-us, from: us}]")
    ran = osm_gitops("explain", "workers")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.SEVERAL_POOLS, "kube-system/workers", "prod-eu", "prod-us") in told(ran.err)
    assert _explained("kube-system/workers", "--cluster", "prod-us")["cluster"] == "prod-us"
    ran = osm_gitops("explain", "worker", "--cluster", "prod-us")
    assert Expected(Code.POOL_NOT_FOUND, "MachineDeployment", "worker", "workers?") in told(ran.err)


def test_a_pool_that_cannot_be_read_is_told_with_its_problems(tmp_path: Path) -> None:
    broken = pool()
    broken["spec"]["template"]["spec"]["versions"] = []
    write_tree(tmp_path / "tree", profile(), broken)
    ran = osm_gitops("explain", "workers", "--from", "tree")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.WRONG_TYPE, "spec.template.spec.versions") in told(ran.err)


def test_control_characters_in_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(script='#!/bin/sh\necho "\x1b[2J"\ttab\n'), pool())
    ran = osm_gitops("explain", "workers", "--from", "tree", "--file", "/opt/bin/bootstrap")
    assert ran.out == '#!/bin/sh\necho "\\x1b[2J"\ttab\n'


def test_a_pool_of_a_live_cluster_is_explained(adopted: Adopted) -> None:
    name = adopted.osm.pools()[0]
    kubeconfig = adopted.osm.management.kubeconfig(adopted.folder / "kubeconfig", "admin")
    told = _explained(name, "--from", "cluster", "--kubeconfig", str(kubeconfig), "--external-cloud-provider")
    assert (told["problems"], len(told["hosts"])) == ([], 1)
    assert told["where"].startswith("https://127.0.0.1:")
    facts = {each["name"]: each["where"] for each in told["rendering"]["facts"]}
    assert facts["CA of the cluster"] == "the kubeconfig of the worker cluster"


_OVERLAY = """\
apiVersion: osm-gitops.io/v1alpha1
kind: Overlay
settings: {pauseImage: harbor.example.com/pause:3.10}
values: {mirror: https://m.example.com}
patches:
- target: {name: osp-a}
  merge: {spec: {osVersion: "24.10"}}
"""


def test_overlays_are_told_where_they_count(tmp_path: Path) -> None:
    body = profile(script='#!/bin/sh\ncurl {{ value("mirror", "https://h") }}/x\n', provisioningConfig={})
    body["metadata"]["annotations"] = {"osm-gitops.io/template": "jinja2/v1"}
    write_tree(tmp_path / "tree", body, pool())
    (tmp_path / "air").mkdir()
    (tmp_path / "air" / "overlay.yaml").write_text(_OVERLAY, "utf-8")
    told = _explained("workers", "--from", "tree", "--overlay", "air")
    assert told["profile"]["touchedBy"] == ["the patch at air/overlay.yaml:7"]
    assert told["profile"]["version"].startswith("v1.0.0+air.")
    settings = {each["name"]: each for each in told["settings"]}
    assert settings["pause-image"]["where"].startswith("air/overlay.yaml:3")
    (value,) = told["values"]
    assert (value["value"], value["default"]) == ("https://m.example.com", False)
    assert value["where"].startswith("air/overlay.yaml:4")
    assert "m.example.com" in _downloads("workers", "--from", "tree", "--overlay", "air")["hosts"]


# --- target, machine, terminal ---


def _target(*arguments: str) -> Any:
    return _explained("workers", *arguments)["target"]


def test_the_target_is_compared_and_the_commit_named_that_changed_it_last(tmp_path: Path) -> None:
    new_repository(tmp_path / "desired")
    write_tree(tmp_path / "tree", profile(), pool(), pool("others"))
    fleet = "clusters:\n- {name: eu, from: tree, to: {git: {path: desired, branch: main}}}\n"
    write_fleet(tmp_path, fleet)
    missing = _target()
    assert (missing["state"], missing["commit"], missing["where"]) == ("missing", "", "desired")
    assert missing["changes"][0].startswith("create OperatingSystemProfile kube-system/osp-a: ")

    apply = ("apply", "--yes", "--dangerously-plaintext-secrets")
    assert osm_gitops(*apply).code == 0
    first = git(tmp_path / "desired", "rev-parse", "HEAD").strip()
    (tmp_path / "desired" / "README.md").write_text("other\n", "utf-8")
    git(tmp_path / "desired", "commit", "--quiet", "--all", "-m", "nothing of a pool")
    same = _target()
    assert (same["state"], same["changes"], same["problems"]) == ("same", [], [])
    assert same["commit"].startswith(f"{first[:12]} of ")
    shown = osm_gitops("explain", "workers").out
    assert f"  desired: has the same content, since commit {first[:12]} of " in shown

    write_tree(tmp_path / "tree", pool("others", kubelet="1.34.1"))
    assert _target()["state"] == "same"
    write_tree(tmp_path / "tree", pool(kubelet="1.34.1"))
    differs = _target()
    assert differs["state"] == "differs"
    assert all(each.startswith("update ") for each in differs["changes"])
    assert not any("others" in each for each in differs["changes"])

    next((tmp_path / "desired" / "eu").rglob("*workers*config.yaml")).write_text("a: [\n", "utf-8")
    assert _target()["state"] != "same"


def test_a_target_that_cannot_be_read_is_told_and_nothing_without_a_target(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    assert _target("--from", "tree") is None
    write_fleet(tmp_path, "clusters:\n- {name: eu, from: tree, to: cluster, management: {kubeconfig: gone}}\n")
    assert _target("--untrusted") is None
    unknown = _target()
    assert (unknown["state"], unknown["where"]) == ("unknown", "cluster")
    assert unknown["problems"]


def test_what_is_wrong_comes_first(tmp_path: Path) -> None:
    body = profile(script="#!/bin/sh\n" + "# much ado\n" * 4_000)
    write_tree(tmp_path / "tree", body, pool())
    shown = osm_gitops("explain", "workers", "--from", "tree").out.split("\n\n")
    assert [part.splitlines()[0] for part in shown][1:3] == ["Warnings", "Profile"]
    write_tree(tmp_path / "tree", profile(script="{{ .Nothing }}"), pool())
    shown = osm_gitops("explain", "workers", "--from", "tree").out.split("\n\n")
    assert [part.splitlines()[0] for part in shown][1:3] == ["Cannot be rendered", "Profile"]


def test_unknown_keys_of_the_machine_deployment_are_told(tmp_path: Path) -> None:
    body = pool(cloudProviderSpec={"serverType": "cx22", "serverTyp": "cx22"})
    body["spec"]["template"]["spec"]["providerSpec"]["value"]["operatingSystemSpec"] = {"disUpgradeOnBoot": True}
    write_tree(tmp_path / "tree", profile(), body)
    findings = _explained("workers", "--from", "tree")["findings"]
    fields = {each["field"].rpartition(".")[2]: each for each in findings}
    assert {"serverTyp", "disUpgradeOnBoot"} <= set(fields)
    shown = osm_gitops("explain", "workers", "--from", "tree").out
    assert all(f"- {each['where']}: {each['field']}: " in shown for each in findings)


def test_commands_for_the_machine_name_its_units(tmp_path: Path) -> None:
    units = [{"name": "setup.service", "enable": True, "content": "[Service]\nExecStart=/opt/bin/setup\n"}]
    half = {"files": [file("/opt/bin/setup", "#!/bin/sh\n", 755)], "units": units}
    write_tree(tmp_path / "tree", profile(bootstrapConfig=half), pool())
    commands = [each["command"] for each in _explained("workers", "--from", "tree")["rendering"]["commands"]]
    assert commands[0] == "cloud-init status --long"
    assert "journalctl --boot --no-pager -u setup.service" in commands


def test_no_line_on_a_terminal_is_longer_than_120_columns(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    command = [sys.executable, "-m", "osm_gitops", "explain", "workers", "--from", "tree"]
    command += [
        "--node-no-proxy",
        ",".join(f"host-{number}.example.com" for number in range(20)),
        "--pause-image",
        "x" * 300,
    ]
    for columns, longest in ((300, 120), (80, 80)):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        with subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs) as running:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
                while part := os.read(ours, 65_536):
                    shown += part
            assert running.wait() == 0
        os.close(ours)
        lines = shown.decode().splitlines()
        assert max(map(len, lines)) <= longest
        assert "host-19.example.com" in "".join(line.strip() for line in lines)


# --- downloads ---

_FETCHING = """\
#!/bin/bash
case $(uname -m) in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
apt-get install -y curl
curl -fLo /opt/k https://dl.example.com/{{ .KubeVersion }}/$arch/kubelet
curl -H 'Authorization: Bearer {{ .Token }}' {{ .ServerURL }}/api/v1/{{ .SecretName }} | tee /x
curl https://${MIRROR}/x
"""


def _downloads(*arguments: str) -> dict[str, Any]:
    ran = osm_gitops("explain", "--downloads", *arguments, "-o", "json")
    return checked("downloads", ran.out)


def test_what_nodes_of_a_pool_ask_for_is_listed_with_its_places(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(script=_FETCHING), pool())
    told = _downloads("workers", "--from", "tree", "--node-http-proxy=http://proxy.example.com:3128")
    needs = [(each["kind"], each["name"], each["architectures"]) for each in told["needs"]]
    both = ["amd64", "arm64"]
    assert needs == [
        ("api", "https://api.example.com:6443/api/v1/workers-kube-system-provisioning-config", both),
        ("api", "https://api.example.com:6443", both),
        ("proxy", "http://proxy.example.com:3128", []),
        ("url", "https://${MIRROR}/x", both),
        ("url", "https://dl.example.com/v1.34.2/amd64/kubelet", ["amd64"]),
        ("url", "https://dl.example.com/v1.34.2/arm64/kubelet", ["arm64"]),
        ("repository", "the repositories that the image is configured with", both),
        ("package", "curl", both),
        ("registry", "https://registry-1.docker.io", both),
    ]
    assert told["needs"][3]["unresolved"] == ["${MIRROR}"]
    place = told["needs"][4]["places"][0]
    assert (place["half"], place["path"], place["line"]) == ("bootstrap", "/opt/bin/bootstrap", 4)
    assert place["source"].startswith("tree/OperatingSystemProfile-osp-a.yaml:")
    assert told["hosts"] == [
        "api.example.com:6443",
        "dl.example.com",
        "proxy.example.com:3128",
        "registry-1.docker.io",
    ]
    assert list(told["redirects"]) == ["registry-1.docker.io"]
    assert "production.cloudflare.docker.com" in told["redirects"]["registry-1.docker.io"]


def test_without_a_pool_the_list_is_that_of_all_of_them(tmp_path: Path) -> None:
    write_tree(tmp_path / "eu", profile(script=_FETCHING), pool("a"), pool("b"), pool("c", kubelet="1.35.0"))
    write_tree(tmp_path / "us", profile(script=_FETCHING), pool("a"))
    write_fleet(tmp_path, "clusters: [{name: eu, from: eu}, {name: us, from: us}]")
    told = _downloads()
    users = {each["name"]: [(pool["cluster"], pool["name"]) for pool in each["pools"]] for each in told["needs"]}
    assert users["https://dl.example.com/v1.34.2/amd64/kubelet"] == [("eu", "a"), ("eu", "b"), ("us", "a")]
    assert users["https://dl.example.com/v1.35.0/amd64/kubelet"] == [("eu", "c")]
    assert len(users["https://api.example.com:6443/api/v1/<pool>-provisioning-config"]) == 4
    ran = osm_gitops("explain", "--downloads")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("What nodes of 4 pools of 2 clusters ask for while they boot\n")
    assert "all pools" in ran.out
    assert "not known: ${MIRROR}" in ran.out


def test_pools_that_cannot_be_rendered_are_told_beside_the_list(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), profile("osp-b", script="{{ .Nothing }}"), pool(), pool("b", "osp-b"))
    ran = osm_gitops("explain", "--downloads", "--from", "tree")
    assert ran.code == 1
    assert "Not analysed, because it cannot be rendered" in ran.out
    told = _downloads("--from", "tree")
    assert [each["pool"]["name"] for each in told["failed"]] == ["b"]
    ran = osm_gitops("explain", "b", "--downloads", "--from", "tree")
    assert (ran.code, ran.out) == (1, "")


def test_what_was_not_readable_is_told_with_the_pool_that_needs_it(tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path, dirs_exist_ok=True)
    ran = osm_gitops("explain", "general", "--downloads", "--cluster", "prod-eu")
    assert (ran.code, ran.out) == (1, "")
    (first, _), *others = told(ran.err)
    assert first is Code.NO_KEY_OPENS
    assert {code for code, _ in others} == {Code.FACT_MAY_BE_UNREAD}


def test_a_list_holds_no_secret(tmp_path: Path) -> None:
    script = '#!/bin/sh\ncurl https://u:{{ .Token }}@h.example.com/{{ .Token | b64enc }}\neval "{{ .Token }} $x"\n'
    write_tree(tmp_path / "tree", profile(script=script), pool())
    mirror = "--node-containerd-registry-mirrors=quay.io=https://m:mirror-password@mirror.example.com"
    for more in ((), ("-o", "json"), ("workers",)):
        ran = osm_gitops("explain", "--downloads", "--from", "tree", mirror, *more)
        assert GETTER_TOKEN not in ran.out + ran.err
        assert "mirror-password" not in ran.out + ran.err
        assert "***" in ran.out


def test_explain_needs_a_pool_or_the_list(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    ran = osm_gitops("explain", "--from", "tree")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.MISSING_ARGUMENT) in told(ran.err)
    ran = osm_gitops("explain", "workers", "--from", "tree", "--downloads", "--file", "/x")
    assert (ran.code, ran.out) == (1, "")


def test_a_line_of_a_default_profile_is_told_in_the_part_that_it_comes_from(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", pool(profile="osp-ubuntu", kubelet="1.35.4"))
    told = _downloads("workers", "--from", "tree")
    kubelet = next(each for each in told["needs"] if each["name"].endswith("amd64/kubelet"))
    (place,) = kubelet["places"]
    path, _, line = place["source"].rpartition(":")
    assert path == f"builtin:parts/binaries.sh@{newest()}"
    part = FOLDER / newest() / "parts" / "binaries.sh"
    assert "kubelet" in part.read_text("utf-8").splitlines()[int(line) - 1]
