"""Every measured kind of mistake is told by our own checks, without any other tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from osm_gitops.lint.rules.boot_file import BootFile, Remark
from osm_gitops.lint.rules.cloud_config import cloud_config_remarks
from osm_gitops.lint.rules.containerd import check_containerd
from osm_gitops.lint.rules.ignition import ignition_remarks
from osm_gitops.lint.rules.kubelet import kubelet_remarks
from osm_gitops.lint.rules.systemd import unit_remarks
from tests.lint.rules import mutations
from tests.lint.rules.mutations import Mutation

Look = Callable[[str], Iterable[Remark]]


def _kubelet(text: str) -> Iterable[Remark]:
    return kubelet_remarks(text, 36)


def _file(path: str) -> Look:
    return lambda text: check_containerd(BootFile(path, text, 600, "provisioning"))


def _unit(text: str) -> Iterable[Remark]:
    return unit_remarks(text, "kubelet.service", drop_in=False)


KINDS: dict[str, tuple[Look, str, Sequence[Mutation]]] = {
    "kubelet": (_kubelet, mutations.KUBELET, mutations.KUBELET_MUTATIONS),
    "containerd": (_file("/etc/containerd/config.toml"), mutations.CONTAINERD, mutations.CONTAINERD_MUTATIONS),
    "hosts": (_file("/etc/containerd/certs.d/docker.io/hosts.toml"), mutations.HOSTS, mutations.HOSTS_MUTATIONS),
    "unit": (_unit, mutations.UNIT, mutations.UNIT_MUTATIONS),
    "cloud-config": (cloud_config_remarks, mutations.CLOUD_CONFIG, mutations.CLOUD_CONFIG_MUTATIONS),
    "ignition": (ignition_remarks, mutations.ignition_text(), mutations.IGNITION_MUTATIONS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_mistake_has_no_finding(kind: str) -> None:
    look, text, _ = KINDS[kind]
    assert list(look(text)) == []


@pytest.mark.parametrize(
    ("look", "mutation"),
    [(look, each) for look, _, every in KINDS.values() for each in every],
    ids=[f"{kind}: {each.name}" for kind, (_, _, every) in KINDS.items() for each in every],
)
def test_the_mistake_is_told(look: Look, mutation: Mutation) -> None:
    remarks = list(look(mutation.text))

    assert mutation.id in {remark.rule.id for remark in remarks}
    assert all(1 <= remark.line <= mutation.text.count("\n") + 1 for remark in remarks)
