"""Metrics of a run: written to a file, a Pushgateway, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from osm_gitops.errors import OsmGitopsError, Problem
from osm_gitops.report.metrics import JOB, Measured, exposition, last_good_runs
from osm_gitops.targets.files import drop_staged, place_file, read_file, stage_file

if TYPE_CHECKING:
    from osm_gitops.kube.pushgateway import Pushgateway


@dataclass(frozen=True, slots=True)
class MetricSinks:
    """The sinks; ``environment`` has the proxy for the Pushgateway. The file keeps what it has of the clusters of
    ``fleet``."""

    file: Path | None = None
    gateway: Pushgateway | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    fleet: tuple[str, ...] = ()

    def publish(self, runs: Sequence[Measured]) -> tuple[Problem, ...]:
        """Write the metrics; returns failures, which are warnings."""
        problems: list[Problem] = []
        if self.file is not None and runs:
            try:
                write_metrics(self.file, self._exposition(self.file, runs))
            except OsmGitopsError as failure:
                problems += failure.problems
        for run in runs if self.gateway is not None else ():
            try:
                self._push(run)
            except OsmGitopsError as failure:
                problems += failure.problems
                break  # the next group would time out too
        return tuple(problems)

    def _exposition(self, path: Path, runs: Sequence[Measured]) -> str:
        """The metrics of ``runs``, with the time of the last good run from the existing file, if unknown."""
        earlier = (read_file(path) or b"").decode(errors="replace")
        known, ran = last_good_runs(earlier), {run.ran.cluster for run in runs}
        dated = [run if run.last_good else replace(run, last_good=known.get(run.ran.cluster)) for run in runs]
        return exposition(dated, earlier, [name for name in self.fleet if name not in ran])

    def _push(self, run: Measured) -> None:
        assert self.gateway is not None
        group = {"job": JOB, "cluster": run.ran.cluster}
        # The gateway may have metrics that this run does not know.
        self.gateway.push(exposition([run]), group, self.environment, whole=run.last_good is not None)


def write_metrics(path: Path, text: str) -> None:
    """Replace the file in one move. Raises TargetError."""
    temporary = stage_file(path, text.encode(), None)
    try:
        place_file(temporary, path)
    except OsmGitopsError:
        drop_staged([temporary])
        raise
