"""The JSON schema of the fleet file, for editors: made from the tables that the reader uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from osm_gitops.config.fleet_keys import (
    API_VERSION,
    CLUSTER,
    GIT,
    MACHINES,
    MANAGEMENT,
    SOURCE,
    TARGET,
    TOP,
    WORKER,
    Keys,
)
from osm_gitops.config.setting_names import SETTINGS, Kind
from osm_gitops.config.spec import LIVE
from osm_gitops.model.objects import Json

SCHEMA_FILE: Final = ".osm-gitops/fleet.schema.json"
"""Where a config repository keeps it, beside the fleet file."""
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
    """The schema; draft 2020-12. Its ``$id`` bears the file's ``apiVersion``."""
    defaults = {key: value for key, value in CLUSTER.items() if key != "name"}
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
            "source": {"anyOf": [MACHINES["path"], closed_object(_source(), required=["machineDeployments"])]},
            "target": {"anyOf": [{"const": LIVE}, closed_object(_target(), required=["git"])]},
            "management": closed_object(MANAGEMENT),
            "worker": closed_object(WORKER),
        },
    }


def settings_schema() -> dict[str, Json]:
    """The schema of settings by their keys."""
    return closed_object({setting.key: _setting(setting.help, setting.kind) for setting in SETTINGS})


def _source() -> Keys:
    machines = {"anyOf": [MACHINES["path"], closed_object(MACHINES, required=["path"])]}
    return SOURCE | {"machineDeployments": SOURCE["machineDeployments"] | machines}


def _target() -> Keys:
    return TARGET | {"git": TARGET["git"] | closed_object(GIT)}


def _cluster(keys: Keys) -> Keys:
    """The keys of a cluster, with the schemas of the levels below them."""
    below = {"settings": "settings", "from": "source", "to": "target", "management": "management", "worker": "worker"}
    return keys | {key: keys[key] | {"$ref": f"#/$defs/{name}"} for key, name in below.items()}


def closed_object(properties: Keys, *, required: list[str] | None = None) -> dict[str, Json]:
    """No other keys; the type is said where the key is, as some may be empty."""
    body: dict[str, Json] = {"properties": dict(properties), "additionalProperties": False}
    return body | ({"type": "object", "required": required} if required else {})


def _setting(description: str, kind: Kind) -> dict[str, Json]:
    return {"description": description, **_VALUES[kind]}
