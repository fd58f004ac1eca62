"""Every default profile for every provider: whatever is set, shell parses and cloud-config is YAML."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from osm_gitops.model.settings import Settings
from osm_gitops.sources import builtin
from tests.profiles.rendering import Node, read, render

_MINORS: Final = range(31, 37)
_FAMILIES: Final = ("", "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4", "IPv4")
_CA: Final = "-----BEGIN CERTIFICATE-----\nMIIB'\"$(x)`y`\\\n-----END CERTIFICATE-----\n"
_MIRRORS: Final = {
    "downloads": dict.fromkeys(("kubernetes", "cni", "crictl", "containerd", "runc"), "http://mirror"),
    "repositories": {
        "docker": "http://mirror",
        "ubuntu": "http://mirror",
        "rockylinux": "http://mirror",
        "rhel": {"a": "http://mirror"},
    },
    "packages": {"extra": ["chrony"]},
}
_SETTINGS: Final[tuple[tuple[Settings, Mapping[str, Any]], ...]] = (
    (Settings(), {}),
    (Settings(http_proxy="http://u:p%40@proxy:3128", no_proxy=".svc,10.0.0.0/8", host_ca_bundle=_CA), {}),
    (Settings(no_proxy="", initial_taints="a=b:NoSchedule", external_cloud_provider=True), _MIRRORS),
    (
        Settings(
            registry_mirrors={"docker.io": ("https://m.example.com",), "*": ("https://all.example.com",)},
            insecure_registries=("10.0.0.1:5000",),
            pause_image="m.example.com/pause:3.10",
            kubernetes_ca_bundle=_CA,
            cluster_dns=("10.0.0.10", "fd00::a"),
        ),
        {},
    ),
)


def _nodes(profile: str) -> Iterator[Node]:
    upgrade = {} if "flatcar" in profile else {"distUpgradeOnBoot": True}
    for settings, values in _SETTINGS:
        for provider in read(profile).providers:
            for number, minor in enumerate(_MINORS):
                family = _FAMILIES[number]
                yield render(
                    profile,
                    provider,
                    f"1.{minor}.{number}",
                    settings=settings,
                    values=values,
                    network={"ipFamily": family} if family else None,
                    os_spec=upgrade if number % 2 else {},
                )


@pytest.mark.parametrize("profile", builtin.names(builtin.newest()))
def test_every_pool_renders_to_shell_that_parses_and_yaml_that_reads(tmp_path: Path, profile: str) -> None:
    scripts: dict[str, Path] = {}
    documents: set[bytes] = set()
    for node in _nodes(profile):
        for file in (*node.bootstrap.values(), *node.provisioning.values()):
            assert not re.search(r"\{[{%#]|[%#}]\}", file.content), file.path
            if file.content.startswith("#!") and file.content not in scripts:
                scripts[file.content] = tmp_path / f"{len(scripts)}-{Path(file.path).name}"
        if node.config.provisioning_utility == "cloud-init":
            documents.update(node.user_data.values())
    for text, path in scripts.items():
        path.write_text(text)
    check = 'for script; do bash -n "$script" || echo "$script"; done'
    done = subprocess.run(
        ["bash", "-c", check, "bash", *map(str, scripts.values())], text=True, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    for document in documents:
        assert "write_files" in yaml.load(document, yaml.CSafeLoader)
