"""The keys of a fleet file, level by level, each with a JSON schema of its value (design.md, "Fleet file").

One table for the reader, which refuses what is not in it, and for editors
(:mod:`osm_gitops.config.fleet_schema`).
"""

from __future__ import annotations

from typing import Final

from osm_gitops.model.objects import Json

Keys = dict[str, dict[str, Json]]
"""Of one level: its keys, each with the schema of its value."""

API_VERSION: Final = "osm-gitops.io/v1alpha1"
NAME_PATTERN: Final = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?"

_TEXT: Final = {"type": "string", "minLength": 1}
_NO_TILDE: Final = {"pattern": "^[^~]"}


def _text(description: str, **more: Json) -> dict[str, Json]:
    return {"description": description, **_TEXT, **more}


GIT: Final[Keys] = {
    "path": _text("The folder for the desired state, in a git work tree; relative to the fleet file."),
    "branch": _text("The branch that must be checked out. Without it, any branch."),
    "remote": _text("The remote to push to.", default="origin"),
    "push": {
        "description": "Push after committing. Fetches first, and plans again if the remote has moved.",
        "type": "boolean",
        "default": False,
    },
    "sign": {"description": "Sign commits, or not. Without it, as git's configuration says.", "type": "boolean"},
}
TARGET: Final[Keys] = {
    "git": {
        "description": "A folder in a git work tree: one commit per cluster and run.",
        "type": "object",
        "required": ["path"],
    }
}
MACHINES: Final[Keys] = {
    "path": _text("Where they are: cluster, or a folder or file."),
    "apply": {
        "description": "Apply the MachineDeployments of the path to the worker cluster, if the target is cluster. "
        "None is ever deleted.",
        "type": "boolean",
        "default": False,
    },
}
SOURCE: Final[Keys] = {
    "machineDeployments": {
        "description": "Where the MachineDeployments are: cluster, or a folder or file, also PATH@REV; "
        "or a mapping that also says whether to apply them.",
        "type": ["string", "object"],
    },
    "profiles": _text("Where the OperatingSystemProfiles are. Without it, with the MachineDeployments."),
    "facts": _text(
        "Where the ConfigMaps, Secrets, ServiceAccounts and EndpointSlices are that rendering reads. "
        "Without it, with the MachineDeployments."
    ),
}
WORKER: Final[Keys] = {
    "kubeconfig": _text("Kubeconfig, relative to the fleet file. Without it, the one that kubectl uses.", **_NO_TILDE),
    "context": _text("Context in the kubeconfig. Without it, the current one."),
}
MANAGEMENT: Final[Keys] = WORKER | {
    "namespace": {"description": "The same as the setting namespace.", "type": "string", "minLength": 1}
}
CLUSTER: Final[Keys] = {
    "name": _text(
        "Name of the cluster: the folder of its desired state, and what --cluster takes.", pattern=f"^{NAME_PATTERN}$"
    ),
    "from": {"description": "Where objects are read: cluster, a folder or file, or one of them for each part."},
    "settings": {"description": "Settings by their keys.", "type": ["object", "null"]},
    "overlays": {
        "description": "Overlays of the cluster: folders with overlay.yaml relative to the fleet file, PATH@REV "
        "for a git revision, or builtin:NAME. Later ones win. Those of defaults come first.",
        "type": ["array", "null"],
        "items": _TEXT,
    },
    "to": {"description": "Where the desired state goes: cluster, or a folder in git."},
    "management": {"description": "The cluster of profiles and configurations.", "type": ["object", "null"]},
    "worker": {
        "description": "The cluster of MachineDeployments and Secrets. Without it, the management cluster.",
        "type": ["object", "null"],
    },
    "profilesVersion": {
        "description": "Version of the built-in profiles; an upgrade of osm-gitops does not change it. "
        "The same as the setting profilesVersion. Without it, the newest.",
        "type": ["string", "null"],
        "pattern": r"^v[0-9]+\.[0-9]+\.[0-9]+",
    },
}
TOP: Final[Keys] = {
    "apiVersion": {"description": "Version of this format.", "const": API_VERSION},
    "kind": {"description": "What the file is.", "const": "Fleet"},
    "defaults": {
        "description": "Keys that all clusters share. A cluster's own key wins; settings are merged, overlays added.",
        "type": ["object", "null"],
    },
    "clusters": {"description": "The clusters of the fleet.", "type": "array", "minItems": 1},
}
