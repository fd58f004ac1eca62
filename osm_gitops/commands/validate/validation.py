"""Check profiles and pools in a worker process, in parts that do not depend on each other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.commands.validate.grouping import grouped, merged, seen_in, without_consequences
from osm_gitops.commands.validate.linter import CheckedText, Linter, representative
from osm_gitops.commands.validate.partial import PartialProfile, failed_texts, without
from osm_gitops.commands.validate.results import Answer, Counts, PartResult, Scope, Text
from osm_gitops.commands.validate.values import minors_of, without_bad_settings, without_bad_values
from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.lint.rules import cloud_config, rules
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument
from osm_gitops.lint.rules.catalogue import DOCUMENT_CHECKS
from osm_gitops.lint.rules.cloud_config import USER_DATA
from osm_gitops.lint.rules.pools import skew_findings
from osm_gitops.lint.rules.problems import problem_finding, profile_name
from osm_gitops.lint.rules.templates import template_findings
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.boot_documents import Places, Renderers, TracedPlaces, boot_document, rendered
from osm_gitops.pipeline.synthetic import MADE_UP_SECRETS, Combination, Matrix, made_up_pool, matrix, with_placeholders
from osm_gitops.plan.counterfactual import Counterfactuals
from osm_gitops.render.resolve.cluster_info import ClusterFacts, resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool, resolve_pool, wanted_profile
from osm_gitops.sources.manifests import MACHINE, PROFILE


@dataclass(slots=True)
class _Part:
    """A profile, or all of a cluster but its profiles. ``sealed`` are texts that were encrypted in the source.
    ``secrets``: findings may be made from secrets. ``rests``: the profile without the texts of these names."""

    linter: Linter
    sealed: frozenset[str]
    secrets: bool = False
    findings: dict[Finding, list[str]] = field(default_factory=dict)
    combinations: dict[str, Combination] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    rests: dict[frozenset[str], PartialProfile | None] = field(default_factory=dict)

    def add(self, finding: Finding, label: str = "") -> None:
        pools = self.findings.setdefault(finding, [])
        if label:
            pools.append(label)

    def problems(self, rule: Rule, problems: Iterable[Problem], about: str = "", label: str = "") -> None:
        for problem in problems:
            self.add(problem_finding(rule, problem, about=about), label)

    def all_findings(self) -> Iterator[Finding]:
        yield from (replace(each, seen_in=tuple(pools) or each.seen_in) for each, pools in self.findings.items())
        yield from self.linter.findings()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A text of a part for external programs. ``representative``: slow ones get it for this part."""

    part: _Part
    text: CheckedText
    representative: bool


