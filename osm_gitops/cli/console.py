"""The terminal: results on stdout, everything else on stderr, colours where they count."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import monotonic

from osm_gitops.errors import Problem
from osm_gitops.model.objects import ObjectRef
from osm_gitops.report.mask import Masker
from osm_gitops.report.outline import visible

_NAMED_POOLS = 5
_BAR_AFTER = 0.5  # seconds: short work shows no bar
_BAR_EVERY = 0.1
_LINE_EVERY = 10.0
_BAR_WIDTH = 30


class Console:
    """Where a run talks to people."""

    def __init__(self) -> None:
        self.verbose = False
        self._names: dict[str, str] = {}

    def shows(self, folder: Path, name: str) -> None:
        """Show a folder that lasts as long as the run by a name that says more to people."""
        self._names[str(folder)] = name

    def out(self, text: str) -> None:
        """The result."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """Anything but the result."""
        for folder, name in self._names.items():
            text = text.replace(folder, name)
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def note(self, text: str) -> None:
        """What only ``-v`` shows."""
        if self.verbose:
            self.say(text)

    def problems(self, problems: Iterable[Problem], *, label: str = "Error", masker: Masker | None = None) -> None:
        """Each problem once, a line each. Shapes of secrets are masked even where no value is known."""
        mask = masker or Masker()
        for problem in dict.fromkeys(problems):
            self.say(f"{label}: {visible(str(mask.problem(problem)))}")

    def failures(self, cluster: str, failed: Mapping[ObjectRef, tuple[Problem, ...]], masker: Masker) -> None:
        """Problems of a cluster's pools; one that many pools share is told once."""
        pools: dict[Problem, list[ObjectRef]] = {}
        for ref, problems in failed.items():
            for problem in problems:
                pools.setdefault(problem, []).append(ref)
        for problem, refs in pools.items():
            self.problems([problem], masker=masker)
            if len(refs) > 1 or problem.about != str(refs[0]):
                names = ", ".join(f"{ref.namespace}/{ref.name}" for ref in refs[:_NAMED_POOLS])
                more = f" and {len(refs) - _NAMED_POOLS} more" if len(refs) > _NAMED_POOLS else ""
                self.say(f"  Not rendered because of it in cluster {cluster}: {visible(names)}{more}.")

    def colours(self) -> bool:
        """Whether stdout takes colours: ``NO_COLOR`` wins over those that ask for them, these over what is there."""
        if os.environ.get("NO_COLOR"):
            return False
        if any(os.environ.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
            return True
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def is_asked(self) -> bool:
        """Whether somebody is there to answer a question."""
        return sys.stdin.isatty() and sys.stderr.isatty()


class Progress:
    """Progress of one cluster's work: a bar on a terminal, a line now and then elsewhere.

    ``what`` says what is counted and done, such as ``pools rendered``.
    """

    def __init__(self, cluster: str, what: str) -> None:
        self._cluster, self._what = cluster, what
        self._started = monotonic()
        self._shown = self._started
        self._bar = sys.stderr.isatty()
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if not self._bar:
            if now - self._shown >= _LINE_EVERY:
                self._shown = now
                console.say(f"{self._cluster}: {done} of {total} {self._what}")
            return
        if done == total and self._drawn:
            sys.stderr.write("\r\x1b[K")
        elif now - self._started >= _BAR_AFTER and now - self._shown >= _BAR_EVERY:
            self._shown, self._drawn = now, True
            filled = "█" * (done * _BAR_WIDTH // total)
            sys.stderr.write(f"\r{self._cluster} {filled:<{_BAR_WIDTH}} {done}/{total} {self._what}\x1b[K")
        sys.stderr.flush()


console = Console()
