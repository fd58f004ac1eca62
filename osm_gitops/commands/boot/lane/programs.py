"""The programs of nodes and of the control plane, built from pinned Go modules once for each recipe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.architectures import AMD64, named
from osm_gitops.commands.boot.lane.binaries import kubernetes_version
from osm_gitops.commands.boot.lane.builds import MODULES, compile_package, digest_of, install_packages
from osm_gitops.commands.boot.lane.store import Store

KUBERNETES: Final = kubernetes_version()
"""The version of the control plane."""
CONTAINERD: Final = "2.2.9"
CONTAINERD_1: Final = "1.7.35"
CNI: Final = "v1.9.1"

_MODULE: Final = MODULES / "kubelet"
_CONTAINERD: Final = "github.com/containerd/containerd/v2/cmd"
_CONTAINERD_1: Final = "github.com/containerd/containerd"
_CONTAINERD_PROGRAMS: Final = ("containerd", "containerd-shim-runc-v2", "ctr")
_PINNED: Final = re.compile(r"^\tk8s\.io/kubernetes (v1\.(\d+)\.\d+)$", re.MULTILINE)
_VERSION: Final = re.compile(r"v?1\.(\d+)\.\d+")


@dataclass(frozen=True, slots=True)
class Programs:
    """``folder`` has programs by name."""

    folder: Path

    def __getitem__(self, name: str) -> Path:
        return self.folder / name

    @property
    def cni(self) -> list[Path]:
        """The plugins of CNI."""
        return sorted((self.folder / "cni").iterdir())


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The kubelet of a version. It is made of ``sources`` of the same minor version, or of the nearest one that is
    pinned, and says that it is ``version``."""

    version: str
    sources: str
    kubelet: Path


def node_programs(store: Store, architecture: str = AMD64) -> Programs:
    """containerd 2 and the plugins of CNI."""
    recipe = f"{CONTAINERD} {CNI}"

    def build(folder: Path) -> None:
        commands = (f"{_CONTAINERD}/{name}@v{CONTAINERD}" for name in _CONTAINERD_PROGRAMS)
        install_packages(folder, commands, architecture)
        install_packages(folder / "cni", [f"github.com/containernetworking/plugins/plugins/...@{CNI}"], architecture)

    what = f"building {named('containerd', architecture)} {CONTAINERD}"
    return Programs(store.made(named("node", architecture), recipe.replace(" ", "-"), build, what))


def containerd_1(store: Store) -> Programs:
    """containerd of the last version that Amazon Linux 2 has."""
    module = MODULES / "containerd-1.7"
    flags = f"-s -w -X {_CONTAINERD_1}/version.Version=v{CONTAINERD_1}"

    def build(folder: Path) -> None:
        for name in _CONTAINERD_PROGRAMS:
            compile_package(module, flags, folder / name, f"{_CONTAINERD_1}/cmd/{name}", CGO_ENABLED="0")

    what = f"building containerd {CONTAINERD_1}"
    return Programs(store.made("containerd", digest_of(module, flags), build, what))


def ignition(store: Store) -> Path:
    """Ignition, of the last version that reads what OSM renders by itself."""
    module = MODULES / "ignition"

    def build(folder: Path) -> None:
        # It reads /etc/passwd and partitions by C libraries.
        compile_package(module, "-s -w", folder / "ignition", "github.com/coreos/ignition/internal", CGO_ENABLED="1")

    return store.made("ignition", digest_of(module, ""), build, "building Ignition") / "ignition"


def controller_manager(store: Store) -> Path:
    """kube-controller-manager of the control plane."""
    name = "kube-controller-manager"
    return _kubernetes(store, KUBERNETES, KUBERNETES, (name,))[name]


def kubernetes(store: Store, version: str = KUBERNETES, architecture: str = AMD64) -> Kubernetes:
    """The kubelet that says it is ``version`` (``v1.33.4``, with or without the ``v``)."""
    version = f"v{version.removeprefix('v')}"
    sources = nearest_sources(version)
    kubelet = _kubernetes(store, version, sources, ("kubelet",), architecture)["kubelet"]
    return Kubernetes(version, sources, kubelet)


def kubectl(store: Store, architecture: str = AMD64) -> Path:
    """kubectl of the control plane's version."""
    return _kubernetes(store, KUBERNETES, KUBERNETES, ("kubectl",), architecture)["kubectl"]


def nearest_sources(version: str) -> str:
    """The pinned version of Kubernetes with the nearest minor version."""
    pinned = {int(found[2]): found[1] for text in _module_files().values() if (found := _PINNED.search(text))}
    asked = _VERSION.match(version)
    minor = int(asked[1]) if asked else max(pinned)
    return pinned[min(pinned, key=lambda each: (abs(each - minor), each))]


def _module_files() -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in sorted(_MODULE.glob("*.mod"))}


def _kubernetes(store: Store, version: str, sources: str, names: Sequence[str], architecture: str = AMD64) -> Programs:
    """Programs of Kubernetes, ours around the kubelet in place of its own (``go/kubelet/main.go``)."""
    (file,) = (name for name, text in _module_files().items() if f"\tk8s.io/kubernetes {sources}\n" in text)
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion={version}"
    options = f"-modfile={file}" + (" -tags=before134" if sources < "v1.34" else "")

    def build(folder: Path) -> None:
        for name in names:
            package = "." if name == "kubelet" else f"k8s.io/kubernetes/cmd/{name}"
            settings = {"CGO_ENABLED": "0", "GOARCH": architecture, "GOFLAGS": options}
            compile_package(_MODULE, flags, folder / name, package, **settings)

    parts = ("*.go", file, f"{file.removesuffix('.mod')}.sum")
    digest = f"{version}-{digest_of(_MODULE, flags, parts)}"
    what = f"building {named(' and '.join(names), architecture)} {version}"
    return Programs(store.made(named(names[0], architecture), digest, build, what))
