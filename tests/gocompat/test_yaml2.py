"""sigs.k8s.io/yaml, as client-go writes kubeconfigs."""

from __future__ import annotations

from typing import Any

import pytest

from osm_gitops.gocompat import yaml2
from osm_gitops.gocompat.fault import GoError
from tests.gocompat.vector_data import differences


def test_it_writes_what_go_writes() -> None:
    assert differences("yaml2", yaml2.encode) == []


def test_a_kubeconfig_has_sorted_keys_and_lists_in_line_with_them() -> None:
    config = {
        "kind": "Config",
        "apiVersion": "v1",
        "clusters": [
            {"name": "c", "cluster": {"server": "https://foo.bar:6443", "certificate-authority-data": "Q0E="}}
        ],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "current-context": "c",
        "users": [{"name": "c", "user": {"token": "245678.2456789245678924"}}],
    }
    assert yaml2.encode(config) == (
        "apiVersion: v1\n"
        "clusters:\n"
        "- cluster:\n"
        "    certificate-authority-data: Q0E=\n"
        "    server: https://foo.bar:6443\n"
        "  name: c\n"
        "contexts:\n"
        "- context:\n"
        "    cluster: c\n"
        "    user: c\n"
        "  name: c\n"
        "current-context: c\n"
        "kind: Config\n"
        "users:\n"
        "- name: c\n"
        "  user:\n"
        '    token: "245678.2456789245678924"\n'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            {"a": "yes", "b": "1e5678.2", "c": "0b1", "d": "2020-01-01"},
            'a: "yes"\nb: 1e5678.2\nc: "0b1"\nd: "2020-01-01"\n',
        ),
        ({"y": 1e20, "n": 1000000.0}, '"n": 1000000\n"y": 1e+20\n'),
        ({"k": "a\nb\n"}, "k: |\n  a\n  b\n"),
        ({"k": "a\tb"}, 'k: "a\\tb"\n'),
        ("x" * 100 + " y", "x" * 100 + "\n  y\n"),
        ({"k": "a\x85\x85b"}, "k: |-\n  a\n  b\n"),
    ],
)
def test_the_layout_of_single_values(value: Any, text: str) -> None:
    assert yaml2.encode(value) == text


@pytest.mark.parametrize("value", ["\x7f", {"\x85": 1}, {"k" * 1100: 1}, float("nan")])
def test_what_the_detour_over_json_cannot_carry_is_an_error(value: Any) -> None:
    with pytest.raises(GoError):
        yaml2.encode(value)
