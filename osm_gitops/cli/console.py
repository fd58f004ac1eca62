"""The terminal: results on stdout, everything else on stderr, as text or as one JSON object a line for what collects
logs; colours where they are shown."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal

from osm_gitops.errors import Problem, some
from osm_gitops.model.objects import ObjectRef
from osm_gitops.report.json_words import problem_json
from osm_gitops.report.mask import Masker
from osm_gitops.report.visible import visible

Level = Literal["debug", "info", "warning", "error"]

VARIABLE: Final = "OSM_GITOPS_LOG_FORMAT"
_FLAG: Final = re.compile(r"--?log-format(?:=(.*))?", re.DOTALL)
_OWN_KEYS: Final = ("cluster", "pool", "problem")


class LogFormat(Enum):
    """How stderr is written: lines for people, or one JSON object a line."""

    TEXT = "text"
    JSON = "json"


def wanted_format(arguments: Sequence[str], environment: Mapping[str, str]) -> LogFormat:
    """What a command line asks for, before anything else of it is understood: its own mistakes are told so too.

    A value that is none is for the parser to refuse.
    """
    found = environment.get(VARIABLE, "")
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        match = _FLAG.fullmatch(argument)
        if match is not None:
            found = match[1] if match[1] is not None else "".join(arguments[index + 1 : index + 2])
    return LogFormat.JSON if found.lower() == LogFormat.JSON.value else LogFormat.TEXT


def log_line(text: str, level: Level, fields: Mapping[str, Any], shown: Callable[[str], str]) -> str:
    """One entry: ``time``, ``level``, ``message``, where known ``cluster``, ``pool`` and ``problem``, and all else in
    ``fields``.

    In ASCII, which no terminal and no collector misreads. ``shown`` is done to every text in it.
    """
    entry: dict[str, Any] = {"time": _now(), "level": level, "message": text}
    entry |= {name: fields[name] for name in _OWN_KEYS if fields.get(name)}
    more = {name: value for name, value in fields.items() if name not in _OWN_KEYS and value}
    return json.dumps(_each(entry | ({"fields": more} if more else {}), shown))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _each(value: Any, shown: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        # Names of files may hold bytes that are no UTF-8, which JSON has no way to write.
        return shown(value).encode(errors="surrogateescape").decode(errors="replace")
    if isinstance(value, Mapping):
        return {name: _each(inner, shown) for name, inner in value.items()}
    return [_each(inner, shown) for inner in value] if isinstance(value, list | tuple) else value


_NAMED_POOLS = 5
_BAR_AFTER = 0.5  # seconds: short work shows no bar
_BAR_EVERY = 0.1
_LINE_EVERY = 10.0
_BAR_WIDTH = 30


class Console:
    """Where a run talks to people, and to what collects logs."""

    def __init__(self) -> None:
        self.verbose = False
        self.form = LogFormat.TEXT
        self._names: dict[str, str] = {}
        self._bar = False

    def shows(self, folder: Path, name: str) -> None:
        """Show a folder that lasts as long as the run by a name that says more to people."""
        self._names[str(folder)] = name

    def out(self, text: str) -> None:
        """The result."""
        self.clear_bar()
        sys.stdout.write(text)
        sys.stdout.flush()

    def say(self, text: str, level: Level = "info", **fields: object) -> None:
        """Anything but the result. ``fields`` are told in JSON only: the cluster, the pool, counts."""
        line = log_line(text, level, fields, self._shown) if self.form is LogFormat.JSON else self._shown(text)
        self.clear_bar()
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def draw_bar(self, text: str) -> None:
        """Show the progress bar in the place of the one before. Whatever is written next clears it."""
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()
        self._bar = True

    def clear_bar(self) -> None:
        """Remove the progress bar, if one is on the terminal."""
        if self._bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._bar = False

    def fail(self, text: str) -> None:
        """What went wrong where no :class:`Problem` tells it."""
        self._tell(text, "Error")

    def note(self, text: str) -> None:
        """What only ``-v`` shows."""
        if self.verbose:
            self.say(text, "debug")

    def problems(
        self, problems: Iterable[Problem], *, label: str = "Error", masker: Masker | None = None, cluster: str = ""
    ) -> None:
        """Each problem once, a line each. Shapes of secrets are masked even where no value is known."""
        mask = masker or Masker()
        for problem in dict.fromkeys(problems):
            self._problem(mask.problem(problem), label, cluster=cluster)

    def failures(self, cluster: str, failed: Mapping[ObjectRef, tuple[Problem, ...]], masker: Masker) -> None:
        """Problems of a cluster's pools; one that many pools share is told once."""
        pools: dict[Problem, list[ObjectRef]] = {}
        for ref, problems in failed.items():
            for problem in problems:
                pools.setdefault(problem, []).append(ref)
        for problem, refs in pools.items():
            names = [visible(ref.namespaced_name) for ref in refs]
            which = {"pool": names[0]} if len(refs) == 1 else {"pools": names}
            self._problem(masker.problem(problem), "Error", cluster=cluster, **which)
            if self.form is LogFormat.TEXT and (len(refs) > 1 or problem.about != str(refs[0])):
                self.say(f"  Not rendered because of it in cluster {cluster}: {some(names, _NAMED_POOLS)}.")

    def _problem(self, masked: Problem, label: str, **fields: object) -> None:
        problem = {name: visible(str(part)) for name, part in problem_json(masked).items()}
        self._tell(visible(str(masked)), label, **fields | _whose(problem["object"]), problem=problem)

    def _tell(self, text: str, label: str, **fields: object) -> None:
        level: Level = "error" if label == "Error" else "warning"
        self.say(text if self.form is LogFormat.JSON else f"{label}: {text}", level, **fields)

    def _shown(self, text: str) -> str:
        for folder, name in self._names.items():
            text = text.replace(folder, name)
        return text

    def colours(self) -> bool:
        """Whether stdout takes colours: ``NO_COLOR`` wins over those that ask for them, these over what is there."""
        if os.environ.get("NO_COLOR"):
            return False
        if any(os.environ.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
            return True
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _whose(about: str) -> dict[str, object]:
    """The cluster or the pool that a problem is about, if it is about one."""
    kind, _, name = about.partition(" ")
    key = {"cluster": "cluster", "MachineDeployment": "pool"}.get(kind)
    return {key: name} if key else {}


class Progress:
    """Progress of one cluster's work: a bar on a terminal, a line now and then elsewhere.

    ``what`` says what is counted and done, such as ``pools rendered``.
    """

    def __init__(self, cluster: str, what: str) -> None:
        self._cluster, self._what = cluster, what
        self._started = monotonic()
        self._shown = self._started
        self._bar = sys.stderr.isatty() and console.form is LogFormat.TEXT

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if not self._bar:
            if now - self._shown >= _LINE_EVERY:
                self._shown = now
                said = f"{self._cluster}: {done} of {total} {self._what}"
                console.say(said, cluster=self._cluster, what=self._what, done=done, total=total)
            return
        if done == total:
            console.clear_bar()
        elif now - self._started >= _BAR_AFTER and now - self._shown >= _BAR_EVERY:
            self._shown = now
            filled = "█" * (done * _BAR_WIDTH // total)
            console.draw_bar(f"{self._cluster} {filled:<{_BAR_WIDTH}} {done}/{total} {self._what}")


console = Console()
