"""What the clusters of a fleet carry: which shared inputs each was last rendered from, and since when.

For git, the commits of the desired state say so, and for live clusters the record that runs leave there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

from osm_gitops.config.spec import ClusterSpec, LiveTarget, TargetSpec
from osm_gitops.errors import OsmGitopsError
from osm_gitops.git.repository import find_work_tree
from osm_gitops.model.promotion import INPUTS_TRAILER, Carried
from osm_gitops.pipeline.load import load_settings
from osm_gitops.pipeline.options import RunOptions
from osm_gitops.pipeline.shared_inputs import SharedInputs
from osm_gitops.targets.commits import CLUSTER_TRAILER, SOURCE_TRAILER
from osm_gitops.targets.files import owned_path

_COMMIT: Final = r"([0-9a-f]{40}|[0-9a-f]{64})"
# Lines anywhere in a message: a squashed pull request has several, above other text.
_INPUTS: Final = re.compile(rf"^{INPUTS_TRAILER}: (\S+) {_COMMIT} ([0-9a-f]{{16}})( incomplete)?\s*$", re.MULTILINE)
_CLUSTERS: Final = re.compile(rf"^{CLUSTER_TRAILER}: (\S+)\s*$", re.MULTILINE)
_SOURCES: Final = re.compile(rf"^{SOURCE_TRAILER}: (\S+)@{_COMMIT}\s*$", re.MULTILINE)


@dataclass(slots=True)
class Carriers:
    """Reads what clusters carry; each repository and cluster once."""

    shared: SharedInputs
    options: RunOptions
    _repositories: dict[str, Mapping[str, Sequence[Carried]]] = field(default_factory=dict)
    _live: dict[str, tuple[Carried, ...]] = field(default_factory=dict)

    def of(self, spec: ClusterSpec) -> Sequence[Carried]:
        """What a cluster has carried, latest first; of a live cluster only the present. Empty if there is no word of
        it. Raises OsmGitopsError."""
        if isinstance(spec.target, LiveTarget):
            if spec.name not in self._live:
                self._live[spec.name] = tuple(self._recorded(spec))
            return self._live[spec.name]
        root = find_work_tree(spec.target.path) if isinstance(spec.target, TargetSpec) else None
        if root is None:
            return ()
        if str(root) not in self._repositories:
            spec.trust.check(root, str(root))
            history = spec.trust.repository(root).history
            arrivals = history.arrivals()
            messages = history.messages("Osm-Gitops-")
            found: dict[str, list[Carried]] = {}
            for commit, arrived in arrivals.items():
                for cluster, inputs, digest, incomplete in self._lines(messages.get(commit, "")):
                    found.setdefault(cluster, []).append(Carried(inputs, digest, arrived, not incomplete))
            self._repositories[str(root)] = found
        return self._repositories[str(root)].get(spec.name, ())

    def last_commit(self, spec: ClusterSpec) -> datetime | None:
        """When the files of a cluster in git last changed; ``None`` if there are none."""
        root = find_work_tree(spec.target.path) if isinstance(spec.target, TargetSpec) else None
        if root is None or not isinstance(spec.target, TargetSpec):
            return None
        folder = Path(os.path.normpath(spec.target.path.absolute())) / owned_path(spec.name)
        path = folder.relative_to(os.path.normpath(root.absolute())).as_posix()
        changes = spec.trust.repository(root).history.changes_of("HEAD", [path])
        return next((time for _, time in changes), None)

    def _lines(self, message: str) -> Iterator[tuple[str, str, str, str]]:
        """The clusters of a commit's message with the commits and digests of their shared inputs, and a text if these
        are incomplete."""
        lines = _INPUTS.findall(message)
        yield from lines
        clusters = _CLUSTERS.findall(message)
        if lines or len(clusters) != 1 or clusters[0] not in self.shared.entries:
            return
        # A commit of a fleet without waves: the revision of the fleet file is that of the shared inputs.
        name = self.shared.fleet.path.name
        for path, commit in _SOURCES.findall(message):
            if PurePosixPath(path).name == name and self.shared.has(commit):
                yield clusters[0], commit, self.shared.digest(clusters[0], commit), ""

    def _recorded(self, spec: ClusterSpec) -> Iterator[Carried]:
        from osm_gitops.targets.cluster.record import read_record  # noqa: PLC0415 - not needed for runs from trees to git

        management = self.options.connections.management(spec)
        record = read_record(management, load_settings(spec).namespace)
        if record is not None and record.inputs is not None:
            yield record.inputs


def trouble_of(failure: OsmGitopsError) -> str:
    """The first problem of a failed read, as a clause."""
    return f"it cannot be read: {failure.problems[0]}"
