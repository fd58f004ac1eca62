"""CustomResourceDefinitions: ours as they are installed, others' as small as the tests can do with."""

from __future__ import annotations

from osm_gitops.commands.boot.lane.definitions import definition
from osm_gitops.commands.install.schemas import definitions
from tests.apiserver.client import Object

DEFINITIONS = (
    *definitions(),
    *(
        definition("cluster.k8s.io", kind, subresources={"status": {}})
        for kind in ("MachineDeployment", "MachineSet", "Machine")
    ),
)


def is_established(found: Object | None) -> bool:
    """Whether the server serves the kind of this definition."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()  # null at first
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
