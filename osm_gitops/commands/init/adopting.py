"""``init --from cluster``: write what a cluster of Operating System Manager has as a config repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from osm_gitops.commands.init.osm_settings import (
    Agreement,
    Authority,
    FoundSetting,
    OsmSettings,
    agreement,
    live_authority,
    read_configs,
    read_osm_settings,
)
from osm_gitops.commands.init.scaffold import CREDENTIALS, Scaffold, checked_recipients, yaml_scalar
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG
from osm_gitops.config.settings import parse_settings
from osm_gitops.config.spec import ClusterSpec, LiveRef, SourceSpec
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import Code, InputError, Problem, input_error, some
from osm_gitops.kube.api import Api
from osm_gitops.kube.kinds import PROFILE
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import PROVIDER_CONFIG_FIELD, MachineDeployment
from osm_gitops.model.objects import authored
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.load import load_inputs
from osm_gitops.plan.sensitive import inline_credentials
from osm_gitops.sops.document import encrypt
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.sources.osm_deployment import OsmDeployment, Pod, PodText, find_osm, find_reachable_osm
from osm_gitops.yaml.emit import dump

NO_DEPLOYMENT: Final = "none"
"""The value of ``--osm-deployment`` if OSM is gone."""
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionRequest:
    """What to read. ``deployment`` is ``NAMESPACE/NAME``, empty to search, or :data:`NO_DEPLOYMENT`; it is in the
    cluster ``osm``, or else in the management cluster. ``bundles`` are CA files that the user passed, by flag."""

    cluster: str
    management: ContextRef = UNNAMED
    worker: ContextRef = UNNAMED
    deployment: str = ""
    osm: ContextRef = UNNAMED
    bundles: Mapping[str, PodText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Adoption:
    """What was found, and how many of the cluster's configurations it reproduces."""

    adopted: Adopted
    osm: OsmSettings | None
    agreement: Agreement
    warnings: tuple[Problem, ...] = ()

    def findings(self) -> Iterator[str]:
        """What was found, as text without values."""
        machines, inputs = self.adopted.machines, self.adopted.inputs
        yield f"Found {len(machines)} MachineDeployments and {len(inputs.profiles)} OperatingSystemProfiles."
        leaving = len(inputs.machines) - len(machines)
        if leaving:
            yield f"{leaving} more are being deleted and are skipped."
        if self.osm is not None:
            deployment = self.osm.deployment
            yield f"Settings come from {deployment} ({deployment.ready} of {deployment.replicas} replicas run):"
            for each in self.osm.settings:
                hint = f"; it has a credential, so set {each.setting.environment}" if each.secret else ""
                yield f"  {each.setting.key}: {', '.join(each.origins)}{hint}"
            yield from (f"  {note}" for note in self.osm.notes)
        if self.adopted.authority is not None:
            yield f"CA certificates are pinned: {self.adopted.authority.origin}."
        if self.osm is not None and self.osm.credentials:
            names = ", ".join(self.osm.credentials)
            yield f"Its container has cloud credentials in {names}: set the same variables for osm-gitops."
        same, other = self.agreement.same, self.agreement.other
        known = len(same) + len(other)
        if not known:
            yield "There are no OperatingSystemConfigs to compare with."
            return
        yield f"{len(same)} of {known} OperatingSystemConfigs are rendered as they are in the cluster."
        if other:
            yield f"Different: {some(other, _SHOWN)}. Run osm-gitops plan to see how."


def adopt(request: AdoptionRequest, environment: Mapping[str, str]) -> Adoption:
    """Read the cluster; write nothing. Raises InputError and ClusterError."""
    connections = Connections(environment)
    try:
        return _adopt(request, environment, connections)
    finally:
        connections.close()


