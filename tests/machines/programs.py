"""The programs of nodes and of the control plane, built from pinned Go modules once for each recipe."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock

from tests.apiserver.binaries import kubernetes_version
from tests.machines.needs import CACHE, output

KUBERNETES: Final = kubernetes_version()
CONTAINERD: Final = "2.2.9"
CONTAINERD_1: Final = "1.7.35"
CNI: Final = "v1.9.1"

_MODULES: Final = Path(__file__).parent
_MODULE: Final = _MODULES / "kubelet"
_CONTAINERD: Final = "github.com/containerd/containerd/v2/cmd"
_CONTAINERD_1: Final = "github.com/containerd/containerd"
_LD: Final = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES}"


@dataclass(frozen=True, slots=True)
class Programs:
    """``folder`` has some of kubelet, kubectl, kube-controller-manager, containerd, containerd-shim-runc-v2, ctr."""

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
    return Programs(_cached("programs", _recipe(), _build))


def containerd_1() -> Programs:
    """containerd, its shim and ctr of the last version that Amazon Linux 2 has; a minute at first."""
    module = _MODULES / "containerd-1.7"
    assert f"\t{_CONTAINERD_1} v{CONTAINERD_1} " in (module / "go.mod").read_text("utf-8")
    flags = f"-s -w -X {_CONTAINERD_1}/version.Version=v{CONTAINERD_1}"

    def build(folder: Path) -> None:
        for name in ("containerd", "containerd-shim-runc-v2", "ctr"):
            _compile(module, flags, folder / name, f"{_CONTAINERD_1}/cmd/{name}", CGO_ENABLED="0")

    return Programs(_cached("containerd", _digest(module, flags), build))


def ignition() -> Path:
    """Ignition, of the last version that reads what OSM renders by itself; some seconds at first."""
    module = _MODULES / "ignition"

    def build(folder: Path) -> None:
        # It reads /etc/passwd and partitions by C libraries.
        _compile(module, "-s -w", folder / "ignition", "github.com/coreos/ignition/internal", CGO_ENABLED="1")

    return _cached("ignition", _digest(module, ""), build) / "ignition"


def pod() -> Path:
    """What containers of the tests run (pod/main.go)."""
    module = _MODULES / "pod"

    def build(folder: Path) -> None:
        _compile(module, "-s -w", folder / "program", ".", CGO_ENABLED="0")

    return _cached("pod", _digest(module, ""), build) / "program"


def _cached(name: str, digest: str, build: Callable[[Path], None]) -> Path:
    """The folder of what was built of a recipe; built where it is not there."""
    folder = CACHE / f"{name}-{digest}"
    with FileLock(CACHE / "programs.lock"):
        if not folder.is_dir():
            unfinished = folder.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            build(unfinished)
            unfinished.replace(folder)
    return folder


def _digest(module: Path, recipe: str) -> str:
    """Of a module and of all else that decides what it becomes."""
    digest = hashlib.sha256(recipe.encode())
    paths = (path for path in module.rglob("*") if path.suffix in (".go", ".mod", ".sum"))
    for path in sorted(paths, key=lambda path: (path.suffix, path)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(module: Path, flags: str, target: Path, package: str, **settings: str) -> None:
    build = (_go(), "-C", str(module), "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", flags)
    output(*build, "-o", str(target), package, **settings)


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
    return _digest(_MODULE, f"{CONTAINERD} {CNI} {_LD}")


def next_release() -> tuple[str, Programs]:
    """The version after KUBERNETES with kubelet and kubectl that say so: the same sources with another number."""
    minor, _, patch = KUBERNETES.rpartition(".")
    version = f"{minor}.{int(patch) + 1}"

    def build(folder: Path) -> None:
        _build_kubernetes(folder, version, ("kubelet", "kubectl"))

    return version, Programs(_cached("programs", f"{_recipe()}-{version}", build))


def _build_kubernetes(folder: Path, version: str, names: Sequence[str]) -> None:
    """Build programs of Kubernetes, ours around the kubelet in place of its own."""
    for name in names:
        package = "." if name == "kubelet" else f"k8s.io/kubernetes/cmd/{name}"
        _compile(_MODULE, _LD.replace(KUBERNETES, version), folder / name, package, CGO_ENABLED="0")


def _go() -> str:
    go = shutil.which("go")
    assert go, "run this with `make boot` or `uv run`, which bring Go"
    return go


def _build(folder: Path) -> None:
    print(
        f"building the programs of a node for Kubernetes {KUBERNETES}: some minutes, once", file=sys.stderr, flush=True
    )
    _build_kubernetes(folder, KUBERNETES, ("kubelet", "kubectl", "kube-controller-manager"))
    go, settings = _go(), {"CGO_ENABLED": "0", "GOBIN": str(folder)}
    commands = (f"{_CONTAINERD}/{name}@v{CONTAINERD}" for name in ("containerd", "containerd-shim-runc-v2", "ctr"))
    output(go, "install", *commands, **settings)
    plugins = f"github.com/containernetworking/plugins/plugins/...@{CNI}"
    output(go, "install", plugins, **(settings | {"GOBIN": str(folder / "cni")}))


if __name__ == "__main__":
    # Tests have a home of their own, without Go's cache of what it has built.
    controller_manager()
