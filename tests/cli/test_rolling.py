"""The command that plan prints to replace the machines of a pool, run by a shell against a real API server."""

from __future__ import annotations

import json
import os
import subprocess
import time
from datetime import datetime

import pytest

from tests.apiserver.client import Object
from tests.cli.adopted import Adopted

_MACHINES = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinedeployments"


def _roll(shell: str, command: str, adopted: Adopted) -> Object:
    """Run a command line with a kubectl that sends the patch, and return the MachineDeployment after it."""
    kubectl = adopted.folder / "kubectl"
    kubectl.write_text('#!/bin/sh\nprintf "%s\\0" "$@" >"$0.arguments"\n')
    kubectl.chmod(0o755)
    path = f"{adopted.folder}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([shell, "-c", command], env=os.environ | {"PATH": path}, check=True)
    *given, patch = (adopted.folder / "kubectl.arguments").read_text().split("\0")[:-1]
    name = given[4]
    assert given == ["-n", "kube-system", "patch", "machinedeployment", name, "--type", "merge", "-p"]
    return adopted.osm.worker.client().merge(f"{_MACHINES}/{name}", json.loads(patch))


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_printed_command_rolls_a_pool_each_time_that_it_is_run(adopted: Adopted, shell: str) -> None:
    assert adopted.run("apply").code == 0
    plans = [adopted.run("plan", "--cluster-dns", "10.0.0.1").out for _ in range(2)]
    assert plans[0] == plans[1]  # the time is that of the command, not of the plan
    command = plans[0].splitlines()[-1].strip()
    rolled = []
    for _ in range(2):
        rolled.append(_roll(shell, command, adopted))
        time.sleep(1.1)  # stamps have seconds
    first, second = (body["metadata"]["generation"] for body in rolled)
    assert second == first + 1  # the API server counts changes of the spec alone
    stamps = [body["spec"]["template"]["metadata"]["annotations"]["forceRestart"] for body in rolled]
    assert [datetime.fromisoformat(stamp).tzname() for stamp in stamps] == ["UTC", "UTC"]
    assert stamps[0] < stamps[1]
