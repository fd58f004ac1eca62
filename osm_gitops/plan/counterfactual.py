"""Render with other secrets: lines that differ were made from secrets.

This finds the results of all functions of a template, since they differ for another secret. The output of a condition
on a secret is found only if a variant changes the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gotemplate.assembly import freeze
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.expressions import ALL_FIELDS
from osm_gitops.model.desired import ALL_SECRET, DesiredObject, SecretTexts, together
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.plan.content import changed_texts
from osm_gitops.plan.sensitive import NOT_SHOWN, other_machine, sealed_templates, with_other_secrets
from osm_gitops.plan.variants import VARIANTS, Texts, Variant, secret_texts
from osm_gitops.render.manifests import profile_object
from osm_gitops.render.pools import CompiledProfiles, PoolRenderer
from osm_gitops.render.resolve.cluster_info import ClusterFacts, resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool, resolve_pool

_KEPT: Final = 64  # pools: reports ask for each object of a pool
_HALVES: Final = ("bootstrap", "provisioning")


@dataclass(frozen=True, slots=True)
class Scene:
    """A pool with certain secrets, and its renderer."""

    inputs: Inputs
    shared: ClusterFacts
    pool: ResolvedPool
    renderer: PoolRenderer
    objects: tuple[DesiredObject, ...] = field(repr=False)
    warnings: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Counterfactuals:
    """Renders pools of one cluster with other secrets, on demand.

    ``engine`` has the values of ``inputs``, and ``compiled`` the profiles that it has compiled.
    """

    inputs: Inputs
    settings: Settings
    engine: Engine
    compiled: CompiledProfiles = field(default_factory=dict)
    _worlds: dict[Variant | None, tuple[Inputs, ClusterFacts, PoolRenderer]] = field(default_factory=dict)
    _impossible: dict[Variant | None, Sequence[Problem]] = field(default_factory=dict)
    _is_public: dict[tuple[str, str], bool] = field(default_factory=dict)
    _found: dict[ObjectRef, SecretTexts] = field(default_factory=dict)
    _profiles: SecretTexts | None = None

    def secret_texts(self, machine: MachineDeployment | None) -> SecretTexts:
        """The parts of a pool's objects, or of the profiles without a pool, that were made from secrets."""
        if machine is None:
            if self._profiles is None:
                self._profiles = together(self._profile_texts())
            return self._profiles
        pool = machine.ref
        if pool not in self._found:
            if len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            scenes = self.scenes(machine)
            self._found[pool] = ALL_SECRET if scenes is None else compared(scenes[0], scenes[1:], self.inputs.sensitive)
        return self._found[pool]

    def scenes(self, machine: MachineDeployment) -> tuple[Scene, ...] | None:
        """The pool with its secrets, then with others; ``None`` if it cannot be rendered with others."""
        try:
            return (self.scene(machine, None), *(self.other(machine, variant) for variant in VARIANTS))
        except InputError:
            return None

    def other(self, machine: MachineDeployment, variant: Variant) -> Scene:
        """The pool with other secrets. Raises InputError if it cannot be rendered with them."""
        try:
            return self.scene(machine, variant)
        except InputError:
            return self.scene(machine, replace(variant, keeps_truth=True))

    def scene(self, machine: MachineDeployment, variant: Variant | None) -> Scene:
        """The pool with the secrets of a variant. Raises InputError if it cannot be rendered."""
        inputs, shared, renderer = self._world(variant)
        if variant is not None:
            machine = other_machine(machine, self.inputs.sensitive, variant.substitute)
        pool = resolve_pool(machine, inputs, shared)
        return Scene(inputs, shared, pool, renderer, *renderer.render(pool))

    def problems(self, machine: MachineDeployment, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Why a pool cannot be rendered, without texts made from secrets."""
        found = tuple(problems)
        told = [each for each in found if each.code is not Code.TEMPLATE_LIMIT]  # rendering again would take long
        return self._public(found, told, lambda: (self._problems_of(machine, variant) for variant in VARIANTS))

    def warnings(self, machine: MachineDeployment, warnings: Iterable[Problem]) -> tuple[Problem, ...]:
        """Warnings about a rendered pool, without texts made from secrets."""
        found = tuple(warnings)

        def others() -> Iterator[Iterable[Problem]]:
            scenes = self.scenes(machine)
            yield from [()] if scenes is None else [scene.warnings for scene in scenes[1:]]

        return self._public(found, found, others)

    def _public(
        self,
        found: Iterable[Problem],
        unsure: Sequence[Problem],
        others: Callable[[], Iterable[Iterable[Problem]]],
    ) -> tuple[Problem, ...]:
        """Problems; ``unsure`` ones only if ``others`` have them too. The result for a message is cached for all pools,
        since many fail alike."""
        unknown = {_sentence(each) for each in unsure} - self._is_public.keys()
        if unknown:
            public = set(unknown)
            for other in others():
                public &= set(map(_sentence, other))
                if not public:
                    break
            self._is_public |= {each: each in public for each in unknown}
        hidden = {each for each in unsure if not self._is_public[_sentence(each)]}
        return tuple(replace(each, what=NOT_SHOWN, fix="") if each in hidden else each for each in found)

    def _problems_of(self, machine: MachineDeployment, variant: Variant) -> Sequence[Problem]:
        try:
            self.scene(machine, variant)
        except InputError as failure:
            return failure.problems
        return ()

    def _world(self, variant: Variant | None) -> tuple[Inputs, ClusterFacts, PoolRenderer]:
        if variant not in self._worlds:
            if variant in self._impossible:
                raise InputError(self._impossible[variant])
            inputs, settings = self.inputs, self.settings
            if variant is not None:
                shared_by_all = replace(inputs, machines=())
                inputs, settings = with_other_secrets(shared_by_all, settings, variant.substitute)
            try:
                shared = resolve_cluster(settings, inputs.facts)
            except InputError as failure:
                self._impossible[variant] = failure.problems
                raise
            # The variant's profiles share compiled templates, but have other texts.
            compiled = self.compiled if inputs.profiles is self.inputs.profiles else {}
            self._worlds[variant] = (inputs, shared, PoolRenderer(self.engine, shared, compiled))
        return self._worlds[variant]

    def _profile_texts(self) -> Iterator[SecretTexts]:
        """The encrypted parts of profiles, which are not rendered."""
        sealed = {line.strip() for text in self.inputs.sensitive for line in text.split("\n")} - {""}
        for profile in self.inputs.profiles.values() if sealed else ():
            texts = changed_texts(None, profile_object(profile).body)
            touched = {each.name for each in texts if not sealed.isdisjoint(map(str.strip, _lines(each.after)))}
            yield SecretTexts(frozenset(sealed), frozenset(touched), known=frozenset(each.name for each in texts))


def public_problems(problems: Iterable[Problem], others: Sequence[Collection[Problem]]) -> tuple[Problem, ...]:
    """Problems without messages made from secrets: those that all of ``others`` have too."""
    return tuple(
        problem if all(problem in each for each in others) else replace(problem, what=NOT_SHOWN, fix="")
        for problem in problems
    )


def _sentence(problem: Problem) -> tuple[str, str]:
    return problem.what, problem.fix


def _lines(text: str | None) -> list[str]:
    return (text or "").split("\n")


def compared(ours: Scene, others: Sequence[Scene], sealed: frozenset[str]) -> SecretTexts:
    """The parts of a pool's objects that were made from secrets; ``sealed`` are texts that were encrypted."""
    profile = ours.pool.profile
    wholly = dict.fromkeys(_sealed_names(profile, sealed))
    found = [
        secret_texts(_texts(each), [_texts(other.objects[at]) for other in others], wholly)
        for at, each in enumerate(ours.objects)
    ]
    return together([*found, SecretTexts(reading=frozenset(_reading(ours, others)))])


def _texts(made: DesiredObject) -> Texts:
    """The parts of an object that templates can affect: all but metadata, which has our digests."""
    body: Mapping[str, object] = {key: value for key, value in made.body.items() if key != "metadata"}
    if made.ref.kind == "Secret":
        body = {**body, "metadata": {"name": made.ref.name}}
    return {each.name: each.after or "" for each in changed_texts(None, body) if each.name != "metadata"}


def _sealed_names(profile: OperatingSystemProfile, sealed: frozenset[str]) -> Iterator[str]:
    for half, config in zip(_HALVES, (profile.bootstrap, profile.provisioning), strict=True):
        yield from (f"{half} {path}" for path in sealed_templates(config, sealed))


def _reading(ours: Scene, others: Sequence[Scene]) -> Iterator[str]:
    """The files whose templates read a field that depends on secrets."""
    data = ours.renderer.data(ours.pool)
    secret = {
        name
        for other in others
        for name, value in other.renderer.data(other.pool).items()
        if freeze(value) != freeze(data[name])
    }
    compiled = ours.renderer.compiled(ours.pool.profile)
    for name, half in zip(_HALVES, (compiled.bootstrap, compiled.provisioning), strict=True):
        met: dict[str, int] = {}
        for file, reads in zip(half.files, half.compiled.reads_by_file(), strict=True):
            number = met[file.path] = met.get(file.path, 0) + 1
            if secret and (ALL_FIELDS in reads or not secret.isdisjoint(reads)):
                yield f"{name} {file.path}" if number == 1 else f"{name} {file.path} ({number})"
