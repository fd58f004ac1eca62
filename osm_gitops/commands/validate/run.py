"""The steps of ``validate``: sources → parts that are checked on their own → findings, each mistake once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from osm_gitops.cache.digest import digest_of
from osm_gitops.commands.validate.cache import Cache
from osm_gitops.commands.validate.grouping import grouped, merged, without_consequences
from osm_gitops.commands.validate.results import Counts, PartResult, Scope, ask_programs
from osm_gitops.commands.validate.suppressions import Suppressions, suppress
from osm_gitops.config.settings import BOUNDS
from osm_gitops.lint.external import checkers
from osm_gitops.lint.external.cloud_init import CloudInit
from osm_gitops.lint.rules import rules
from osm_gitops.lint.rules.boot_file import Checker
from osm_gitops.lint.rules.problems import problem_finding, profile_name
from osm_gitops.model.finding import Finding
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import texts_in
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.pipeline.options import limits_of
from osm_gitops.plan.sensitive import NOT_SHOWN, collect_sensitive
from osm_gitops.workers.calls import Session
from osm_gitops.workers.limits import DEFAULT, MEBIBYTE, Limits
from osm_gitops.workers.messages import Named
from osm_gitops.workers.process import LimitReached


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings, also suppressed ones, sorted by place; ``sensitive`` are values that no report may show."""

    findings: tuple[Finding, ...]
    counts: Counts
    sensitive: frozenset[str] = field(repr=False)


def validate(
    scopes: Iterable[Scope], environment: Mapping[str, str], found: Iterable[Finding] = (), cache: Cache | None = None
) -> Verdict:
    """Check everything in the scopes; ``found`` are the findings from reading them.

    Parts that did not change since an earlier run are taken from the ``cache``. A worker process checks the others, one
    profile or pool at a time. If one reaches a limit, the worker ends with all its results, so the others are checked
    again without it.
    """
    scopes, found = tuple(scopes), list(found)
    cache = cache or Cache(None, environment)
    sensitive = [
        collect_sensitive(each.inputs.facts, each.inputs.machines, each.settings, each.inputs.sensitive)
        for each in scopes
    ]
    parts = list(_parts(scopes, sensitive, cache))
    results = {each.name: result for each in parts if each.key and (result := cache.get(each.key)) is not None}
    checking = _Checking(
        scopes,
        [each for each in checkers(environment) if each.missing() is None],
        [job for each in parts if each.name not in results for job in each.jobs],
    )
    checked = checking.results()
    # What reached a limit is missing in the result of its part.
    for each in parts if not checking.failed else ():
        if each.key and each.name in checked:
            cache.put(each.key, checked[each.name])
    cache.close()
    found += checking.failed
    found += (missing for each in checkers(environment) if (missing := each.missing()) is not None)
    results |= checked
    ordered = [results[each.name] for each in parts if each.name in results]
    return _verdict(scopes, found, ordered, frozenset[str]().union(*sensitive))


_VALIDATION: Final = "osm_gitops.commands.validate.validation"
"""The module that the worker imports. Its checks are slow to import, and this process does not need them."""


def _in_worker(method: str) -> Named:
    return Named(_VALIDATION, f"Validation.{method}")


@dataclass(frozen=True, slots=True)
class _Job:
    """A step in the worker; ``about`` is the object that it checks, if any."""

    run: Named
    arguments: tuple[Any, ...]
    about: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    """What is checked on its own: a profile, or the rest of a cluster. ``key`` is that of its result in the cache. What
    may be made from secrets has none."""

    name: str
    key: str
    jobs: tuple[_Job, ...]


def _parts(scopes: Sequence[Scope], sensitive: Sequence[Collection[str]], cache: Cache) -> Iterator[_Part]:
    """A part for each profile, once if several clusters have it, and one for the rest of each cluster."""
    names: set[str] = set()
    for number, scope in enumerate(scopes):
        inputs, settings = scope.inputs, [getattr(scope.settings, name) for name in ("namespace", *sorted(BOUNDS))]
        begin = _Job(_in_worker("begin"), (number,))
        for key in sorted(inputs.profiles):
            profile = inputs.profiles[key]
            name = digest_of(profile.manifest.body, inputs.values)
            if name not in names:
                names.add(name)
                about, where = profile_name(profile), str(profile.manifest.origin)
                check = _Job(_in_worker("profile"), (number, name, key), about, where)
                known = "" if _is_sealed(profile, inputs) else cache.key("profile", profile, inputs.values, settings)
                yield _Part(name, known, (begin, check))
        cluster = f"cluster {number}"
        jobs = [begin, _Job(_in_worker("sources"), (number, cluster, bool(sensitive[number])))]
        for index, machine in enumerate(inputs.machines):
            if not machine.deleting:
                about, where = str(machine.ref), str(machine.manifest.origin)
                jobs.append(_Job(_in_worker("machine"), (number, cluster, index), about, where))
        yield _Part(cluster, "" if sensitive[number] else cache.key("cluster", scope), tuple(jobs))


