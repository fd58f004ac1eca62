"""The kit that profiles are tested with gives what a run would write."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.model.settings import Settings
from osm_gitops.sources import builtin
from tests.profiles.rendering import render
from tests.profiles.sets import SOURCE, write_set


def test_a_default_profile_is_rendered_through_the_whole_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {
        "greet.sh": "{{ HTTPProxy | default('no proxy') }} {{ value('downloads.cni', 'x') }}\n",
        "name.sh": "{{ KubeVersion }} {{ CloudProviderName }} {{ MaxPods | default('') }} {{ NetworkIPFamily }}\n",
    }
    monkeypatch.setattr(builtin, "FOLDER", write_set(tmp_path, {"osp-a": SOURCE}, parts))
    node = render(
        "osp-a",
        "hetzner",
        "1.36.1",
        settings=Settings(http_proxy="http://proxy:3128"),
        values={"downloads": {"cni": "http://mirror/cni"}},
        annotations={"v1.kubelet-config.machine-controller.kubermatic.io/MaxPods": "50"},
        network={"ipFamily": "IPv4+IPv6"},
    )
    assert node.bootstrap["/opt/bin/bootstrap"].content == "http://proxy:3128 http://mirror/cni\n"
    assert node.file("/opt/bin/setup") == "v1.36.1 hetzner 50 IPv4+IPv6\n"
    assert b"path: '/opt/bin/setup'" in node.user_data["provisioning"]
    assert node.user_data["bootstrap"].startswith(b"#cloud-config")
