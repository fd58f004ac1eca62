"""The JSON schema of ``explain --downloads --output json``."""

from __future__ import annotations

from typing import Final

from osm_gitops.commands.explain.downloads_report import FORMAT_VERSION
from osm_gitops.downloads.need import ARCHITECTURES, Kind
from osm_gitops.model.objects import Json
from osm_gitops.report.schema_words import COUNT, PROBLEM, format_version, head, listing, record, ref, text, texts


def downloads_schema() -> dict[str, Json]:
    """The schema; draft 2020-12. Its ``$id`` bears the ``formatVersion``."""
    return {
        **head("downloads", "Downloads", FORMAT_VERSION),
        **record(
            "What nodes ask for while they boot. No secret is in it.",
            formatVersion=format_version(FORMAT_VERSION),
            pools=listing("pool", "The pools that were looked at."),
            hosts=texts("The hosts that are asked, with their port where one is named, in the order of their names."),
            needs=listing("need", "Each thing once."),
            unresolved=listing("unresolved", "What could not be told."),
            failed=listing("failed", "Pools that cannot be rendered, so that what they need is not known."),
            problems=listing("problem", "What could not be read at all."),
        ),
        "$defs": {"problem": record("One thing that is wrong. Texts that do not apply are empty.", **PROBLEM), **_REST},
    }


_PLACE: Final = {
    "half": {"enum": ["bootstrap", "provisioning", ""], "description": "The half; empty where it is in no file."},
    "path": text("The path of the rendered file or unit on the node, or a module of cloud-init."),
    "line": COUNT | {"description": "The line in it; 0 for a module."},
    "source": text("File and line in the profile's source; empty for what settings make."),
}
_REST: Final = {
    "pool": record(
        "A MachineDeployment.",
        cluster=text("The cluster."),
        namespace=text("The namespace."),
        name=text("The name."),
    ),
    "place": record("Where it stands.", **_PLACE),
    "need": record(
        "One thing that nodes ask for.",
        kind={"enum": [kind.value for kind in Kind], "description": "What sort of thing it is."},
        name=text("A URL, a package, an image; with what is not known as the shell has it."),
        host=text("The host that is asked; empty for packages, and where it is not known."),
        by=text("The command or program that asks."),
        architectures={
            "type": "array",
            "items": {"enum": list(ARCHITECTURES)},
            "description": "The machines that ask.",
        },
        unresolved=texts("The parts of the name that are not known."),
        note=text("What is special about it."),
        places=listing("place", "Where it stands."),
        pools=listing("pool", "The pools whose nodes ask."),
    ),
    "unresolved": record(
        "A place at which it could not be told what is asked for.",
        why=text("Why."),
        **_PLACE,
        pools=listing("pool", "The pools that it is about."),
    ),
    "failed": record(
        "A pool that cannot be rendered.",
        pool=ref("pool", "The pool."),
        problems=listing("problem", "All reasons."),
    ),
}