def _is_sealed(profile: OperatingSystemProfile, inputs: Inputs) -> bool:
    """Whether a text that was encrypted in the source is in the profile, or in a value that it may read."""
    texts = (*texts_in(profile.manifest.body), *texts_in(inputs.values))
    return profile.manifest.sealed or any(secret in text for secret in inputs.sensitive for text in texts)


@dataclass(slots=True)
class _Checking:
    """Jobs for a worker. ``failed`` are the findings on reached limits."""

    scopes: Sequence[Scope]
    programs: Sequence[Checker]
    jobs: Sequence[_Job]
    failed: list[Finding] = field(default_factory=list)

    def results(self) -> dict[str, PartResult]:
        """The results of the parts."""
        limits = _limits(self.scopes, len(self.jobs))
        for reached in range(1, _MOST_REACHED + 2) if self.jobs else ():
            outcome = self.run(limits)
            if isinstance(outcome, dict):
                return outcome
            at, failure = outcome
            job, before, after = self.jobs[at], self.jobs[:at], self.jobs[at + 1 :]
            problems = failure.named("checking it", where=job.where, about=job.about)
            self.failed += (problem_finding(rules.RENDERING, each) for each in problems)
            if reached == _MOST_REACHED:
                message = f"not checked, because {_MOST_REACHED} others reached a limit before"
                self.failed += (
                    Finding(rules.RENDERING, message, each.where, each.about) for each in after if each.about
                )
                after = [each for each in after if not each.about]
            self.jobs = [*before, *after]
        return {}

    def run(self, limits: Limits) -> dict[str, PartResult] | tuple[int, LimitReached]:
        """The results, or the index of the job that reached a limit and the failure."""
        at = 0
        user_data = any(isinstance(each, CloudInit) for each in self.programs)
        try:
            with Session(Named(_VALIDATION, "Validation"), self.scopes, user_data, limits=limits) as session:
                for at, job in enumerate(self.jobs):  # noqa: B007 - the handler returns the index
                    session.ask(job.run, *job.arguments)
                at = len(self.jobs)
                answers = ask_programs(self.programs, session.ask(_in_worker("texts")))
                # Places of findings are found by rendering again with marks, so this takes as long as all jobs.
                results: dict[str, PartResult] = session.ask(_in_worker("results"), answers, times=at + 1)
                return results
        except LimitReached as failure:
            if at == len(self.jobs) or not self.jobs[at].about:
                raise
            return at, failure


def _limits(scopes: Iterable[Scope], jobs: int) -> Limits:
    """The largest limits of all clusters. The worker keeps what it checked, so its memory grows with the jobs."""
    each = [limits_of(scope.settings) for scope in scopes] or [Limits()]
    # In large steps: a worker is reused by the next run of this process if its limits are the same.
    memory = max(limits.memory for limits in each) + (jobs * _KEPT // DEFAULT.memory + 1) * DEFAULT.memory
    return Limits(max(limits.seconds for limits in each), memory)


def _verdict(
    scopes: Iterable[Scope], found: Iterable[Finding], results: Sequence[PartResult], sensitive: frozenset[str]
) -> Verdict:
    """One finding for each mistake in all parts."""
    suppressions = Suppressions()
    for scope in scopes:
        suppressions.read(scope.inputs)
    shown = [*found, *(finding for result in results for finding in result.findings)]
    hidden = (finding for result in results for finding in result.hidden)
    findings = suppress(without_consequences(merged([*shown, *_public(hidden, shown)])), suppressions)
    counts = {each.name: sum(getattr(result.counts, each.name) for result in results) for each in fields(Counts)}
    return Verdict(tuple(sorted(grouped(findings), key=_order)), Counts(**counts), sensitive)


def _public(hidden: Iterable[Finding], shown: Sequence[Finding]) -> Iterator[Finding]:
    """Findings without messages that may be made from secrets. What synthetic pools have at the same line is known, and
    shown instead."""
    known = {(each.rule, each.where, each.about): each for each in reversed(shown)}
    for finding in hidden:
        same = known.get((finding.rule, finding.where, finding.about))
        if same is not None:
            yield replace(same, seen_in=finding.seen_in)
        else:
            yield replace(finding, message=NOT_SHOWN, fix="")


_MOST_REACHED: Final = 3
"""The number of profiles and pools that may reach a limit: after each one all others are checked again."""
_KEPT: Final = MEBIBYTE // 4
"""Memory for the results of each profile or pool, in bytes."""


def _order(finding: Finding) -> tuple[str, int, int, str, str, str]:
    path, _, line = finding.where.rpartition(":")
    if not line.isdecimal():
        path, line = finding.where, "0"
    return path, int(line), -finding.severity.weight, finding.id, finding.about, finding.message
