"""The air-gap promise of the default profiles: with the overlay for it, nodes ask nobody but the mirror."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, write_tree
from tests.profiles.pools import POOLS
from tests.profiles.rendering import read

_SITE = """\
apiVersion: osm-gitops.io/v1alpha1
kind: Overlay
overlays: ["builtin:air-gapped"]
values:
  airGap: {mirror: "https://mirror.example.com"}
"""
# Who registers machines with Red Hat talks to Red Hat, or names a Satellite server.
_RED_HAT = {"subscription.rhsm.redhat.com", "cdn.redhat.com"}


def _pool(name: str, provider: str) -> dict[str, Any]:
    profile = read(name)
    os = profile.os_name
    spec = {"provisioningUtility": profile.provisioning_utility} if os == "flatcar" else {}
    more: dict[str, Any] = {"cloudProvider": provider, "cloudProviderSpec": {}, "operatingSystem": os}
    return pool(f"{name}-{provider}", name, kubelet="1.35.4", operatingSystemSpec=spec, **more)


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def _asked(*more: str) -> dict[str, list[dict[str, Any]]]:
    """What is asked of each host; fallback servers of registries do not count."""
    ran = osm_gitops("explain", "--downloads", "--from", "tree", "--external-cloud-provider", "-o", "json", *more)
    assert (ran.code, ran.err) == (0, "")
    asked: dict[str, list[dict[str, Any]]] = {}
    for need in json.loads(ran.out)["needs"]:
        if need["kind"] != "registry":
            asked.setdefault(need["host"], []).append(need)
    return asked


_FIRST = tuple(dict(reversed(POOLS)).items())


@pytest.mark.parametrize("pools", [_FIRST, pytest.param(POOLS, marks=pytest.mark.exhaustive)], ids=["some", "all"])
def test_with_the_overlay_for_it_every_default_profile_asks_the_mirror_alone(
    tmp_path: Path, pools: tuple[tuple[str, str], ...]
) -> None:
    write_tree(tmp_path / "tree", *(_pool(name, provider) for name, provider in pools))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "overlay.yaml").write_text(_SITE, "utf-8")
    asked = _asked("--overlay", "site")
    assert set(asked) - {"", *_RED_HAT} == {"mirror.example.com", "api.example.com:6443"}
    for host in _RED_HAT:
        assert all(user["name"].startswith("osp-rhel-") for need in asked[host] for user in need["pools"])
    # What has no host is packages, and the repositories of images that nobody replaced.
    own = [need for need in asked[""] if need["kind"] != "package"]
    assert {user["name"].rpartition("-")[0] for need in own for user in need["pools"]} <= {"osp-rhel", "osp-amzn2"}
