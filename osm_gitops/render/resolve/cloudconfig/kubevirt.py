"""The cloud-config of KubeVirt: YAML with a kubeconfig (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from osm_gitops.errors import Code
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.gocompat.text import from_bytes
from osm_gitops.gocompat.yaml3 import encode
from osm_gitops.render.resolve.cloudconfig.cloud_spec import CloudSpec, text_variable
from osm_gitops.render.resolve.json_fields import Reader, struct

FIELDS: Final[Mapping[str, Reader]] = {"auth": struct({"kubeconfig": text_variable})}
ENVIRONMENT: Final[Collection[str]] = ("KUBEVIRT_KUBECONFIG", "POD_NAMESPACE")
_KUBECONFIG: Final = "auth.kubeconfig"


def render(spec: CloudSpec) -> str:
    namespace = spec.environment("POD_NAMESPACE") or "kube-system"
    return encode({"global": {"kubeconfig": _kubeconfig(spec), "namespace": namespace}})


def _kubeconfig(spec: CloudSpec) -> str:
    """An inline value must be base64 and wins over a reference; anything else is decoded if it can be."""
    inline = spec.variable(_KUBECONFIG).value
    if inline:
        decoded = decode_base64(str(inline))
        if decoded is None:
            spec.problem(
                Code.CLOUD_SPEC_VALUE,
                "the kubeconfig is not base64",
                _KUBECONFIG,
                "Put the base64 of the kubeconfig there",
            )
            return ""
        return from_bytes(decoded)
    text = spec.text_or_environment(_KUBECONFIG, "KUBEVIRT_KUBECONFIG")
    decoded = decode_base64(text)
    return text if decoded is None else from_bytes(decoded)
