"""``--watch``: a command runs again and again, each time as if it were called anew (docs/how-to/watch.md)."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osm_gitops.cli.config_repo import REPO_OPTIONS, add_options, opened, with_token
from osm_gitops.cli.console import console
from osm_gitops.cli.options import Request
from osm_gitops.cli.run_options import (
    DEFAULT_POLL,
    DEFAULT_QUIET_TIME,
    AliveFile,
    Poll,
    QuietTime,
    WatchFlag,
    duration,
    notifier,
)
from osm_gitops.errors import Code, OsmGitopsError, input_error

if TYPE_CHECKING:
    from osm_gitops.config.spec import ClusterSpec
    from osm_gitops.model.record import FinishedRun
    from osm_gitops.pipeline.options import Outcome
    from osm_gitops.pipeline.schedule import Batch
    from osm_gitops.pipeline.watching import Watching

_OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "watch": (WatchFlag, False),
    "quiet_time": (QuietTime, DEFAULT_QUIET_TIME),
    "poll": (Poll, DEFAULT_POLL),
    "alive_file": (AliveFile, None),
}
clock = time.monotonic
"""Replaced by tests."""
_LONGEST = 10
"""Quiet times that a change waits at most, while others come."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The exit code of a command, and the outcome of its run."""

    code: int
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flags:
    """The options of the loop."""

    watch: bool
    quiet_time: str
    poll: str
    alive_file: Path | None


def with_watch(*, refreshes: bool) -> Callable[[Callable[..., CommandResult]], Callable[..., int]]:
    """Add the options of the config repo, as ``with_config_repo`` does, and those of ``--watch``."""

    def decorate(command: Callable[..., CommandResult]) -> Callable[..., int]:
        @functools.wraps(command)
        def called(
            request: Request, repo: str | None, ref: str | None, git_token_file: Path | None, **given: Any
        ) -> int:
            flags = _Flags(**{name: given.pop(name) for name in _OPTIONS})
            request = with_token(request, git_token_file)
            opening = partial(opened, request, repo, ref)
            starts = _Starts(given)
            if flags.watch:
                _refuse(request, given)
                from osm_gitops.git.address import parse_address  # noqa: PLC0415 - slow
                from osm_gitops.git.remote import remote_head  # noqa: PLC0415 - slow

                head = partial(remote_head, parse_address(repo), ref or "", request.token) if repo else None
                return _watch(
                    partial(_configured, opening, command, given, starts, _Starts(given), refreshes=refreshes),
                    flags,
                    head,
                    refreshes,
                )
            _refuse_idle(flags)
            with starts.notified(), opening() as ready:
                return command(ready, **given).code

        add_options(called, command, {**REPO_OPTIONS, **_OPTIONS})
        return called

    return decorate


def _refuse(request: Request, given: Mapping[str, Any]) -> None:
    """Raise InputError for options that do not go with ``--watch``."""
    reasons = {
        "a saved plan is applied once": given.get("plan_file") is not None,
        "--changed-since compares with one revision": bool(request.changed_since),
        "--result-in is for runs of the whole fleet, and these have some pools": bool(given.get("result_in")),
    }
    for what in (what for what, is_given in reasons.items() if is_given):
        raise input_error(Code.OPTIONS_CONFLICT, what, where="--watch", fix="Leave out one of them")
    if given.get("yes") is False:
        what = "runs that go on cannot ask for confirmation"
        raise input_error(Code.NO_TERMINAL, what, where="--watch", fix="Add --yes")


def _refuse_idle(flags: _Flags) -> None:
    """Raise InputError for options that have an effect only with ``--watch``."""
    given = {
        "--quiet-time": flags.quiet_time != DEFAULT_QUIET_TIME,
        "--poll": flags.poll != DEFAULT_POLL,
        "--alive-file": flags.alive_file is not None,
    }
    for flag in (flag for flag, is_given in given.items() if is_given):
        raise input_error(Code.OPTIONS_CONFLICT, "has no effect without --watch", where=flag, fix="Add --watch")


