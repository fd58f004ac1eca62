"""What a server added to a MachineDeployment in a file of a source decides nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from tests.apiserver.client import path_of
from tests.cli.adopted import Adopted
from tests.cli.running import osm_gitops
from tests.cli.scenes import clone_with_remote, objects_of, pool, profile, write_tree
from tests.git.repos import git

_REVISION = "machinedeployment.clusters.k8s.io/revision"
_STAMP = "k8c.io/machine-deployment-revision"
_HASH = "k8c.io/mdannotations-hash"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ADDED = {
    _REVISION: "1",
    "machinedeployment.clusters.k8s.io/revision-history": "1",
    "deployment.kubernetes.io/revision": "7",
    _LAST_APPLIED: '{"kind": "MachineDeployment"}',
}
_SECRET = ("Secret", "workers-kube-system-bootstrap-config")


def _dumped(name: str = "workers", **metadata: Any) -> dict[str, Any]:
    """A MachineDeployment as ``kubectl get --output yaml`` prints it."""
    body = pool(name, annotations=_ADDED)
    body["metadata"] |= {"uid": "0b6b9c0e", "resourceVersion": "4711", "generation": 3, **metadata}
    return body | {"status": {"observedGeneration": 3}}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git work tree for the desired state."""
    return clone_with_remote(tmp_path)[1]


def _annotations(text: str) -> dict[str, str]:
    found: dict[str, str] = objects_of(text)[_SECRET]["metadata"]["annotations"]
    return found


def _rendered(tree: Path, *more: str) -> dict[str, str]:
    ran = osm_gitops("render", "--from", str(tree), "--to", "-", *more)
    assert ran.code == 0, ran.err
    return _annotations(ran.out)


def test_git_gets_the_same_bytes_from_a_dump_and_from_what_its_author_wrote(tmp_path: Path, repo: Path) -> None:
    """A revision in git would stay for ever, and from the next template on no machine could boot."""
    source = tmp_path / "source"
    arguments = ("--from", str(source), "--to", str(repo / "clusters"), "--dangerously-plaintext-secrets")
    write_tree(source, profile(), pool())
    assert osm_gitops("apply", "--yes", *arguments).code == 0
    write_tree(source, _dumped())
    ran = osm_gitops("apply", "--yes", *arguments)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No changes.")
    (warning,) = [line for line in ran.out.splitlines() if _REVISION in line]
    assert warning.strip() == (
        f"Warning: {source}/MachineDeployment-workers.yaml:8: MachineDeployment kube-system/workers: "
        f"metadata.annotations.{_REVISION}: machine-controller sets this in the cluster, so the value of a file is "
        "ignored. Remove it: osm-gitops import writes manifests without server-side additions [OG1219]"
    )
    text = (repo / "clusters/default/worker/secrets" / f"{_SECRET[1]}.yaml").read_text("utf-8")
    assert _STAMP not in _annotations(text)


def test_a_frozen_cluster_renders_as_osm_does_and_into_git_as_apply_does(tmp_path: Path, repo: Path) -> None:
    written = _rendered(write_tree(tmp_path / "written", profile(), pool()))
    dumped = write_tree(tmp_path / "dumped", profile(), _dumped())
    frozen = _rendered(dumped)
    assert (frozen[_STAMP], _STAMP in written, frozen[_HASH] == written[_HASH]) == ("1", False, False)
    ran = osm_gitops("render", "--from", str(dumped), "--to", str(repo / "out"), "--dangerously-plaintext-secrets")
    assert ran.code == 0, ran.err
    text = (repo / "out/default/worker/secrets" / f"{_SECRET[1]}.yaml").read_text("utf-8")
    assert _annotations(text) == written


