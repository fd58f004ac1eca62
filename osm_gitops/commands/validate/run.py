"""The steps of ``validate``: sources → profiles with synthetic pools, and real pools → documents → findings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from osm_gitops.commands.validate.linter import Linter, Suppressions, Text, ask_programs, suppress
from osm_gitops.commands.validate.scope import Scope
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.lint.external import checkers
from osm_gitops.lint.rules import cloud_config, rules
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, Checker, Remark
from osm_gitops.lint.rules.catalogue import DOCUMENT_CHECKS
from osm_gitops.lint.rules.cloud_config import USER_DATA
from osm_gitops.lint.rules.templates import problem_finding, profile_name, template_findings
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.pipeline.boot_documents import Places, Renderers, TracedPlaces, boot_document, rendered
from osm_gitops.pipeline.rendering import limits_of
from osm_gitops.pipeline.synthetic import Combination, Matrix, made_up_pool, matrix, with_stand_ins
from osm_gitops.plan.counterfactual import NOT_SHOWN, Counterfactuals
from osm_gitops.plan.sensitive import collect_sensitive
from osm_gitops.render.resolve.cluster_info import ClusterFacts, resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool, resolve_pool, wanted_profile
from osm_gitops.sources.manifests import MACHINE, PROFILE
from osm_gitops.workers.calls import Session
from osm_gitops.workers.limits import DEFAULT, MEBIBYTE, Limits
from osm_gitops.workers.process import LimitReached


@dataclass(frozen=True, slots=True)
class Counts:
    """What was checked. ``refused`` are combinations that a profile refuses with ``fail``."""

    profiles: int = 0
    pools: int = 0
    combinations: int = 0
    refused: int = 0
    documents: int = 0
    texts: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings, also suppressed ones, sorted by place; ``sensitive`` are values that no report may show."""

    findings: tuple[Finding, ...]
    counts: Counts
    sensitive: frozenset[str] = field(repr=False)


def validate(scopes: Iterable[Scope], environment: Mapping[str, str], found: Iterable[Finding] = ()) -> Verdict:
    """Check everything in the scopes; ``found`` are the findings from reading them.

    A worker process checks one profile or pool at a time. If one reaches a limit, the worker ends with all its results,
    so the others are checked again without it.
    """
    scopes, found = tuple(scopes), list(found)
    jobs = [job for number, scope in enumerate(scopes) for job in _jobs(number, scope)]
    limits, programs = _limits(scopes, len(jobs)), checkers(environment)
    for reached in range(1, _MOST_REACHED + 2):
        outcome = _check(scopes, jobs, limits, programs, found)
        if isinstance(outcome, Verdict):
            return outcome
        at, failure = outcome
        failed = failure.named("checking it", where=jobs[at].where, about=jobs[at].about)
        found += (problem_finding(rules.RENDERING, each) for each in failed)
        before, after = jobs[:at], jobs[at + 1 :]
        if reached == _MOST_REACHED:
            message = f"not checked, because {_MOST_REACHED} others reached a limit before"
            found += (Finding(rules.RENDERING, message, job.where, job.about) for job in after if job.about)
            after = [job for job in after if not job.about]
        jobs = before + after
    raise AssertionError


def _check(
    scopes: Sequence[Scope],
    jobs: Sequence[_Job],
    limits: Limits,
    programs: Iterable[Checker],
    found: Sequence[Finding],
) -> Verdict | tuple[int, LimitReached]:
    """The verdict, or the index of the job that reached a limit and the failure."""
    at = 0
    try:
        with Session(_Validation, scopes, limits=limits) as session:
            for at, job in enumerate(jobs):  # noqa: B007 - the handler returns the index
                session.ask(job.run, *job.arguments)
            at = len(jobs)
            missing, remarks = ask_programs(programs, session.ask(_Validation.texts))
            # Places of findings are found by rendering again with marks, so this takes as long as all jobs.
            verdict: Verdict = session.ask(_Validation.verdict, (*found, *missing), remarks, times=len(jobs) + 1)
            return verdict
    except LimitReached as failure:
        if at == len(jobs) or not jobs[at].about:
            raise
        return at, failure


@dataclass(frozen=True, slots=True)
class _Job:
    """A step in the worker; ``about`` is the object that it checks, if any."""

    run: Callable[..., None]
    arguments: tuple[Any, ...]
    about: str = ""
    where: str = ""