def _adopt(request: AdoptionRequest, environment: Mapping[str, str], connections: Connections) -> Adoption:
    spec = ClusterSpec(
        request.cluster, SourceSpec(LiveRef(), LiveRef(), LiveRef()), (), None, request.management, request.worker
    )
    clusters = connections.clusters(spec)
    seed = replace(spec, management=request.osm) if request.osm.is_named else spec
    osm = _osm(connections.management(seed), request)
    raw = osm.raw() if osm is not None else []
    settings = parse_settings(raw, osm.read_file) if osm is not None else Settings()
    # All profiles of the cluster are written as they are, also built-in ones of an earlier run.
    inputs = load_inputs(spec, replace(settings, disable_default_osps=True), environment, connections=connections)
    profiles: list[Problem] = []
    problems = list(inputs.unreadable)
    for ref, broken in inputs.broken.items():
        # A missing profile matters only to its pools; a missing pool would look deleted.
        (profiles if ref.kind == PROFILE.name else problems).extend(broken)
    if problems:
        raise InputError(problems)
    live = read_configs(clusters.management, settings, inputs)
    authority = live_authority(clusters, osm, inputs, settings, live)
    pinned = replace(settings, kubernetes_ca_bundle=authority.text) if authority else settings
    agrees = agreement(inputs, pinned, live)
    found = osm.settings if osm is not None else ()
    adopted = Adopted(inputs, found, authority, request.management, request.worker)
    warnings = (*profiles, *agrees.failed, *credential_warnings(adopted.machines))
    return Adoption(adopted, osm, agrees, warnings)


def _osm(api: Api, request: AdoptionRequest) -> OsmSettings | None:
    if request.deployment == NO_DEPLOYMENT:
        return None
    deployment = _only(api, request.deployment)
    pod = Pod(api, deployment.namespace, deployment.pod, deployment.container)
    return read_osm_settings(pod, deployment, request.bundles)


def _only(api: Api, named: str) -> OsmDeployment:
    """The named Deployment, or the only one of OSM."""
    namespace, _, name = named.rpartition("/")
    default = Settings().namespace
    found: Sequence[OsmDeployment] = find_osm(api, namespace, name) if named else find_reachable_osm(api, default)
    if len(found) == 1:
        return found[0]
    option = "--osm-deployment"
    if not found:
        what = f"there is no Deployment {named}" if named else "there is no Deployment of Operating System Manager"
        fix = (
            f"Name it with {option} NAMESPACE/NAME (in KKP it is in the seed: --osm-kubeconfig, --osm-context); "
            f"if it is gone, add {option} {NO_DEPLOYMENT}"
        )
        raise input_error(Code.OSM_NOT_FOUND, what, where=api.display, fix=fix)
    names = ", ".join(f"{each.namespace}/{each.name}" for each in found)
    raise input_error(
        Code.OSM_NOT_FOUND,
        f"there are {len(found)} Deployments of Operating System Manager: {names}",
        where=api.display,
        fix=f"Choose one with {option} NAMESPACE/NAME",
    )


PLACES: Final[Mapping[str, str]] = {
    "adopted-fleet.yaml": "osm-gitops.yaml",
    "adopted-sops.yaml": ".sops.yaml",
    "gitattributes": ".gitattributes",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "adopted-README.md": "README.md",
}
"""Path of each text in the repository."""

_BUNDLES: Final[Mapping[str, str]] = {"kubernetes-ca-bundle": "kubernetes.pem", "host-ca-bundle": "hosts.pem"}


@dataclass(frozen=True, slots=True)
class Adopted:
    """What a cluster has. ``authority``: the CA certificates to pin, and their origin."""

    inputs: Inputs
    settings: Sequence[FoundSetting]
    authority: Authority | None
    management: ContextRef = field(default_factory=ContextRef)
    worker: ContextRef = field(default_factory=ContextRef)

    @property
    def machines(self) -> tuple[MachineDeployment, ...]:
        """The pools that are not being deleted."""
        return tuple(machine for machine in self.inputs.machines if not machine.deleting)


def repository_files(adopted: Adopted, scaffold: Scaffold, branch: str, *, with_pools: bool) -> dict[str, bytes]:
    """All files by path; ``with_pools``: also the MachineDeployments. Raises InputError for unusable recipients."""
    words = {
        **_machine_words(scaffold.cluster, with_pools=with_pools),
        "__SETTINGS__": "".join(_setting_lines(adopted, scaffold.cluster)),
        "__CONNECTIONS__": "".join(_connection_lines(adopted)),
    }
    shell = Scaffold(
        scaffold.texts, scaffold.schema, scaffold.cluster, scaffold.recipients, scaffold.now, PLACES, words
    )
    rule = Rule(checked_recipients(scaffold.recipients), Selection(encrypted_regex=CREDENTIALS), "--age-recipient")
    files = shell.files(branch)
    for name, text in _bundles(adopted):
        files[_bundle_path(scaffold.cluster, name)] = text.encode("utf-8", "surrogateescape")
    for machine in adopted.machines if with_pools else ():
        body = authored(machine.manifest)
        if inline_credentials(machine.provider_spec):
            body = encrypt(body, rule, now=scaffold.now)
        files[f"pools/{scaffold.cluster}/{machine.namespace}/{machine.name}.yaml"] = dump(body).encode()
    for (namespace, name), profile in adopted.inputs.profiles.items():
        files[f"osps/{namespace}/{name}.yaml"] = dump(authored(profile.manifest)).encode()
    return files


