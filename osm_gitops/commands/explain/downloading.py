"""``explain --downloads``: what the nodes of pools download, as text, and as JSON with its schema."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.commands.explain.explaining import Loaded, choose_pool, load_clusters
from osm_gitops.config.spec import ClusterSpec
from osm_gitops.downloads.gathering import Network, needs_of
from osm_gitops.downloads.need import (
    ARCHITECTURES,
    Downloads,
    Kind,
    Listed,
    ListedUnresolved,
    Needs,
    PoolName,
    Spot,
    listed,
)
from osm_gitops.downloads.redirects import redirects_of
from osm_gitops.errors import InputError, Problem
from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, BootUnit
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.boot_documents import Places, Renderers, TracedPlaces, boot_document
from osm_gitops.pipeline.options import RunOptions, limits_of
from osm_gitops.plan.counterfactual import Counterfactuals, Scene
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.pools import resolve_pool
from osm_gitops.report.json_words import FORMAT_VERSION, problem_json
from osm_gitops.report.mask import MASK, Masker
from osm_gitops.report.schema_words import (
    COUNT,
    PROBLEM_RECORD,
    format_version,
    head,
    listing,
    record,
    ref,
    text,
    texts,
)
from osm_gitops.report.visible import many, section, table, visible
from osm_gitops.sources.manifests import MACHINE
from osm_gitops.workers.calls import Series
from osm_gitops.workers.process import LimitReached

# Replaces a pool's names when many pools are analysed, so that pools with equal scripts are analysed once.
_ANY_POOL: Final = "osm-gitops-any-pool"
_SHOWN: Final = "<pool>"
_MADE_FROM_SECRETS: Final = f"{MASK} (made from secrets)"


def downloads_of_pool(name: str, clusters: Sequence[ClusterSpec], options: RunOptions) -> Downloads:
    """What the nodes of the MachineDeployment ``NAME`` or ``NAMESPACE/NAME`` ask for.

    Raises InputError if it is not exactly one pool, or cannot be rendered.
    """
    problems: list[Problem] = []
    return downloads_of(*choose_pool(name, list(load_clusters(clusters, options, problems)), problems))


def downloads_of(cluster: Loaded, machine: MachineDeployment) -> Downloads:
    """What the nodes of a pool ask for. Raises InputError if it cannot be rendered, also with what was not readable."""
    collector = _DownloadCollector(neutral=False)
    collector.cluster(cluster, [machine])
    for failed in collector.failed.values():
        raise InputError([*cluster.inputs.unreadable, *failed])
    return collector.downloads(())


def downloads_of_all(clusters: Sequence[ClusterSpec], options: RunOptions) -> Downloads:
    """What the nodes of all pools ask for, each item once, and which pools cannot be rendered."""
    problems: list[Problem] = []
    collector = _DownloadCollector(neutral=True)
    for cluster in load_clusters(clusters, options, problems):
        collector.cluster(cluster, [machine for machine in cluster.inputs.machines if not machine.deleting])
    return collector.downloads(problems)


_Others = Callable[[], Sequence[BootDocument] | None]
"""A pool's documents with other secrets; ``None`` if it cannot be rendered with others."""


@dataclass(slots=True)
class _DownloadCollector:
    """What was found so far; ``neutral``: many pools are analysed, and their names are replaced."""

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
        """Analyse pools of a cluster."""
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
    """Runs in a worker: what the pools of a cluster share, and the results for equal documents."""

    def __init__(self, inputs: Inputs, settings: Settings, neutral: bool) -> None:
        self.inputs, self.neutral = inputs, neutral
        self.cluster = resolve_cluster(settings, inputs.facts)
        self.renderers = Renderers(settings, inputs.values)
        self.network = Network(self.cluster.kubeconfig.server, settings.http_proxy)
        self.counterfactuals = Counterfactuals(inputs, settings, self.renderers.engine)
        self.known: dict[bytes, Needs] = {}


