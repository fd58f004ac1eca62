"""The flags of a running Operating System Manager as settings, each with its origin; and the CA certificates of its
configurations, to pin them, so that the first plan has no changes.

Without ``-kubernetes-ca-bundle`` OSM takes the CA of its kubeconfig or of its pod (osm-behaviour.md, "Certificate
authority"). The cluster does not show which of them it took, so every candidate is rendered, and the one that
reproduces the live configurations is right.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.ca_bundle import has_certificate
from osm_gitops.config.go_flags import GivenFlag, read_command_line
from osm_gitops.config.setting_names import CONNECTION_FLAGS, PASSED_OVER, SETTINGS_BY_FLAG, Kind, SettingName
from osm_gitops.config.settings import RawSetting, parse_settings
from osm_gitops.errors import ClusterError, InputError, Problem
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.kube.api import Api, Clusters
from osm_gitops.kube.kinds import CONFIG, CONFIG_MAP
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import PROFILE_ANNOTATION, PROFILE_NAMESPACE_ANNOTATION, MachineDeployment
from osm_gitops.model.objects import Json, texts_in
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.plan.compare import without_nulls
from osm_gitops.render.resolve.cluster_info import UnreadableClusterInfo, cluster_info
from osm_gitops.sources.machines import CREDENTIAL_VARIABLES
from osm_gitops.sources.osm_deployment import OsmDeployment, Pod, PodText, flags_of
from osm_gitops.yaml.kubernetes import load_documents

_USERINFO: Final = re.compile(r"://[^/\s@]+@")
_PRIVATE: Final = "PRIVATE KEY"
_NONE: Final[Mapping[str, PodText]] = {}


@dataclass(frozen=True, slots=True)
class FoundSetting:
    """A setting of OSM. ``origins`` say where its value comes from; ``secret``: it must not be written in plain text.
    ``content`` is the text of the file that it names."""

    setting: SettingName
    value: Json = field(repr=False)
    origins: tuple[str, ...]
    secret: bool = False
    content: str | None = field(default=None, repr=False)

    @property
    def flag(self) -> str:
        return self.setting.flag


@dataclass(frozen=True, slots=True)
class OsmSettings:
    """What was read from a Deployment. ``notes`` name skipped flags; ``credentials`` are the cloud credential variables
    of its container; ``kubeconfigs`` are the files with which it connects to clusters."""

    deployment: OsmDeployment
    settings: tuple[FoundSetting, ...] = ()
    notes: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    kubeconfigs: dict[str, PodText] = field(default_factory=dict, repr=False)

    def raw(self) -> list[RawSetting]:
        """The settings for rendering; a file is named by its flag (:meth:`read_file`)."""
        return [
            RawSetting(each.flag, each.flag if each.content is not None else each.value, f"flag -{each.flag} of OSM")
            for each in self.settings
        ]

    def read_file(self, flag: str) -> str:
        """The text of the file that a flag names."""
        return next(each.content or "" for each in self.settings if each.flag == flag)


def read_osm_settings(pod: Pod, deployment: OsmDeployment, bundles: Mapping[str, PodText] = _NONE) -> OsmSettings:
    """Read OSM's command line, and the files and variables that it refers to; ``bundles`` are files that the user
    passed instead, by flag.

    Raises InputError with all problems. An empty argument is one, because OSM's parser ignores all that follows it
    (osm-behaviour.md, "Flags"). A failed read raises ClusterError.
    """
    where = str(deployment)
    try:
        words = flags_of(pod)
        flags = read_command_line([word.value for word in words])
        found = _FlagCollector(pod, words, bundles)
        for flag in flags:
            found.take(flag)
        settings = OsmSettings(
            deployment,
            tuple(found.settings.values()),
            tuple(found.notes),
            tuple(name for name in CREDENTIAL_VARIABLES if name in pod.environment),
            found.kubeconfigs,
        )
        found.stop_at_problems()
        _check(settings)
    except InputError as failure:
        raise InputError(problem.at(where=where) for problem in failure.problems) from None
    return settings


def _check(settings: OsmSettings) -> None:
    """Refuse what OSM would refuse, without showing values of Secrets."""
    try:
        parse_settings(settings.raw(), settings.read_file)
    except InputError as failure:
        hidden = [text for each in settings.settings if each.secret for text in texts_in(each.value) if text]
        raise InputError(_without(problem, hidden) for problem in failure.problems) from None


def _without(problem: Problem, hidden: Sequence[str]) -> Problem:
    what = problem.what
    for text in hidden:
        what = what.replace(text, "…")
    return replace(problem, what=what)


@dataclass(slots=True)
class _FlagCollector:
    pod: Pod
    words: Sequence[PodText]
    bundles: Mapping[str, PodText]
    settings: dict[str, FoundSetting] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kubeconfigs: dict[str, PodText] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def take(self, flag: GivenFlag) -> None:
        setting = SETTINGS_BY_FLAG.get(flag.name)
        if setting is not None:
            self._take_setting(setting, flag)
        elif flag.name in CONNECTION_FLAGS:
            self._take_kubeconfig(flag)
        elif flag.name in PASSED_OVER:
            self.notes.append(f"-{flag.name} is ignored: {PASSED_OVER[flag.name]}")
        else:
            self.notes.append(f"-{flag.name} is unknown and ignored: check whether your profiles need it")

    def stop_at_problems(self) -> None:
        if self.problems:
            raise InputError(self.problems)

    def _take_setting(self, setting: SettingName, flag: GivenFlag) -> None:
        word = self.words[flag.at]
        origins, secret, content = (f"flag -{flag.name}", *word.origins), word.secret, None
        value: Json = flag.value
        if setting.kind is Kind.MIRRORS:
            earlier = self.settings.get(flag.name)
            value = [*(earlier.value if earlier else ()), flag.value]
            secret = secret or bool(earlier and earlier.secret)
        if setting.kind is Kind.FILE and flag.value:
            file = self._file(flag)
            if file is None:
                return
            origins, secret, content = (*origins, *file.origins), _PRIVATE in file.value, file.value
        elif setting.kind is Kind.FILE:
            self.settings.pop(flag.name, None)
            return
        self.settings[flag.name] = FoundSetting(setting, value, origins, secret or _has_userinfo(value), content)

    def _take_kubeconfig(self, flag: GivenFlag) -> None:
        if flag.value:
            try:
                self.kubeconfigs[flag.name] = self.pod.file(str(flag.value))
            except InputError:  # only its CA is needed, which live configurations have too
                self.notes.append(f"-{flag.name} names a file that is in no ConfigMap or Secret")

    def _file(self, flag: GivenFlag) -> PodText | None:
        if flag.name in self.bundles:
            return self.bundles[flag.name]
        try:
            return self.pod.file(str(flag.value))
        except InputError as failure:
            fix = f"Copy it from a node or a running pod, and pass it with --{flag.name} FILE"
            self.problems += (
                replace(each, about=each.about or f"flag -{flag.name}", field="", fix=each.fix or fix)
                for each in failure.problems
            )
            return None


def _has_userinfo(value: Json) -> bool:
    """Whether it contains a URL with a password."""
    return any(_USERINFO.search(text) for text in texts_in(value))


_BUNDLE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?", re.DOTALL)
_ROOT_CA: Final = ("kube-root-ca.crt", "ca.crt")


@dataclass(frozen=True, slots=True)
class Authority:
    """CA certificates, and where they come from."""

    text: str = field(repr=False)
    origin: str


@dataclass(frozen=True, slots=True)
class LiveConfigs:
    """The OSCs of a cluster: digests of the specs by name, and the specs of one for each profile."""

    digests: Mapping[str, str]
    samples: Mapping[str, Mapping[str, Json]] = field(repr=False)


def read_configs(management: Api, settings: Settings, inputs: Inputs) -> LiveConfigs:
    """Read all OSCs, a page at a time. Raises ClusterError."""
    sampled = {machine.config_name for machine in _samples(inputs)}
    samples: dict[str, Mapping[str, Json]] = {}

    def keep(body: Mapping[str, Json]) -> tuple[str, str]:
        name = body["metadata"]["name"]
        if name in sampled:
            samples[name] = body["spec"]
        return name, _digest(body["spec"])

    return LiveConfigs(dict(management.list(CONFIG, keep, settings.namespace)), samples)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Names of live OSCs that are rendered the same, and of others; ``failed``: why pools cannot be rendered."""

    same: tuple[str, ...]
    other: tuple[str, ...]
    failed: tuple[Problem, ...]


