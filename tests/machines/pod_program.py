"""The program that containers of the tests run (pod/main.go)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.builds import compile_package, digest_of
from osm_gitops.commands.boot.lane.store import Store

_MODULE: Final = Path(__file__).parent / "pod"


def pod_program(store: Store) -> Path:
    """Built where it is not there, in a second."""

    def build(folder: Path) -> None:
        compile_package(_MODULE, "-s -w", folder / "program", CGO_ENABLED="0")

    return store.made("pod", digest_of(_MODULE, ""), build, "building the program of pods") / "program"