def _machine_words(cluster: str, *, with_pools: bool) -> dict[str, str]:
    """The words of the texts on MachineDeployments, which are read from the cluster, or kept in the repository."""
    if not with_pools:
        source, rows = "# Read from the cluster in each run.\n    machineDeployments: cluster", ""
        where = "MachineDeployments stay in the cluster. Change them there: every run reads them."
    else:
        source = (
            "# `osm-gitops apply` applies them to the cluster, and deletes none.\n"
            f"    machineDeployments: {{path: pools/{cluster}, apply: true}}"
        )
        rows = f"| `pools/{cluster}/` | the MachineDeployments; those with credentials are encrypted |\n"
        where = (
            "Change MachineDeployments in `pools/`; `osm-gitops apply` applies them. Those that only the cluster has\n"
            "get no boot configuration from here; `plan` and `status` name them."
        )
    return {"__MACHINES__": f"    {source}\n", "__POOLS__": rows, "__WHERE_POOLS_CHANGE__": f"{where}\n"}


def credential_warnings(machines: Sequence[MachineDeployment]) -> Iterator[Problem]:
    """Name each credential in plain text in a MachineDeployment, never its value."""
    for machine in machines:
        for path in inline_credentials(machine.provider_spec):
            yield Problem(
                Code.CREDENTIAL_IN_PLAIN_TEXT,
                "is a credential in plain text, which everyone who can read MachineDeployments sees",
                about=str(machine.ref),
                field=f"{PROVIDER_CONFIG_FIELD}.{path}",
                fix="Move it into a Secret and name that under secretKeyRef (this changes the boot configuration)",
            )


def _bundles(adopted: Adopted) -> Iterator[tuple[str, str]]:
    """The CA files that settings name, with their text."""
    if adopted.authority is not None:
        yield _BUNDLES["kubernetes-ca-bundle"], adopted.authority.text
    for setting in adopted.settings:
        if setting.content is not None and not setting.secret and setting.flag != "kubernetes-ca-bundle":
            yield _BUNDLES[setting.flag], setting.content


def _bundle_path(cluster: str, name: str) -> str:
    return f"ca/{cluster}/{name}"


def _setting_lines(adopted: Adopted, cluster: str) -> Iterator[str]:
    lines = list(_settings(adopted, cluster))
    if lines:
        yield "  # The settings of Operating System Manager, each with its origin.\n  settings:\n"
        yield from lines


def _settings(adopted: Adopted, cluster: str) -> Iterator[str]:
    if adopted.authority is not None:
        key = SETTINGS_BY_FLAG["kubernetes-ca-bundle"].key
        yield f"    # {adopted.authority.origin}\n"
        yield f"    {key}: {yaml_scalar(_bundle_path(cluster, _BUNDLES['kubernetes-ca-bundle']))}\n"
    for each in adopted.settings:
        if each.flag in {"kubernetes-ca-bundle", "namespace"}:
            continue
        yield f"    # {', '.join(each.origins)}\n"
        if each.secret:
            yield f"    # {each.setting.key} has a credential: set {each.setting.environment} instead\n"
            continue
        value = _bundle_path(cluster, _BUNDLES[each.flag]) if each.content is not None else each.value
        yield "".join(f"    {line}\n" for line in dump({each.setting.key: value}).splitlines())


def _connection_lines(adopted: Adopted) -> Iterator[str]:
    namespace = next((each.value for each in adopted.settings if each.flag == "namespace"), "")
    management = _connection(adopted.management) | ({"namespace": namespace} if namespace else {})
    for side, connection in (("management", management), ("worker", _connection(adopted.worker))):
        if connection:
            yield "".join(f"  {line}\n" for line in dump({side: connection}).splitlines())


def _connection(access: ContextRef) -> dict[str, str]:
    kubeconfig = str(Path(access.kubeconfig).absolute()) if access.kubeconfig else ""
    return {key: text for key, text in (("kubeconfig", kubeconfig), ("context", access.context)) if text}
