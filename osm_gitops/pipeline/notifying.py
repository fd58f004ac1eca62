"""Notify a webhook of what a run changed, and of new errors. A webhook that fails never fails the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from osm_gitops.errors import Code, OsmGitopsError, Problem
from osm_gitops.pipeline.metrics import write_metrics
from osm_gitops.report.metrics import Measured, known_codes, not_started_codes, with_not_started
from osm_gitops.report.notices import STARTED, Notice, not_started, notices
from osm_gitops.targets.files import read_file

if TYPE_CHECKING:
    from osm_gitops.kube.webhook import Webhook


@dataclass(frozen=True, slots=True)
class Notifier:
    """A webhook, and how its messages are written. ``metrics`` is the file that the run before wrote, if any; it knows
    the errors of runs that leave no record in a cluster."""

    webhook: Webhook | None = None
    payload: Callable[[Sequence[Notice]], bytes] | None = None
    metrics: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def notify(self, runs: Sequence[Measured]) -> tuple[Problem, ...]:
        """Send one message if there is something to tell, before metrics are written; returns failures as warnings."""
        if self.webhook is None:
            return ()
        try:
            before = self._before()
            again = [STARTED] if not_started_codes(before) else []
            lines = [*again, *notices(runs, known_codes(before))]
            self._send(lines)
        except OsmGitopsError as failure:
            return failure.problems
        forgotten = self.metrics is None and any(not (run.recorded or run.ran.good) for run in runs)
        return (_FORGOTTEN,) if forgotten else ()

    def could_not_start(self, problems: Sequence[Problem], known: frozenset[str]) -> tuple[Problem, ...]:
        """Tell the errors of a run that could not start, except those whose codes are ``known`` or in the file of
        metrics, which remembers them until the next run; returns failures as warnings."""
        if self.webhook is None:
            return ()
        try:
            before = self._before()
            self._send(not_started(problems, known | not_started_codes(before)))
            if self.metrics is not None:
                write_metrics(self.metrics, with_not_started(before, {each.code.value for each in problems}))
        except OsmGitopsError as failure:
            return failure.problems
        return ()

    def _before(self) -> str:
        return ((read_file(self.metrics) if self.metrics else None) or b"").decode(errors="replace")

    def _send(self, lines: Sequence[Notice]) -> None:
        if lines and self.webhook is not None and self.payload is not None:
            self.webhook.send(self.payload(lines), self.environment)


_FORGOTTEN: Final = Problem(
    Code.NOTIFIED_AGAIN,
    "the next run tells the same errors again, since nothing remembers those of runs into git",
    where="--notify-url-file",
    fix="Add --metrics-file with a file that stays from run to run",
)