def _jobs(number: int, scope: Scope) -> Iterator[_Job]:
    yield _Job(_Validation.begin, (number,))
    for key in sorted(scope.inputs.profiles):
        profile = scope.inputs.profiles[key]
        yield _Job(_Validation.profile, (number, key), profile_name(profile), str(profile.manifest.origin))
    machines = [(index, each) for index, each in enumerate(scope.inputs.machines) if not each.deleting]
    if machines:
        yield _Job(_Validation.cluster, (number,))
    for index, machine in machines:
        yield _Job(_Validation.machine, (number, index), str(machine.ref), str(machine.manifest.origin))


def _limits(scopes: Iterable[Scope], jobs: int) -> Limits:
    """The largest limits of all clusters. The worker keeps what it checked, so its memory grows with the jobs."""
    each = [limits_of(scope.settings) for scope in scopes] or [Limits()]
    # In large steps: a worker is reused by the next run of this process if its limits are the same.
    memory = max(limits.memory for limits in each) + (jobs * _KEPT // DEFAULT.memory + 1) * DEFAULT.memory
    return Limits(max(limits.seconds for limits in each), memory)


class _Validation:
    """Runs in a worker: all state of a validation."""

    def __init__(self, scopes: Sequence[Scope]) -> None:
        self.scopes = scopes
        self.renderers: dict[int, Renderers] = {}
        self.clusters: dict[int, tuple[Scope, ClusterFacts]] = {}
        self.linter = Linter()
        self.findings: dict[Finding, list[str]] = {}
        self.suppressions = Suppressions()
        self.sensitive: set[str] = set()
        self.checked: set[bytes] = set()
        self.counts = Counts()
        self.counterfactuals: dict[int, Counterfactuals] = {}
        self.real: dict[str, tuple[Counterfactuals, MachineDeployment]] = {}

    def add(self, finding: Finding, seen_in: str = "") -> None:
        pools = self.findings.setdefault(finding, [])
        if seen_in:
            pools.append(seen_in)

    def problems(self, rule: Rule, problems: Iterable[Problem], about: str = "", seen_in: str = "") -> None:
        for problem in problems:
            self.add(problem_finding(rule, problem, about=about), seen_in)

    def begin(self, number: int) -> None:
        """Collect what reading a scope found."""
        scope = self.scopes[number]
        inputs = scope.inputs
        self.sensitive |= collect_sensitive(inputs.facts, inputs.machines, scope.settings, inputs.sensitive)
        self.suppressions.read(inputs)
        self.problems(rules.UNREADABLE, inputs.unreadable)
        for warning in inputs.warnings:
            rule = rules.PASSED_OVER if warning.code is Code.READ_WITHOUT_KEY else rules.SOURCE
            self.add(problem_finding(rule, warning))
        for ref, problems in inputs.broken.items():
            self.problems(_SCHEMAS.get(ref.kind, rules.UNREADABLE), problems, str(ref))
        for ref, problems in inputs.unfit.items():
            self.problems(rules.NAME, problems, str(ref))
        self.renderers[number] = Renderers(scope.settings, inputs.values)

    # profiles

    def profile(self, number: int, key: tuple[str, str]) -> None:
        """Check a profile in all combinations; one that several clusters share only once."""
        profile, renderers = self.scopes[number].inputs.profiles[key], self.renderers[number]
        identity = hashlib.sha256(
            json.dumps([profile.manifest.body, renderers.values], sort_keys=True, default=str).encode()
        ).digest()
        if identity in self.checked:
            return
        self.checked.add(identity)
        self.counts = replace(self.counts, profiles=self.counts.profiles + 1)
        plain = renderers.renderer(renderers.made_up(Combination("", "")))
        try:
            reads = plain.compiled(profile).reads()
        except InputError as failure:
            self.problems(rules.TEMPLATE_SYNTAX, failure.problems)
            return
        for finding in template_findings(renderers.engine, profile):
            self.add(finding)
        self.matrix(profile, matrix(profile, reads), renderers)

    def matrix(self, profile: OperatingSystemProfile, every: Matrix, renderers: Renderers) -> None:
        """Check the combinations. Providers with equal results get further variations only for one of them."""
        outcomes = {each: self.combination(profile, each, renderers) for each in every.grid()}
        distinct: dict[tuple[bytes, ...], str] = {}
        for provider in every.providers:
            alike = tuple(outcome for each, outcome in outcomes.items() if each.provider == provider)
            distinct.setdefault(alike, provider)
        outcomes |= {each: self.combination(profile, each, renderers) for each in every.variations(distinct.values())}
        refused = sum(outcome == _REFUSED for outcome in outcomes.values())
        if outcomes and refused == len(outcomes):
            message = "it refuses every combination of provider, Kubernetes version and settings"
            where = profile.manifest.line_of("spec")
            self.add(Finding(rules.NEVER_RENDERED, message, where=where, about=profile_name(profile)))
        done = self.counts
        self.counts = replace(done, combinations=done.combinations + len(outcomes), refused=done.refused + refused)

    def combination(self, profile: OperatingSystemProfile, combination: Combination, renderers: Renderers) -> bytes:
        """Check one combination; return a digest of the result without the provider's name, to compare providers."""
        cluster = renderers.made_up(combination)
        pool = made_up_pool(combination, profile, cluster)
        try:
            document = self.pool(pool, str(combination), cluster, renderers)
        except InputError as failure:
            others = [
                _in(profile, problem) for problem in failure.problems if problem.code is not Code.TEMPLATE_REFUSES_POOL
            ]
            self.problems(rules.RENDERING, others, profile_name(profile), str(combination))
            return repr(others).encode() if others else _REFUSED
        digest = hashlib.sha256()
        for half in HALVES:
            digest.update(document.user_data[half].replace(combination.provider.encode(), _REFUSED))
        return digest.digest()

    def pool(self, pool: ResolvedPool, label: str, cluster: ClusterFacts, renderers: Renderers) -> BootDocument:
        """Render a pool and pass it to the linter. Raises InputError if it cannot be rendered."""
        places = TracedPlaces(pool.profile, pool, cluster, renderers)
        document, warnings = rendered(pool, label, renderers.renderer(cluster), places)
        machine = pool.machine
        own = (machine.bootstrap_secret_name, machine.provisioning_secret_name, machine.kubelet_kubeconfig_name)
        self.linter.add(document, own)
        for warning in warnings:
            where = pool.profile.manifest.line_of(warning.field)
            placed = warning.at(where=where, about=profile_name(pool.profile))
            self.add(problem_finding(rules.USER_DATA, placed), label)
        return document

    # pools

    def cluster(self, number: int) -> None:
        """Resolve what the real MachineDeployments of a scope share."""
        scope = self.scopes[number]
        facts, _ = with_stand_ins(scope.inputs.facts, scope.settings)
        try:
            cluster = resolve_cluster(scope.settings, facts)
        except InputError as failure:
            self.problems(rules.CLUSTER, failure.problems, f"cluster {scope.name}")
            return
        self.problems(rules.SOURCE, cluster.warnings)
        scope = replace(scope, inputs=replace(scope.inputs, facts=facts))
        self.clusters[number] = scope, cluster
        self.counterfactuals[number] = Counterfactuals(scope.inputs, scope.settings, self.renderers[number].engine)

    def machine(self, number: int, index: int) -> None:
        """Check a real MachineDeployment."""
        if number not in self.clusters:
            return
        scope, cluster = self.clusters[number]
        machine = scope.inputs.machines[index]
        if scope.partial and self.lacks_profile(machine, scope):
            return
        self.counts = replace(self.counts, pools=self.counts.pools + 1)
        label, pool = _label(machine, scope), None
        self.real[label] = (self.counterfactuals[number], machine)
        try:
            pool = resolve_pool(machine, scope.inputs, cluster)
            self.problems(rules.POOL_WARNING, pool.warnings)
            self.pool(pool, label, cluster, self.renderers[number])
        except InputError as failure:
            for problem in self.counterfactuals[number].problems(machine, failure.problems):
                rule = rules.POOL_REFUSED if problem.code is Code.TEMPLATE_REFUSES_POOL else rules.POOL
                placed = problem if pool is None else _in(pool.profile, problem)
                self.add(problem_finding(rule, placed, about=str(machine.ref)), label)

    def lacks_profile(self, machine: MachineDeployment, scope: Scope) -> bool:
        """Whether a pool's profile is not among the given files; adds a finding if so."""
        wanted = wanted_profile(machine, scope.settings.namespace)
        if wanted is None or wanted in scope.inputs.profiles:
            return False
        ref = ObjectRef(PROFILE, *wanted)
        if ref in scope.inputs.broken or ref in scope.inputs.left_out:
            return False
        message = f"its profile {'/'.join(wanted)} is not among the files given, so it was not rendered"
        self.add(Finding(rules.PASSED_OVER, message, where=str(machine.manifest.origin), about=str(machine.ref)))
        return True

    def texts(self) -> tuple[Text, ...]:
        """The texts for external programs."""
        return self.linter.texts()

    def verdict(self, found: Iterable[Finding], remarks: Iterable[tuple[int, Remark]]) -> Verdict:
        """All findings, with ``found`` and the ``remarks`` of external programs."""
        own = (replace(each, seen_in=tuple(pools) or each.seen_in) for each, pools in self.findings.items())
        findings = _together((*found, *map(self.public, own), *map(self.public, self.linter.findings(remarks))))
        documents, texts = self.linter.distinct
        return Verdict(
            tuple(sorted(suppress(findings, self.suppressions), key=_order)),
            replace(self.counts, documents=documents, texts=texts),
            frozenset(self.sensitive),
        )

    def public(self, finding: Finding) -> Finding:
        """The finding, without its message if only real pools have it and its text was made from secrets."""
        if not finding.seen_in or any(label not in self.real for label in finding.seen_in):
            return finding
        counterfactuals, machine = self.real[finding.seen_in[0]]
        secret = counterfactuals.secret_texts(machine)
        _, of_file, path = finding.about.partition(", ")
        if not of_file:
            is_public = finding.rule in cloud_config.SIZE_RULES or finding.rule.id in _OF_POOLS
            is_public = is_public or _is_alike(finding, counterfactuals, machine)
        else:
            is_public = path != USER_DATA and not any(secret.touches(f"{half} {path}") for half in HALVES)
        return replace(finding, message=NOT_SHOWN, fix="") if secret and not is_public else finding


# Findings on a pool itself, already checked for secrets when they were found.
_OF_POOLS = frozenset(rule.id for rule in (rules.POOL, rules.POOL_REFUSED, rules.POOL_WARNING))


def _label(machine: MachineDeployment, scope: Scope) -> str:
    return f"{machine.ref} of cluster {scope.name}"


def _is_alike(finding: Finding, counterfactuals: Counterfactuals, machine: MachineDeployment) -> bool:
    """Whether the same is found with other secrets."""
    scenes = counterfactuals.scenes(machine)
    documents = [
        boot_document(scene.pool, "", scene.renderer, Places(scene.pool.profile)) for scene in (scenes or ())[1:]
    ]
    found = [{(each.rule, each.message) for check in DOCUMENT_CHECKS for each in check(one)} for one in documents]
    return bool(found) and all((finding.rule, finding.message) in each for each in found)


_MOST_REACHED: Final = 3
"""The number of profiles and pools that may reach a limit: after each one all others are checked again."""
_KEPT: Final = MEBIBYTE // 4
"""Memory for the results of each profile or pool, in bytes."""
_REFUSED = b"\0"
_SCHEMAS = {PROFILE: rules.PROFILE_SCHEMA, MACHINE: rules.POOL_SCHEMA}


def _in(profile: OperatingSystemProfile, problem: Problem) -> Problem:
    """A rendering problem, placed at its field in the profile."""
    if problem.where:
        return problem
    return replace(problem, where=profile.manifest.line_of(problem.field), about=profile_name(profile))


def _together(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Join findings that differ only in their pools."""
    pools: dict[Finding, list[str]] = {}
    for finding in findings:
        pools.setdefault(replace(finding, seen_in=()), []).extend(finding.seen_in)
    for finding, seen_in in pools.items():
        yield replace(finding, seen_in=tuple(dict.fromkeys(seen_in)))


def _order(finding: Finding) -> tuple[str, int, int, str, str, str]:
    path, _, line = finding.where.rpartition(":")
    if not line.isdecimal():
        path, line = finding.where, "0"
    return path, int(line), -finding.severity.weight, finding.id, finding.about, finding.message
