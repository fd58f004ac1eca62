"""``--result-in``: a run leaves its result beside the Jobs, where ``status --runs`` looks at those of a whole fleet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from osm_gitops.cli.options import WORK_PANEL, Request, option
from osm_gitops.errors import OsmGitopsError, Problem

if TYPE_CHECKING:
    from osm_gitops.pipeline.options import Outcome

ResultIn = Annotated[
    str,
    option(
        "--result-in",
        "Leave the result of the run in a ConfigMap of this namespace, in the cluster of the pod that runs it, or of "
        "KUBECONFIG. osm-gitops status --runs shows the results of all shards. JOB is the Job that runs them.",
        metavar="NAMESPACE[/JOB]",
        panel=WORK_PANEL,
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """Where a run leaves its result: ``place`` is ``NAMESPACE`` or ``NAMESPACE/JOB``; nowhere if it is empty."""

    command: str
    place: str
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def leave(self, request: Request, outcome: Outcome) -> tuple[Problem, ...]:
        """Write the result; returns failures, which are warnings."""
        if not self.place:
            return ()
        namespace, _, job = self.place.partition("/")
        from osm_gitops.targets.cluster.results import result_of, write_result  # noqa: PLC0415 - slow

        runs = [each.ran for each in outcome.measured]
        result = replace(result_of(self.command, request.shard, self.started, runs, outcome.problems), job=job)
        try:
            write_result(request.connections.home(), namespace, result)
        except OsmGitopsError as failure:
            return failure.problems
        return ()
