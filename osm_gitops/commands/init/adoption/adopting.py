"""What a cluster of Operating System Manager has, and whether what was found gives again what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.commands.init.adoption.authority import Agreement, agreement, live_authority, read_configs
from osm_gitops.commands.init.adoption.osm_settings import OsmSettings, read_osm_settings
from osm_gitops.commands.init.adoption.repository import Adopted, credential_warnings
from osm_gitops.config.settings import parse_settings
from osm_gitops.config.spec import ClusterSpec, LiveRef, SourceSpec
from osm_gitops.errors import Code, InputError, Problem, input_error, some
from osm_gitops.kube.api import Api
from osm_gitops.kube.context_ref import UNNAMED, ContextRef
from osm_gitops.kube.kinds import PROFILE
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.load import load_inputs
from osm_gitops.sources.osm_deployment import OsmDeployment, find_osm, find_reachable_osm
from osm_gitops.sources.pod import Pod, PodText

NO_DEPLOYMENT: Final = "none"
"""Said in the place of a Deployment's name where OSM is gone."""
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look at. ``deployment`` is ``NAMESPACE/NAME``, empty to search, or :data:`NO_DEPLOYMENT`; it is in the
    cluster ``osm``, else in the management cluster. ``bundles`` are CA files given by the user, by flag."""

    cluster: str
    management: ContextRef = UNNAMED
    worker: ContextRef = UNNAMED
    deployment: str = ""
    osm: ContextRef = UNNAMED
    bundles: Mapping[str, PodText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Adoption:
    """What was found, and how far it agrees with what is there."""

    adopted: Adopted
    osm: OsmSettings | None
    agreement: Agreement
    warnings: tuple[Problem, ...] = ()

    def findings(self) -> Iterator[str]:
        """What was found, as sentences for people; no value is in them."""
        machines, inputs = self.adopted.machines, self.adopted.inputs
        yield f"Found {len(machines)} MachineDeployments and {len(inputs.profiles)} OperatingSystemProfiles."
        leaving = len(inputs.machines) - len(machines)
        if leaving:
            yield f"{leaving} more are being deleted, and left out."
        if self.osm is not None:
            deployment = self.osm.deployment
            yield f"Settings are those of {deployment} ({deployment.ready} of {deployment.replicas} replicas run):"
            for each in self.osm.settings:
                hint = f"; it holds a credential, so set {each.setting.environment}" if each.secret else ""
                yield f"  {each.setting.key}: {', '.join(each.origins)}{hint}"
            yield from (f"  {note}" for note in self.osm.passed_over)
        if self.adopted.authority is not None:
            yield f"CA certificates are pinned: {self.adopted.authority.origin}."
        if self.osm is not None and self.osm.credentials:
            names = ", ".join(self.osm.credentials)
            yield f"Its container has cloud credentials in {names}: osm-gitops needs the same ones where it runs."
        yield from self._agreement()

    def _agreement(self) -> Iterator[str]:
        same, other = self.agreement.same, self.agreement.other
        known = len(same) + len(other)
        if not known:
            yield "There are no OperatingSystemConfigs to compare with."
            return
        yield f"{len(same)} of {known} OperatingSystemConfigs come out as they are in the cluster."
        if other:
            yield f"Different are {some(other, _SHOWN)}: osm-gitops plan shows in what."


def adopt(wanted: Wanted, environment: Mapping[str, str]) -> Adoption:
    """Read all of it; writes nothing. Raises InputError and ClusterError."""
    connections = Connections(environment)
    try:
        return _adopt(wanted, environment, connections)
    finally:
        connections.close()


def _adopt(wanted: Wanted, environment: Mapping[str, str], connections: Connections) -> Adoption:
    spec = ClusterSpec(
        wanted.cluster, SourceSpec(LiveRef(), LiveRef(), LiveRef()), (), None, wanted.management, wanted.worker
    )
    clusters = connections.clusters(spec)
    seed = replace(spec, management=wanted.osm) if wanted.osm.is_named else spec
    osm = _osm(connections.management(seed), wanted)
    raw = osm.raw() if osm is not None else []
    settings = parse_settings(raw, osm.read_file) if osm is not None else Settings()
    # What the cluster has is written down as it is, built-in profiles of an earlier run among it.
    inputs = load_inputs(spec, replace(settings, disable_default_osps=True), environment, connections=connections)
    profiles: list[Problem] = []
    problems = list(inputs.unreadable)
    for ref, broken in inputs.broken.items():
        # Without a profile that nobody uses there is nothing amiss; without a pool it would look deleted.
        (profiles if ref.kind == PROFILE.name else problems).extend(broken)
    if problems:
        raise InputError(problems)
    live = read_configs(clusters.management, settings, inputs)
    authority = live_authority(clusters, osm, inputs, settings, live)
    pinned = replace(settings, kubernetes_ca_bundle=authority.text) if authority else settings
    agrees = agreement(inputs, pinned, live)
    found = osm.settings if osm is not None else ()
    adopted = Adopted(inputs, found, authority, wanted.management, wanted.worker)
    warnings = (*profiles, *agrees.failed, *credential_warnings(adopted.machines))
    return Adoption(adopted, osm, agrees, warnings)


def _osm(api: Api, wanted: Wanted) -> OsmSettings | None:
    if wanted.deployment == NO_DEPLOYMENT:
        return None
    deployment = _only(api, wanted.deployment)
    pod = Pod(api, deployment.namespace, deployment.pod, deployment.container)
    return read_osm_settings(pod, deployment, wanted.bundles)


def _only(api: Api, named: str) -> OsmDeployment:
    """The Deployment that was named, or the only one of OSM."""
    namespace, _, name = named.rpartition("/")
    default = Settings().namespace
    found: Sequence[OsmDeployment] = find_osm(api, namespace, name) if named else find_reachable_osm(api, default)
    if len(found) == 1:
        return found[0]
    option = "--osm-deployment"
    if not found:
        what = f"there is no Deployment {named}" if named else "there is no Deployment of Operating System Manager"
        fix = (
            f"Name it with {option} NAMESPACE/NAME (in KKP it is in the seed cluster: --osm-kubeconfig, --osm-context)"
        )
        raise input_error(
            Code.UNCODED, what, where=api.display, fix=f"{fix}; where it is gone already, {option} {NO_DEPLOYMENT}"
        )
    names = ", ".join(f"{each.namespace}/{each.name}" for each in found)
    raise input_error(
        Code.UNCODED,
        f"there are {len(found)} Deployments of Operating System Manager: {names}",
        where=api.display,
        fix=f"Choose one with {option} NAMESPACE/NAME",
    )
