"""What a run of a cluster depends on, as watches see it: which objects are watched, and which changes matter.

A change matters if a run reads it. Of MachineDeployments that is neither status nor replicas nor finalizers, of
MachineSets only their revision. So what machine-controller, autoscalers and runs themselves write to them starts no
run, or one that finds nothing to do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from osm_gitops.config.spec import ClusterSpec, LiveRef, LiveTarget
from osm_gitops.kube.api import Subject
from osm_gitops.kube.kinds import (
    CONFIG,
    CONFIG_MAP,
    ENDPOINT_SLICE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    PROFILE,
    SECRET,
    SERVICE_ACCOUNT,
    Kind,
)
from osm_gitops.kube.watch import Changed, Listed, Report
from osm_gitops.model.desired import Side
from osm_gitops.model.machine import REVISION_ANNOTATION, is_chosen
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.settings import Settings
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO
from osm_gitops.render.resolve.named_facts import MOST_GETS, NamedFacts, by_namespace, named_facts, named_profiles
from osm_gitops.sources.cluster import API_SERVICE, live_machine
from osm_gitops.targets.cluster.stamping import STAMPED_CONFIGS, STAMPED_SECRETS

_DIGEST: Final = 16  # bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a watch looks."""

    side: Side
    subject: Subject


@dataclass(frozen=True, slots=True)
class Seen:
    """What is kept of an object: a ``digest`` of what runs read of it, the name of its ``pool`` (empty: it may concern
    all), whether that pool is ``leaving``, and what rendering reads because of it: ``facts`` beyond those of the
    settings, and the namespaces of ``profiles``."""

    ref: ObjectRef
    digest: bytes
    pool: str = ""
    leaving: bool = False
    facts: NamedFacts | None = None
    profiles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Trigger:
    """Why a run is due, and for which pools, by name; ``None`` for all of the cluster."""

    reason: str
    pools: frozenset[str] | None = None


@dataclass(slots=True)
class Watched:
    """A cluster of the fleet, and what its watches have seen. ``only`` are globs of pools that runs look at.
    ``refreshes``: its runs are those of ``refresh``."""

    spec: ClusterSpec
    settings: Settings
    only: tuple[str, ...] = ()
    refreshes: bool = False
    runs: int = 0
    """Runs that have begun. What was listed before a run began is known to that run."""
    _seen: dict[Place, dict[ObjectRef, Seen]] = field(default_factory=dict)
    _added: dict[Place, int] = field(default_factory=dict)

    def places(self) -> frozenset[Place]:
        """All that should be watched now."""
        found = frozenset(self._places())
        for place in found - self._added.keys():
            self._added[place] = self.runs
        for place in self._added.keys() - found:
            del self._added[place]
            self._seen.pop(place, None)
        return found

    def keeper(self, place: Place) -> Callable[[dict[str, Json]], Seen | None]:
        """Makes of an object what is kept of it, in any thread."""
        kind = place.subject.kind
        if kind is MACHINE_DEPLOYMENT:
            return partial(_machine, self.settings, named_facts((), self.settings))
        if kind is MACHINE_SET:
            return _machine_set
        if place.subject == _CLUSTER_INFO:
            return _cluster_info
        return _described if kind is PROFILE or self.refreshes else _fact

    def take(self, place: Place, report: Report[Seen]) -> Trigger | None:
        """Take in a report; returns what it is a reason for."""
        if place not in self._added:
            return None
        if isinstance(report, Listed):
            return self._compare(place, {each.ref: each for each in report.objects if self._counts(each)})
        if not isinstance(report, Changed) or not self._counts(report.found):
            return None
        known = self._seen.setdefault(place, {})
        before = known.pop(report.found.ref, None)
        if report.gone:
            return self._difference(before, None)
        known[report.found.ref] = report.found
        return self._difference(before, report.found)

    def _compare(self, place: Place, found: dict[ObjectRef, Seen]) -> Trigger | None:
        before = self._seen.get(place)
        self._seen[place] = found
        if before is None:  # what was there before the last run began is known to it
            return Trigger("more objects are watched") if self._added[place] != self.runs else None
        refs = sorted(before.keys() | found.keys())
        return joined([self._difference(before.get(ref), found.get(ref)) for ref in refs])

    def _difference(self, before: Seen | None, now: Seen | None) -> Trigger | None:
        either = now or before
        if either is None or (before and now and before.digest == now.digest):
            return None
        if either.pool and not is_chosen(either.pool, self.only):
            return None
        reason = f"{either.ref} {'deleted' if now is None else 'changed' if before else 'created'}"
        if not either.pool:
            return Trigger(reason)
        if either.ref.kind == MACHINE_DEPLOYMENT.name:
            leaves = now is None or now.leaving  # only a run of all pools deletes
            return Trigger(reason, None if leaves else frozenset({either.pool}))
        pools = {each.pool for each in self._objects(MACHINE_DEPLOYMENT)}
        return Trigger(reason, frozenset({either.pool})) if either.pool in pools else None

    def _counts(self, seen: Seen) -> bool:
        """Whether an object is among those that are read by name. If these are many, all of a namespace are watched."""
        if self.refreshes or seen.ref.kind not in {SECRET.name, CONFIG_MAP.name}:
            return True
        facts = self._named_facts()
        names = facts.secrets if seen.ref.kind == SECRET.name else facts.config_maps
        return (seen.ref.namespace, seen.ref.name) in names

    def _places(self) -> Iterator[Place]:
        spec, worker, management = self.spec, Side.WORKER, Side.MANAGEMENT
        live = isinstance(spec.target, LiveTarget)
        if live or isinstance(spec.source.machines, LiveRef):
            yield Place(worker, Subject(MACHINE_DEPLOYMENT, whole=True))
        if live:
            yield Place(worker, Subject(MACHINE_SET))
        if self.refreshes:
            yield Place(worker, Subject(SECRET, CLOUD_INIT_NAMESPACE, labels=STAMPED_SECRETS))
            yield Place(management, Subject(CONFIG, self.settings.namespace, labels=STAMPED_CONFIGS))
        elif isinstance(spec.source.profiles, LiveRef):
            named = (each.profiles for each in self._objects(MACHINE_DEPLOYMENT))
            for namespace in {self.settings.namespace}.union(*named):
                yield Place(management, Subject(PROFILE, namespace))
        if self.refreshes or isinstance(spec.source.facts, LiveRef):
            yield from (Place(worker, subject) for subject in self._fact_subjects())

    def _fact_subjects(self) -> Iterator[Subject]:
        facts = self._named_facts()
        yield _CLUSTER_INFO
        yield from _named(CONFIG_MAP, facts.config_maps - {CLUSTER_INFO})
        yield from _named(SECRET, facts.secrets)
        if facts.service_account is not None:
            yield Subject(SERVICE_ACCOUNT, *facts.service_account)
        if not self._seen.get(Place(Side.WORKER, _CLUSTER_INFO), True):  # it was looked for, and does not exist
            yield Subject(ENDPOINT_SLICE, API_SERVICE[0], labels=API_SERVICE[1])

    def _named_facts(self) -> NamedFacts:
        """Of the settings, and for rendering also of the MachineDeployments."""
        own = named_facts((), self.settings)
        if self.refreshes:
            return NamedFacts(frozenset(), frozenset({CLUSTER_INFO}), own.service_account)
        found = [each.facts for each in self._objects(MACHINE_DEPLOYMENT) if each.facts is not None]
        return NamedFacts(
            own.secrets.union(*(each.secrets for each in found)),
            own.config_maps.union(*(each.config_maps for each in found)),
            own.service_account,
        )

    def _objects(self, kind: Kind) -> Iterator[Seen]:
        for place, seen in self._seen.items():
            if place.subject.kind is kind:
                yield from seen.values()


