"""The API server of a lane and etcd: those that KUBEBUILDER_ASSETS names, else what ``go/apiserver`` becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.builds import MODULES, compile_package, digest_of
from osm_gitops.commands.boot.lane.store import Store
from osm_gitops.errors import Code, LaneError, Problem

_TOOLS: Final = ("kube-apiserver", "etcd")
_MODULE: Final = MODULES / "apiserver"
_ASSETS: Final = "KUBEBUILDER_ASSETS"


@dataclass(frozen=True, slots=True)
class Binaries:
    """The first words of the two command lines."""

    apiserver: tuple[str, ...]
    etcd: tuple[str, ...]


def find_binaries(environment: Mapping[str, str], store: Store) -> Binaries:
    """Where they are; built where they are nowhere, which takes minutes.

    Raises LaneError with what to install or to set.
    """
    if assets := environment.get(_ASSETS):
        paths = [Path(assets).absolute() / name for name in _TOOLS]
        for path in paths:
            if not path.is_file():
                what, fix = f"there is no {path.name} in it", "Unset it to build both programs"
                raise LaneError([Problem(Code.BOOT_NEEDS, what, where=f"{_ASSETS}={assets}", fix=fix)])
        return Binaries((str(paths[0]),), (str(paths[1]),))
    version = kubernetes_version()
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion={version}"

    def build(folder: Path) -> None:
        # Without C: a compiler is not asked for, and the result does not depend on it.
        compile_package(_MODULE, flags, folder / "kube-apiserver-and-etcd", CGO_ENABLED="0")

    folder = store.made("apiserver", digest_of(_MODULE, flags), build, f"building kube-apiserver {version}")
    both = str(folder / "kube-apiserver-and-etcd")
    return Binaries((both,), (both, "etcd"))


def kubernetes_version() -> str:
    """The version that go.mod asks for, ``v1.36.3``."""
    found = re.search(r"^\tk8s\.io/kubernetes (v\S+)$", (_MODULE / "go.mod").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]
