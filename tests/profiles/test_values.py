"""The values that default profiles read are the documented ones, with the documented defaults."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from osm_gitops.sources import builtin
from tests.cli.running import osm_gitops

_SUM: Final = "0123456789abcdef" * 4
_SUMS: Final = {"amd64": _SUM, "v1.36.4": {"arm64": _SUM}}
_BY_NAME: Final = {"baseos": "http://mirror.example.com/$releasever/BaseOS"}
_ALL: Final[dict[str, dict[str, object]]] = {
    "downloads": dict.fromkeys(("kubernetes", "cni", "crictl"), "https://mirror.example.com"),
    "checksums": dict.fromkeys(("kubelet", "kubectl", "cni", "crictl"), _SUMS),
    "versions": {"cni": "v1.8.0", "crictl": "v1.35.0", "containerd": "2.2.1"},
    "repositories": {
        **dict.fromkeys(("docker", "ubuntu", "ubuntuPorts", "rockylinux"), "http://mirror.example.com/packages"),
        **dict.fromkeys(("rhel", "amzn2"), _BY_NAME),
        "ubuntuKeyring": "/usr/share/keyrings/site.gpg",
        "flatcar": "https://nebraska.example.com/v1/update/",
    },
    "time": {"servers": ["ntp.example.com", "192.0.2.123"]},
    "packages": {"extra": ["chrony"]},
    "dns": {"fallback": "192.0.2.53"},
    "journald": {"systemMaxUse": "1G"},
    "apiServer": {"insecureSkipTLSVerify": True},
}
_READY_MADE: Final = {
    "airGap": {"mirror": "https://mirror.example.com"},
    "proxy": {"url": "http://proxy.example.com:3128"},
}
_PAGE: Final = Path(__file__).parents[2] / "docs/reference/default-profiles.md"


def _read() -> dict[str, set[str]]:
    """The defaults, as they are written, of each value that sources and parts of the newest set read."""
    found: dict[str, set[str]] = {}
    for path in sorted((builtin.FOLDER / builtin.newest()).rglob("*")):
        if path.is_file():
            for name, default in re.findall(
                r'value\("([\w.]+)"(?:, ("[^"]*"|true|false|\d+|\[\]|\{\}))?', path.read_text("utf-8")
            ):
                found.setdefault(name, set()).update([default] if default else [])
    return found


def _documented() -> dict[str, str]:
    """Value and default column of each row."""
    table = _PAGE.read_text("utf-8").split("<!-- values -->")[1].split("<!-- end -->")[0]
    rows = [line.split("|")[1:3] for line in table.strip().splitlines()[2:]]
    return {name: default.strip() for names, default in rows for name in re.findall(r"`([^`]+)`", names)}


def test_every_value_that_a_default_profile_reads_is_documented_and_no_other() -> None:
    assert sorted(_documented()) == sorted(_read())


def test_the_documented_defaults_are_those_of_the_profiles() -> None:
    documented = _documented()
    for name, defaults in _read().items():
        texts = {default.strip('"') for default in defaults} - {"", "{}"}
        assert all(f"`{text}`" in documented[name] for text in texts), name


def test_the_values_that_are_tried_together_are_all_that_there_are() -> None:
    tried = {f"{group}.{name}" for group, names in _ALL.items() for name in names}
    assert tried == set(_documented())


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("overlays", "values"),
    [([], _ALL), (["builtin:air-gapped", "builtin:proxy"], _READY_MADE)],
    ids=["all", "ready-made"],
)
def test_validate_finds_nothing_in_default_profiles_whose_values_are_set(
    overlays: list[str], values: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    body = {"apiVersion": "osm-gitops.io/v1alpha1", "kind": "Overlay", "overlays": overlays, "values": values}
    (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(body), "utf-8")
    ran = osm_gitops("validate", "tree", "--overlay", ".", "-o", "json")
    report = json.loads(ran.out)
    assert report["summary"]["profiles"] == len(builtin.names(builtin.newest()))
    assert [each for each in report["findings"] if not each["id"].endswith("-not-installed")] == []
