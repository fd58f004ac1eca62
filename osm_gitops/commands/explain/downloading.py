"""The story of ``osm-gitops explain --downloads``: what the nodes of one pool, or of all pools, ask for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.commands.explain.explaining import Loaded, choose_pool, load_clusters
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.downloads.gathering import Network, needs_of
from osm_gitops.downloads.listing import Downloads, PoolName, listed
from osm_gitops.downloads.need import Kind, Needs
from osm_gitops.errors import InputError, Problem
from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, BootUnit
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.boot_documents import boot_document
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.places import Places, TracedPlaces
from osm_gitops.pipeline.renderers import Renderers
from osm_gitops.pipeline.rendering import limits_of
from osm_gitops.plan.counterfactual import Counterfactuals, Scene
from osm_gitops.render.resolve.cluster import resolve_cluster
from osm_gitops.render.resolve.pools import resolve_pool
from osm_gitops.report.mask import MASK
from osm_gitops.sources.manifests import MACHINE
from osm_gitops.workers.calls import Series
from osm_gitops.workers.process import LimitReached

# Stands for a pool's own names while many pools are looked at, so that those that boot alike are followed once.
_ANY_POOL: Final = "osm-gitops-any-pool"
_SHOWN: Final = "<pool>"
_MADE_FROM_SECRETS: Final = f"{MASK} (made from secrets)"


def downloads_of_pool(name: str, clusters: Sequence[ClusterSpec], options: RunOptions) -> Downloads:
    """What the nodes of the MachineDeployment ask for that ``NAME`` or ``NAMESPACE/NAME`` means.

    Raises InputError where it is not one pool of one cluster, or cannot be rendered.
    """
    problems: list[Problem] = []
    cluster, machine = choose_pool(name, list(load_clusters(clusters, options, problems)), problems)
    work = _Work(neutral=False)
    work.cluster(cluster, [machine])
    for failed in work.failed.values():
        raise InputError(failed)
    return work.downloads(())


def downloads_of_all(clusters: Sequence[ClusterSpec], options: RunOptions) -> Downloads:
    """What the nodes of all pools ask for, each thing once. Pools that cannot be rendered are told beside it."""
    problems: list[Problem] = []
    work = _Work(neutral=True)
    for cluster in load_clusters(clusters, options, problems):
        work.cluster(cluster, [machine for machine in cluster.inputs.machines if not machine.deleting])
    return work.downloads(problems)


_Others = Callable[[], Sequence[BootDocument] | None]
"""A pool's documents with other secrets; ``None`` where it cannot be rendered with others."""


@dataclass(slots=True)
class _Work:
    """What was found so far; ``neutral``: many pools are looked at, and their names do not matter."""

    neutral: bool
    found: list[tuple[PoolName, Needs]] = field(default_factory=list)
    failed: dict[PoolName, tuple[Problem, ...]] = field(default_factory=dict)
    sensitive: set[str] = field(default_factory=set)

    def downloads(self, problems: Iterable[Problem]) -> Downloads:
        needs, unresolved = listed(self.found)
        return Downloads(
            pools=tuple(sorted(pool for pool, _ in self.found)),
            needs=needs,
            unresolved=unresolved,
            failed=self.failed,
            problems=tuple(dict.fromkeys(problems)),
            sensitive=frozenset(self.sensitive),
        )

    def cluster(self, cluster: Loaded, machines: Sequence[MachineDeployment]) -> None:
        """Look at pools of a cluster."""
        name = cluster.spec.name
        self.sensitive |= cluster.sensitive
        if self.neutral:
            broken = ((ref, found) for ref, found in cluster.inputs.broken.items() if ref.kind == MACHINE)
            self.failed |= {PoolName(name, ref): found for ref, found in broken}
        try:
            resolve_cluster(cluster.settings, cluster.inputs.facts)
        except InputError as failure:
            self.failed |= {PoolName(name, machine.ref): failure.problems for machine in machines}
            return
        alone = replace(cluster.inputs, machines=())
        follower = Series(Follower, alone, cluster.settings, self.neutral, limits=limits_of(cluster.settings))
        outcomes = follower.map(needs_of_pool, ((machine,) for machine in machines))
        for machine, outcome in zip(machines, outcomes, strict=True):
            pool = PoolName(name, machine.ref)
            if isinstance(outcome, LimitReached):
                self.failed[pool] = outcome.named("following its scripts", where=str(machine.manifest.origin))
            elif isinstance(outcome, InputError):
                self.failed[pool] = outcome.problems
            else:
                self.found.append((pool, outcome))


