from __future__ import annotations

from osm_gitops.render.user_data import edge_script


def test_the_script_fetches_the_bootstrap_secret() -> None:
    assert edge_script("md-ns-bootstrap-config", "TOKEN", "https://api:6443") == (
        "apt-get update -y\n"
        "apt-get install jq -y\n"
        "curl -s -k -v --header 'Authorization: Bearer TOKEN' "
        "https://api:6443/api/v1/namespaces/cloud-init-settings/secrets/md-ns-bootstrap-config "
        "| jq '.data[\"cloud-config\"]' -r| base64 -d > /etc/cloud/cloud.cfg.d/md-ns-bootstrap-config.cfg \n"
        "cloud-init --file /etc/cloud/cloud.cfg.d/md-ns-bootstrap-config.cfg init\n"
        "systemctl enable bootstrap.service\n"
        "systemctl restart bootstrap.service\n"
    )
