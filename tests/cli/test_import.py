"""``osm-gitops import``: what people wrote, of what kubectl prints."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.errors import Code
from osm_gitops.sops.document import decrypt
from osm_gitops.sops.keys import find_keys, new_identity
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, secret
from tests.faults import Expected, told

_REVISION = "machinedeployment.clusters.k8s.io/revision"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PASSWORD = "hunter2-cloud"


def _live(body: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """An object as an API server gives it."""
    annotations = body["metadata"].get("annotations", {}) | {_REVISION: "3", _LAST_APPLIED: json.dumps(body)}
    server = {
        "uid": "0b6b9c0e-7f0e-4c1e-9b59-0d2f4b9d3c11",
        "resourceVersion": "4711",
        "generation": 3,
        "creationTimestamp": "2026-01-05T10:00:00Z",
        "managedFields": [{"manager": "kubectl"}],
        "selfLink": "/apis",
        "finalizers": ["foregroundDeletion"],
        "ownerReferences": [],
    }
    return body | {"metadata": body["metadata"] | server | {"annotations": annotations} | metadata, "status": {"a": 1}}


def _dump(path: Path, *objects: dict[str, Any]) -> Path:
    """What ``kubectl get --output yaml`` prints."""
    body = {"apiVersion": "v1", "kind": "List", "items": list(objects), "metadata": {"resourceVersion": ""}}
    path.write_text(yaml.safe_dump(body), "utf-8")
    return path


def _written(folder: Path) -> dict[str, Any]:
    return {
        path.relative_to(folder).as_posix(): yaml.safe_load(path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.yaml"))
    }


def _pool(name: str = "workers", **more: Any) -> dict[str, Any]:
    body = pool(name, annotations={"team": "a"}, **more)
    body["metadata"]["labels"] = {"team": "a"}
    body["spec"] |= {"replicas": 3, "paused": False}
    return body


def test_files_hold_what_people_wrote_and_nothing_else(tmp_path: Path) -> None:
    template = {"metadata": {"creationTimestamp": None}, "spec": {"metadata": {"creationTimestamp": None}}}
    seen = _live(_pool())
    seen["spec"]["template"] = {**template, "spec": template["spec"] | seen["spec"]["template"]["spec"]}
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ca", "namespace": "ns"},
        "data": {"a": "b"},
    }
    dump = _dump(tmp_path / "dump.yaml", seen, _live(profile()), _live(config))
    ran = osm_gitops("import", str(dump), "--to", "out")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "out/ns/configmap-ca.yaml",
        "out/kube-system/workers.yaml",
        "out/kube-system/osp-a.yaml",
    ]
    assert _written(tmp_path / "out") == {
        "kube-system/workers.yaml": _pool(),
        "kube-system/osp-a.yaml": profile(),
        "ns/configmap-ca.yaml": config,
    }
    assert osm_gitops("import", str(dump), "--to", "out").out == ""  # there already, to the byte


def test_stdin_folders_json_and_several_documents_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(_live(_pool("a"))), "utf-8")
    (folder / "b.yaml").write_text(f"{yaml.safe_dump(_live(_pool('b')))}---\n{yaml.safe_dump(_live(_pool('c')))}")
    stdin = io.TextIOWrapper(io.BytesIO(yaml.safe_dump(_live(_pool("d"))).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    ran = osm_gitops("import", "dump", "-")
    assert (ran.code, ran.err) == (0, "")
    assert list(yaml.safe_load_all(ran.out)) == [_pool(name) for name in "abcd"]


def test_what_is_no_input_is_left_out_and_told(tmp_path: Path) -> None:
    ours = profile("ours")
    ours["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "osm-gitops"}
    machine = {"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine", "metadata": {"name": "m"}}
    going = _live(_pool("going"), deletionTimestamp="2026-01-05T10:00:00Z")
    dump = _dump(tmp_path / "dump.yaml", _live(_pool()), ours, machine, going)
    ran = osm_gitops("import", str(dump), "--to", "out")
    assert (ran.code, list(_written(tmp_path / "out"))) == (0, ["kube-system/workers.yaml"])
    assert ran.err.splitlines() == [
        "MachineDeployment kube-system/going is being deleted: skipped",
        "1 of kind Machine skipped",
        "1 of kind OperatingSystemProfile, written by osm-gitops, skipped",
    ]


def test_what_is_there_is_not_overwritten_unasked(tmp_path: Path) -> None:
    assert osm_gitops("import", str(_dump(tmp_path / "a.yaml", _live(_pool()))), "--to", "out").code == 0
    newer = _dump(tmp_path / "b.yaml", _live(_pool(kubelet="1.35.0")), _live(_pool("other")))
    ran = osm_gitops("import", str(newer), "--to", "out")
    assert (ran.code, ran.out) == (1, "out/kube-system/other.yaml\n")
    assert Expected(Code.FILE_EXISTS, "out/kube-system/workers.yaml") in told(ran.err)
    assert _written(tmp_path / "out")["kube-system/workers.yaml"] == _pool()
    assert osm_gitops("import", str(newer), "--to", "out", "--overwrite").out == "out/kube-system/workers.yaml\n"
    assert _written(tmp_path / "out")["kube-system/workers.yaml"] == _pool(kubelet="1.35.0")


def test_all_that_is_wrong_is_told_at_once_and_the_rest_is_written(tmp_path: Path) -> None:
    dump = _dump(
        tmp_path / "dump.yaml",
        _live(_pool()),
        _live(_pool()),
        _live(_pool("../../etc/passwd")),
        _live(profile("good")),
    )
    (tmp_path / "broken.yaml").write_text("apiVersion: [", "utf-8")
    ran = osm_gitops("import", str(dump), "broken.yaml", "--to", "out")
    assert ran.code == 1
    assert told(ran.err) == [
        Expected(Code.DUPLICATE_OBJECT, "MachineDeployment kube-system/workers: ", "dump.yaml"),
        Expected(Code.OBJECT_NAME_REFUSED, "../../etc/passwd"),
        Expected(Code.YAML_SYNTAX, "broken.yaml:2: "),
    ]
    assert list(_written(tmp_path / "out")) == ["kube-system/good.yaml", "kube-system/workers.yaml"]
    for arguments, fault in (
        (("import", "nowhere"), Expected(Code.SOURCE_NOT_FOUND, "nowhere: ")),
        (("import", "broken.yaml", "--to", "cluster"), Expected(Code.INVALID_OPTION, "--to cluster: ")),
    ):
        ran = osm_gitops(*arguments)
        assert ran.code == 1
        assert fault in told(ran.err)


def _with_secrets(tmp_path: Path) -> Path:
    openstack: dict[str, Any] = {
        "cloudProvider": "openstack",
        "cloudProviderSpec": {"password": {"value": _PASSWORD}, "region": "r"},
    }
    token = secret("getter", "cloud-init-settings", {"token": _PASSWORD})
    return _dump(tmp_path / "dump.yaml", _live(_pool(**openstack)), _live(token), _live(_pool("plain")))


def _assert_hidden(tmp_path: Path, ran: Ran) -> None:
    assert _PASSWORD not in ran.out + ran.err
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not [path for path in files if _PASSWORD.encode() in path.read_bytes()]


def test_secrets_are_written_for_the_recipients_of_their_file_or_not_at_all(tmp_path: Path) -> None:
    dump = str(_with_secrets(tmp_path))
    for to in ((), ("--to", "out")):
        ran = osm_gitops("import", dump, *to)
        assert ran.code == 1
        assert [code for code, _ in told(ran.err)] == [Code.SECRET_NOT_ENCRYPTED] * 2
        assert Expected(Code.SECRET_NOT_ENCRYPTED, "cloud-init-settings/getter", "stringData.token") in told(ran.err)
        assert Expected(Code.SECRET_NOT_ENCRYPTED, "providerSpec.value.cloudProviderSpec.password.value") in told(
            ran.err
        )
        _assert_hidden(tmp_path, ran)
    assert list(_written(tmp_path / "out")) == ["kube-system/plain.yaml"]
    key, recipient = new_identity()
    rules = f"creation_rules:\n- encrypted_regex: ^(data|stringData)$\n  age: {recipient}\n"
    (tmp_path / ".sops.yaml").write_text(rules, "utf-8")
    ran = osm_gitops("import", dump, "--to", "out")
    assert (ran.code, ran.out) == (1, "out/cloud-init-settings/secret-getter.yaml\n")
    assert Expected(Code.SECRET_NOT_ENCRYPTED, f"{tmp_path}/.sops.yaml:2") in told(ran.err)
    _assert_hidden(tmp_path, ran)
    ran = osm_gitops("import", dump, "--to", "out", "--age-recipient", recipient, "--overwrite")
    assert ran.code == 0, ran.err
    _assert_hidden(tmp_path, ran)
    written = _written(tmp_path / "out")
    opened = decrypt([written["kube-system/workers.yaml"]], find_keys({"SOPS_AGE_KEY": key}))
    assert opened[0]["spec"]["template"]["spec"]["providerSpec"]["value"]["cloudProviderSpec"]["region"] == "r"
    assert opened[0]["metadata"] == written["kube-system/workers.yaml"]["metadata"]  # names are readable


def test_a_rule_without_a_selector_leaves_names_readable(tmp_path: Path) -> None:
    _, recipient = new_identity()
    (tmp_path / ".sops.yaml").write_text(f"creation_rules: [{{age: {recipient}}}]\n", "utf-8")
    ran = osm_gitops("import", str(_with_secrets(tmp_path)), "--to", "out")
    assert ran.code == 0, ran.err
    _assert_hidden(tmp_path, ran)
    for body in _written(tmp_path / "out").values():
        assert "ENC[" not in json.dumps([body["kind"], body["metadata"]])


def test_an_encrypted_file_is_named(tmp_path: Path) -> None:
    _, recipient = new_identity()
    dump = str(_with_secrets(tmp_path))
    assert osm_gitops("import", dump, "--to", "out", "--age-recipient", recipient).code == 0
    ran = osm_gitops("import", "out", "--to", "other")
    assert ran.code == 1
    assert Expected(Code.ALREADY_ENCRYPTED, "out/kube-system/workers.yaml:1") in told(ran.err)
