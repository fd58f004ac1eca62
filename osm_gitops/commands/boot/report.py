"""Output of ``boot``: text for people, and JSON with its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from osm_gitops.commands.boot.verdict import NOT_SHOWN, REACHED, Boot, Step, look_at
from osm_gitops.model.objects import Json
from osm_gitops.report.json_words import FORMAT_VERSION
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import (
    format_version,
    head,
    listing,
    optional_ref,
    optional_text,
    record,
    text,
    texts,
    truth,
)
from osm_gitops.report.visible import section, visible


def boot_text(boot: Boot, masker: Masker) -> str:
    """Text for people; it may change."""
    return "".join(f"{visible(masker.text(line))}\n" for line in _lines(boot))


def _lines(boot: Boot) -> Iterator[str]:
    booted = boot.booted
    built = "" if booted.sources == booted.kubelet else f", built from {booted.sources}"
    where = f"Cluster {booted.cluster}, pool {booted.pool.namespaced_name}"
    yield f"{where}: {booted.os} on {booted.provider or 'no provider'}"
    yield f"kubelet {booted.kubelet}{built}; API server at {booted.server}"
    yield ""
    for step in Step:
        at = boot.reached.get(step)
        yield f"         -  not reached: {REACHED[step]}" if at is None else f"  {at:6.1f} s  {REACHED[step]}"
    yield ""
    if boot.node is None or not boot.joined:
        yield f"The machine did not join within {boot.seconds:.0f} s."
    else:
        node = _node(boot.node)
        yield f"The machine joined as {node['name']} after {boot.reached[Step.REPORTED]:.0f} s:"
        yield f"  kubelet {node['kubelet']}, {node['containerRuntime']}"
        yield f"  taints: {', '.join(node['taints']) or 'none'}"
        yield f"  provider ID: {node['providerID'] or 'none, until the cloud controller sets it'}"
    if boot.failed_units:
        yield f"Failed units: {', '.join(boot.failed_units)}"
    yield from section("What to look at", look_at(boot))
    for unit, lines in boot.log.items():
        yield from section(f"The last lines of {unit}", lines)
    yield from section("Not shown by this boot", NOT_SHOWN)


def _node(body: Mapping[str, Any]) -> dict[str, Any]:
    spec, metadata = body.get("spec") or {}, body["metadata"]
    info = (body.get("status") or {}).get("nodeInfo") or {}
    return {
        "name": metadata["name"],
        "kubelet": info.get("kubeletVersion", ""),
        "containerRuntime": info.get("containerRuntimeVersion", ""),
        "labels": dict(sorted((metadata.get("labels") or {}).items())),
        "taints": [f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in spec.get("taints") or ()],
        "providerID": spec.get("providerID"),
    }


def boot_json(boot: Boot, masker: Masker) -> str:
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version."""
    booted = boot.booted
    document = {
        "formatVersion": FORMAT_VERSION,
        "cluster": booted.cluster,
        "namespace": booted.pool.namespace,
        "pool": booted.pool.name,
        "os": booted.os,
        "provider": booted.provider,
        "kubelet": booted.kubelet,
        "kubeletSources": booted.sources,
        "server": booted.server,
        "joined": boot.joined,
        "seconds": round(boot.seconds, 1),
        "steps": [
            {"name": step.value, "meaning": REACHED[step], "seconds": _rounded(boot.reached.get(step))} for step in Step
        ],
        "node": None if boot.node is None else _node(boot.node),
        "failedUnits": list(boot.failed_units),
        "missingFiles": list(boot.missing),
        "unknownNames": list(boot.unknown),
        "lookAt": list(look_at(boot)),
        "log": [{"unit": unit, "lines": list(lines)} for unit, lines in boot.log.items()],
        "notShown": list(NOT_SHOWN),
    }
    return masker.text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def boot_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    seconds = {"type": ["number", "null"], "description": "Seconds since power on; null if it was not reached."}
    labels = {"type": "object", "additionalProperties": {"type": "string"}, "description": "Its labels."}
    return {
        **head("boot", "Boot"),
        **record(
            "The boot of one machine of a pool. Contains no secret.",
            formatVersion=format_version(),
            cluster=text("The cluster."),
            namespace=text("The namespace of the pool."),
            pool=text("Its name."),
            os=text("Its operating system."),
            provider=text("Its cloud provider."),
            kubelet=text("The version that the kubelet says it is."),
            kubeletSources=text("The version of Kubernetes that it was built from."),
            server=text("The address by which the machine knows the API server."),
            joined=truth("Whether there is a Node whose state the kubelet reports."),
            seconds={"type": "number", "description": "How long the machine ran."},
            steps=listing("step", "All steps, in order."),
            node=optional_ref("node", "The Node; null if there is none."),
            failedUnits=texts("Units of the machine that failed."),
            missingFiles=texts("URLs that the machine asked for and that this boot does not have."),
            unknownNames=texts("Names that the machine asked DNS for in vain."),
            lookAt=texts("What to look at; empty if the machine joined."),
            log=listing("log", "The last lines of the units that tell why it did not join, or that failed."),
            notShown=texts("What such a boot cannot tell."),
        ),
        "$defs": {
            "step": record("A step.", name=text("Its name."), meaning=text("What it means."), seconds=seconds),
            "node": record(
                "The Node.",
                name=text("Its name."),
                kubelet=text("The version of the kubelet that it reports."),
                containerRuntime=text("The container runtime that it reports."),
                labels=labels,
                taints=texts("Its taints, KEY=VALUE:EFFECT."),
                providerID=optional_text("Its provider ID; null until the cloud controller sets it."),
            ),
            "log": record("Lines of a unit.", unit=text("The unit."), lines=texts("Its last lines.")),
        },
    }
