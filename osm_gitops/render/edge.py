"""The script by which an edge machine fetches its boot configuration (osm-behaviour.md, "Edge script")."""

from __future__ import annotations

from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE


def edge_script(bootstrap_secret_name: str, token: str, server: str) -> str:
    """Six shell lines that fetch the bootstrap Secret with the getter token from ``server`` (a URL)."""
    secret_url = f"{server}/api/v1/namespaces/{CLOUD_INIT_NAMESPACE}/secrets/{bootstrap_secret_name}"
    target = f"/etc/cloud/cloud.cfg.d/{bootstrap_secret_name}.cfg"
    fetch = f"curl -s -k -v --header 'Authorization: Bearer {token}' {secret_url}"
    return (
        "apt-get update -y\n"
        "apt-get install jq -y\n"
        # The blank before the line's end is OSM's.
        f"{fetch} | jq '.data[\"cloud-config\"]' -r| base64 -d > {target} \n"
        f"cloud-init --file {target} init\n"
        "systemctl enable bootstrap.service\n"
        "systemctl restart bootstrap.service\n"
    )
