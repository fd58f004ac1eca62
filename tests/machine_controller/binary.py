"""machine-controller as its module has it, but for the list of clouds; built once, which takes minutes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

MODULE: Final = "github.com/kubermatic/machine-controller"
VERSION: Final = "v1.59.0"

_OURS: Final = Path(__file__).with_name("providers.go")
_CACHE: Final = Path(__file__).parent.parent.parent / ".tools" / "machine-controller"


def machine_controller(environment: Mapping[str, str], cache: Path = _CACHE) -> Path:
    """Where it is. Raises CalledProcessError if it cannot be had, after Go has said why."""
    key = sha256(VERSION.encode() + _OURS.read_bytes()).hexdigest()[:16]
    binary = cache / key / "machine-controller"
    if binary.is_file():
        return binary
    print(f"building machine-controller {VERSION}: some minutes, once", file=sys.stderr, flush=True)
    go = shutil.which("go", path=environment.get("PATH", ""))
    assert go, "run this with `uv run`, which brings Go"
    binary.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    found = subprocess.run(command, cwd=cache, env={**environment}, stdout=subprocess.PIPE, check=True)
    source = cache / key / "source"
    shutil.rmtree(source, ignore_errors=True)
    # Modules in Go's cache are read-only, and so would be their copy.
    shutil.copytree(json.loads(found.stdout)["Dir"], source, copy_function=shutil.copyfile)
    for folder in (source, *source.rglob("*/")):
        folder.chmod(0o755)
    shutil.copyfile(_OURS, source / "pkg" / "cloudprovider" / "provider.go")
    unfinished = binary.with_suffix(".new")
    build = [go, "build", "-p", "2", "-buildvcs=false", "-trimpath", "-o", str(unfinished), "./cmd/machine-controller"]
    subprocess.run(build, cwd=source, env={**environment, "CGO_ENABLED": "0"}, check=True)
    shutil.rmtree(source)
    return unfinished.replace(binary)
