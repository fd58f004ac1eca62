"""``osm-gitops schema``: print the JSON schemas of what people and machines write and read."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated

import typer

from osm_gitops.cli.console import console
from osm_gitops.config.fleet_schema import fleet_schema
from osm_gitops.config.overlay_schema import overlay_schema
from osm_gitops.model.objects import Json
from osm_gitops.report.json_schema import plan_schema


class Described(Enum):
    """What there is a schema of."""

    FLEET = "fleet"
    OVERLAY = "overlay"
    PLAN = "plan"
    EXPLANATION = "explanation"
    DOWNLOADS = "downloads"


def _explanation() -> dict[str, Json]:
    from osm_gitops.commands.explain.report import explanation_schema  # noqa: PLC0415 - no other command needs it

    return explanation_schema()


def _downloads() -> dict[str, Json]:
    from osm_gitops.commands.explain.downloading import downloads_schema  # noqa: PLC0415 - no other command needs it

    return downloads_schema()


SCHEMAS = {
    Described.FLEET: fleet_schema,
    Described.OVERLAY: overlay_schema,
    Described.PLAN: plan_schema,
    Described.EXPLANATION: _explanation,
    Described.DOWNLOADS: _downloads,
}


def schema(
    what: Annotated[
        Described,
        typer.Argument(help="The fleet file, overlay.yaml, or what plan or explain prints with --output json."),
    ],
) -> int:
    """Print the JSON schema of a file or of a report.

    Draft 2020-12, for editors and for programs that read the output of osm-gitops.

    An editor with the YAML language server finds the schema of a fleet file by its first line:
    # yaml-language-server: $schema=.osm-gitops/fleet.schema.json

    Examples:
      osm-gitops schema fleet > .osm-gitops/fleet.schema.json
      osm-gitops schema overlay > .osm-gitops/overlay.schema.json
      osm-gitops schema plan > plan.schema.json
    """
    console.out(schema_text(what))
    return 0


def schema_text(what: Described) -> str:
    """A schema as the text of a file."""
    return json.dumps(SCHEMAS[what](), indent=2, ensure_ascii=False) + "\n"