class Validation:
    """The state in a worker. ``user_data``: a program checks it as a whole."""

    def __init__(self, scopes: Sequence[Scope], user_data: bool) -> None:
        self.scopes = scopes
        self.user_data = user_data
        self.parts: dict[str, _Part] = {}
        self.asked: list[list[_Asked]] = []
        self.renderers: dict[int, Renderers] = {}
        self.settings: dict[int, Settings] = {}
        self.clusters: dict[int, tuple[Scope, ClusterFacts]] = {}
        self.counterfactuals: dict[int, Counterfactuals] = {}
        self.real: dict[str, tuple[Counterfactuals, MachineDeployment]] = {}

    def begin(self, number: int) -> None:
        """Prepare for rendering in a scope, once for all of its parts."""
        scope = self.scopes[number]
        self.renderers.setdefault(number, Renderers(scope.settings, scope.inputs.values))

    # profiles

    def profile(self, number: int, name: str, key: tuple[str, str]) -> None:
        """Check a profile in all combinations, as a part with this name."""
        profile, renderers = self.scopes[number].inputs.profiles[key], self.renderers[number]
        part = self.parts[name] = _Part(
            Linter(self.user_data), self.scopes[number].inputs.sensitive, counts=Counts(profiles=1)
        )
        plain = renderers.renderer(renderers.made_up(Combination("", "")))
        checked = PartialProfile(profile, renderers)
        try:
            compiled = plain.compiled(profile)
        except InputError as failure:
            part.problems(rules.TEMPLATE_SYNTAX, failure.problems)
            rest = without(checked, failed_texts(failure.problems))
            if rest is None:
                return
            checked, renderers = rest, rest.renderers
            plain = renderers.renderer(renderers.made_up(Combination("", "")))
            try:
                compiled = plain.compiled(checked.profile)
            except InputError:  # because of what is left out
                return
        for finding in template_findings(renderers.engine, checked.profile):
            # What uses a template may be what is left out, or what an overlay replaces.
            is_partial = checked.unknown or profile.overlaid
            if not (is_partial and finding.rule is rules.UNUSED_TEMPLATE and _is_of_base(finding, profile)):
                part.add(finding)
        self.matrix(part, checked, matrix(profile, compiled.reads()))

    def matrix(self, part: _Part, checked: PartialProfile, every: Matrix) -> None:
        """Check the combinations. Providers with equal results get further variations only for one of them."""
        profile = checked.profile
        outcomes = {each: self.combination(part, checked, each) for each in every.grid()}
        distinct: dict[tuple[bytes, ...], str] = {}
        for provider in every.providers:
            alike = tuple(outcome for each, outcome in outcomes.items() if each.provider == provider)
            distinct.setdefault(alike, provider)
        for each in every.variations(distinct.values()):
            outcomes[each] = self.combination(part, checked, each)
        refused = sum(outcome == _REFUSED for outcome in outcomes.values())
        if outcomes and refused == len(outcomes):
            message = "it refuses every combination of provider, Kubernetes version and settings"
            where = profile.manifest.line_of("spec")
            part.add(Finding(rules.NEVER_RENDERED, message, where=where, about=profile_name(profile)))
        part.counts = replace(part.counts, combinations=len(outcomes), refused=refused)
        part.combinations = {str(each): each for each, outcome in outcomes.items() if outcome != _REFUSED}

    def combination(self, part: _Part, checked: PartialProfile, combination: Combination) -> bytes:
        """Check one combination; return a digest of the result without the provider's name, to compare providers."""
        profile, label, cluster = checked.profile, str(combination), checked.renderers.made_up(combination)
        pool = made_up_pool(combination, profile, cluster)
        try:
            document = _check_pool(part, pool, label, cluster, checked)
        except InputError as failure:
            others = [
                _in(profile, problem) for problem in failure.problems if problem.code is not Code.TEMPLATE_REFUSES_POOL
            ]
            # What fails in a file without a part of it may be right.
            sound = [each for each in others if not failed_texts([each]) & checked.unknown]
            part.problems(rules.RENDERING, sound, profile_name(profile), label)
            names = failed_texts(others)
            if names not in part.rests:
                part.rests[names] = without(checked, names)
            rest = part.rests[names]
            if rest is not None:
                # What fails now may only fail without these texts.
                with suppress(InputError):
                    _check_pool(part, replace(pool, profile=rest.profile), label, cluster, rest)
            return repr(others).encode() if others else _REFUSED
        digest = hashlib.sha256()
        for half in HALVES:
            digest.update(document.user_data[half].replace(combination.provider.encode(), _REFUSED))
        return digest.digest()

    # pools

    def sources(self, number: int, name: str, secrets: bool) -> None:
        """Collect what reading a scope found, as a part with this name. ``secrets``: its files have some; without, what
        is rendered is made from placeholders."""
        scope = self.scopes[number]
        inputs = scope.inputs
        part = self.parts[name] = _Part(Linter(self.user_data), inputs.sensitive, secrets)
        part.problems(rules.UNREADABLE, inputs.unreadable)
        for warning in inputs.warnings:
            rule = rules.PASSED_OVER if warning.code is Code.READ_WITHOUT_KEY else rules.SOURCE
            part.add(problem_finding(rule, warning))
        for ref, problems in inputs.broken.items():
            part.problems(_SCHEMAS.get(ref.kind, rules.UNREADABLE), problems, str(ref))
        for ref, problems in inputs.unfit.items():
            part.problems(rules.NAME, problems, str(ref))
        minors = minors_of(inputs.machines)
        settings, findings = without_bad_settings(scope.settings, scope.given, minors)
        self.settings[number] = settings
        for finding in (*findings, *(() if scope.partial else skew_findings(inputs.machines))):
            part.add(finding)
        if any(not machine.deleting for machine in inputs.machines):
            self.resolve(part, number, replace(scope, settings=settings))

    def resolve(self, part: _Part, number: int, scope: Scope) -> None:
        """Resolve what the real MachineDeployments of a scope share."""
        facts, _ = with_placeholders(scope.inputs.facts, scope.settings)
        try:
            cluster = resolve_cluster(scope.settings, facts)
        except InputError as failure:
            part.problems(rules.CLUSTER, failure.problems, f"cluster {scope.name}")
            return
        part.problems(rules.SOURCE, cluster.warnings)
        scope = replace(scope, inputs=replace(scope.inputs, facts=facts))
        self.clusters[number] = scope, cluster
        self.counterfactuals[number] = Counterfactuals(scope.inputs, scope.settings, self.renderers[number].engine)

    def machine(self, number: int, name: str, index: int) -> None:
        """Check a real MachineDeployment, as a part of a scope."""
        part = self.parts[name]
        inputs, gates = self.scopes[number].inputs, self.settings[number].feature_gates
        machine, findings = without_bad_values(inputs.machines[index], gates, inputs.sensitive)
        for finding in findings:
            part.add(finding)
        if number not in self.clusters:
            return
        scope, cluster = self.clusters[number]
        if scope.partial and _lacks_profile(part, machine, scope):
            return
        part.counts = replace(part.counts, pools=part.counts.pools + 1)
        label, pool = f"{machine.ref} of cluster {scope.name}", None
        if part.secrets:
            self.real[label] = (self.counterfactuals[number], machine)
        try:
            pool = resolve_pool(machine, scope.inputs, cluster)
            part.problems(rules.POOL_WARNING, pool.warnings)
            _check_pool(part, pool, label, cluster, PartialProfile(pool.profile, self.renderers[number]))
        except InputError as failure:
            for problem in self.counterfactuals[number].problems(machine, failure.problems):
                placed = problem if pool is None else _in(pool.profile, problem)
                rule = rules.POOL
                if pool is not None and problem.code is Code.TEMPLATE_REFUSES_POOL:
                    rule, placed = rules.POOL_REFUSED, _refusal(pool, placed)
                part.add(problem_finding(rule, placed, about=str(machine.ref)), label)

    # results

    def texts(self) -> tuple[Text, ...]:
        """The texts for external programs: one of those that differ in the names of pools alone."""
        same: dict[tuple[str, str], list[_Asked]] = {}
        for part in self.parts.values():
            texts = list(part.linter.texts())
            chosen = {(text.file.path, text.file.text) for text in representative(texts)}
            for text in texts:
                is_chosen = (text.file.path, text.file.text) in chosen
                same.setdefault((text.file.path, text.plain), []).append(_Asked(part, text, is_chosen))
        self.asked = list(same.values())
        return tuple(
            Text(file.path, file.text, file.permissions, file.half, any(each.representative for each in alike))
            for alike in self.asked
            for file in (alike[0].text.file,)
        )

    def results(self, answers: Iterable[Answer]) -> dict[str, PartResult]:
        """The results of all parts, with the ``answers`` of external programs on :meth:`texts`."""
        for answer in answers:
            for each in self.asked[answer.text]:
                # A part gets what it would get alone.
                if answer.slow and not each.representative:
                    continue
                for finding in each.text.findings([answer.remark]):
                    each.part.findings.setdefault(replace(finding, seen_in=()), []).extend(finding.seen_in)
        return {name: self.result(part) for name, part in self.parts.items()}

    def result(self, part: _Part) -> PartResult:
        found = without_consequences(merged(part.all_findings()))
        public = {finding: self.is_public(finding) for finding in found}

        def told(*, shown: bool) -> tuple[Finding, ...]:
            mistakes = grouped(finding for finding, is_shown in public.items() if is_shown is shown)
            return tuple(replace(each, seen_in=seen_in(each.seen_in, part.combinations)) for each in mistakes)

        documents, texts = part.linter.distinct
        return PartResult(
            told(shown=True),
            replace(part.counts, documents=documents, texts=texts),
            told(shown=False),
        )

    def is_public(self, finding: Finding) -> bool:
        """Whether the message may be shown: not if only real pools have it and its text was made from secrets."""
        if not finding.seen_in or any(label not in self.real for label in finding.seen_in):
            return True
        if finding.rule.id in _OF_POOLS:  # already checked for secrets when it was found
            return True
        counterfactuals, machine = self.real[finding.seen_in[0]]
        secret = counterfactuals.secret_texts(machine)
        if not secret:
            return True
        _, of_file, path = finding.about.partition(", ")
        if of_file:
            return path != USER_DATA and not any(secret.touches(f"{half} {path}") for half in HALVES)
        return finding.rule in cloud_config.SIZE_RULES or _is_alike(finding, counterfactuals, machine)