@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_file_that_says_deleted_deletes_nothing(tmp_path: Path, repo: Path, command: str) -> None:
    source = tmp_path / "source"
    to = ("--from", str(source), "--to", str(repo / "clusters"))
    write_tree(source, profile(), pool("workers"), pool("others"))
    assert osm_gitops("apply", "--yes", *to, "--dangerously-plaintext-secrets").code == 0
    head = git(repo, "rev-parse", "HEAD")
    write_tree(source, _dumped(deletionTimestamp="2026-01-05T10:00:00Z"))
    ran = osm_gitops(command, *to, *(["--yes", "--dangerously-plaintext-secrets"] if command == "apply" else []))
    assert ran.code == 1
    assert "MachineDeployment kube-system/workers: metadata.deletionTimestamp: " in ran.err + ran.out
    assert Code.DELETION_TIMESTAMP_IN_FILE.value in ran.err + ran.out
    assert git(repo, "rev-parse", "HEAD") == head


def test_several_are_one_warning(tmp_path: Path, repo: Path) -> None:
    source = write_tree(tmp_path / "source", profile(), _dumped("a"), _dumped("b"), _dumped("c"), pool("d"))
    ran = osm_gitops("plan", "--dangerously-plaintext-secrets", "--from", str(source), "--to", str(repo / "clusters"))
    assert ran.code == 0, ran.err
    assert ran.out.count(_REVISION) == 1
    assert "MachineDeployment kube-system/a and 2 more: metadata.annotations" in ran.out


def test_a_cluster_counts_for_what_servers_add_and_a_file_for_the_rest(adopted: Adopted, tmp_path: Path) -> None:
    """OSM hashes all annotations of the live object: a pool that is read from a file must not look changed."""
    live = adopted.osm.objects["MachineDeployment", "kube-system", "pool-00000"]
    client = adopted.osm.worker.client()
    client.merge(path_of(live), {"metadata": {"annotations": {_LAST_APPLIED: "{}"}}})
    assert adopted.run("apply", "--yes").code == 0
    before = adopted.secret("pool-00000-kube-system-bootstrap-config")
    annotations = live["metadata"]["annotations"] | {_REVISION: "9", _LAST_APPLIED: "[]"}
    (tmp_path / "pools").mkdir()
    for name in adopted.osm.pools():
        body = adopted.osm.objects["MachineDeployment", "kube-system", name]
        metadata = {key: body["metadata"][key] for key in ("name", "namespace", "annotations")}
        if name == "pool-00000":
            metadata["annotations"] = annotations
        text = yaml.safe_dump(body | {"metadata": metadata})
        (tmp_path / "pools" / f"{name}.yaml").write_text(text, "utf-8")
    kubeconfig = str(adopted.folder / "kubeconfig-admin")
    fleet = {
        "apiVersion": "osm-gitops.io/v1alpha1",
        "kind": "Fleet",
        "clusters": [
            {
                "name": "default",
                "from": {"machineDeployments": "pools", "profiles": "cluster", "facts": "cluster"},
                "settings": {"externalCloudProvider": True, "kubernetesCABundle": "ca.pem"},
                "to": "cluster",
                "management": {"kubeconfig": kubeconfig},
            }
        ],
    }
    (tmp_path / "osm-gitops.yaml").write_text(json.dumps(fleet), "utf-8")
    ran = osm_gitops("apply", "--yes", "--settle", "0s")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1] == "No changes."
    after = adopted.secret("pool-00000-kube-system-bootstrap-config")
    assert after == before
    stamp = after["metadata"]["annotations"][_STAMP]  # type: ignore[index] # JSON
    assert stamp == "1"


def test_a_live_revision_does_not_go_into_git(adopted: Adopted, repo: Path) -> None:
    """It is the one of this moment; `refresh` knows the one that counts when what is in git arrives."""
    kubeconfig = str(adopted.osm.management.kubeconfig(adopted.folder / "kubeconfig"))
    to = ("--to", str(repo / "clusters"), "--kubeconfig", kubeconfig)
    ran = osm_gitops("apply", "--yes", "--from", "cluster", *to, "--dangerously-plaintext-secrets")
    assert ran.code == 0, ran.err
    assert _REVISION not in ran.out + ran.err  # nobody wrote it into a file
    written = [path.read_text("utf-8") for path in (repo / "clusters").rglob("pool-*.yaml")]
    assert len(written) == 3 * len(adopted.osm.pools())
    assert not [text for text in written if _STAMP in text]
