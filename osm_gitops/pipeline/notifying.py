"""Notify a webhook of what a run changed, and of new errors. A webhook that fails never fails the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from osm_gitops.errors import OsmGitopsError, Problem
from osm_gitops.report.metrics import Measured, known_codes
from osm_gitops.report.notices import Notice, notices
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
        if self.webhook is None or self.payload is None:
            return ()
        try:
            before = (read_file(self.metrics) if self.metrics else None) or b""
            lines = list(notices(runs, known_codes(before.decode(errors="replace"))))
            if lines:
                self.webhook.send(self.payload(lines), self.environment)
        except OsmGitopsError as failure:
            return failure.problems
        return ()
