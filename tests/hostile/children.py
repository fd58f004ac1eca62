"""The command line in a process of its own, with limits of the system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_MEMORY: Final = 1 << 30  # bytes of addresses
_CPU: Final = 20  # seconds


def child(*arguments: str, cwd: Path, retries: str = "") -> subprocess.Popen[str]:
    """The command line with limits of the system; ``retries`` are arguments of the RetryPolicy that it has."""
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, ({_CPU}, {_CPU}))\n"
        "from osm_gitops.kube import api\n"
        "from osm_gitops.kube.transport import RetryPolicy\n"
        f"api.RETRY_POLICY = RetryPolicy({retries})\n"
        "from osm_gitops.__main__ import main\n"
        "main()\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOPS_", "KUBE"))}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"HOME": str(cwd)},
    )
