"""The keys of ``overlay.yaml``, level by level, each with a JSON schema of its value.

One table for the reader, which refuses what is not in it, and for editors (:mod:`osm_gitops.config.overlay_schema`).
"""

from __future__ import annotations

from typing import Final

from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import DELETE
from osm_gitops.sources.profiles import OPERATING_SYSTEMS

Keys = dict[str, dict[str, Json]]
"""Of one level: its keys, each with the schema of its value."""

API_VERSION: Final = "osm-gitops.io/v1alpha1"
KIND: Final = "Overlay"
OVERLAY_FILE: Final = "overlay.yaml"
OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")

_TEXT: Final = {"type": "string", "minLength": 1}
_POINTER: Final = {"type": "string", "pattern": "^/"}
_FILE: Final = "the name of a file in this folder that contains it"

TOP: Final[Keys] = {
    "apiVersion": {"description": "Version of this format.", "const": API_VERSION},
    "kind": {"description": "What the file is.", "const": KIND},
    "overlays": {
        "description": "Overlays to apply before this one: folders relative to this file, PATH@REV for a git "
        "revision, or builtin:NAME.",
        "type": ["array", "null"],
        "items": _TEXT,
    },
    "settings": {
        "description": "Settings by their keys. Flags, environment and fleet file win over them.",
        "type": ["object", "null"],
    },
    "values": {
        "description": "Variables that profiles read as Values. Maps are merged; null removes what an earlier "
        "overlay set. Texts may contain {{ … }} with other values.",
        "type": ["object", "null"],
    },
    "profiles": {
        "description": "Names (globs) of the profiles that the cluster may use. Without it, all.",
        "type": ["array", "null"],
        "items": _TEXT,
    },
    "patches": {"description": "Changes of profiles, in this order.", "type": ["array", "null"]},
}
PATCH: Final[Keys] = {
    "target": {"description": "Which profiles it changes.", "type": "object", "required": ["name"]},
    "merge": {
        "description": "Part of a profile to merge into it: files by path, templates by key, units and runtimes by "
        f"name. {DELETE}: true removes one, new ones come last. May also be {_FILE}.",
        "type": ["object", "string"],
    },
    "json6902": {
        "description": f"JSON Patch operations (RFC 6902) with paths that start at the manifest. May also be {_FILE}.",
        "type": ["array", "string"],
    },
}
PROFILE_PIECE: Final[Keys] = {
    "apiVersion": {"description": "As in a profile; optional."},
    "kind": {"description": "As in a profile; optional.", "const": "OperatingSystemProfile"},
    "metadata": {"description": "Annotations and labels.", "type": "object"},
    "spec": {"description": "What to change in the profile.", "type": "object"},
}
METADATA: Final[Keys] = {
    "annotations": {"description": "Annotations to add or change.", "type": "object"},
    "labels": {"description": "Labels to add or change.", "type": "object"},
}
PATCH_TARGET: Final[Keys] = {
    "name": {"description": "Name of the profile; a glob may name several.", **_TEXT},
    "osName": {"description": "Only profiles for this operating system.", "enum": [*OPERATING_SYSTEMS, None]},
}
OPERATION: Final[Keys] = {
    "op": {"description": "What to do.", "enum": list(OPERATIONS)},
    "path": {
        "description": "Path to change, such as /spec/provisioningConfig/files/0/content/inline/data.",
        **_POINTER,
    },
    "from": {"description": "Path to move or copy from.", **_POINTER},
    "value": {"description": "What to add, replace with, or test for."},
}