def _check_pool(
    part: _Part, pool: ResolvedPool, label: str, cluster: ClusterFacts, checked: PartialProfile
) -> BootDocument:
    """Render a pool and pass it to the linter. Raises InputError if it cannot be rendered."""
    renderers = checked.renderers
    places = TracedPlaces(pool.profile, pool, cluster, renderers)
    document, warnings = rendered(pool, label, renderers.renderer(cluster), places)
    sealed = part.sealed if pool.profile.manifest.sealed else ()
    document = replace(document, secrets=MADE_UP_SECRETS.union(sealed))
    machine = pool.machine
    own = (machine.bootstrap_secret_name, machine.provisioning_secret_name, machine.kubelet_kubeconfig_name)
    if checked.unknown:
        part.linter.add_files(document, own, checked.unknown)
        return document
    part.linter.add(document, own)
    for warning in warnings:
        where = pool.profile.manifest.line_of(warning.field)
        placed = warning.at(where=where, about=profile_name(pool.profile))
        part.add(problem_finding(rules.USER_DATA, placed), label)
    return document


def _is_of_base(finding: Finding, profile: OperatingSystemProfile) -> bool:
    """Whether a finding is not in an overlay, but in the profile that it changes."""
    return finding.where.startswith(("builtin:", f"{profile.manifest.origin.path}:"))


