"""The keys of a fleet file, level by level, each with a JSON schema of its value (design.md, "Fleet file").

The reader, which refuses other keys, and the JSON schema for editors use the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.config.setting_names import SETTINGS, Kind
from osm_gitops.config.spec import LIVE
from osm_gitops.model.objects import Json

Keys = dict[str, dict[str, Json]]
"""The keys of one level, each with the schema of its value."""

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
        "for a git revision, or builtin:NAME. Later ones take precedence. Those of defaults come first.",
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
        "description": "Defaults of all clusters. A key of a cluster wins; settings and overlays are merged.",
        "type": ["object", "null"],
    },
    "clusters": {"description": "The clusters of the fleet.", "type": "array", "minItems": 1},
}


SCHEMA_FILE: Final = ".osm-gitops/fleet.schema.json"
"""Path of the schema in a config repository, beside the fleet file."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
# As Go's strconv.ParseBool reads them.
_BOOLEAN_TEXTS: Final = [*("1", "t", "T", "true", "TRUE", "True"), *("0", "f", "F", "false", "FALSE", "False")]

_VALUES: Final[Mapping[Kind, Mapping[str, Json]]] = {
    Kind.TEXT: {"type": "string"},
    Kind.TEXTS: {"anyOf": [{"type": "string"}, _TEXTS]},
    Kind.BOOLEAN: {"anyOf": [{"type": "boolean"}, {"enum": _BOOLEAN_TEXTS}]},
    Kind.GATES: {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "boolean"}}]},
    Kind.MIRRORS: {
        "anyOf": [
            {"type": "string"},
            _TEXTS,
            {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, _TEXTS]}},
        ]
    },
    Kind.FILE: {"type": "string"},
    Kind.COUNT: {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[+]?0*[1-9][0-9]*$"}]},
    Kind.DURATION: {"type": "string", "pattern": "^[+]?([0-9]*[.]?[0-9]*(ns|us|µs|μs|ms|s|m|h))+$"},
}


def fleet_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the file's ``apiVersion``."""
    defaults = {key: value for key, value in CLUSTER.items() if key != "name"}
    machines = {"anyOf": [MACHINES["path"], closed_object(MACHINES, required=["path"])]}
    source = SOURCE | {"machineDeployments": SOURCE["machineDeployments"] | machines}
    target = TARGET | {"git": TARGET["git"] | closed_object(GIT)}
    return {
        "$schema": DIALECT,
        "$id": f"https://{API_VERSION}/fleet.schema.json",
        "title": f"Fleet file of osm-gitops, {API_VERSION}",
        **closed_object(TOP, required=["apiVersion", "kind", "clusters"]),
        "properties": {
            **TOP,
            "defaults": TOP["defaults"] | closed_object(_cluster(defaults)),
            "clusters": TOP["clusters"] | {"items": closed_object(_cluster(CLUSTER), required=["name"])},
        },
        "$defs": {
            "settings": settings_schema(),
            "source": {"anyOf": [MACHINES["path"], closed_object(source, required=["machineDeployments"])]},
            "target": {"anyOf": [{"const": LIVE}, closed_object(target, required=["git"])]},
            "management": closed_object(MANAGEMENT),
            "worker": closed_object(WORKER),
        },
    }


def settings_schema() -> dict[str, Json]:
    """The schema of settings by their keys."""
    return closed_object({each.key: {"description": each.help, **_VALUES[each.kind]} for each in SETTINGS})


def _cluster(keys: Keys) -> Keys:
    """The keys of a cluster, with the schemas of the levels below them."""
    below = {"settings": "settings", "from": "source", "to": "target", "management": "management", "worker": "worker"}
    return keys | {key: keys[key] | {"$ref": f"#/$defs/{name}"} for key, name in below.items()}


def closed_object(properties: Keys, *, required: list[str] | None = None) -> dict[str, Json]:
    """A schema that allows no other keys. The type is with the key, because some may be null."""
    body: dict[str, Json] = {"properties": dict(properties), "additionalProperties": False}
    return body | ({"type": "object", "required": required} if required else {})
