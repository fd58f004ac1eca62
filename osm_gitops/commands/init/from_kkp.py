"""``init --from kkp``: write a config repository for the user clusters of a KKP seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from osm_gitops.commands.init.scaffold import Scaffold
from osm_gitops.config.fleet_file import FLEET_FILE, parse_fleet
from osm_gitops.context_ref import ContextRef
from osm_gitops.errors import InputError, OsmGitopsError, Problem, some
from osm_gitops.pipeline.connections import Connections
from osm_gitops.pipeline.kkp import Discovery, discover, settings_problems
from osm_gitops.report.visible import many
from osm_gitops.sources.trust import TRUSTED

PLACES: Final[Mapping[str, str]] = {
    "kkp-fleet.yaml": FLEET_FILE,
    "kkp-overlay.yaml": "overlays/all/overlay.yaml",
    "adopted-sops.yaml": ".sops.yaml",
    "gitattributes": ".gitattributes",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "kkp-README.md": "README.md",
}
"""Path of each text in the repository."""
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class FoundClusters:
    """The user clusters that the new fleet file selects; ``warnings`` say what a run could not do, or would do in
    another way than Operating System Manager."""

    discovery: Discovery
    warnings: tuple[Problem, ...] = ()

    def findings(self) -> Iterator[str]:
        """What was found, as text without values."""
        clusters = [spec.kkp.cluster for spec in self.discovery.clusters if spec.kkp is not None]
        states = Counter(cluster.state.value for cluster in clusters)
        counted = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        yield f"Found {many(len(clusters), 'user cluster')}{f' ({counted})' if counted else ''}."
        off = [cluster.id for cluster in clusters if cluster.osm_replicas == 0]
        if off:
            yield f"Operating System Manager is switched off in {len(off)} of them: {some(off, _NAMED)}."
        for name, why in self.discovery.left_out.items():
            yield f"{name} is left out: {why}."


def find_clusters(fleet: bytes, seed: ContextRef, environment: Mapping[str, str]) -> FoundClusters:
    """Read the seed with the text of the new fleet file, as runs will; write nothing. Raises InputError and
    ClusterError if the seed cannot be read."""
    connections = Connections(environment)
    try:
        found = discover(parse_fleet(fleet, Path(), FLEET_FILE), connections, seed, TRUSTED)
        for spec in found.clusters:
            if spec.is_seed:
                raise InputError(spec.problems)
        warnings: list[Problem] = []
        for spec in found.clusters:
            try:
                problems = spec.problems or settings_problems(spec, connections)
            except OsmGitopsError as failure:
                problems = failure.problems
            warnings += (each.at(about=f"cluster {spec.name}") for each in problems)
        return FoundClusters(found, tuple(warnings))
    finally:
        connections.close()


def repository_files(scaffold: Scaffold, branch: str) -> dict[str, bytes]:
    """All files by path. Raises InputError for unusable recipients."""
    return replace(scaffold, places=PLACES).files(branch)