def _lacks_profile(part: _Part, machine: MachineDeployment, scope: Scope) -> bool:
    """Whether a pool's profile is not among the given files; adds a finding if so."""
    wanted = wanted_profile(machine, scope.settings.namespace)
    if wanted is None or wanted in scope.inputs.profiles:
        return False
    ref = ObjectRef(PROFILE, *wanted)
    if ref in scope.inputs.broken or ref in scope.inputs.left_out:
        return False
    message = f"its profile {'/'.join(wanted)} is not among the files given, so it was not rendered"
    part.add(Finding(rules.PASSED_OVER, message, where=str(machine.manifest.origin), about=str(machine.ref)))
    return True


def _is_alike(finding: Finding, counterfactuals: Counterfactuals, machine: MachineDeployment) -> bool:
    """Whether the same is found with other secrets."""
    scenes = counterfactuals.scenes(machine)
    documents = [
        boot_document(scene.pool, "", scene.renderer, Places(scene.pool.profile)) for scene in (scenes or ())[1:]
    ]
    found = [{(each.rule, each.message) for check in DOCUMENT_CHECKS for each in check(one)} for one in documents]
    return bool(found) and all((finding.rule, finding.message) in each for each in found)


def _in(profile: OperatingSystemProfile, problem: Problem) -> Problem:
    """A rendering problem, placed at its field in the profile."""
    if problem.where:
        return problem
    return replace(problem, where=profile.manifest.line_of(problem.field), about=profile_name(profile))


def _refusal(pool: ResolvedPool, problem: Problem) -> Problem:
    """A refusal by the profile, placed at the pool: that is what has to change."""
    machine = pool.machine
    what = f"{profile_name(pool.profile)} refuses it ({problem.where}): {problem.what}"
    return replace(problem, what=what, where=str(machine.manifest.origin), about=str(machine.ref))


# Findings on a pool itself.
_OF_POOLS: Final = frozenset(rule.id for rule in (rules.POOL, rules.POOL_REFUSED, rules.POOL_WARNING))
_REFUSED: Final = b"\0"
_SCHEMAS: Final = {PROFILE: rules.PROFILE_SCHEMA, MACHINE: rules.POOL_SCHEMA}
