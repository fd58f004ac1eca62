"""The cloud-config of vSphere (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from osm_gitops.errors import Code
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.net import URL, parse_url
from osm_gitops.render.resolve.cloudconfig.cloud_spec import CloudSpec, boolean_variable, flag, quoted, text_variable
from osm_gitops.render.resolve.json_fields import Reader

_TEXTS: Final = (
    "vsphereURL", "username", "password", "cluster", "datacenter", "folder", "datastore", "datastoreCluster",
)  # fmt: skip
FIELDS: Final[Mapping[str, Reader]] = {**dict.fromkeys(_TEXTS, text_variable), "allowInsecure": boolean_variable}
ENVIRONMENT: Final[Collection[str]] = (
    "VSPHERE_ADDRESS", "VSPHERE_USERNAME", "VSPHERE_PASSWORD", "VSPHERE_ALLOW_INSECURE",
)  # fmt: skip


def render(spec: CloudSpec) -> str:
    address = _address(spec)
    server = quoted(address.hostname)
    user = quoted(spec.text_or_environment("username", "VSPHERE_USERNAME"))
    password = quoted(spec.text_or_environment("password", "VSPHERE_PASSWORD"))
    insecure = flag(spec.boolean_or_environment("allowInsecure", "VSPHERE_ALLOW_INSECURE"))
    spec.text("cluster")  # resolved and not used, but a broken reference fails OSM too
    datacenter = spec.text("datacenter")
    folder = spec.text("folder") or f"/{datacenter}/vm"
    datastore, datastore_cluster = spec.text("datastore"), spec.text("datastoreCluster")
    return (
        "[Global]\n"
        f"user              = {user}\n"
        f"password          = {password}\n"
        f"port              = {quoted(address.port)}\n"
        f"insecure-flag     = {insecure}\n"
        "\n"
        "[Disk]\n"
        'scsicontrollertype = "pvscsi"\n'
        "\n"
        "[Workspace]\n"
        f"server            = {server}\n"
        f"datacenter        = {quoted(datacenter)}\n"
        f"folder            = {quoted(folder)}\n"
        f"default-datastore = {quoted(datastore or datastore_cluster)}\n"
        "\n"
        "\n"
        f"[VirtualCenter {server}]\n"
        f"user = {user}\n"
        f"password = {password}\n"
        f"port = {address.port}\n"
        f"datacenters = {quoted(datacenter)}\n"
        "\n"
    )


def _address(spec: CloudSpec) -> URL:
    text = spec.text_or_environment("vsphereURL", "VSPHERE_ADDRESS")
    url = text if text.startswith("https://") else f"https://{text}"
    if text.startswith("http://"):
        what = "like OSM, https:// is put before the http://, so that the server becomes http"
        spec.warn(Code.CLOUD_SPEC_VALUE, what, "vsphereURL", "Write the address with https://, or without a scheme")
    try:
        return parse_url(url)
    except GoError:
        spec.problem(
            Code.CLOUD_SPEC_VALUE,
            "the address of vSphere is no URL",
            "vsphereURL",
            "Write https://host or https://host:port",
        )
        return URL()
