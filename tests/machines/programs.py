"""The programs of nodes and of the control plane, built from pinned Go modules once for each recipe."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock

from tests.apiserver.binaries import kubernetes_version
from tests.machines.needs import CACHE, output

KUBERNETES: Final = kubernetes_version()
CONTAINERD: Final = "2.2.9"
CNI: Final = "v1.9.1"

_MODULE: Final = Path(__file__).parent / "kubelet"
_CONTAINERD: Final = "github.com/containerd/containerd/v2/cmd"
_LD: Final = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES}"


@dataclass(frozen=True, slots=True)
class Programs:
    """``folder`` has kubelet, kubectl, kube-controller-manager, containerd, containerd-shim-runc-v2 and ctr."""

    folder: Path

    def __getitem__(self, name: str) -> Path:
        return self.folder / name

    @property
    def cni(self) -> list[Path]:
        """The plugins of CNI."""
        return sorted((self.folder / "cni").iterdir())


def programs() -> Programs:
    """Build what is not there: a quarter of an hour of one core at first. Raises AssertionError with Go's errors."""
    assert re.search(rf"^\tk8s\.io/kubernetes {KUBERNETES}$", (_MODULE / "go.mod").read_text("utf-8"), re.MULTILINE), (
        f"{_MODULE}/go.mod asks for another version of Kubernetes than tests/apiserver/go.mod"
    )
    folder = CACHE / f"programs-{_recipe()}"
    with FileLock(CACHE / "programs.lock"):
        if not folder.is_dir():
            _build(folder)
    return Programs(folder)


def controller_manager() -> Path:
    """kube-controller-manager alone, for tests that boot no machine; some minutes at first."""
    name = "kube-controller-manager"
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "programs.lock"):
        folders = [CACHE / f"{kind}-{_recipe()}" for kind in ("programs", "controllers")]
        if not any((folder / name).exists() for folder in folders):
            print(f"building {name} {KUBERNETES}: some minutes, once", file=sys.stderr, flush=True)
            unfinished = folders[-1].with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            _build_kubernetes(unfinished, KUBERNETES, (name,))
            unfinished.replace(folders[-1])
        return next(folder / name for folder in folders if (folder / name).exists())


def _recipe() -> str:
    recipe = hashlib.sha256(f"{CONTAINERD} {CNI} {_LD}".encode())
    for name in ("main.go", "go.mod", "go.sum"):
        recipe.update((_MODULE / name).read_bytes())
    return recipe.hexdigest()[:16]


def next_release() -> tuple[str, Programs]:
    """The version after KUBERNETES with kubelet and kubectl that say so: the same sources with another number."""
    minor, _, patch = KUBERNETES.rpartition(".")
    version = f"{minor}.{int(patch) + 1}"
    folder = CACHE / f"{programs().folder.name}-{version}"
    with FileLock(CACHE / "programs.lock"):
        if not folder.is_dir():
            unfinished = folder.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            _build_kubernetes(unfinished, version, ("kubelet", "kubectl"))
            unfinished.replace(folder)
    return version, Programs(folder)


def _build_kubernetes(folder: Path, version: str, names: Sequence[str]) -> None:
    """Build programs of Kubernetes, ours around the kubelet in place of its own."""
    go, flags = _go(), _LD.replace(KUBERNETES, version)
    build = (go, "-C", str(_MODULE), "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", flags)
    for name in names:
        package = "." if name == "kubelet" else f"k8s.io/kubernetes/cmd/{name}"
        output(*build, "-o", str(folder / name), package, CGO_ENABLED="0")


def _go() -> str:
    go = shutil.which("go")
    assert go, "run this with `make boot` or `uv run`, which bring Go"
    return go


def _build(folder: Path) -> None:
    print(
        f"building the programs of a node for Kubernetes {KUBERNETES}: some minutes, once", file=sys.stderr, flush=True
    )
    unfinished = folder.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    _build_kubernetes(unfinished, KUBERNETES, ("kubelet", "kubectl", "kube-controller-manager"))
    go, settings = _go(), {"CGO_ENABLED": "0", "GOBIN": str(unfinished)}
    commands = (f"{_CONTAINERD}/{name}@v{CONTAINERD}" for name in ("containerd", "containerd-shim-runc-v2", "ctr"))
    output(go, "install", *commands, **settings)
    plugins = f"github.com/containernetworking/plugins/plugins/...@{CNI}"
    output(go, "install", plugins, **(settings | {"GOBIN": str(unfinished / "cni")}))
    unfinished.replace(folder)


if __name__ == "__main__":
    # Tests have a home of their own, without Go's cache of what it has built.
    controller_manager()