class Follower:
    """In a worker: what the pools of a cluster share, and what was found for those that boot alike."""

    def __init__(self, inputs: Inputs, settings: Settings, neutral: bool) -> None:
        self.inputs, self.neutral = inputs, neutral
        self.cluster = resolve_cluster(settings, inputs.facts)
        self.renderers = Renderers(settings, inputs.values)
        self.network = Network(self.cluster.kubeconfig.server, settings.http_proxy)
        self.counterfactuals = Counterfactuals(inputs, settings, self.renderers.engine)
        self.known: dict[bytes, Needs] = {}


def needs_of_pool(follower: Follower, machine: MachineDeployment) -> Needs:
    """In a worker: what the nodes of a pool ask for. Raises InputError where it cannot be rendered."""
    try:
        pool = resolve_pool(machine, follower.inputs, follower.cluster)
        places = TracedPlaces(pool.profile, pool, follower.cluster, follower.renderers)
        document = boot_document(pool, str(machine.ref), follower.renderers.renderer(follower.cluster), places)
    except InputError as failure:
        raise InputError(follower.counterfactuals.problems(machine, failure.problems)) from None

    def neutral(text: str) -> str:
        return _without_names(text, machine.ref) if follower.neutral else text

    plain = _with_texts(document, neutral)
    key = _digest(plain, follower.network)
    if key not in follower.known:
        scenes = follower.counterfactuals.scenes(machine)
        others = None if scenes is None else [_with_texts(_document(scene), neutral) for scene in scenes[1:]]
        found = _public(needs_of(plain, follower.network), plain, others, follower.network)
        follower.known[key] = _shown(found) if follower.neutral else found
    return follower.known[key]


def _document(scene: Scene) -> BootDocument:
    return boot_document(scene.pool, str(scene.pool.machine.ref), scene.renderer, Places(scene.pool.profile))


def _public(needs: Needs, document: BootDocument, others: Sequence[BootDocument] | None, network: Network) -> Needs:
    """What is asked for, without what was made from secrets: what the same files with other secrets do not ask for."""
    if others is None:
        return _masked(needs, set(), set())
    for other in others:
        if _digest(other, network) != _digest(document, network):
            found = needs_of(other, network)
            asked = {(each.key, each.by, each.note, each.unresolved) for each in found.needs}
            needs = _masked(needs, asked, {each.why for each in found.unresolved})
    return needs


def _masked(needs: Needs, asked: AbstractSet[object], lost: AbstractSet[str]) -> Needs:
    return Needs(
        tuple(
            each
            if (each.key, each.by, each.note, each.unresolved) in asked or each.kind in {Kind.API, Kind.PROXY}
            else replace(each, name=_MADE_FROM_SECRETS, by=MASK, note="", unresolved=())
            for each in needs.needs
        ),
        tuple(each if each.why in lost else replace(each, why=_MADE_FROM_SECRETS) for each in needs.unresolved),
    )


def _without_names(text: str, pool: ObjectRef) -> str:
    for own in (f"{pool.name}-{pool.namespace}", f"{pool.namespace}-{pool.name}"):
        text = text.replace(own, _ANY_POOL)
    return text


def _with_texts(document: BootDocument, edit: Callable[[str], str]) -> BootDocument:
    def file(each: BootFile) -> BootFile:
        return replace(each, text=edit(each.text))

    def unit(each: BootUnit) -> BootUnit:
        content = file(each.content) if each.content is not None else None
        return replace(each, content=content, drop_ins=tuple(map(file, each.drop_ins)))

    return replace(document, files=tuple(map(file, document.files)), units=tuple(map(unit, document.units)))


def _digest(document: BootDocument, network: Network) -> bytes:
    """Equal for pools whose nodes ask for the same, at the same places."""
    digest = hashlib.sha256()
    for part in _parts(document, network):
        digest.update(part.encode(errors="surrogateescape") + b"\0")
    return digest.digest()


def _parts(document: BootDocument, network: Network) -> Iterator[str]:
    yield from (str(document.profile.manifest.origin), document.os, network.server, network.proxy)
    for file in document.texts:
        yield from (file.half, file.path, file.text)
    yield from (repr(document.modules[half]) for half in document.modules)


def _shown(needs: Needs) -> Needs:
    """With a word for people in the place of a pool's own names."""
    return Needs(
        tuple(replace(each, name=each.name.replace(_ANY_POOL, _SHOWN)) for each in needs.needs),
        tuple(replace(each, why=each.why.replace(_ANY_POOL, _SHOWN)) for each in needs.unresolved),
    )
