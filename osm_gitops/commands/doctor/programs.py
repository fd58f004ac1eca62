"""Programs that people use beside this one; a run needs none of them but git."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping

from osm_gitops.commands.doctor.finding import Finding, note, ok

_PROGRAMS = {
    "sops": "opens and edits encrypted files by hand",
    "age-keygen": "makes keys, and prints the public side of one",
    "kubectl": "fills sources from a cluster",
    "kustomize": "shows what Flux and Argo CD make of the desired state",
}


def look_at_programs(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which of them are on the path."""
    for name, use in _PROGRAMS.items():
        path = shutil.which(name, path=environment.get("PATH", ""))
        if path:
            yield ok("programs", f"{name} is {path}")
        else:
            yield note("programs", f"{name} is not installed; it {use}, and no run needs it")
