"""Options that tell a run's figures to Prometheus."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from osm_gitops.pipeline.metrics import MetricSinks

_PANEL = "How a run is seen from outside"

MetricsFile = Annotated[
    Path | None,
    typer.Option(
        "--metrics-file",
        metavar="FILE",
        help="Write the run's figures for Prometheus here, for the node exporter's textfile collector.",
        envvar="OSM_GITOPS_METRICS_FILE",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
PushgatewayAddress = Annotated[
    str | None,
    typer.Option(
        "--pushgateway",
        metavar="URL",
        help="Send the run's figures to this Pushgateway of Prometheus.",
        envvar="OSM_GITOPS_PUSHGATEWAY",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]


def metric_sinks(file: Path | None, address: str | None) -> MetricSinks:
    """Where the figures go; raises InputError, better before the run than after it."""
    if not address:
        return MetricSinks(file)
    from osm_gitops.kube.pushgateway import Pushgateway  # noqa: PLC0415 - slow

    return MetricSinks(file, Pushgateway.at(address), os.environ)
