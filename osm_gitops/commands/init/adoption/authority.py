"""Which CA certificates the live configurations hold: they are pinned, so that the first plan finds nothing to change.

OSM without ``-kubernetes-ca-bundle`` takes the CA of its kubeconfig, or that of its pod (osm-behaviour.md, "Certificate
authority"). Which one that was nobody can see from outside, and it may have been another one when the configurations
were made. So every candidate is rendered, and the one that gives what is there is right.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.commands.init.adoption.osm_settings import OsmSettings
from osm_gitops.config.ca_bundle import has_certificate
from osm_gitops.errors import ClusterError, InputError, Problem
from osm_gitops.gocompat.base64text import decode_base64
from osm_gitops.kube.api import Api
from osm_gitops.kube.clusters import Clusters
from osm_gitops.kube.kinds import CONFIG, CONFIG_MAP
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.machine import PROFILE_ANNOTATION, PROFILE_NAMESPACE_ANNOTATION, MachineDeployment
from osm_gitops.model.objects import Json, texts_in
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.rendering import render_cluster
from osm_gitops.plan.compare import without_nulls
from osm_gitops.render.resolve.cluster_info import UnreadableClusterInfo, cluster_info
from osm_gitops.yaml.kubernetes import load_documents

_BUNDLE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?", re.DOTALL)
_ROOT_CA: Final = ("kube-root-ca.crt", "ca.crt")


@dataclass(frozen=True, slots=True)
class Authority:
    """CA certificates, and a clause on where they stand."""

    text: str = field(repr=False)
    origin: str


@dataclass(frozen=True, slots=True)
class LiveConfigs:
    """The OSCs of a cluster: digests of their specs by name, and whole specs of a few, one for each profile."""

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
    """Names of live OSCs that come out again (``same``) and that do not; pools that cannot be rendered have reasons."""

    same: tuple[str, ...]
    other: tuple[str, ...]
    failed: tuple[Problem, ...]


def agreement(inputs: Inputs, settings: Settings, live: LiveConfigs) -> Agreement:
    """Compare what these settings give with what is there."""
    desired = render_cluster("", inputs, settings)
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
    """The CA certificates that live OSCs were made with, else those that OSM would take; ``None`` if there are none."""
    few = replace(inputs, machines=_samples(inputs))
    best: tuple[tuple[int, int], Authority] | None = None
    known: dict[str, Authority] = {}
    for candidate in _candidates(clusters, found, inputs, settings, live):
        if known.setdefault(candidate.text, candidate) is not candidate:
            continue  # rendering is slow, and the same certificates stand in many places
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
    """In the order in which OSM looks for them, and at last what stands in the live OSCs."""
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
    except ClusterError:  # one candidate of several; what is pinned is said
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
    """The CA data of a kubeconfig's only cluster, or nothing."""
    try:
        (document,) = load_documents(kubeconfig, "kubeconfig")
        (cluster,) = document.value["clusters"]
        data = decode_base64(cluster["cluster"]["certificate-authority-data"])
    except (InputError, ValueError, KeyError, TypeError):
        return ""
    return (data or b"").decode("utf-8", "surrogateescape")
