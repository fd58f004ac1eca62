"""Output: results on stdout, everything else on stderr, as text or as one JSON object per line for log collectors."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from shutil import get_terminal_size
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

from osm_gitops.errors import Problem, some
from osm_gitops.report.json_words import problem_json
from osm_gitops.report.visible import visible

if TYPE_CHECKING:
    from osm_gitops.model.objects import ObjectRef
    from osm_gitops.report.mask import Masker

Level = Literal["debug", "info", "warning", "error"]

VARIABLE: Final = "OSM_GITOPS_LOG_FORMAT"
_FLAG: Final = re.compile(r"--?log-format(?:=(.*))?", re.DOTALL)
_WIDEST: Final = 120
_OWN_KEYS: Final = ("cluster", "pool", "problem")


class LogFormat(Enum):
    """Format of stderr: lines of text, or one JSON object per line."""

    TEXT = "text"
    JSON = "json"


def wanted_format(arguments: Sequence[str], environment: Mapping[str, str]) -> LogFormat:
    """The format that a command line asks for. It is read before parsing, so that usage errors have this format too.

    An invalid value is left to the parser.
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
    """One entry: ``time``, ``level``, ``message``, if known ``cluster``, ``pool`` and ``problem``, all else in
    ``fields``. ASCII only. ``shown`` is applied to every text in it.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry: dict[str, Any] = {"time": now, "level": level, "message": text}
    entry |= {name: fields[name] for name in _OWN_KEYS if fields.get(name)}
    more = {name: value for name, value in fields.items() if name not in _OWN_KEYS and value}
    return json.dumps(_each(entry | ({"fields": more} if more else {}), shown))


def _each(value: Any, shown: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        # File names may have bytes that are not UTF-8, which JSON cannot represent.
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
    """All output of a run."""

    def __init__(self) -> None:
        self.verbose = False
        self.form = LogFormat.TEXT
        self._names: dict[str, str] = {}
        self._bar = False

    def shows(self, folder: Path, name: str) -> None:
        """Replace the path of a temporary folder by a readable name in all output."""
        self._names[str(folder)] = name

    def out(self, text: str) -> None:
        """Print the result on stdout."""
        self.clear_bar()
        sys.stdout.write(text)
        sys.stdout.flush()

    def say(self, text: str, level: Level = "info", **fields: object) -> None:
        """Print a message on stderr. ``fields``, such as cluster, pool and counts, are only in JSON."""
        line = log_line(text, level, fields, self._shown) if self.form is LogFormat.JSON else self._shown(text)
        self.clear_bar()
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def draw_bar(self, text: str) -> None:
        """Draw the progress bar, which replaces the last one. The next output clears it."""
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
        """Print an error that is not a :class:`Problem`."""
        self._print(text, "Error")

    def note(self, text: str) -> None:
        """Print a message only with ``--verbose``."""
        if self.verbose:
            self.say(text, "debug")

    def problems(
        self, problems: Iterable[Problem], *, label: str = "Error", masker: Masker | None = None, cluster: str = ""
    ) -> None:
        """Print each problem once. Text that looks like a secret is masked even without a masker."""
        from osm_gitops.report.mask import Masker  # noqa: PLC0415 - slow

        mask = masker or Masker()
        for problem in dict.fromkeys(problems):
            self._problem(mask.problem(problem), label, cluster=cluster)

    def failures(self, cluster: str, failed: Mapping[ObjectRef, tuple[Problem, ...]], masker: Masker) -> None:
        """Print the problems of a cluster's pools; a problem of several pools once, with their names."""
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
        self._print(visible(str(masked)), label, **fields | _owner(problem["object"]), problem=problem)

    def _print(self, text: str, label: str, **fields: object) -> None:
        level: Level = "error" if label == "Error" else "warning"
        self.say(text if self.form is LogFormat.JSON else f"{label}: {text}", level, **fields)

    def _shown(self, text: str) -> str:
        for folder, name in self._names.items():
            text = text.replace(folder, name)
        return text

    def width(self) -> int | None:
        """The columns of lines on stdout: those of the terminal, at most 120; ``None`` if it is not a terminal."""
        return min(get_terminal_size().columns, _WIDEST) if sys.stdout.isatty() else None

    def colours(self) -> bool:
        """Whether to use colours: ``NO_COLOR`` takes precedence over ``FORCE_COLOR``, and that over the terminal."""
        if os.environ.get("NO_COLOR"):
            return False
        if any(os.environ.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
            return True
        return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _owner(about: str) -> dict[str, object]:
    """The cluster or the pool of a problem, if it names one."""
    kind, _, name = about.partition(" ")
    key = {"cluster": "cluster", "MachineDeployment": "pool"}.get(kind)
    return {key: name} if key else {}


class Progress:
    """Progress of the work on one cluster: a bar on a terminal, else a line every few seconds.

    ``what`` is counted, such as ``pools rendered``.
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
                line = f"{self._cluster}: {done} of {total} {self._what}"
                console.say(line, cluster=self._cluster, what=self._what, done=done, total=total)
            return
        if done == total:
            console.clear_bar()
        elif now - self._started >= _BAR_AFTER and now - self._shown >= _BAR_EVERY:
            self._shown = now
            filled = "█" * (done * _BAR_WIDTH // total)
            console.draw_bar(f"{self._cluster} {filled:<{_BAR_WIDTH}} {done}/{total} {self._what}")


class ClusterTally:
    """Progress of a step over several clusters: on a terminal the last line, else a line every few seconds.

    ``what`` is counted, such as ``clusters planned``.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._started = self._shown = monotonic()
        self._bar = sys.stderr.isatty() and console.form is LogFormat.TEXT

    def __call__(self, done: int, failed: int, total: int) -> None:
        now = monotonic()
        if total == 1 or now - self._shown < (_BAR_EVERY if self._bar else _LINE_EVERY):
            return
        self._shown = now
        line = f"{done} of {total} {self._what}, {failed} failed, {total - done} left"
        if not self._bar:
            console.say(line, what=self._what, done=done, failed=failed, total=total, left=total - done)
        elif done == total:
            console.clear_bar()
        elif now - self._started >= _BAR_AFTER:
            console.draw_bar(line)


console = Console()
