"""Operating System Manager itself, which ``make .tools/real/osm-controller`` builds, at work on an API server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.apiserver.cluster import Cluster
from tests.bench.usage import Usage, peak

OSM_VERSION: Final = "v1.11.0"
"""The newest release that the module proxy has; tests/judges/osm/go.mod pins it."""

OSM: Final = Path(__file__).parent.parent.parent / ".tools" / "real" / "osm-controller"
_SECRETS: Final = "/api/v1/namespaces/cloud-init-settings/secrets?limit=1"
_PER_POOL: Final = 3  # a kubeconfig, the provisioning Secret, and the bootstrap Secret, the last that OSM writes
_PAUSE, _QUIET = 0.25, 20.0


def write_all(cluster: Cluster, folder: Path, pools: int, flags: Sequence[str] = ()) -> tuple[Usage, int]:
    """Let OSM run until each of the pools has all of its Secrets: what that took, and how many Secrets are missing.

    Some are when OSM has made two tokens for a pool, as it does now and then: it waits until one of them expires. So it
    is ended when it has written nothing for 20 s. It has all rights; profiles must be in the cluster.

    Raises AssertionError with its log if it ends by itself.
    """
    kubeconfig, log = cluster.kubeconfig(folder / "osm-kubeconfig"), folder / "osm.log"
    command: list[str | Path] = [OSM, f"-kubeconfig={kubeconfig}", "-namespace=kube-system", "-leader-elect=false"]
    command += ["-disable-default-osps", "-metrics-address=0", "-health-probe-address=0", *flags]
    wanted, started = _PER_POOL * pools + _secrets(cluster), time.perf_counter()
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        used = Usage(0, 0, 0)
        left = _PER_POOL * pools
        while left and time.perf_counter() - started < used.wall + _QUIET:
            time.sleep(_PAUSE)
            assert process.poll() is None, log.read_text("utf-8")[-4000:]
            before, left = left, wanted - _secrets(cluster)
            if left != before:
                used = Usage(time.perf_counter() - started, _cpu(process.pid), peak(process.pid))
        return used, left
    finally:
        process.terminate()
        process.wait()


def _cpu(pid: int) -> float:
    numbers = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def _secrets(cluster: Cluster) -> int:
    """How many there are, of which the server sends only one."""
    page = cluster.client().get(_SECRETS)
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))
