"""``osm-gitops render``: into a folder, to stdout, one bad pool among good ones."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import file, objects_of, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import new_repository

_RENDER = ("render", "--from", "tree", "--to", "out")


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_layout_is_one_object_a_file(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), profile("unused"), pool())
    ran = osm_gitops(*_RENDER)
    assert (ran.code, ran.out) == (0, "")
    assert _files(tmp_path / "out/default") == [
        "management/kustomization.yaml",
        "management/operatingsystemconfigs/workers-kube-system-config.yaml",
        "management/operatingsystemprofiles/kube-system/osp-a.yaml",
        "worker/kustomization.yaml",
        "worker/secrets/workers-kube-system-bootstrap-config.yaml",
        "worker/secrets/workers-kube-system-provisioning-config.yaml",
    ]


def test_files_with_secrets_are_for_the_owner_alone(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    osm_gitops(*_RENDER)
    for path in (tmp_path / "out").rglob("*.yaml"):
        private = path.parent.name in {"secrets", "operatingsystemconfigs"}
        assert (stat.S_IMODE(path.stat().st_mode) == 0o600) == private


def test_the_same_inputs_write_nothing_the_second_time(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    assert "6 files written, 0 removed" in osm_gitops(*_RENDER).err
    assert "0 files written, 0 removed" in osm_gitops(*_RENDER).err


def test_stale_files_of_ours_go_and_those_of_others_stay(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool("a"), pool("b"))
    osm_gitops(*_RENDER)
    (tmp_path / "out/default/worker/secrets/mine.yaml").write_text("a: b\n")
    (tree / "MachineDeployment-b.yaml").unlink()
    ran = osm_gitops(*_RENDER)
    assert "3 removed" in ran.err
    assert "files that osm-gitops did not write are not changed" in osm_gitops("plan", *_RENDER[1:]).out
    secrets = {path.name for path in (tmp_path / "out/default/worker/secrets").iterdir()}
    assert secrets == {"a-kube-system-bootstrap-config.yaml", "a-kube-system-provisioning-config.yaml", "mine.yaml"}


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    (tmp_path / "out").mkdir()
    (tmp_path / "out/notes.txt").touch()
    ran = osm_gitops(*_RENDER)
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.TARGET_OF_OTHERS, "out")]
    assert _files(tmp_path / "out") == ["notes.txt"]


def test_a_git_work_tree_is_refused_without_the_flag(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    new_repository(tmp_path / "repo")
    to_repository = ("render", "--from", "tree", "--to", "repo/out")
    ran = osm_gitops(*to_repository)
    assert ran.code == 1
    assert Expected(Code.PLAIN_SECRETS_IN_GIT) in told(ran.err)
    assert not (tmp_path / "repo/out").exists()
    assert osm_gitops(*to_repository, "--dangerously-plaintext-secrets").code == 0
    (tmp_path / "repo/.gitignore").write_text("/ignored/\n")
    assert osm_gitops("render", "--from", "tree", "--to", "repo/ignored").code == 0


def test_stdout_takes_documents_and_nothing_else(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool("good"), pool("bad", operatingSystem="debian"))
    ran = osm_gitops("render", "--from", "tree", "--to", "-")
    assert ran.code == 1
    assert sorted(objects_of(ran.out)) == [
        ("OperatingSystemConfig", "good-kube-system-config"),
        ("OperatingSystemProfile", "osp-a"),
        ("Secret", "good-kube-system-bootstrap-config"),
        ("Secret", "good-kube-system-provisioning-config"),
    ]
    assert ran.out.startswith("---\n")


def test_a_fleet_goes_to_stdout_cluster_by_cluster(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    write_fleet(tmp_path, "clusters: [{name: a, from: tree}, {name: b, from: tree}]")
    ran = osm_gitops("render", "--to", "-")
    assert ran.out.count("kind: OperatingSystemConfig\n") == 2


def _with_trouble(tmp_path: Path) -> Ran:
    """A good pool, and bad ones beside it, over what was rendered while they were good."""
    tree = write_tree(tmp_path / "tree", profile(), pool("good"), pool("bad"), pool("worse"))
    osm_gitops(*_RENDER)
    bad = pool("bad", operatingSystem="rhel", cloudProvider="aws", kubelet="one")
    worse = pool("worse")
    worse["spec"]["template"]["spec"]["versions"]["kubelet"] = 1.34
    write_tree(tree, bad, worse)
    return osm_gitops(*_RENDER)


def test_a_pool_that_fails_keeps_what_it_has(tmp_path: Path) -> None:
    ran = _with_trouble(tmp_path)
    assert ran.code == 1
    assert len(_files(tmp_path / "out/default/worker/secrets")) == 6
    kustomization = (tmp_path / "out/default/worker/kustomization.yaml").read_text()
    assert kustomization.count("- secrets/") == 6


def test_all_problems_of_all_pools_are_told(tmp_path: Path) -> None:
    lines = [line for line in _with_trouble(tmp_path).err.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 4
    assert any('does not support operating system "rhel"' in line for line in lines)
    assert any('does not support cloud provider "aws"' in line for line in lines)
    assert any("MachineDeployment kube-system/bad: spec.template.spec.versions.kubelet" in line for line in lines)
    assert any("MachineDeployment kube-system/worse: spec.template.spec.versions.kubelet" in line for line in lines)
    assert all(line.startswith("Error: tree/MachineDeployment-") for line in lines)


def test_a_problem_of_many_pools_is_told_once_with_their_names(tmp_path: Path) -> None:
    broken = profile(script="#!/bin/sh\n{{ .Nothing }}\n")
    write_tree(tmp_path / "tree", broken, *(pool(f"p{number}") for number in range(8)))
    ran = osm_gitops(*_RENDER)
    assert ran.code == 1
    error, pools, written = ran.err.splitlines()
    assert "OperatingSystemProfile kube-system/osp-a, /opt/bin/bootstrap" in error
    assert pools == (
        "  Not rendered because of it in cluster default: kube-system/p0, kube-system/p1, kube-system/p2, "
        "kube-system/p3, kube-system/p4 and 3 more."
    )
    assert written.startswith("default: 0 objects of 0 pools")


def test_what_is_missing_for_all_pools_is_told_at_once(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool())
    (tree / "ConfigMap-cluster-info.yaml").unlink()
    (tree / "Secret-cloud-init-getter-token.yaml").unlink()
    ran = osm_gitops(*_RENDER)
    assert ran.code == 1
    assert "cluster-info" in ran.err
    assert "cloud-init-getter-token" in ran.err


def test_the_place_of_a_template_error_is_the_line_in_the_manifest(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", pool())
    (tree / "osp.yaml").write_text("""\
apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata:
  name: osp-a
spec:
  osName: ubuntu
  osVersion: "24.04"
  version: v1.0.0
  supportedCloudProviders: [{name: hetzner}]
  bootstrapConfig:
    templates:
      proxy: |-
        one
        {{ if }}
    files:
    - path: /opt/quoted
      content: {inline: {data: "one\\ntwo\\n{{ end }}"}}
  provisioningConfig:
    files:
    - path: /opt/block
      content:
        inline:
          data: |
            one
            two
            {{ .Nothing }}
""")
    ran = osm_gitops(*_RENDER)
    assert ran.code == 1
    places = sorted(line.split(": ")[1] for line in ran.err.splitlines() if line.startswith("Error"))
    assert places == ["tree/osp.yaml:14", "tree/osp.yaml:17"]
    (tree / "osp.yaml").write_text((tree / "osp.yaml").read_text().replace("{{ if }}", "").replace("{{ end }}", ""))
    ran = osm_gitops(*_RENDER)
    assert "Error: tree/osp.yaml:26: OperatingSystemProfile kube-system/osp-a, /opt/block: " in ran.err


def test_a_broken_profile_is_told_with_all_its_problems_and_fails_its_pools(tmp_path: Path) -> None:
    broken = profile(osName="debian", version="", provisioningConfig={"files": [file("relative", "x", 999999)]})
    write_tree(tmp_path / "tree", broken, profile("osp-b"), pool(), pool("good", "osp-b"))
    ran = osm_gitops(*_RENDER)
    assert ran.code == 1
    of_profile = [line for line in ran.err.splitlines() if "tree/OperatingSystemProfile-osp-a.yaml" in line]
    assert len(of_profile) >= 2
    assert "OperatingSystemProfile kube-system/osp-a cannot be used because of its own problems" in ran.err
    assert "default: 4 objects of 1 pool" in ran.err


@pytest.mark.parametrize("command", ["render", "plan"])
def test_a_document_that_cannot_be_read_is_an_error_though_nothing_is_deleted(tmp_path: Path, command: str) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool())
    (tree / "broken.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: x\n")
    ran = osm_gitops(command, *_RENDER[1:])
    assert ran.code == 1
    assert Expected(Code.YAML_SYNTAX, "tree/broken.yaml") in told(ran.err)


def test_a_document_that_cannot_be_read_forbids_deletion(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool("a"), pool("b"))
    osm_gitops(*_RENDER)
    (tree / "MachineDeployment-b.yaml").write_text("apiVersion: cluster.k8s.io/v1alpha1\nkind: MachineDeployment\n  x")
    ran = osm_gitops(*_RENDER)
    assert ran.code == 1
    assert len(_files(tmp_path / "out/default/worker/secrets")) == 4
    assert (tmp_path / "out/default/worker/kustomization.yaml").read_text().count("- secrets/") == 4


def test_only_narrows_and_deletes_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool("a"), pool("b", operatingSystem="debian"))
    ran = osm_gitops(*_RENDER, "--only", "a*")
    assert (ran.code, ran.err) == (0, "default: 4 objects of 1 pool, 6 files written, 0 removed\n")
    write_tree(tmp_path / "tree", pool("b"))
    assert osm_gitops(*_RENDER, "--only", "b").code == 0
    assert len(_files(tmp_path / "out/default/worker/secrets")) == 4
    assert (tmp_path / "out/default/worker/kustomization.yaml").read_text().count("- secrets/") == 4


def test_only_that_matches_nothing_is_a_slip(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool("a"))
    for command in ("render", "plan"):
        ran = osm_gitops(command, *_RENDER[1:], "--only", "nope*")
        assert ran.code == 1
        assert Expected(Code.NO_POOL_MATCHES, "nope*") in told(ran.err)


def test_a_profile_that_prints_the_kubeconfig_needs_the_token(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(script="{{ .BootstrapKubeconfig }}"), pool())
    ran = osm_gitops(*_RENDER)
    assert ran.code == 1
    assert Expected(Code.BOOTSTRAP_TOKEN_MISSING) in told(ran.err)
    (tree / "osp.yaml").write_text("")
    write_tree(tree, profile(script="{{ .BootstrapKubeconfigSecretName }}"))
    assert osm_gitops(*_RENDER).code == 0


def test_v_tells_what_was_passed_over(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", profile(), pool())
    (tree / "values.yaml").write_text("a: b\n")
    assert "values.yaml" not in osm_gitops(*_RENDER).err
    assert "tree/values.yaml: holds no Kubernetes objects" in osm_gitops(*_RENDER, "-v").err
