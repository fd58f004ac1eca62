"""Runs in processes of their own, which can be killed."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

from tests.cli.running import osm_gitops

# A process forks from one that has imported all this, and has no threads.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["tests.cluster_faults.victim", "osm_gitops.commands.app", "osm_gitops.pipeline.run", "kubernetes.client.rest"]
)
_SECONDS = 120


def run_apart(arguments: Sequence[str], begun: Callable[[BaseProcess], None]) -> int:
    """How a run ended: its exit code, or minus the signal. ``begun`` gets its process before it does anything."""
    ready = _FORKS.Event()
    process = _FORKS.Process(target=_main, args=(tuple(arguments), ready))
    process.start()
    begun(process)
    ready.set()
    process.join(_SECONDS)
    assert process.exitcode is not None, "it neither ended nor was killed"
    return process.exitcode


def _main(arguments: Sequence[str], ready: Event) -> None:
    ready.wait()
    os._exit(osm_gitops(*arguments).code)


def kill(process: BaseProcess) -> None:
    """kill -9; when this returns it is dead."""
    process.kill()
    assert wait([process.sentinel], _SECONDS)