@dataclass(slots=True)
class _Starts:
    """Tells a webhook of runs that cannot start. ``given`` are the options of the command, ``known`` the codes of the
    errors of the run before in the same process."""

    given: Mapping[str, Any]
    known: frozenset[str] = frozenset()

    @contextmanager
    def notified(self) -> Iterator[None]:
        """Notify of an OsmGitopsError of the run, which is raised all the same."""
        try:
            yield
        except OsmGitopsError as failure:
            names = ("notify_url_file", "notify_format", "metrics_file")
            try:
                hook = notifier(*(self.given[name] for name in names))
            except OsmGitopsError:  # its address is what is wrong
                raise failure from None
            console.problems(hook.could_not_start(failure.problems, self.known), label="Warning")
            self.known = frozenset(each.code.value for each in failure.problems)
            raise
        self.known = frozenset()


@dataclass(frozen=True, slots=True)
class _Configuration:
    """The configuration of one run: a command with its options, and the clusters that these name. ``runs`` tells of
    those that the command could not start."""

    request: Request
    command: Callable[..., CommandResult]
    given: Mapping[str, Any]
    specs: Sequence[ClusterSpec]
    runs: _Starts

    @property
    def only(self) -> tuple[str, ...]:
        return self.request.only

    def run(self, batch: Batch) -> Sequence[FinishedRun]:
        """Call the command for some clusters and pools."""
        # Metrics of some pools would look like those of a cluster with fewer.
        sinks = {"metrics_file": None, "pushgateway": None} if batch.pools else {}
        fleet = tuple(spec.name for spec in self.specs)
        only = batch.pools or self.request.only
        request = replace(self.request, clusters=batch.clusters, only=only, watched=fleet)
        try:
            with self.runs.notified():
                outcome = self.command(request, **{**self.given, **sinks}).outcome
        finally:
            self.request.connections.close()
        return [each.ran for each in outcome.measured]


@contextmanager
def _configured(
    opening: Callable[[], Any],
    command: Callable[..., CommandResult],
    given: Mapping[str, Any],
    starts: _Starts,
    runs: _Starts,
    *,
    refreshes: bool,
) -> Iterator[_Configuration]:
    """Read the configuration anew, with connections of its own: kubeconfigs may have changed. Raises OsmGitopsError."""
    from osm_gitops.cli.clusters import clusters_of, live_clusters_of  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.connections import Connections  # noqa: PLC0415 - slow

    with ExitStack() as stack:
        with starts.notified():
            ready = stack.enter_context(opening())
            connections = stack.enter_context(closing(Connections(dict(os.environ))))
            allow_empty = given.get("allow_empty", True)
            request = replace(ready, connections=connections, writes=True, allow_empty=allow_empty)
            specs = live_clusters_of(request) if refreshes else clusters_of(request, needs_target=True)
        yield _Configuration(request, command, given, specs, runs)


def _watch(read: Callable[[], Any], flags: _Flags, head: Callable[[], str] | None, refreshes: bool) -> int:
    """Run until an interruption, which is the regular end."""
    from osm_gitops.pipeline.schedule import Pace, Schedule  # noqa: PLC0415 - slow
    from osm_gitops.pipeline.watching import Surroundings, Watching  # noqa: PLC0415 - slow

    quiet = duration(flags.quiet_time, "--quiet-time").total_seconds()
    around = Surroundings(
        environment=dict(os.environ),
        clock=clock,
        tell=console.say,
        warn=partial(console.problems, label="Warning"),
        alive=partial(_touch, flags.alive_file),
        head=head,
        poll=duration(flags.poll, "--poll").total_seconds(),
    )
    watching = Watching(read, Schedule(Pace(quiet=quiet, longest=_LONGEST * quiet)), around, refreshes=refreshes)
    try:
        drive(watching)
    except KeyboardInterrupt:
        console.say("Stopped. Each object and file is either unchanged or completely written.")
    finally:
        watching.close()
    return 0


def drive(watching: Watching) -> None:
    """Run for ever. Tests replace it by what happens to the clusters."""
    watching.start()
    while True:
        watching.step()


def _touch(path: Path | None) -> None:
    if path is not None:
        path.touch()
