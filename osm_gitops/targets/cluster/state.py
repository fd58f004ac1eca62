"""What live clusters hold, as the plan compares it: metadata of everything, content only of what is in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from osm_gitops.kube.api import Api
from osm_gitops.kube.connecting import Clusters
from osm_gitops.kube.kinds import CONFIG, PROFILE, SECRET, VALIDATING_WEBHOOKS, Kind
from osm_gitops.model.desired import Desired, DesiredObject, Side
from osm_gitops.model.machine import EDGE_SCRIPT_PREFIX
from osm_gitops.model.objects import CLOUD_INIT_NAMESPACE, Json, ObjectRef
from osm_gitops.model.packed import Packer, likeness
from osm_gitops.model.plan import CurrentObject, CurrentState
from osm_gitops.plan.compare import group_name, group_of, is_ours, same_content
from osm_gitops.render.manifests import ANNOTATIONS_HASH
from osm_gitops.targets.cluster.applied import is_as_applied
from osm_gitops.targets.cluster.bootstrap_tokens import NO_KUBECONFIG

# More objects in doubt than this are read in pages, which takes fewer requests.
_MOST_SINGLE_READS: Final = 100


@dataclass(frozen=True, slots=True)
class Scope:
    """Where objects of ours can be: the management ``namespace``, and where profiles are. ``leaving`` are pools whose
    MachineDeployment is being deleted. ``keeps_profiles``: those that are not desired are none of the plan's business.
    """

    namespace: str
    profiles: frozenset[str] = frozenset()
    leaving: frozenset[ObjectRef] = frozenset()
    keeps_profiles: bool = False


def read_state(live: Clusters, desired: Desired, scope: Scope) -> CurrentState:
    """What the clusters hold of ``desired``, and what else of ours is there. Raises ClusterError.

    Takes ⌈N/500⌉ requests for each kind, as many again where more than a hundred objects differ, and a constant.
    Webhooks are listed where a configuration differs.
    """
    wanted = {each.ref: each for each in desired.objects}
    reading = _Reading(wanted, frozenset(map(group_name, scope.leaving)), scope.keeps_profiles)
    for namespace in sorted(scope.profiles):
        reading.read(live.management, PROFILE, namespace, Side.MANAGEMENT)
    reading.read(live.management, CONFIG, scope.namespace, Side.MANAGEMENT)
    reading.read(live.worker, SECRET, CLOUD_INIT_NAMESPACE, Side.WORKER, labels=NO_KUBECONFIG)
    differs = any(ref.kind == CONFIG.name for ref in reading.objects.keys() & wanted.keys())
    return CurrentState(
        objects=reading.objects,
        identical=frozenset(reading.identical),
        live=True,
        immutable_kinds=frozenset({CONFIG.name} if differs and _guards_configs(live.management) else ()),
    )


def _guards_configs(management: Api) -> bool:
    """Whether a webhook (OSM's, osm-behaviour.md, "Webhooks") looks at updates of configurations: it refuses all of
    their specs."""

    def guards(configuration: Mapping[str, Json]) -> bool | None:
        rules = [rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()]
        found = (
            {CONFIG.plural, "*", "*/*"}.intersection(rule.get("resources") or ())
            and {CONFIG.group, "*"}.intersection(rule.get("apiGroups") or ())
            and {"UPDATE", "*"}.intersection(rule.get("operations") or ())
            for rule in rules
        )
        return True if any(found) else None

    return bool(management.list(VALIDATING_WEBHOOKS, guards))


@dataclass(slots=True)
class _Reading:
    wanted: Mapping[ObjectRef, DesiredObject]
    leaving: frozenset[str]
    keeps_profiles: bool
    objects: dict[ObjectRef, CurrentObject] = field(default_factory=dict)
    identical: set[ObjectRef] = field(default_factory=set)
    packer: Packer = field(default_factory=Packer)

    def read(self, api: Api, kind: Kind, namespace: str, side: Side, labels: str = "") -> None:
        def take(body: Mapping[str, Json]) -> _Seen | None:
            return self._seen(kind, namespace, body)

        doubtful = []
        for seen in api.list(kind, take, namespace, labels=labels, metadata_only=True):
            if seen.stray is not None:
                self.objects[seen.ref] = CurrentObject(seen.ref, side, seen.stray, api.display)
            elif seen.same:
                self.identical.add(seen.ref)
            else:
                doubtful.append(seen.ref)
        for body in self._bodies(api, kind, namespace, doubtful):
            ref = ObjectRef(kind.name, namespace, body["metadata"]["name"])
            packed = self.packer.pack_json(body, likeness(self.wanted[ref].body, kind.name))
            self.objects[ref] = CurrentObject(ref, side, packed, api.display)

    def _seen(self, kind: Kind, namespace: str, body: Mapping[str, Json]) -> _Seen | None:
        metadata = body["metadata"]
        ref = ObjectRef(kind.name, namespace, metadata["name"])
        wanted = self.wanted.get(ref)
        if wanted is not None:
            return _Seen(ref, same=bool(wanted.digest) and is_as_applied(metadata, wanted.digest))
        stray = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": _without_managed_fields(metadata)}
        return _Seen(ref, stray=stray) if self._counts(ref, stray) else None

    def _counts(self, ref: ObjectRef, stray: Mapping[str, Json]) -> bool:
        """Whether the plan has to know of an object that is not desired; kubeconfigs are the tokens' business."""
        configures = ANNOTATIONS_HASH in (stray["metadata"].get("annotations") or {})
        if ref.kind == SECRET.name and not configures and not ref.name.startswith(EDGE_SCRIPT_PREFIX):
            return False
        if ref.kind == PROFILE.name and self.keeps_profiles:
            return False
        return is_ours(stray) or (group_of(ref) in self.leaving and configures)

    def _bodies(
        self, api: Api, kind: Kind, namespace: str, doubtful: Sequence[ObjectRef]
    ) -> Iterator[Mapping[str, Json]]:
        """The objects in doubt that do differ."""
        names = {ref.name for ref in doubtful}

        def differing(body: Mapping[str, Json]) -> Mapping[str, Json] | None:
            if body["metadata"]["name"] not in names:
                return None
            body = {**body, "metadata": _without_managed_fields(body["metadata"])}
            ref = ObjectRef(kind.name, namespace, body["metadata"]["name"])
            if same_content(body, self.wanted[ref]):
                self.identical.add(ref)
                return None
            return body

        if len(doubtful) > _MOST_SINGLE_READS:
            yield from api.list(kind, differing, namespace)
            return
        for ref in doubtful:
            found = api.get(kind, namespace, ref.name)
            if found is not None:  # else it went in the meantime
                body = differing(found)
                if body is not None:
                    yield body


@dataclass(frozen=True, slots=True)
class _Seen:
    """What metadata told of an object: ``same`` as desired for certain, or a ``stray``, or neither: in doubt."""

    ref: ObjectRef
    same: bool = False
    stray: Mapping[str, Json] | None = None


def _without_managed_fields(metadata: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in metadata.items() if key != "managedFields"}
