from __future__ import annotations

from collections.abc import Mapping

import pytest

from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.containerd import hosts_files

CAPABILITIES = 'capabilities = ["pull", "resolve"]\n'
DOCKER = "docker.io/hosts.toml"


def _texts(mirrors: Mapping[str, tuple[str, ...]] | None = None, *insecure: str) -> dict[str, str]:
    files = hosts_files(Settings(registry_mirrors=mirrors or {}, insecure_registries=insecure))
    assert {file.permissions for file in files} <= {600}
    return {file.path.removeprefix("/etc/containerd/certs.d/"): file.content for file in files}


def test_docker_hub_is_always_there() -> None:
    hub = "https://registry-1.docker.io"
    assert _texts() == {DOCKER: f'server = "{hub}"\n\n[host."{hub}"]\n{CAPABILITIES}'}


def test_mirrors_replace_docker_hubs_own_endpoint_and_are_sorted() -> None:
    assert _texts({"docker.io": ("https://b", "https://B", "https://a")})[DOCKER] == (
        f'server = "https://registry-1.docker.io"\n\n[host."https://B"]\n{CAPABILITIES}'
        f'[host."https://a"]\n{CAPABILITIES}[host."https://b"]\n{CAPABILITIES}'
    )


def test_docker_hub_with_an_empty_mirror_list_has_no_file() -> None:
    assert _texts({"docker.io": ()}) == {}


def test_an_insecure_registry_is_its_own_host() -> None:
    assert _texts(None, "10.0.0.1:5000")["10.0.0.1:5000/hosts.toml"] == (
        f'server = "10.0.0.1:5000"\n\n[host."10.0.0.1:5000"]\n{CAPABILITIES}skip_verify = true\n'
    )


def test_an_insecure_registry_with_a_scheme_keeps_osms_odd_directory() -> None:
    assert 'server = "http://scheme.reg"' in _texts(None, "http://scheme.reg")["http:/hosts.toml"]


@pytest.mark.parametrize("wildcard", ["*", "_default"])
def test_a_wildcard_has_no_server(wildcard: str) -> None:
    assert _texts({wildcard: ("https://a",)})["_default/hosts.toml"] == f'[host."https://a"]\n{CAPABILITIES}'
    assert _texts(None, wildcard)["_default/hosts.toml"] == f'[host.""]\n{CAPABILITIES}skip_verify = true\n'


def test_insecure_applies_to_all_mirrors_of_the_registry() -> None:
    text = _texts({"quay.io": ("https://a", "https://b")}, "quay.io")["quay.io/hosts.toml"]
    assert text.count("skip_verify = true\n") == 2


def test_a_registry_with_a_path_takes_the_hosts_directory_and_the_last_one_wins() -> None:
    assert _texts({"r.io/a": ("https://a",), "r.io/b": ("https://b",), "r.io": ("https://c",)})["r.io/hosts.toml"] == (
        f'server = "r.io/b"\n\n[host."https://b"]\n{CAPABILITIES}'
    )


@pytest.mark.parametrize(
    ("endpoint", "url", "override"),
    [
        ("https://h/v2?kubermatic=override_path%3Dtrue", "https://h/v2", True),
        ("https://h/v2?kubermatic=override_path%3D1", "https://h/v2", True),
        ("https://h/v2?kubermatic=override_path%253Dtrue", "https://h/v2", True),
        ("https://h/v2?kubermatic=override_path=true", "https://h/v2", True),
        ("https://h/v2?kubermatic=override_path%3Dyes", "https://h/v2", False),
        ("https://h/v2?kubermatic=", "https://h/v2", False),
        ("https://h/v2?kubermatic=%25zz", "https://h/v2", False),
        ("https://h?b=2&kubermatic=override_path%3DT&a=1&b=1", "https://h?a=1&b=2&b=1", True),
        ("https://h?Kubermatic=override_path%3Dtrue", "https://h?Kubermatic=override_path%3Dtrue", False),
        ("https://h?b=2&a=1", "https://h?b=2&a=1", False),
        ("https://[broken?kubermatic=1", "https://[broken?kubermatic=1", False),
        ("mirror.example.com", "mirror.example.com", False),
    ],
)
def test_endpoints_carry_our_options_in_a_parameter(endpoint: str, url: str, override: bool) -> None:
    text = _texts({"quay.io": (endpoint,)})["quay.io/hosts.toml"]
    extra = "override_path = true\n" if override else ""
    assert text == f'server = "quay.io"\n\n[host."{url}"]\n{CAPABILITIES}{extra}'


def test_of_equal_urls_the_last_endpoint_counts() -> None:
    both = ("https://h?kubermatic=override_path%3Dtrue", "https://h")
    assert "override_path" not in _texts({"quay.io": both})["quay.io/hosts.toml"]
    assert "override_path" in _texts({"quay.io": both[::-1]})["quay.io/hosts.toml"]


def test_a_host_of_plain_letters_needs_no_quotes() -> None:
    assert "[host.mirror]\n" in _texts({"quay.io": ("mirror",)})["quay.io/hosts.toml"]


def test_files_are_sorted_by_path() -> None:
    paths = list(_texts({"b.io": ("x",), "B.io": ("x",), "*": ("x",), "a.io/z": ("x",)}))
    assert paths == ["B.io/hosts.toml", "_default/hosts.toml", "a.io/hosts.toml", "b.io/hosts.toml", DOCKER]
