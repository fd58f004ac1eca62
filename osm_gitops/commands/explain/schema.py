"""The JSON schema of ``explain --output json``."""

from __future__ import annotations

from typing import Final

from osm_gitops.commands.explain.report import FORMAT_VERSION
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import Json
from osm_gitops.report.schema_words import (
    COUNT,
    OBJECT,
    PROBLEM,
    format_version,
    head,
    listing,
    record,
    ref,
    text,
    texts,
)

_NULL: Final = {"type": "null"}


def explanation_schema() -> dict[str, Json]:
    """The schema; draft 2020-12. Its ``$id`` bears the ``formatVersion``."""
    return {
        **head("explanation", "Explanation", FORMAT_VERSION),
        **record(
            "What made the boot configuration of a pool. No secret is in it.",
            formatVersion=format_version(FORMAT_VERSION),
            cluster=text("Name of the cluster."),
            pool=ref("object", "The MachineDeployment."),
            where=text("The place that it was read from."),
            sources=texts("Where its cluster's objects were read, each with its git revision where it has one."),
            hosts=texts("The API servers that were read."),
            os=text("Its operating system."),
            provider=text("Its cloud provider."),
            kubeVersion=text("The version of its kubelet, as the MachineDeployment has it."),
            profile={"anyOf": [{"$ref": "#/$defs/profile"}, _NULL], "description": "Its profile, if there is any."},
            settings=listing("given", "Every setting, by the name of its flag."),
            values=listing("given", "The values of the user's own that its templates ask for, by path."),
            annotations=listing("annotation", "Annotations about the kubelet."),
            rendering={
                "anyOf": [{"$ref": "#/$defs/rendering"}, _NULL],
                "description": "Null if it cannot be rendered.",
            },
            warnings=listing("problem", "What will hurt."),
            problems=listing("problem", "Why it cannot be rendered."),
        ),
        "$defs": {
            "object": record("One Kubernetes object.", **OBJECT),
            "problem": record("One thing that is wrong. Texts that do not apply are empty.", **PROBLEM),
            **_DEFINITIONS,
        },
    }


_DEFINITIONS: Final = {
    "profile": record(
        "The profile. All that follows where is empty for one that is not there.",
        **OBJECT,
        why=text("Where its name comes from."),
        whyNamespace=text("Where its namespace comes from."),
        where=text("The place that it was read from."),
        version=text("Its spec.version."),
        templates={"enum": ["go", "jinja2/v1", ""], "description": "The language of its templates."},
        builtIn=text("The version of the default profiles that it is one of; empty for one of the user's own."),
        touchedBy=texts("Overlays and patches that changed it, with their places."),
    ),
    "given": record(
        "A setting, a value or a fact. Facts that are secret or long are named, and have no value.",
        name=text("Its name."),
        value=text("Its value as text, masked."),
        where=text("Where it comes from."),
        default={"type": "boolean", "description": "Whether nobody gave it."},
    ),
    "annotation": record(
        "An annotation that sets an option of the kubelet, or looks as if it did.",
        annotation=text("Its key."),
        value=text("Its value."),
        option=text("What it sets; empty if it is ignored."),
        why=text("Why it is ignored; empty if it counts."),
    ),
    "made": record(
        "An object that results from the pool.",
        **OBJECT,
        side={"enum": [side.value for side in Side], "description": "The cluster that it belongs to."},
    ),
    "file": record(
        "A file on the node, also the text of a unit.",
        half={"enum": ["bootstrap", "provisioning"], "description": "The half that it belongs to."},
        path=text("Its path on the node."),
        mode=text("Its permissions in octal."),
        bytes={"type": ["integer", "null"], "minimum": 0, "description": "Its size; null where it is not told."},
        where=text("The place of its template; empty if it is made of settings."),
    ),
    "size": record(
        "The sizes of a half in bytes, and the limit for them.",
        half={"enum": ["bootstrap", "provisioning"], "description": "The half."},
        raw=COUNT | {"description": "As it is, with the longest name that a machine can get."},
        gzip=COUNT | {"description": "Compressed as machine-controller does it, give or take a few bytes."},
        base64=COUNT | {"description": "In base64."},
        counted={"enum": ["raw", "gzip", "base64", ""], "description": "The form that counts; empty without a limit."},
        limit={"type": ["integer", "null"], "description": "The limit in bytes; null if none is known."},
        headroom={"type": ["integer", "null"], "description": "What is left of it; negative if it is exceeded."},
        note=text("Who says so, or why there is no limit."),
    ),
    "rendering": record(
        "What is known only of a pool that can be rendered.",
        provisioningUtility={"enum": ["cloud-init", "ignition"], "description": "What sets the machine up."},
        facts=listing("given", "Facts of the cluster that it depends on."),
        objects=listing("made", "The objects that result."),
        live=listing("made", "Objects that are kept in the cluster alone, never in git."),
        files=listing("file", "Files and units of both halves."),
        modules=texts("Modules of cloud-init that a half uses, such as bootstrap runcmd."),
        userData=listing("size", "The sizes of both halves."),
    ),
}
