"""Trace one MachineDeployment from its file to a commit: ``python -m tests.tools.trace_run`` prints what it passes.

The run is ``osm-gitops apply`` of a tree with one MachineDeployment and one profile into git, encrypted. Its worker
runs in this process, and all modules are imported before, so that nothing but the run itself is traced.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final
from unittest.mock import patch

import osm_gitops
from osm_gitops.__main__ import run
from osm_gitops.sops.keys import new_identity
from osm_gitops.workers.calls import end_idle
from osm_gitops.workers.child import _outcome
from osm_gitops.workers.messages import LENGTH, Answer, Encoded, Request, read_request
from tests.cli.scenes import pool, profile, write_tree
from tests.git.repos import new_repository

PACKAGE: Final = Path(osm_gitops.__file__).parent
_IMPORTS: Final = (
    "import sys, osm_gitops.__main__ as entry\n"
    "code = entry.run(sys.argv[1:])\n"
    "print(*sorted(each for each in sys.modules if each.partition('.')[0] in {'osm_gitops', 'kubernetes'}))\n"
    "sys.exit(code)\n"
)


@dataclass(slots=True)
class Trace:
    """The functions of the package that were called, each by module, name and line, and the calls from one room into
    another: ``crossings`` counts each, ``paths`` are the distinct pairs of functions."""

    functions: set[tuple[str, str, int]] = field(default_factory=set)
    paths: set[tuple[tuple[str, str, int], tuple[str, str, int]]] = field(default_factory=set)
    crossings: int = 0

    @property
    def modules(self) -> set[str]:
        return {module for module, _, _ in self.functions}

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        """The function that ``sys.setprofile`` takes."""
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        called = _function(frame.f_code)
        if called is None:
            return
        self.functions.add(called)
        caller = _caller(frame)
        if caller is not None and _room(caller[0]) != _room(called[0]):
            self.crossings += 1
            self.paths.add((caller, called))


_known: dict[CodeType, tuple[str, str, int] | None] = {}


def _function(code: CodeType) -> tuple[str, str, int] | None:
    if code not in _known:
        path = Path(code.co_filename)
        inside = path.is_relative_to(PACKAGE)
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts) if inside else ""
        _known[code] = (module, code.co_name, code.co_firstlineno) if inside else None
    return _known[code]


def _caller(frame: FrameType) -> tuple[str, str, int] | None:
    """The function of the package that led here, through whatever of Python's or of libraries is between."""
    outer = frame.f_back
    while outer is not None:
        if (found := _function(outer.f_code)) is not None:
            return found
        outer = outer.f_back
    return None


def _room(module: str) -> str:
    return module.partition(".")[0]


class _WorkerHere:
    """A worker without a process of its own: what goes through the pipes is encoded and decoded all the same."""

    busy, usable, worn, clean = False, True, False, True

    def __init__(self, modules: Iterable[str], memory: int) -> None:
        self.asked_for = frozenset(modules)
        self.memory = memory
        self.states: set[int] = set()
        self.answered = 0
        self._made: dict[int, Any] = {}
        self._answers: deque[Answer] = deque()

    @property
    def modules(self) -> frozenset[str]:
        return frozenset(sys.modules)

    def send(self, request: Encoded) -> None:
        found = read_request(request.data[LENGTH.size :])
        assert isinstance(found, Request)
        self._answers.append(Answer(_outcome(found, self._made)))

    def receive(self) -> Answer:
        self.answered += 1
        return self._answers.popleft()

    def forget(self, series: set[int]) -> None:
        self.states -= series

    def end(self) -> None:
        pass


def traced() -> Trace:
    """One run, traced."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "osm_gitops."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    end_idle()  # a worker that another run left would render where nothing is traced
    found, output = Trace(), io.StringIO()
    with (
        patch("osm_gitops.workers.calls.Worker", _WorkerHere),
        _scene() as arguments,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        threading.setprofile(found.see)
        sys.setprofile(found.see)
        try:
            code = run(arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            end_idle()  # the worker that is none
    if code:
        message = f"the run ended with {code}: {output.getvalue()}"
        raise RuntimeError(message)
    return found


@contextlib.contextmanager
def _scene() -> Iterator[list[str]]:
    """A tree and an empty repository; the arguments of the run."""
    key, recipient = new_identity()
    author = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    with tempfile.TemporaryDirectory() as name, patch.dict(os.environ, {**author, "SOPS_AGE_KEY": key}):
        tree = write_tree(Path(name, "tree"), profile(), pool())
        target = new_repository(Path(name, "repository"))
        yield ["apply", "--yes", "--from", str(tree), "--to", f"{target}/clusters", "--age-recipient", recipient]


def imported() -> list[str]:
    """The modules of the package and of the kubernetes client that the same run imports in a process of its own."""
    with _scene() as arguments:
        command = [sys.executable, "-c", _IMPORTS, *arguments]
        ended = subprocess.run(command, check=True, capture_output=True, text=True, cwd=PACKAGE.parent)
    return ended.stdout.splitlines()[-1].split()


def main() -> None:
    """Print the figures."""
    found, modules = traced(), imported()
    print(f"modules passed: {len(found.modules)}")
    print(f"functions: {len(found.functions)}")
    print(f"room crossings: {len(found.paths)} between pairs of functions, {found.crossings:,} calls")
    print(f"modules of the package imported: {sum(each.startswith('osm_gitops') for each in modules)}")
    kube = [each for each in modules if each.startswith(("osm_gitops.kube", "kubernetes"))]
    print(f"modules of kube and the kubernetes client among them: {len(kube)}")


if __name__ == "__main__":
    main()
