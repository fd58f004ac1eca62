"""Hosts that send a client on to others."""

from __future__ import annotations

import pytest

from osm_gitops.downloads.redirects import REDIRECTS, redirects_of


@pytest.mark.parametrize(
    ("host", "others"),
    [
        ("dl.k8s.io", ("cdn.dl.k8s.io",)),
        ("dl.k8s.io:443", ("cdn.dl.k8s.io",)),
        ("mirror.example.com", ()),
        ("dl.k8s.io.example.com", ()),
    ],
)
def test_a_host_redirects_to_the_hosts_of_the_table(host: str, others: tuple[str, ...]) -> None:
    assert redirects_of(host) == others


def test_the_address_of_docker_hub_does_not_redirect_to_itself() -> None:
    found = redirects_of("registry-1.docker.io")
    assert "registry-1.docker.io" not in found
    assert set(found) < set(redirects_of("docker.io"))


def test_hosts_are_sorted() -> None:
    assert all(list(hosts) == sorted(hosts) for hosts in REDIRECTS.values())
