"""The cloud-config of AWS (osm-behaviour.md, "Cloud-config by provider")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from osm_gitops.render.resolve.cloudconfig.cloud_spec import CloudSpec, quoted, text_variable
from osm_gitops.render.resolve.json_fields import Reader

FIELDS: Final[Mapping[str, Reader]] = dict.fromkeys(("availabilityZone", "vpcId", "subnetId"), text_variable)
ENVIRONMENT: Final[Collection[str]] = ()


def render(spec: CloudSpec) -> str:
    return (
        "[global]\n"
        f"Zone={quoted(spec.text('availabilityZone'))}\n"
        f"VPC={quoted(spec.text('vpcId'))}\n"
        f"SubnetID={quoted(spec.text('subnetId'))}\n"
    )
