"""The clusters of a fleet whose inputs differ from a git revision (``--changed-since``).

Inputs are a cluster's entry in the fleet file, its overlays with their bases, MachineDeployments, profiles, facts,
files in settings, and the ``.sops.yaml`` of its target. Where git does not know them (a live cluster, a user cluster
of a KKP seed, another repository, a branch that may have moved, an ignored file), the cluster counts as changed.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from osm_gitops.bounded.files import DOCUMENT, read_file
from osm_gitops.config.overlay_stack import Stack
from osm_gitops.config.spec import ClusterSpec, LiveRef, TargetSpec, TreeRef
from osm_gitops.errors import Code, InputError, TargetError, input_error
from osm_gitops.git.repository import Repository, find_work_tree
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.pipeline.against import fleet_at, fleet_text_at
from osm_gitops.pipeline.inputs import named_files
from osm_gitops.pipeline.profiles import load_stack
from osm_gitops.sources.revision import check_revision
from osm_gitops.sources.trust import Trust

_RULES = ".sops.yaml"


def changed_clusters(
    entries: Sequence[ClusterSpec], specs: Sequence[ClusterSpec], fleet: TreeRef, revision: str, trust: Trust
) -> tuple[ClusterSpec, ...]:
    """Those of ``specs`` whose inputs differ from the revision. Raises InputError.

    ``entries`` are the same clusters as the fleet file has them, without flags.
    """
    repository, root, _ = _at(fleet, revision, trust)
    earlier = {spec.name: fleet_entry(spec) for spec in _earlier(entries, fleet, revision, trust)}
    try:
        if trust.untrusted and repository.names_filters():  # asking for differences would run them
            return tuple(specs)
        known = {entry.name for entry in entries if earlier.get(entry.name) == fleet_entry(entry)}
        differences = Differences.since(repository, root, revision)
        return tuple(differences.concerned(specs, known))
    except TargetError as failure:  # the repository is an input here
        raise InputError(failure.problems) from failure


def _earlier(entries: Sequence[ClusterSpec], fleet: TreeRef, revision: str, trust: Trust) -> Iterable[ClusterSpec]:
    """The clusters that the fleet file names at a revision; none if it is invalid there, and the change corrects it."""
    try:
        if fleet_text_at(fleet.path, revision, trust) == read_file(fleet.path, DOCUMENT):
            return (entry for entry in entries if entry.kkp is None)
        return fleet_at(fleet.path, fleet.display, revision, trust).clusters
    except (InputError, OSError):
        return ()


def commit_of(fleet: TreeRef, revision: str, trust: Trust) -> str:
    """The commit of a revision in the repository of a fleet file. Raises InputError."""
    return _at(fleet, revision, trust)[2]


def _at(fleet: TreeRef, revision: str, trust: Trust) -> tuple[Repository, Path, str]:
    """The repository of a fleet file, its work tree, and the commit of the revision."""
    root = find_work_tree(fleet.path)
    if root is None:
        raise input_error(
            Code.NO_WORK_TREE, "the fleet file is not in a git work tree", where=f"--changed-since {revision}"
        )
    repository, commit = check_revision(fleet.path, revision, fleet.display, trust)
    return repository, root, commit


def fleet_entry(spec: ClusterSpec) -> object:
    """What the fleet file says of a cluster, without the places where it says it."""
    parts = [part if isinstance(part, LiveRef) else (part.path, part.revision) for part in spec.source.parts]
    target = replace(spec.target, display="") if spec.target is not None else None
    settings = {each.name: (json.dumps(each.value, sort_keys=True, default=str), each.base) for each in spec.settings}
    overlays = [(each.path, each.revision, each.built_in) for each in spec.overlays]
    return parts, spec.source.applies_machines, settings, target, overlays, spec.management, spec.worker_access


@dataclass(slots=True)
class Differences:
    """What differs from a revision: ``changed`` are paths in the repository, ``touched`` these and all folders above.

    ``tracked`` are files in the index and their folders, ``links`` symbolic links with the paths that they lead to.
    """

    repository: Repository
    root: Path
    changed: frozenset[str]
    touched: frozenset[str]
    tracked: frozenset[str]
    links: Mapping[str, Path]
    stacks: dict[tuple[OverlayRef, ...], Stack] = field(default_factory=dict)
    rules: dict[Path, tuple[Path, ...]] = field(default_factory=dict)
    followed: dict[Path, frozenset[str] | None] = field(default_factory=dict)

    @classmethod
    def since(cls, repository: Repository, root: Path, revision: str) -> Differences:
        head, commit = repository.head(), repository.revision(revision)
        committed = repository.history.paths_between(commit, head) if commit and head else ()
        return cls.of((*committed, *repository.changed_paths()), repository, root)

    @classmethod
    def of(cls, paths: Iterable[str], repository: Repository, root: Path) -> Differences:
        """Those of given paths in the repository."""
        changed = frozenset(paths)
        touched = {str(folder) for path in changed for folder in (PurePosixPath(path), *PurePosixPath(path).parents)}
        index = repository.tracked()
        links = {path: (root / path).resolve() for path in index.links}
        return cls(repository, root.resolve(), changed, frozenset(touched), index.paths(), links)

    def concerned(self, specs: Iterable[ClusterSpec], known: Container[str]) -> Iterator[ClusterSpec]:
        """The clusters with an input that differs or may differ, and those that are not ``known``."""
        paths = {spec.name: self._paths(spec) for spec in specs if spec.name in known}
        every = set().union(*(found for found in paths.values() if found is not None))
        # git compares each path in question with the whole index. What that has is not ignored.
        ignored = self.repository.ignored(every - {"."} - self.tracked)
        for spec in specs:
            found = paths.get(spec.name)
            if found is None or not ignored.isdisjoint(found) or any(map(self._is_changed, found)):
                yield spec

    def touches(self, paths: Iterable[str]) -> bool:
        """Whether one of these paths differs, or something below or above it."""
        return any(map(self._is_changed, paths))

    def known_paths(self, spec: ClusterSpec) -> frozenset[str]:
        """The paths of a cluster's inputs that are in the repository; not those of other places."""
        try:
            inputs = [path for path in self._inputs(spec) if path is not None]
        except InputError:  # the run reports it
            return frozenset()
        return frozenset().union(*(self._followed([path]) or () for path in inputs))

    def _paths(self, spec: ClusterSpec) -> set[str] | None:
        """The paths of a cluster's inputs in the repository; ``None`` if one is not there."""
        try:
            inputs = list(self._inputs(spec))
        except InputError:  # the run reports it
            return None
        return None if None in inputs else self._followed(path for path in inputs if path is not None)

    def _inputs(self, spec: ClusterSpec) -> Iterator[Path | None]:
        """The files and folders that are read; ``None`` for something that is not in the work tree."""
        for part in spec.source.parts:
            yield part.path if isinstance(part, TreeRef) and not part.revision else None
        key = spec.overlays
        if key not in self.stacks:
            self.stacks[key] = load_stack(key, spec.trust)
        stack = self.stacks[key]
        if any(ref.revision for ref in spec.overlays) or any(overlay.revision for overlay in stack.overlays):
            yield None
        yield from (file.path for file in named_files(replace(spec, fleet_file=None), stack))
        if isinstance(spec.target, TargetSpec):
            yield from self._rules(spec.target.path.absolute())

    def _rules(self, folder: Path) -> tuple[Path, ...]:
        """The ``.sops.yaml`` in a folder and above, as far as they exist or did at the revision."""
        if folder not in self.rules:
            folders = [above for above in (folder, *folder.parents) if above.resolve().is_relative_to(self.root)]
            rules = (above / _RULES for above in folders)
            self.rules[folder] = tuple(rule for rule in rules if rule.exists() or self._relative(rule) in self.changed)
        return self.rules[folder]

    def _followed(self, inputs: Iterable[Path]) -> set[str] | None:
        """The paths in the repository, also those to which links in them lead; ``None`` if one is outside."""
        found: set[str] = set()
        for given in inputs:
            if given not in self.followed:
                self.followed[given] = self._follow(given)
            paths = self.followed[given]
            if paths is None:
                return None
            found |= paths
        return found

    def _follow(self, given: Path) -> frozenset[str] | None:
        found: set[str] = set()
        waiting = [given.absolute(), given.resolve()]
        while waiting:
            path = self._relative(waiting.pop())
            if path is None:
                return None
            if path not in found:
                found.add(path)
                waiting += (leads_to for link, leads_to in self.links.items() if _is_inside(link, path))
        return frozenset(found)

    def _relative(self, path: Path) -> str | None:
        for root in (self.root, self.repository.root.absolute()):
            if path.is_relative_to(root):
                return path.relative_to(root).as_posix()
        return None

    def _is_changed(self, path: str) -> bool:
        above = PurePosixPath(path).parents
        return path in self.touched or any(str(folder) in self.changed for folder in above)


def _is_inside(path: str, folder: str) -> bool:
    return folder in {".", path} or path.startswith(f"{folder}/")
