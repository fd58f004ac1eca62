"""The parts of a lane that need no root: versions, the web's files, mirrors, user-data, and how things are stored."""

from __future__ import annotations

import gzip
import hashlib
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from osm_gitops.commands.boot.booting import _cache
from osm_gitops.commands.boot.lane.architectures import AMD64, ARM64
from osm_gitops.commands.boot.lane.internet import Internet
from osm_gitops.commands.boot.lane.programs import Kubernetes, nearest_sources
from osm_gitops.commands.boot.lane.store import Store
from osm_gitops.commands.boot.lane.web import Stock, file_of
from osm_gitops.commands.boot.machine_controller import user_data_of
from osm_gitops.errors import Code, LaneError
from tests.faults import refused

_HOST = "https://dl.k8s.io"
_CNI = "/containernetworking/plugins/releases/download/v1.6.2/cni-plugins-linux-amd64-v1.6.2.tgz"


@pytest.mark.parametrize("environment", [{}, {"HOME": "here"}, {"XDG_CACHE_HOME": "cache", "HOME": "/root"}])
def test_what_machines_are_made_of_is_kept_in_a_folder_that_is_named_as_a_whole(environment: dict[str, str]) -> None:
    with refused(Code.BOOT_NEEDS, kind=LaneError):
        _cache(environment)


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    for name in ("kubectl", "cni.tgz", "crictl.tgz", "kubelet"):
        (tmp_path / name).write_text(name)
    return Stock(
        kubectl=tmp_path / "kubectl",
        cni=tmp_path / "cni.tgz",
        crictl=tmp_path / "crictl.tgz",
        containerd=tmp_path / "containerd-2",
        architecture=AMD64,
    )


@pytest.fixture
def node(tmp_path: Path) -> Kubernetes:
    return Kubernetes("v1.33.4", "v1.33.13", tmp_path / "kubelet")


@pytest.mark.parametrize(
    ("asked", "minor"),
    [
        ("v1.36.0", "1.36"),
        ("v1.33.4", "1.33"),
        ("1.34.1", "1.34"),
        ("v1.20.0", "1.32"),
        ("v1.99.1", "1.36"),
        ("x", "1.36"),
    ],
)
def test_a_kubelet_is_built_of_its_minor_version_or_the_nearest_one(asked: str, minor: str) -> None:
    assert nearest_sources(asked).startswith(f"v{minor}.")


@pytest.mark.parametrize(
    ("url", "host", "path", "content"),
    [
        (f"{_HOST}/v1.33.4/bin/linux/amd64/kubelet", "dl.k8s.io", "/v1.33.4/bin/linux/amd64/kubelet", "kubelet"),
        (f"{_HOST}/release/v1.33.4/bin/linux/amd64/kubeadm.sha256", "dl.k8s.io", None, "kubectl"),
        (
            f"https://mirror.example.com/all/github.com{_CNI}.sha256",
            "github.com",
            _CNI,
            "cni.tgz",
        ),
        (
            "https://github.com/kubernetes-sigs/cri-tools/releases/download/v1.33.0/crictl-v1.33.0-linux-amd64.tar.gz",
            "github.com",
            None,
            "crictl.tgz",
        ),
    ],
)
def test_a_download_is_answered_with_what_is_built_and_its_checksums(
    url: str, host: str, path: str | None, content: str, stock: Stock, node: Kubernetes
) -> None:
    found = file_of(url, stock, node)
    assert found is not None
    assert found[0] == host
    first = path or next(iter(found[1]))
    file = found[1][first]
    assert isinstance(file, Path)
    assert file.read_text() == content
    digest = hashlib.sha256(content.encode()).hexdigest()
    for suffix in (".sha256", ".sha256sum"):
        listed = found[1][first + suffix]
        assert isinstance(listed, bytes)
        assert listed.decode().split()[0] == digest


def test_machines_of_another_architecture_download_what_is_built_for_them(stock: Stock, node: Kubernetes) -> None:
    other = replace(stock, architecture=ARM64)
    for url in (f"{_HOST}/v1.33.4/bin/linux/amd64/kubelet", f"https://github.com{_CNI}"):
        assert file_of(url, other, node) is None
        found = file_of(url.replace("amd64", "arm64"), other, node)
        assert found is not None
        assert {"arm64" in path for path in found[1]} == {True}


@pytest.mark.parametrize(
    "url", [f"{_HOST}/v1.33.5/bin/linux/amd64/kubelet", f"{_HOST}/v1.33.4/bin/linux/arm64/kubelet", "https://x/y"]
)
def test_other_versions_architectures_and_files_are_not_made_up(url: str, stock: Stock, node: Kubernetes) -> None:
    assert file_of(url, stock, node) is None


def test_a_host_answers_as_a_mirror_of_all_others_below_any_path() -> None:
    net = Internet("a", "b")
    net.publish("dl.k8s.io", {"/x/y": b"content"})
    for path in ("/dl.k8s.io/x/y", "/osm/all/dl.k8s.io/x/y"):
        assert net.answer("10.0.0.1", "mirror.example.com", path) == b"content"
    assert net.answer("10.0.0.1", "mirror.example.com", "/dl.k8s.io/x/z") is None
    assert net.asked[-1] == ("mirror.example.com", "/dl.k8s.io/x/z", 404)


def test_user_data_get_the_name_of_the_machine_lose_blanks_and_may_be_compressed() -> None:
    text = "hostname: <MACHINE_NAME>\n  \nurl: x?name=%3CMACHINE_NAME%3E\n"
    plain = user_data_of(text, "a b", gzipped=False)
    assert plain == b"hostname: a b\n\nurl: x?name=a+b\n"
    assert gzip.decompress(user_data_of(text, "a b", gzipped=True)) == plain


def test_a_thing_is_made_once_and_whole_also_by_two_at_a_time(tmp_path: Path) -> None:
    said: list[str] = []
    store = Store(tmp_path / "store", said.append)
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("x")

    threads = [threading.Thread(target=store.made, args=("thing", "1", make, "making")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), said) == (1, ["making: some minutes, once"])
    assert (store.made("thing", "1", make, "making") / "file").read_text() == "x"


def test_a_thing_that_could_not_be_made_is_not_there_and_is_tried_again(tmp_path: Path) -> None:
    store = Store(tmp_path, lambda _: None)

    def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        store.made("thing", "1", fail, "making")
    found = store.made("thing", "1", lambda folder: (folder / "whole").touch(), "making")
    assert [each.name for each in found.iterdir()] == ["whole"]
