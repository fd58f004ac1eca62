"""Print the JSON schema of a file or of a report.

Draft 2020-12, for editors and for programs that read the output of osm-gitops.

An editor with the YAML language server finds the schema of a fleet file by its first line:
# yaml-language-server: $schema=.osm-gitops/fleet.schema.json

Examples:
  osm-gitops schema fleet > .osm-gitops/fleet.schema.json
  osm-gitops schema overlay > .osm-gitops/overlay.schema.json
  osm-gitops schema plan > plan.schema.json
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Final

import typer

from osm_gitops.cli.console import console

if TYPE_CHECKING:
    from osm_gitops.model.objects import Json


class Described(Enum):
    """The files and reports that have a schema."""

    FLEET = "fleet"
    OVERLAY = "overlay"
    PLAN = "plan"
    EXPLANATION = "explanation"
    DOWNLOADS = "downloads"
    FINDINGS = "findings"
    STATUS = "status"
    RUNS = "runs"
    ROLLOUT = "rollout"
    REPORT = "report"
    BOOT = "boot"
    CHECKUP = "checkup"
    PROFILES = "profiles"
    PROFILE_DIFF = "profile-diff"
    LOG = "log"


def _of(module: str, name: str) -> Callable[[], dict[str, Json]]:
    """A schema that a module makes, which is imported only when it is called."""

    def schema_of() -> dict[str, Json]:
        found: dict[str, Json] = getattr(import_module(f"osm_gitops.{module}"), name)()
        return found

    return schema_of


SCHEMAS: Final[Mapping[Described, Callable[[], dict[str, Json]]]] = {
    Described.FLEET: _of("config.fleet_keys", "fleet_schema"),
    Described.OVERLAY: _of("config.overlay_keys", "overlay_schema"),
    Described.PLAN: _of("report.json_schema", "plan_schema"),
    Described.EXPLANATION: _of("commands.explain.report", "explanation_schema"),
    Described.DOWNLOADS: _of("commands.explain.downloading", "downloads_schema"),
    Described.FINDINGS: _of("commands.validate.report", "findings_schema"),
    Described.STATUS: _of("commands.status.report", "status_schema"),
    Described.RUNS: _of("commands.status.runs", "runs_schema"),
    Described.ROLLOUT: _of("commands.rollout.report", "rollout_schema"),
    Described.REPORT: _of("commands.report.json_report", "report_schema"),
    Described.BOOT: _of("commands.boot.report", "boot_schema"),
    Described.CHECKUP: _of("commands.doctor.report", "checkup_schema"),
    Described.PROFILES: _of("commands.osp.profile_list", "profiles_schema"),
    Described.PROFILE_DIFF: _of("commands.osp.diff", "profile_diff_schema"),
    Described.LOG: _of("report.json_schema", "log_schema"),
}


def schema(
    what: Annotated[
        Described,
        typer.Argument(
            help="fleet: the fleet file. overlay: overlay.yaml. The others are for --output json. plan: of plan and "
            "refresh. explanation: of explain. downloads: of explain --downloads. findings: of validate. status: of "
            "status. rollout: of rollout. report: of report. boot: of boot. checkup: of doctor. profiles: of osp list. "
            "profile-diff: of osp diff. log: lines of stderr with --log-format json."
        ),
    ],
) -> int:
    console.out(schema_text(what))
    return 0


def schema_text(what: Described) -> str:
    """A schema as JSON text."""
    return json.dumps(SCHEMAS[what](), indent=2, ensure_ascii=False) + "\n"