def agreement(inputs: Inputs, settings: Settings, live: LiveConfigs) -> Agreement:
    """Compare what these settings render to with the live OSCs."""
    desired = render_cluster("", inputs, settings).desired
    same: list[str] = []
    other: list[str] = []
    for each in sorted(desired.objects, key=lambda each: each.ref):
        name = each.ref.name
        if each.ref.kind == CONFIG.name and name in live.digests:
            (same if _digest(each.body["spec"]) == live.digests[name] else other).append(name)
    failed = [problem.at(about=str(ref)) for ref, problems in desired.failed.items() for problem in problems]
    return Agreement(tuple(same), tuple(other), tuple(dict.fromkeys(failed)))


def live_authority(
    clusters: Clusters, found: OsmSettings | None, inputs: Inputs, settings: Settings, live: LiveConfigs
) -> Authority | None:
    """The CA certificates in live OSCs, or else those that OSM would take; ``None`` if there are none."""
    few = replace(inputs, machines=_samples(inputs))
    best: tuple[tuple[int, int], Authority] | None = None
    known: dict[str, Authority] = {}
    for candidate in _candidates(clusters, found, inputs, settings, live):
        if known.setdefault(candidate.text, candidate) is not candidate:
            continue  # rendering is slow, and many places have the same certificates
        same = agreement(few, replace(settings, kubernetes_ca_bundle=candidate.text), live).same
        score = (len(same), sum(candidate.text in text for spec in live.samples.values() for text in texts_in(spec)))
        if best is None or score > best[0]:
            best = (score, candidate)
        if same and len(same) == len(live.samples):
            break
    return best[1] if best else None


