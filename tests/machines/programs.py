"""The programs of nodes and of the control plane, built from pinned Go modules once for each recipe."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
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
    recipe = hashlib.sha256(f"{CONTAINERD} {CNI} {_LD}".encode())
    for name in ("main.go", "go.mod", "go.sum"):
        recipe.update((_MODULE / name).read_bytes())
    folder = CACHE / f"programs-{recipe.hexdigest()[:16]}"
    with FileLock(CACHE / "programs.lock"):
        if not folder.is_dir():
            _build(folder)
    return Programs(folder)


def _build(folder: Path) -> None:
    go = shutil.which("go")
    assert go, "run this with `make boot` or `uv run`, which bring Go"
    print(
        f"building the programs of a node for Kubernetes {KUBERNETES}: some minutes, once", file=sys.stderr, flush=True
    )
    unfinished = folder.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    settings = {"CGO_ENABLED": "0", "GOBIN": str(unfinished)}
    build = (go, "-C", str(_MODULE), "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", _LD)
    for package in (".", "k8s.io/kubernetes/cmd/kubectl", "k8s.io/kubernetes/cmd/kube-controller-manager"):
        name = "kubelet" if package == "." else Path(package).name
        output(*build, "-o", str(unfinished / name), package, **settings)
    commands = (f"{_CONTAINERD}/{name}@v{CONTAINERD}" for name in ("containerd", "containerd-shim-runc-v2", "ctr"))
    output(go, "install", *commands, **settings)
    plugins = f"github.com/containernetworking/plugins/plugins/...@{CNI}"
    output(go, "install", plugins, **(settings | {"GOBIN": str(unfinished / "cni")}))
    unfinished.replace(folder)
