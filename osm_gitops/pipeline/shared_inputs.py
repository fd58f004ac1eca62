"""The shared inputs of a fleet at commits of its repository: profiles, overlays, defaults and settings.

Shared inputs are what waves hold back (docs/explanation/promotion.md). Not shared are MachineDeployments, facts, the
certificates that settings name, targets and connections: a cluster always has these as they are now.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from osm_gitops.config.overlay_stack import Stack
from osm_gitops.config.setting_names import SETTINGS_BY_FLAG, Kind
from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import ClusterSpec, Fleet, TreeRef
from osm_gitops.errors import Code, InputError, Problem, TargetError, input_error
from osm_gitops.git.repository import Repository, find_work_tree
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.pipeline.against import fleet_at, spec_at
from osm_gitops.pipeline.load import settings_in_force
from osm_gitops.pipeline.profiles import load_stack
from osm_gitops.sources.trust import Trust

_DIGITS: Final = 16
_CERTIFICATES: Final = tuple(flag for flag, each in SETTINGS_BY_FLAG.items() if each.kind is Kind.FILE)
_VERSIONED: Final = frozenset({"profiles-version", "disable-default-osps"})


@dataclass(slots=True)
class SharedInputs:
    """The shared inputs of the clusters of a fleet file. ``entries`` are the clusters by name, as the work tree has
    them. ``head`` is the commit of HEAD."""

    fleet: TreeRef
    trust: Trust
    entries: Mapping[str, ClusterSpec]
    repository: Repository
    head: str
    _known: dict[str, bool] = field(default_factory=dict)
    _fleets: dict[str, Fleet] = field(default_factory=dict)
    _stacks: dict[tuple[OverlayRef, ...], Stack] = field(default_factory=dict)
    _trees: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _digests: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Sequence[ClusterSpec]) -> SharedInputs:
        """Of clusters of one fleet file. Raises InputError if that is not in a repository with commits."""
        fleet, trust = entries[0].fleet_file, entries[0].trust
        assert fleet is not None
        root = find_work_tree(fleet.path)
        try:
            repository = trust.repository(root) if root is not None else None
            head = repository.head() if repository is not None else None
        except TargetError as failure:  # the repository is an input here
            raise InputError(failure.problems) from failure
        if repository is None or head is None:
            what = "it has waves, and is not in a git repository with commits"
            fix = "Commit the fleet file with its profiles and overlays, or remove waves"
            raise input_error(Code.WAVES_NEED_HISTORY, what, where=fleet.display, fix=fix)
        return cls(fleet, trust, {entry.name: entry for entry in entries}, repository, head)

    def has(self, commit: str) -> bool:
        """Whether the repository has a commit. A shallow clone lacks older ones."""
        if commit not in self._known:
            self._known[commit] = self.repository.revision(commit) is not None
        return self._known[commit]

    def at(self, cluster: str, commit: str) -> ClusterSpec:
        """A cluster with the shared inputs of a commit, and all else as it is now. A cluster that the fleet file of the
        commit lacks has its present entry. Raises InputError if that fleet file is invalid."""
        now = self.entries[cluster]
        then = spec_at(self._entry(now, commit), commit, self.fleet.path)
        # Certificates must not wait: machines that trust only an old one cannot join.
        present = settings_in_force(now.settings, self._stack(now.overlays, now.trust), now.trust)
        none = {flag: RawSetting(flag, "", self.fleet.display) for flag in _CERTIFICATES}
        certificates = none | {each.name: each for each in present if _is_file(each)}
        profiles = then.source.profiles if shares_profiles(now) else now.source.profiles
        return replace(
            now,
            source=replace(now.source, profiles=profiles),
            settings=(*(each for each in then.settings if not _is_file(each)), *certificates.values()),
            overlays=then.overlays,
        )

    def _entry(self, now: ClusterSpec, commit: str) -> ClusterSpec:
        """What the fleet file of a commit says of a cluster; its present entry if it says nothing."""
        if commit not in self._fleets:
            self._fleets[commit] = fleet_at(self.fleet.path, self.fleet.display, commit, now.trust)
        fleet = self._fleets[commit]
        if now.kkp is None:
            return next((each for each in fleet.clusters if each.name == now.name), now)
        found = (each.of(now.kkp.cluster) for each in fleet.kkp if each.selection.has(now.kkp.cluster))
        return next((each for each in found if each.name == now.name), now)

    def digest(self, cluster: str, commit: str) -> str:
        """Equal for commits with equal shared inputs of the cluster. An invalid commit is like no other."""
        key = cluster, commit
        if key not in self._digests:
            try:
                described = json.dumps(list(self._described(cluster, commit)), sort_keys=True, default=str)
            except InputError:
                described = f"invalid {commit}"
            self._digests[key] = hashlib.sha256(described.encode()).hexdigest()[:_DIGITS]
        return self._digests[key]

    def introduced(self, cluster: str, commit: str, floor: datetime) -> datetime:
        """When the shared inputs that a cluster has at a commit came into its history. Nothing before ``floor`` is
        looked at: the result may be any time before it."""
        digest, paths = self.digest(cluster, commit), [self._relative(self.fleet.path) or "."]
        paths += (path for path, _ in self._paths(self.at(cluster, commit), commit) if path)
        moment = None
        for each, time in self.repository.history.changes_of(commit, paths):
            if moment is not None and (moment <= floor or self.digest(cluster, each) != digest):
                break
            moment = time
        return moment or next(time for _, time in self.repository.history.changes_of(commit, ["."]))

    def uncommitted(self) -> bool:
        """Whether any shared inputs differ from HEAD in the work tree, as far as an untrusted run may find out."""
        paths = {self._relative(self.fleet.path) or "."}
        for entry in self.entries.values():
            paths |= {path for path, _ in self._paths(entry, "") if path}
        try:
            # Asking for differences would run the filters.
            filtered = self.trust.untrusted and self.repository.names_filters()
            return filtered or bool(self.repository.changed_paths(*sorted(paths)))
        except TargetError as failure:
            raise InputError(failure.problems) from failure

    def not_held(self, cluster: str) -> Iterator[Problem]:
        """Warnings for what waves cannot hold back, since the repository does not have it."""
        entry = self.entries[cluster]
        about = f"cluster {cluster}"
        profiles = entry.source.profiles
        if shares_profiles(entry) and not (isinstance(profiles, TreeRef) and self._relative(profiles.path)):
            what = "its profiles are not in the repository of the fleet file, so waves do not hold their changes back"
            yield Problem(Code.NOT_HELD_BY_WAVES, what, where=self.fleet.display, about=about)
        stack = self._stack(entry.overlays, entry.trust)
        if not any(each.name in _VERSIONED for each in (*entry.settings, *stack.settings)):
            what = "built-in profiles have no version, so waves do not hold back those of a new osm-gitops"
            fix = "Set profilesVersion in the fleet file"
            yield Problem(Code.NOT_HELD_BY_WAVES, what, where=self.fleet.display, about=about, fix=fix)

    def _described(self, cluster: str, commit: str) -> Iterator[object]:
        spec = self.at(cluster, commit)
        yield {each.name: each.value for each in spec.settings if not _is_file(each)}
        yield list(self._paths(spec, commit))

    def _paths(self, spec: ClusterSpec, commit: str) -> Iterator[tuple[str, str]]:
        """The profiles and overlays of a cluster: paths in the repository, with the id of what the commit has there.
        What is not in the repository has no path, and its name in place of the id."""
        profiles = spec.source.profiles
        overlays = self._stack(spec.overlays, spec.trust).overlays
        named = {overlay.path for overlay in spec.overlays}
        bases = [each for each in overlays if not each.built_in and Path(each.folder) not in named]
        refs: list[TreeRef | OverlayRef] = [*spec.overlays]
        if shares_profiles(spec) and isinstance(profiles, TreeRef):
            refs.append(profiles)
        for ref in refs:
            pinned = ref.revision not in {"", commit}
            built_in = isinstance(ref, OverlayRef) and ref.built_in
            path = None if pinned or built_in else self._relative(ref.path)
            if path is None:
                yield "", f"{ref.display}@{ref.revision}" if pinned else ref.display
            else:
                yield path, self._tree(commit, path)
        for base in bases:
            path = self._relative(Path(base.folder))
            yield (path, self._tree(commit, path)) if path else ("", base.display)

    def _tree(self, commit: str, path: str) -> str:
        if not commit:
            return ""
        if (commit, path) not in self._trees:
            self._trees[commit, path] = self.repository.tree_at(commit, path)
        return self._trees[commit, path] or ""

    def _stack(self, overlays: tuple[OverlayRef, ...], trust: Trust) -> Stack:
        if overlays not in self._stacks:
            self._stacks[overlays] = load_stack(overlays, trust)
        return self._stacks[overlays]

    def _relative(self, path: Path) -> str | None:
        for real in (os.path.normpath(path.absolute()), os.path.realpath(path)):
            for root in (self.repository.root.absolute(), self.repository.root.resolve()):
                if Path(real).is_relative_to(root):
                    return Path(real).relative_to(root).as_posix()
        return None


def shares_profiles(spec: ClusterSpec) -> bool:
    """Whether a cluster has its profiles from elsewhere than its MachineDeployments: those beside them are its own."""
    return spec.source.profiles != spec.source.machines


def _is_file(setting: RawSetting) -> bool:
    return SETTINGS_BY_FLAG[setting.name].kind is Kind.FILE
