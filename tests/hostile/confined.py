"""Renders attacks in processes of their own, each with a limit of CPU time and of memory.

``python -m tests.hostile.confined`` reads attacks as JSON lines, forks for each one, and answers a line each: what the
program says, or what the kernel did.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from osm_gitops.gotemplate.assembly import compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFaults
from tests.gotemplate.rendering import DATA, ROOT
from tests.hostile.templates import Attack

_ROOT: Final = Path(__file__).resolve().parent.parent.parent
_MEBIBYTE: Final = 1 << 20
_PAGE: Final = resource.getpagesize()


@dataclass(frozen=True, slots=True)
class Confinement:
    """What an attack may take; ``cpu`` in seconds, ``memory`` in MiB above what the process has."""

    bounds: Bounds = field(default_factory=Bounds)
    cpu: float = 10
    memory: int = 600


class Prison:
    """A process that forks for every attack."""

    def __init__(self, confinement: Confinement) -> None:
        command = [sys.executable, "-m", "tests.hostile.confined"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        self._send(asdict(confinement))

    def outcome(self, attack: Attack) -> str:
        """``rendered``, the sentence of a fault, ``killed by …`` or ``raised …``."""
        self._send(asdict(attack))
        assert self._process.stdout
        return str(json.loads(self._process.stdout.readline()))

    def failures(self, attacks: Iterable[Attack]) -> list[str]:
        """The attacks that got through: no sentence in time, or none at all."""
        found = [(attack.name, self.outcome(attack)) for attack in attacks]
        return [f"{name}: {outcome[:200]}" for name, outcome in found if is_failure(outcome)]

    def close(self) -> None:
        self._process.communicate()

    def _send(self, message: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def is_failure(outcome: str) -> bool:
    return outcome.startswith(("killed by", "raised")) or "bug" in outcome or not outcome


def main(lines: Iterable[str]) -> None:
    waiting = iter(lines)
    given = json.loads(next(waiting))
    engine = Engine(ROOT, Bounds(**given["bounds"]))
    for attack in (Attack("warm", "{{ upper('a') }}"), Attack("warm", "{{ regexMatch `a` .Name }}", native=False)):
        _rendered(engine, attack)
    for line in waiting:
        print(json.dumps(_confined(engine, Attack(**json.loads(line)), given)), flush=True)


def _confined(engine: Engine, attack: Attack, given: dict[str, Any]) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE + given["memory"] * _MEBIBYTE
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        signal.setitimer(signal.ITIMER_PROF, given["cpu"])  # it kills in C code, too
        answer = _answer(engine, attack)
        os.write(writer, answer[:4_000].encode("utf-8", "replace"))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read().decode()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return answer


def _answer(engine: Engine, attack: Attack) -> str:
    try:
        _rendered(engine, attack)
    except TemplateFaults as failure:
        return "raised MemoryError" if any(map(_lacked_memory, failure.faults)) else str(failure)
    except BaseException as error:  # noqa: BLE001  (whatever it is, it is what the test is about)
        return f"raised {error!r}"
    return "rendered"


def _lacked_memory(error: BaseException) -> bool:
    """Whether the limit of memory is behind a fault; Python's compiler says so of deep nesting, too."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, MemoryError):
        cause = cause.__cause__ if cause.__cause__ is not cause else None
    if cause is None:
        return False
    *_, (frame, _) = traceback.walk_tb(cause.__traceback__)
    return frame.f_code.co_name != "_compile"


def _rendered(engine: Engine, attack: Attack) -> None:
    if attack.native:
        half = compile_jinja_half(engine, attack.templates, [("/t", attack.text)])
    else:
        half = compile_go_half(engine, attack.templates, [("/t", attack.text)])
        half.reads()
    half.render(DATA)


if __name__ == "__main__":
    main(sys.stdin)