def joined(triggers: Iterable[Trigger | None]) -> Trigger | None:
    """Several as one, with the first reason; ``None`` without any."""
    found = [trigger for trigger in triggers if trigger is not None]
    if not found:
        return None
    pools = [trigger.pools for trigger in found if trigger.pools is not None]
    return Trigger(found[0].reason, frozenset().union(*pools) if len(pools) == len(found) else None)


_CLUSTER_INFO: Final = Subject(CONFIG_MAP, *CLUSTER_INFO, whole=True)


def _named(kind: Kind, keys: Iterable[tuple[str, str]]) -> Iterator[Subject]:
    """One for each object, or for a namespace with more than a run reads one by one, as rights have it."""
    for namespace, names in by_namespace(keys).items():
        if len(names) > MOST_GETS:
            yield Subject(kind, namespace)
        else:
            yield from (Subject(kind, namespace, name) for name in names)


def _ref(body: Mapping[str, Json]) -> ObjectRef:
    return ObjectRef(body["kind"], body["metadata"].get("namespace") or "", body["metadata"]["name"])


def _digest(*parts: Json) -> bytes:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST).digest()


def _machine(settings: Settings, own: NamedFacts, body: dict[str, Json]) -> Seen:
    metadata, spec = body["metadata"], body.get("spec")
    leaving = metadata.get("deletionTimestamp") is not None
    counted = {key: value for key, value in spec.items() if key != "replicas"} if isinstance(spec, dict) else spec
    digest = _digest(metadata.get("uid"), metadata.get("labels"), metadata.get("annotations"), leaving, counted)
    machine = live_machine(body)
    if machine is None:  # runs report why
        return Seen(_ref(body), digest, metadata["name"], leaving)
    facts = named_facts([machine], settings)
    profiles = frozenset(namespace for namespace, _ in named_profiles([machine], settings.namespace))
    return Seen(_ref(body), digest, machine.name, leaving, facts if facts != own else None, profiles)


def _machine_set(body: dict[str, Json]) -> Seen | None:
    metadata = body["metadata"]
    owners = metadata.get("ownerReferences") or ()
    pool = next((str(each.get("name")) for each in owners if each.get("kind") == MACHINE_DEPLOYMENT.name), "")
    revision = (metadata.get("annotations") or {}).get(REVISION_ANNOTATION)
    return Seen(_ref(body), _digest(metadata.get("uid"), revision), pool) if pool else None


def _cluster_info(body: dict[str, Json]) -> Seen:
    # The controller manager signs it for each bootstrap token, also for ours.
    return Seen(_ref(body), _digest((body.get("data") or {}).get("kubeconfig")))


def _described(body: dict[str, Json]) -> Seen:
    metadata = body["metadata"]
    parts = (metadata.get(key) for key in ("uid", "generation", "labels", "annotations"))
    return Seen(_ref(body), _digest(*parts))


def _fact(body: dict[str, Json]) -> Seen:
    return Seen(_ref(body), _digest(body["metadata"].get("uid"), body["metadata"].get("resourceVersion")))
