"""The story of ``osm-gitops explain --downloads``: what the nodes of one pool, or of all pools, ask for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.checks.boot_file import BootDocument, BootFile, BootUnit
from osm_gitops.downloads.gathering import Network, needs_of
from osm_gitops.downloads.listing import Downloads, PoolName, listed
from osm_gitops.downloads.need import Needs
from osm_gitops.errors import InputError, Problem
from osm_gitops.fleet.explaining import Loaded, choose_pool, load_clusters
from osm_gitops.fleet.options import RunOptions
from osm_gitops.fleet.spec import ClusterSpec
from osm_gitops.fleet.validation.documents import boot_document
from osm_gitops.fleet.validation.places import TracedPlaces
from osm_gitops.fleet.validation.renderers import Renderers
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import ObjectRef
from osm_gitops.resolve.cluster import resolve_cluster
from osm_gitops.resolve.pools import resolve_pool
from osm_gitops.sources.manifests import MACHINE

# Stands for a pool's own names while many pools are looked at, so that those that boot alike are followed once.
_ANY_POOL: Final = "osm-gitops-any-pool"
_SHOWN: Final = "<pool>"


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


@dataclass(slots=True)
class _Work:
    """What was found so far; ``neutral``: many pools are looked at, and their names do not matter."""

    neutral: bool
    found: list[tuple[PoolName, Needs]] = field(default_factory=list)
    failed: dict[PoolName, tuple[Problem, ...]] = field(default_factory=dict)
    sensitive: set[str] = field(default_factory=set)
    _known: dict[bytes, Needs] = field(default_factory=dict)

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
            shared = resolve_cluster(cluster.settings, cluster.inputs.facts)
        except InputError as failure:
            self.failed |= {PoolName(name, machine.ref): failure.problems for machine in machines}
            return
        renderers = Renderers(cluster.settings, cluster.inputs.values)
        network = Network(shared.kubeconfig.server, cluster.settings.http_proxy)
        for machine in machines:
            pool = PoolName(name, machine.ref)
            try:
                resolved = resolve_pool(machine, cluster.inputs, shared)
                places = TracedPlaces(resolved.profile, resolved, shared, renderers)
                document = boot_document(resolved, str(machine.ref), renderers.renderer(shared), places)
            except InputError as failure:
                self.failed[pool] = failure.problems
                continue
            self.found.append((pool, self._needs(document, machine.ref, network)))

    def _needs(self, document: BootDocument, pool: ObjectRef, network: Network) -> Needs:
        if not self.neutral:
            return needs_of(document, network)
        plain = _with_texts(document, lambda text: _without_names(text, pool))
        key = _digest(plain, network)
        if key not in self._known:
            self._known[key] = _shown(needs_of(plain, network))
        return self._known[key]


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