def needs_of_pool(follower: Follower, machine: MachineDeployment) -> Needs:
    """Runs in a worker: what the nodes of a pool ask for. Raises InputError if it cannot be rendered."""
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
    """The needs, with those masked that the same files do not have with other secrets: they were made from secrets."""
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
    """Equal for pools whose nodes ask for the same at the same places."""
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
    """The needs with a readable placeholder for a pool's names."""
    return Needs(
        tuple(replace(each, name=each.name.replace(_ANY_POOL, _SHOWN)) for each in needs.needs),
        tuple(replace(each, why=each.why.replace(_ANY_POOL, _SHOWN)) for each in needs.unresolved),
    )


_NAMED: Final = 3
_TITLES: Final = {
    Kind.API: "API server",
    Kind.PROXY: "Proxy",
    Kind.URL: "URLs",
    Kind.REPOSITORY: "Package repositories",
    Kind.PACKAGE: "Packages",
    Kind.IMAGE: "Images",
    Kind.REGISTRY: "Configured registries",
    Kind.MENTIONED: "URLs in files, possibly not requested",
}


def downloads_text(downloads: Downloads, masker: Masker) -> str:
    """Text for people; it may change."""
    return "".join(f"{visible(masker.text(line))}\n" for line in _lines(downloads))


def downloads_json(downloads: Downloads, masker: Masker) -> str:
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version."""
    return masker.text(json.dumps(_downloads_document(downloads), indent=2, ensure_ascii=False)) + "\n"


def hosts_of(downloads: Downloads) -> dict[str, list[Listed]]:
    """What is requested from each host, by its name, without URLs that are only mentioned."""
    hosts: dict[str, list[Listed]] = {}
    for each in downloads.needs:
        if each.need.host and each.need.kind is not Kind.MENTIONED:
            hosts.setdefault(each.need.host, []).append(each)
    return dict(sorted(hosts.items()))


# --- text ---


def _lines(downloads: Downloads) -> Iterator[str]:
    yield f"What nodes of {_pools(downloads)} ask for while they boot"
    hosts = ((host, _kinds(needs), _redirects(host)) for host, needs in hosts_of(downloads).items())
    yield from section("Hosts", table(hosts))
    for kind, title in _TITLES.items():
        found = [each for each in downloads.needs if each.need.kind is kind]
        yield from section(title, table(_row(each, downloads) for each in found))
    yield from section("Could not be determined", (_unresolved(each, downloads) for each in downloads.unresolved))
    failed = (f"{pool}: {problem}" for pool, problems in downloads.failed.items() for problem in problems)
    yield from section("Not analysed, because it cannot be rendered", failed)


def _pools(downloads: Downloads) -> str:
    if len(downloads.pools) == 1:
        pool = downloads.pools[0]
        return f"{pool.pool} in cluster {pool.cluster}"
    return f"{many(len(downloads.pools), 'pool')} of {many(len({pool.cluster for pool in downloads.pools}), 'cluster')}"


def _kinds(needs: Sequence[Listed]) -> str:
    counted = Counter(each.need.kind for each in needs)
    return ", ".join(f"{number} {kind.value}" for kind, number in counted.items())


def _redirects(host: str) -> str:
    found = redirects_of(host)
    return f"redirects to {', '.join(found)}" if found else ""


def _row(each: Listed, downloads: Downloads) -> tuple[str, ...]:
    found = each.need
    first = next(iter(found.spots), None)
    more = f" and {len(found.spots) - 1} more" if len(found.spots) > 1 else ""
    lost = f"not known: {', '.join(found.unresolved)}" if found.unresolved else ""
    note = "; ".join(part for part in (found.note, lost) if part)
    named = f"{found.name}  ({note})" if note else found.name
    by = (found.by,) if found.kind in {Kind.PACKAGE, Kind.REPOSITORY} else ()
    place = f"{_place(first)}{more}" if first else ""
    pools = (_users(each.pools, downloads),) if len(downloads.pools) > 1 else ()
    return (*by, named, ",".join(found.architectures), *pools, place)


def _place(spot: Spot) -> str:
    return f"{spot} ({spot.source})" if spot.source else str(spot)


def _users(pools: Sequence[PoolName], downloads: Downloads) -> str:
    if len(pools) == len(downloads.pools):
        return "all pools"
    names = ", ".join(map(str, pools[:_NAMED]))
    return f"{names} and {len(pools) - _NAMED} more" if len(pools) > _NAMED else names


def _unresolved(each: ListedUnresolved, downloads: Downloads) -> str:
    users = f" [{_users(each.pools, downloads)}]" if len(downloads.pools) > 1 else ""
    return f"- {_place(each.unresolved.spot)}: {each.unresolved.why}{users}"


# --- JSON ---


def _downloads_document(downloads: Downloads) -> dict[str, Json]:
    return {
        "formatVersion": FORMAT_VERSION,
        "pools": [_pool(pool) for pool in downloads.pools],
        "hosts": list(hosts_of(downloads)),
        "redirects": {host: list(found) for host in hosts_of(downloads) if (found := redirects_of(host))},
        "needs": [_need(each) for each in downloads.needs],
        "unresolved": [
            {"why": each.unresolved.why, **_spot(each.unresolved.spot), "pools": [_pool(pool) for pool in each.pools]}
            for each in downloads.unresolved
        ],
        "failed": [
            {"pool": _pool(pool), "problems": [problem_json(problem) for problem in problems]}
            for pool, problems in downloads.failed.items()
        ],
        "problems": [problem_json(problem) for problem in downloads.problems],
    }


def _need(each: Listed) -> dict[str, Json]:
    found = each.need
    return {
        "kind": found.kind.value,
        "name": found.name,
        "host": found.host,
        "by": found.by,
        "architectures": list(found.architectures),
        "unresolved": list(found.unresolved),
        "note": found.note,
        "places": [_spot(spot) for spot in found.spots],
        "pools": [_pool(pool) for pool in each.pools],
    }


def _spot(spot: Spot) -> dict[str, Json]:
    return {"half": spot.half, "path": spot.path, "line": spot.line, "source": spot.source}


def _pool(pool: PoolName) -> dict[str, Json]:
    return {"cluster": pool.cluster, "namespace": pool.pool.namespace, "name": pool.pool.name}


def downloads_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    return {
        **head("downloads", "Downloads"),
        **record(
            "What nodes ask for while they boot. Contains no secret.",
            formatVersion=format_version(),
            pools=listing("pool", "The pools that were analysed."),
            hosts=texts("The hosts that nodes connect to, with the port if one is named, sorted by name."),
            redirects={
                "type": "object",
                "description": "By host the hosts that it is known to redirect to; * for parts that change.",
                "additionalProperties": texts("The hosts, sorted by name."),
            },
            needs=listing("need", "Each item once."),
            unresolved=listing("unresolved", "Places where it is not known what nodes ask for."),
            failed=listing("failed", "Pools that cannot be rendered."),
            problems=listing("problem", "What could not be read."),
        ),
        "$defs": {"problem": PROBLEM_RECORD, **_REST},
    }


_PLACE: Final = {
    "half": {"enum": ["bootstrap", "provisioning", ""], "description": "The half; empty if it is in no file."},
    "path": text("The path of the rendered file or unit on the node, or a module of cloud-init."),
    "line": COUNT | {"description": "The line in it; 0 for a module."},
    "source": text("File and line in the profile's source; empty if it is made from settings."),
}
_REST: Final = {
    "pool": record(
        "A MachineDeployment.",
        cluster=text("The cluster."),
        namespace=text("The namespace."),
        name=text("The name."),
    ),
    "place": record("Where it is.", **_PLACE),
    "need": record(
        "One item that nodes ask for.",
        kind={"enum": [kind.value for kind in Kind], "description": "The kind of item."},
        name=text("A URL, a package, an image; unknown parts as in the shell."),
        host=text("The host that nodes connect to; empty for packages, and if it is not known."),
        by=text("The command or program that asks."),
        architectures={
            "type": "array",
            "items": {"enum": list(ARCHITECTURES)},
            "description": "The architectures of the machines that ask.",
        },
        unresolved=texts("The unknown parts of the name."),
        note=text("A remark."),
        places=listing("place", "Where it is."),
        pools=listing("pool", "The pools whose nodes ask."),
    ),
    "unresolved": record(
        "A place where it is not known what nodes ask for.",
        why=text("Why."),
        **_PLACE,
        pools=listing("pool", "The pools that have it."),
    ),
    "failed": record(
        "A pool that cannot be rendered.",
        pool=ref("pool", "The pool."),
        problems=listing("problem", "All reasons."),
    ),
}
