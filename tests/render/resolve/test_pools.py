"""A pool with its profile: selection, defaults, what must fit, all problems at once (osm-behaviour.md, "Profile
selection")."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.pools import template_digest
from tests.cli.scenes import pool, profile
from tests.faults import Expected
from tests.render.middle import inputs_of, resolved

_PROFILE = "k8c.io/operating-system-profile"


def _problems(folder: Path, *objects: dict[str, Any], settings: Settings | None = None) -> list[Problem]:
    with pytest.raises(InputError) as refused:
        resolved(inputs_of(folder, *objects), settings)
    return list(refused.value.problems)


def _unnamed(**more: Any) -> dict[str, Any]:
    """A pool that names no profile."""
    body = pool(**more)
    del body["metadata"]["annotations"][_PROFILE]
    return body


def _hash(annotations: dict[str, str]) -> str:
    text = json.dumps(annotations, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("system", ["ubuntu", "flatcar", "amzn2", "rockylinux", "rhel"])
def test_a_pool_without_a_profile_gets_the_one_of_its_system(system: str, tmp_path: Path) -> None:
    utility = "ignition" if system == "flatcar" else "cloud-init"
    body = profile(f"osp-{system}", osName=system, provisioningUtility=utility)
    found = resolved(inputs_of(tmp_path, body, _unnamed(operatingSystem=system)))
    assert found.profile.name == f"osp-{system}"
    assert found.annotations_hash == _hash({_PROFILE: f"osp-{system}"})


def test_the_default_profile_is_hashed_beside_the_other_annotations(tmp_path: Path) -> None:
    body = _unnamed(annotations={"z": "1", "a": "2"})
    found = resolved(inputs_of(tmp_path, profile("osp-ubuntu"), body))
    assert found.annotations_hash == _hash({_PROFILE: "osp-ubuntu", "z": "1", "a": "2"})
    body["metadata"]["annotations"][_PROFILE] = ""
    found = resolved(inputs_of(tmp_path, profile("osp-ubuntu"), body))
    assert found.annotations_hash == _hash({_PROFILE: "osp-ubuntu", "z": "1", "a": "2"})


def test_anexias_flatcar_with_cloud_init_has_a_profile_of_its_own(tmp_path: Path) -> None:
    body = profile("osp-flatcar-cloud-init", osName="flatcar", supportedCloudProviders=[{"name": "anexia"}])
    wanted = {"operatingSystem": "flatcar", "cloudProvider": "anexia"}
    explicit = _unnamed(**wanted, operatingSystemSpec={"provisioningUtility": "cloud-init"})
    assert resolved(inputs_of(tmp_path, body, explicit)).profile.name == "osp-flatcar-cloud-init"
    (problem,) = _problems(tmp_path / "implicit", body, _unnamed(**wanted))
    assert problem == Expected(Code.PROFILE_NOT_FOUND, '"osp-flatcar"', "kube-system")


def test_the_namespace_of_a_profile_is_the_annotations_or_the_settings(tmp_path: Path) -> None:
    here, there = profile("osp-a"), profile("osp-a", version="v2.0.0")
    there["metadata"]["namespace"] = "elsewhere"
    there["metadata"]["name"] = "osp-a"
    elsewhere = pool(annotations={"k8c.io/operating-system-profile-namespace": "elsewhere"})
    inputs = inputs_of(tmp_path, here, elsewhere)
    (tmp_path / "tree/there.json").write_text(json.dumps(there))
    inputs = inputs_of(tmp_path, here, elsewhere)
    assert resolved(inputs).profile.version == "v2.0.0"
    inputs = inputs_of(tmp_path, here, pool())
    assert resolved(inputs).profile.version == "v1.0.0"
    assert resolved(inputs, Settings(namespace="elsewhere")).profile.version == "v2.0.0"


def test_a_profile_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path, profile("osp-b"), profile("osp-c"), pool(profile="osp-a"))
    assert problem == Expected(
        Code.PROFILE_NOT_FOUND,
        "tree/MachineDeployment-workers.yaml:7: MachineDeployment kube-system/workers: "
        "metadata.annotations.k8c.io/operating-system-profile: ",
        '"osp-a"',
        "kube-system/osp-b, kube-system/osp-c",
    )


def test_all_that_does_not_fit_is_told_at_once(tmp_path: Path) -> None:
    body = profile(osName="flatcar", provisioningUtility="cloud-init", supportedCloudProviders=[{"name": "aws"}])
    bad = pool(
        kubelet="latest",
        annotations={"v1.kubelet-config.machine-controller.kubermatic.io/MaxPods": "many"},
        network={"cidr": "10.0.0.1/8"},
    )
    found = _problems(tmp_path, body, bad)
    for fault in (
        Expected(Code.KUBELET_VERSION_INVALID, "versions.kubelet: "),
        Expected(Code.KUBELET_ANNOTATION_INVALID, "MaxPods"),
        Expected(Code.PROFILE_DOES_NOT_FIT, '"ubuntu"', "flatcar"),
        Expected(Code.PROFILE_DOES_NOT_FIT, '"hetzner"', "aws"),
        Expected(Code.STATIC_NETWORK_UNSUPPORTED, "ubuntu"),
    ):
        assert sum(problem == fault for problem in found) == 1, (fault, found)
    assert len(found) == 5
    assert all(problem.where.startswith("tree/MachineDeployment-workers.yaml:") for problem in found)


def test_the_utility_must_be_the_profiles(tmp_path: Path) -> None:
    flatcar = profile(osName="flatcar", provisioningUtility="cloud-init")
    (problem,) = _problems(tmp_path, flatcar, pool(operatingSystem="flatcar"))
    assert problem == Expected(Code.PROFILE_DOES_NOT_FIT, '"cloud-init"', '"ignition"')
    fits = pool(operatingSystem="flatcar", operatingSystemSpec={"provisioningUtility": "cloud-init"})
    assert resolved(inputs_of(tmp_path, flatcar, fits)).utility == "cloud-init"


@pytest.mark.parametrize(
    ("provider", "external", "in_tree"),
    [
        ("aws", False, True),
        ("aws", True, False),
        ("azure", False, True),
        ("gce", False, True),
        ("vsphere", False, True),
        ("openstack", False, False),
        ("hetzner", False, False),
    ],
)
def test_in_tree_providers_are_those_of_the_contract(
    provider: str, external: bool, in_tree: bool, tmp_path: Path
) -> None:
    body = profile(supportedCloudProviders=[{"name": provider}])
    inputs = inputs_of(tmp_path, body, pool(cloudProvider=provider, cloudProviderSpec={}))
    assert resolved(inputs, Settings(external_cloud_provider=external)).in_tree_provider is in_tree


def test_the_revision_is_the_annotations_or_none(tmp_path: Path) -> None:
    assert resolved(inputs_of(tmp_path / "a", profile(), pool())).revision is None
    for value in ("", "3"):
        annotated = pool(annotations={"machinedeployment.clusters.k8s.io/revision": value})
        assert resolved(inputs_of(tmp_path / f"b{value}", profile(), annotated)).revision == value


def test_the_digest_of_a_template_does_not_depend_on_the_order_of_its_keys() -> None:
    assert template_digest({"a": 1, "b": {"c": [1], "d": None}}) == template_digest(
        {"b": {"d": None, "c": [1]}, "a": 1}
    )
    assert template_digest({"a": 1}) != template_digest({"a": "1"})


def test_what_controllers_and_webhooks_write_where_nothing_stood_is_no_other_template() -> None:
    told: dict[str, Any] = {"spec": {"versions": {"kubelet": "1"}, "list": [{"a": 1}]}}
    spec = {"metadata": {}, "value": {"upgrade": False, "keys": []}, "versions": {"kubelet": "1"}}
    more = {"metadata": {"creationTimestamp": None}, "spec": {**spec, "list": [{"a": 1, "b": ""}]}}
    assert template_digest(more) == template_digest(told)
    assert template_digest({**told, "metadata": {"labels": {"a": "b"}}}) != template_digest(told)
