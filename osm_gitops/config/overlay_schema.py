"""The JSON schema of ``overlay.yaml``, for editors: made from the tables that the reader uses."""

from __future__ import annotations

from osm_gitops.config.fleet_schema import DIALECT, closed_object, settings_schema
from osm_gitops.config.overlay_keys import (
    API_VERSION,
    METADATA,
    OPERATION,
    PATCH,
    PATCH_TARGET,
    PROFILE_PIECE,
    TOP,
)
from osm_gitops.model.objects import Json


def overlay_schema() -> dict[str, Json]:
    """The schema; draft 2020-12. Its ``$id`` bears the file's ``apiVersion``."""
    return {
        "$schema": DIALECT,
        "$id": f"https://{API_VERSION}/overlay.schema.json",
        "title": f"Overlay of osm-gitops, {API_VERSION}",
        **closed_object(TOP, required=["apiVersion", "kind"]),
        "properties": {
            **TOP,
            "settings": TOP["settings"] | settings_schema(),
            "patches": TOP["patches"] | {"items": {"$ref": "#/$defs/patch"}},
        },
        "$defs": {
            "patch": {
                **closed_object(PATCH, required=["target"]),
                "properties": {
                    "target": PATCH["target"] | closed_object(PATCH_TARGET),
                    "merge": PATCH["merge"] | {"minLength": 1} | closed_object(_piece()),
                    "json6902": PATCH["json6902"] | {"minLength": 1, "minItems": 1, "items": _operation()},
                },
                "oneOf": [{"required": ["merge"]}, {"required": ["json6902"]}],
            },
        },
    }


def _piece() -> dict[str, dict[str, Json]]:
    return PROFILE_PIECE | {"metadata": PROFILE_PIECE["metadata"] | closed_object(METADATA)}


def _operation() -> dict[str, Json]:
    return closed_object(OPERATION, required=["op", "path"])
