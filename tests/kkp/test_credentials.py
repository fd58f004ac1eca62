"""The cloud credentials that KKP gives to Operating System Manager, by provider."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from osm_gitops.errors import ClusterError, Code
from osm_gitops.sources.kkp.records import Cluster as UserCluster
from osm_gitops.sources.kkp.records import Datacenter
from osm_gitops.sources.kkp.seed import read_credentials
from tests.apiserver.cluster import Cluster
from tests.faults import Expected, refused
from tests.targets.cluster.scene import api_of

_PLACE: Final = Datacenter(name="dc-1", openstack_auth_url="https://keystone", vsphere_endpoint="https://vcenter")
_AZURE: Final = ("clientID", "clientSecret", "tenantID", "subscriptionID")


def read(server: Cluster, folder: Path, provider: str, data: Mapping[str, str] | None) -> dict[str, str]:
    namespace = server.namespace("cluster-abc")
    if data is not None:
        metadata = {"name": "cloud-credentials", "namespace": namespace}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": dict(data)}
        server.client().create(body)
    cluster = UserCluster(id="abc", provider=provider, namespace=namespace)
    return read_credentials(api_of(server, folder), cluster, _PLACE)


@pytest.mark.parametrize(
    ("provider", "data", "variables"),
    [
        (
            "azure",
            {key: key.upper() for key in _AZURE} | {"more": "x"},
            {
                "AZURE_CLIENT_ID": "CLIENTID",
                "AZURE_CLIENT_SECRET": "CLIENTSECRET",
                "AZURE_TENANT_ID": "TENANTID",
                "AZURE_SUBSCRIPTION_ID": "SUBSCRIPTIONID",
            },
        ),
        (
            "openstack",
            {"username": "u", "password": "p$", "domain": "d", "projectID": "i"},
            {
                "OS_USER_NAME": "u",
                "OS_PASSWORD": "p$",
                "OS_DOMAIN_NAME": "d",
                "OS_PROJECT_ID": "i",
                "OS_AUTH_URL": "https://keystone",
            },
        ),
        (
            "vsphere",
            {"username": "u", "password": "p"},
            {"VSPHERE_USERNAME": "u", "VSPHERE_PASSWORD": "p", "VSPHERE_ADDRESS": "https://vcenter"},
        ),
        ("gcp", {"serviceAccount": "e30="}, {"GOOGLE_SERVICE_ACCOUNT": "e30="}),
        ("kubevirt", {"kubeConfig": "k"}, {"KUBEVIRT_KUBECONFIG": "k"}),
        ("aws", {"accessKeyId": "a"}, {}),
        ("hetzner", None, {}),
        ("from-the-future", None, {}),
    ],
)
def test_each_provider_has_its_variables(
    seed_server: Cluster, tmp_path: Path, provider: str, data: Mapping[str, str] | None, variables: Mapping[str, str]
) -> None:
    assert read(seed_server, tmp_path, provider, data) == variables


@pytest.mark.parametrize(
    ("data", "named"),
    [(None, "cloud-credentials"), ({"username": "u", "password": "secret"}, "domain"), ({}, "username, password")],
)
def test_missing_credentials_are_an_error_and_not_empty_ones(
    seed_server: Cluster, tmp_path: Path, data: Mapping[str, str] | None, named: str
) -> None:
    fault = Expected(Code.OSM_INPUT_MISSING, "Secret cluster-abc/cloud-credentials", named)
    with refused(fault, kind=ClusterError) as caught:
        read(seed_server, tmp_path, "openstack", data)
    assert "secret" not in str(caught.value).lower().replace("secret cluster", "")
