"""The keys of ``overlay.yaml``, level by level, each with a JSON schema of its value.

The reader, which refuses other keys, and the JSON schema for editors use the same tables.
"""

from __future__ import annotations

from typing import Final

from osm_gitops.config.fleet_keys import DIALECT, closed_object, settings_schema
from osm_gitops.model.objects import OPERATING_SYSTEMS, Json
from osm_gitops.model.overlay import DELETE, EDITS

Keys = dict[str, dict[str, Json]]
"""The keys of one level, each with the schema of its value."""

API_VERSION: Final = "osm-gitops.io/v1alpha1"
KIND: Final = "Overlay"
OVERLAY_FILE: Final = "overlay.yaml"
MOST_EDITS: Final = 100
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
        "description": "Settings by their keys. Flags, environment and fleet file take precedence.",
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
    "spec": {
        "description": "What to change in the profile. In place of a text of a file, template, unit or drop-in there "
        "may be a copiedText, or {edit: […]} with a list of textEdit.",
        "type": "object",
        "patternProperties": {"^(bootstrap|provisioning)Config$": {"$ref": "#/$defs/half"}},
    },
}
METADATA: Final[Keys] = {
    "annotations": {"description": "Annotations to add or change.", "type": "object"},
    "labels": {"description": "Labels to add or change.", "type": "object"},
}
PATCH_TARGET: Final[Keys] = {
    "name": {"description": "Name of the profile; a glob may name several.", **_TEXT},
    "osName": {"description": "Only profiles for this operating system.", "enum": [*OPERATING_SYSTEMS, None]},
}
COPIED_TEXT: Final[Keys] = {
    "file": {"description": "Name of a file in this folder that contains the text.", **_TEXT},
    "baseDigest": {
        "description": "The text is a changed copy of one of the profile, which had this digest: warn if it changes.",
        "type": ["string", "null"],
        "pattern": "^[0-9a-f]{12}$",
    },
}
EDITED_TEXT: Final[Keys] = {
    "edit": {
        "description": "Changes of a text of the profile, in this order.",
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_EDITS,
        "items": {"$ref": "#/$defs/textEdit"},
    },
}
TEXT_EDIT: Final[Keys] = {
    "replace": {"description": "What to replace; it must be in the profile's text exactly once.", **_TEXT},
    "with": {"description": "The new text; empty to remove the old one.", "type": "string"},
    "insertBefore": {"description": "The same for a text before whose line lines are inserted.", **_TEXT},
    "insertAfter": {"description": "The same for a text after whose line lines are inserted.", **_TEXT},
    "text": {"description": "The lines to insert.", "type": "string"},
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


def _texts_of_half() -> dict[str, Json]:
    """What a half of a profile may have in place of a text. Everything else is checked with the patched profile."""
    forms = {"file": {"$ref": "#/$defs/copiedText"}, "edit": closed_object(EDITED_TEXT, required=["edit"])}
    text = {
        "allOf": [
            {"if": {"type": "object", "required": [key]}, "then": {"anyOf": list(forms.values())}} for key in forms
        ]
    }
    with_content = {"properties": {"content": text}}
    unit = {"properties": {"content": text, "dropIns": {"items": with_content}}}
    return {
        "files": {"items": with_content},
        "templates": {"additionalProperties": text},
        "units": {"items": unit},
        "supportedContainerRuntimes": {"items": {"$ref": "#/$defs/half"}},
    }


def overlay_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the file's ``apiVersion``."""
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
                    "merge": PATCH["merge"]
                    | {"minLength": 1}
                    | closed_object(PROFILE_PIECE | {"metadata": PROFILE_PIECE["metadata"] | closed_object(METADATA)}),
                    "json6902": PATCH["json6902"]
                    | {"minLength": 1, "minItems": 1, "items": closed_object(OPERATION, required=["op", "path"])},
                },
                "oneOf": [{"required": ["merge"]}, {"required": ["json6902"]}],
            },
            "half": {"allOf": [{"properties": _texts_of_half()}]},
            "copiedText": {
                "description": "The text of a file beside the overlay.",
                **closed_object(COPIED_TEXT, required=["file"]),
            },
            "textEdit": {
                "description": "A change of a few lines: either replace and with, or insertBefore or insertAfter "
                "and text.",
                **closed_object(TEXT_EDIT),
                "type": "object",
                "maxProperties": 2,
                "oneOf": [{"required": [operation, new]} for operation, new in EDITS.items()],
            },
        },
    }
