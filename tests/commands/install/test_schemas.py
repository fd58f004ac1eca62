"""The kinds that are installed, as a real API server takes them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from osm_gitops.commands.install.schemas import definitions
from tests.apiserver.after_osm import recorded
from tests.apiserver.client import Object, Refused, path_of
from tests.apiserver.cluster import Cluster
from tests.cli.scenes import profile
from tests.conformance_data import released_profiles

_OURS = [each for each in recorded() if each["kind"].startswith("OperatingSystem")]


def _plain(body: Object) -> Object:
    """What somebody wrote, without the server's own fields."""
    metadata = {key: body["metadata"][key] for key in ("name", "namespace", "annotations") if key in body["metadata"]}
    return body | {"metadata": metadata}


def _version(body: Object, version: str, **spec: Any) -> Object:
    return body | {"spec": body["spec"] | {"version": version} | spec}


@pytest.mark.conformance
@pytest.mark.parametrize("path", released_profiles("v1.11.2/*.yaml"), ids=lambda path: path.stem)
def test_the_profiles_that_osm_brings_are_taken_as_they_are(management: Cluster, path: Any) -> None:
    body = _plain(yaml.safe_load(path.read_text("utf-8")))
    body["metadata"]["namespace"] = "kube-system"
    management.client().create(body)
    spec = management.client().get(path_of(body))["spec"]
    assert _pruned(spec) == _pruned(body["spec"])
    assert spec["provisioningUtility"] == body["spec"].get("provisioningUtility", "cloud-init")


def _pruned(value: Any) -> Any:
    """Without what the server adds: the defaults of ``permissions`` and ``provisioningUtility``."""
    if isinstance(value, dict):
        return {
            key: _pruned(entry)
            for key, entry in value.items()
            if key != "provisioningUtility" and not (key == "permissions" and entry == 644)
        }
    return [_pruned(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.parametrize("body", _OURS, ids=lambda body: f"{body['kind']}-{body['metadata']['name']}")
def test_what_osm_has_left_in_a_cluster_is_taken_without_a_change(management: Cluster, body: Object) -> None:
    management.client().create(_plain(body))
    assert management.client().get(path_of(body))["spec"] == body["spec"]


def test_a_profile_changes_only_together_with_its_version(management: Cluster) -> None:
    first = _version(profile(), "v1.0.0")
    management.client().apply(first)
    changed = _version(first, "v1.0.0", osVersion="other")
    with pytest.raises(Refused, match=r"spec may change only together with spec\.version") as refused:
        management.client().apply(changed)
    assert refused.value.status == 422
    for version in ("v1.0.1", "v0.9.0"):
        management.client().apply(_version(changed, version))
        assert management.client().get(path_of(first))["spec"]["version"] == version


def test_what_is_not_the_spec_changes_without_a_version(management: Cluster) -> None:
    body = profile()
    management.client().apply(body)
    management.client().apply(body | {"metadata": body["metadata"] | {"labels": {"team": "nodes"}}})
    assert management.client().get(path_of(body))["metadata"]["labels"] == {"team": "nodes"}


def test_fields_that_a_provider_brings_belong_to_the_spec_of_a_profile(management: Cluster) -> None:
    body = _version(profile(), "v1.0.0", supportedCloudProviders=[{"name": "aws", "spec": {"zone": "a"}}])
    management.client().apply(body)
    body["spec"]["supportedCloudProviders"][0]["spec"]["zone"] = "b"
    with pytest.raises(Refused, match=r"together with spec\.version"):
        management.client().apply(body)


def test_only_profiles_for_flatcar_have_units(management: Cluster) -> None:
    body = profile()
    body["spec"]["provisioningConfig"]["units"] = [{"name": "a.service"}]
    with pytest.raises(Refused, match="only profiles for flatcar have units"):
        management.client().create(body)
    body["spec"]["osName"] = "flatcar"
    management.client().create(body)


@pytest.mark.parametrize(
    ("field", "value"),
    [("osName", "windows"), ("version", "1.0"), ("provisioningUtility", "salt"), ("osVersion", 5)],
)
def test_a_profile_that_breaks_the_schema_is_refused(management: Cluster, field: str, value: Any) -> None:
    body = copy.deepcopy(profile())
    body["spec"][field] = value
    with pytest.raises(Refused, match=f"spec.{field}"):
        management.client().create(body)


def test_a_configuration_keeps_the_fields_of_its_provider_and_drops_a_null(management: Cluster) -> None:
    body = _plain(next(each for each in _OURS if each["kind"] == "OperatingSystemConfig"))
    provider = {"name": "aws", "spec": {"nested": {"anything": [1, {"a": True}]}}}
    for given, expected in ((provider, provider), ({"name": "aws", "spec": None}, {"name": "aws"})):
        created = management.client().create(body | {"spec": body["spec"] | {"cloudProvider": given}})
        assert created["spec"]["cloudProvider"] == expected
        management.client().delete(path_of(body))


def test_kubectl_knows_the_short_names_and_shows_what_matters(management: Cluster) -> None:
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    names = {}
    for definition in definitions():
        spec = definition["spec"]
        found = management.client().get(f"/apis/{spec['group']}/v1alpha1/{spec['names']['plural']}", Accept=table)
        names[spec["names"]["shortNames"][0]] = [
            each["name"] for each in found["columnDefinitions"] if not each["priority"]
        ]
    assert names == {"osp": ["Name", "OS", "Version", "Age"], "osc": ["Name", "OS", "Provider", "Revision", "Age"]}
    condition = management.client().get(path_of(definitions()[0]))["status"]["conditions"]
    assert {each["type"]: each["status"] for each in condition}.get("NonStructuralSchema", "False") == "False"