def _samples(inputs: Inputs) -> tuple[MachineDeployment, ...]:
    """One MachineDeployment for each profile."""
    found = {
        (machine.annotation(PROFILE_NAMESPACE_ANNOTATION), machine.annotation(PROFILE_ANNOTATION)): machine
        for machine in inputs.machines
        if not machine.deleting
    }
    return tuple(found.values())


def _candidates(
    clusters: Clusters, found: OsmSettings | None, inputs: Inputs, settings: Settings, live: LiveConfigs
) -> Iterator[Authority]:
    """In the order in which OSM looks for them, then those in the live OSCs."""
    if settings.kubernetes_ca_bundle:
        yield Authority(settings.kubernetes_ca_bundle, "flag -kubernetes-ca-bundle")
    for flag in ("worker-cluster-kubeconfig", "kubeconfig"):
        file = found.kubeconfigs.get(flag) if found else None
        text = _authority_in(file.value) if file else ""
        if text:
            yield Authority(text, f"the kubeconfig that flag -{flag} names")
    for text, origin in _of_cluster(clusters, found, settings, inputs):
        if has_certificate(text):
            yield Authority(text, origin)
    for name, spec in live.samples.items():
        for block in (match[0] for text in texts_in(spec) for match in _BUNDLE.finditer(text)):
            for text in (block, block.rstrip("\n")):
                if has_certificate(text):
                    yield Authority(text, f"OperatingSystemConfig {name}")


def _of_cluster(
    clusters: Clusters, found: OsmSettings | None, settings: Settings, inputs: Inputs
) -> Iterator[tuple[str, str]]:
    name, key = _ROOT_CA
    try:
        root = clusters.management.get(CONFIG_MAP, found.deployment.namespace if found else settings.namespace, name)
    except ClusterError:  # one candidate of several; the output names the one that is pinned
        root = None
    if root is not None:
        yield str((root.get("data") or {}).get(key, "")), f"ConfigMap {name}, as pods have it"
    for api, side in ((clusters.worker, "worker"), (clusters.management, "management")):
        yield api.certificate_authority.decode("utf-8", "surrogateescape"), f"the kubeconfig of the {side} cluster"
    try:
        known = cluster_info(inputs.facts)
    except (UnreadableClusterInfo, InputError):
        return
    for cluster in known.clusters:
        yield cluster.ca_data.decode("utf-8", "surrogateescape"), "ConfigMap kube-public/cluster-info"


def _digest(spec: Mapping[str, Json]) -> str:
    return hashlib.sha256(json.dumps(without_nulls(spec), sort_keys=True).encode()).hexdigest()


def _authority_in(kubeconfig: str) -> str:
    """The CA data of a kubeconfig's only cluster, or an empty text."""
    try:
        (document,) = load_documents(kubeconfig, "kubeconfig")
        (cluster,) = document.value["clusters"]
        data = decode_base64(cluster["cluster"]["certificate-authority-data"])
    except (InputError, ValueError, KeyError, TypeError):
        return ""
    return (data or b"").decode("utf-8", "surrogateescape")
