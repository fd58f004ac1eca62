"""Building programs from pinned Go modules."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from osm_gitops.commands.boot.lane.needs import go, output
from osm_gitops.errors import Code, LaneError, Problem

MODULES: Final = Path(__file__).parent / "go"
"""The modules: each has a folder with go.mod and go.sum."""


def compile_package(module: Path, flags: str, target: Path, package: str = ".", **settings: str) -> None:
    """Build a package of a module. Raises LaneError with what Go says."""
    build = ("-C", str(module), "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", flags)
    run_go(*build, "-o", str(target), package, **settings)


def run_go(*arguments: str, **settings: str) -> str:
    """What Go prints. Raises LaneError with what it says if it fails, and if there is none."""
    program = go()
    if program is None:
        fix = "Install osm-gitops[boot], which brings it"
        raise LaneError([Problem(Code.BOOT_NEEDS, "Go is not on the path", fix=fix)])
    return output(program, *arguments, **settings)


def install_packages(folder: Path, packages: Iterable[str], architecture: str) -> None:
    """Build commands of released modules (``MODULE/PACKAGE@VERSION``) into a folder, without C. Raises LaneError with
    what Go says."""
    # Go puts what it builds for another architecture than its own below GOPATH only, in a folder of its own.
    with TemporaryDirectory(prefix="go-") as path:
        modules = run_go("env", "GOMODCACHE").strip()
        run_go("install", *packages, CGO_ENABLED="0", GOARCH=architecture, GOBIN="", GOPATH=path, GOMODCACHE=modules)
        folder.mkdir(exist_ok=True)
        for program in (each for each in Path(path, "bin").rglob("*") if each.is_file()):
            shutil.move(program, folder)


def digest_of(module: Path, recipe: str, names: Iterable[str] = ("*.go", "*.mod", "*.sum")) -> str:
    """Of a module's files of these names, and of all else that decides what it becomes."""
    digest = hashlib.sha256(recipe.encode())
    paths = {path for name in names for path in module.rglob(name)}
    for path in sorted(paths, key=lambda path: path.relative_to(module).as_posix()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
