"""The throw-away cluster of a boot: what the pool needs goes into it, and ``apply`` writes the boot configuration."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

from osm_gitops.commands.boot.lane.control_plane import (
    SETTINGS_NAMESPACE,
    ControlPlane,
    cluster_info,
    getter_secret,
    joining_rights,
)
from osm_gitops.commands.boot.lane.definitions import definition
from osm_gitops.commands.explain.explaining import Loaded
from osm_gitops.commands.install.schemas import definitions
from osm_gitops.config.spec import LiveRef, LiveTarget, SourceSpec
from osm_gitops.context_ref import UNNAMED, ContextRef
from osm_gitops.errors import InputError
from osm_gitops.model.inputs import Facts
from osm_gitops.model.machine import PROFILE_ANNOTATION, REVISION_ANNOTATION, MachineDeployment
from osm_gitops.model.objects import MACHINE_API_VERSION
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.load import discovered
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.run import apply_clusters
from osm_gitops.render.resolve.bootstrap_token import GETTER_SECRET
from osm_gitops.render.resolve.cluster_info import CLUSTER_INFO
from osm_gitops.render.resolve.named_facts import named_facts
from osm_gitops.render.resolve.pools import wanted_profile
from osm_gitops.report.mask import Masker

_OF_THE_CLUSTER: Final = frozenset(
    {"kubernetes-ca-bundle", "override-bootstrap-kubelet-apiserver", "bootstrap-token-service-account-name"}
)
"""Settings that name the real cluster, in place of which the throw-away one is."""
_MACHINES: Final = ("MachineDeployment", "MachineSet", "Machine")


def fill(plane: ControlPlane, cluster: Loaded, machine: MachineDeployment, server: str) -> None:
    """Bring the pool, its profile and the facts that it needs into the cluster, and what every cluster has; machines
    reach it at ``server``, a URL."""
    profile = wanted_profile(machine, cluster.settings.namespace)
    manifest = cluster.inputs.profiles[profile].manifest if profile else None
    facts = list(_facts(cluster.inputs.facts, machine, cluster))
    own = [machine.namespace, *([manifest.ref.namespace] if manifest else [])]
    wanted = {*own, cluster.settings.namespace, *(each["metadata"]["namespace"] for each in facts)}
    there = {each["metadata"]["name"] for each in plane.get("namespaces")["items"]} | {SETTINGS_NAMESPACE}
    new = sorted(wanted - there)
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in new]
    plane.create(*joining_rights(), *namespaces)
    group = MACHINE_API_VERSION.partition("/")[0]
    plane.define(*definitions(), *(definition(group, kind, subresources={"status": {}}) for kind in _MACHINES))
    plane.create(
        cluster_info(server, plane.authority),
        getter_secret(plane.token(SETTINGS_NAMESPACE, "cloud-init-getter")),
        *facts,
        *([_authored(manifest.body)] if manifest else []),
    )
    body = _authored(machine.manifest.body)
    annotations = {**(body["metadata"].get("annotations") or {}), REVISION_ANNOTATION: "1"}
    if machine.default_profile:
        annotations.setdefault(PROFILE_ANNOTATION, machine.default_profile)
    body["metadata"] = {**body["metadata"], "annotations": annotations}
    plane.create(body)
    plane.create(_machine_set(plane.get("machinedeployment", machine.namespace, machine.name)))


def _facts(facts: Facts, machine: MachineDeployment, cluster: Loaded) -> Iterator[dict[str, Any]]:
    """The Secrets and ConfigMaps that rendering the pool needs, but for those that name the real cluster."""
    named = named_facts([machine], cluster.settings)
    for key in sorted(named.secrets - {GETTER_SECRET}):
        if secret := facts.secret(key):
            metadata = {"namespace": secret.namespace, "name": secret.name, "labels": dict(secret.labels)}
            data = {name: value.decode("utf-8", "surrogateescape") for name, value in secret.data.items()}
            yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": secret.type, "stringData": data}
    for key in sorted(named.config_maps - {CLUSTER_INFO}):
        if config_map := facts.config_map(key):
            metadata = {"namespace": config_map.namespace, "name": config_map.name}
            yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(config_map.data)}


def _authored(body: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a person wrote it: without what servers and controllers add."""
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {key: value for key, value in body["metadata"].items() if key in kept}
    return {key: value for key, value in body.items() if key != "status"} | {"metadata": metadata}


def _machine_set(owner: Mapping[str, Any]) -> dict[str, Any]:
    """What machine-controller makes of a new MachineDeployment: it opens the gate for ``apply``."""
    metadata, template = owner["metadata"], owner["spec"]["template"]
    labels = {**(template.get("metadata") or {}).get("labels", {}), "machine-template-hash": "1"}
    reference = {
        "apiVersion": MACHINE_API_VERSION,
        "kind": "MachineDeployment",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": MACHINE_API_VERSION,
        "kind": "MachineSet",
        "metadata": {
            "name": f"{metadata['name']}-1",
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": {REVISION_ANNOTATION: "1"},
            "ownerReferences": [reference],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
        },
    }


def apply(plane: ControlPlane, cluster: Loaded, options: RunOptions, masker: Masker) -> None:
    """What ``apply --from cluster --to cluster`` does. Raises InputError with all problems of the pool."""
    given = cluster.spec
    spec = replace(
        given,
        source=SourceSpec(LiveRef(), LiveRef(), LiveRef()),
        settings=tuple(each for each in (*discovered(given), *given.settings) if each.name not in _OF_THE_CLUSTER),
        target=LiveTarget(),
        management=ContextRef(str(plane.kubeconfig)),
        worker_access=UNNAMED,
        kkp=None,
        wave=None,
        promotion=None,
        frozen=False,
        lacks_profiles=True,
    )
    with closing(Connections(options.environment)) as connections:
        run = replace(options, connections=connections, tell=options.note, only=())
        outcome = apply_clusters(lambda: (spec,), run, lambda _: True)
    failed = [problem for plan in outcome.plan.clusters for found in plan.failed.values() for problem in found]
    for delivery in outcome.deliveries.values():
        failed += [problem for found in delivery.failed.values() for problem in found]
    if outcome.problems or failed:
        raise InputError(masker.problem(problem) for problem in (*outcome.problems, *failed))


def tokens_of(plane: ControlPlane) -> Iterator[str]:
    """The tokens that machines use here, which no report may show."""
    for secret in plane.get("secrets", "kube-system")["items"] + plane.get("secrets", SETTINGS_NAMESPACE)["items"]:
        data = {name: b64decode(value).decode("utf-8", "replace") for name, value in (secret.get("data") or {}).items()}
        if "token" in data:
            yield data["token"]
        if secret["type"] == "bootstrap.kubernetes.io/token":
            yield data["token-secret"]
