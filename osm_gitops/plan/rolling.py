"""Replacing the machines of a pool, rolling: a change of its template, which machine-controller carries out."""

from __future__ import annotations

from datetime import datetime
from shlex import quote
from typing import Final

from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.span import rfc3339

_ANNOTATION: Final = "forceRestart"
# The shell inserts the time, so that equal plans give equal text.
_NOW: Final = """'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'"""


def roll_patch(moment: datetime) -> dict[str, Json]:
    """A merge patch of a MachineDeployment. machine-controller then replaces its Machines as its strategy says."""
    return {"spec": {"template": {"metadata": {"annotations": {_ANNOTATION: rfc3339(moment)}}}}}


def roll_command(pool: ObjectRef) -> str:
    """The same as a command line, with the time at which it is run."""
    patch = '{"spec":{"template":{"metadata":{"annotations":{"' + _ANNOTATION + '":"' + _NOW + '"}}}}}'
    kubectl = f"kubectl -n {quote(pool.namespace)} patch machinedeployment {quote(pool.name)}"
    return f"{kubectl} --type merge -p '{patch}'"
