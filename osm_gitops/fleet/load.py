"""Reading what one cluster's run needs: settings, and objects of trees and clusters."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeVar

from osm_gitops.errors import Problem, TargetError
from osm_gitops.fleet.connections import Connections
from osm_gitops.fleet.default_profiles import default_profiles, with_default_profiles
from osm_gitops.fleet.spec import ClusterSpec, LiveRef, TreeRef
from osm_gitops.gitdoor.repository import Repository, find_work_tree
from osm_gitops.model.desired import Side
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings
from osm_gitops.resolve.settings import RawSetting, parse_settings
from osm_gitops.sops.search import KeySearch
from osm_gitops.sources import cluster
from osm_gitops.sources.builtin import check_version
from osm_gitops.sources.files import Folder, Keeper, in_no_git
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.tree import read_tree, with_profiles_of

if TYPE_CHECKING:
    from osm_gitops.kubedoor.api import Api

T = TypeVar("T")


def load_settings(spec: ClusterSpec) -> Settings:
    """The cluster's settings. Raises InputError with every problem."""
    return checked_settings(spec.settings)


def checked_settings(raw: Sequence[RawSetting]) -> Settings:
    """Settings that fit this program. Raises InputError with every problem."""
    settings = parse_settings(raw, _read_text)
    for setting in raw:
        if setting.name == "profiles-version":
            check_version(settings.profiles_version, setting.where)
    return settings


def load_inputs(
    spec: ClusterSpec,
    settings: Settings,
    environment: Mapping[str, str],
    keys: KeySearch | None = None,
    connections: Connections | None = None,
    *,
    tokens: bool = True,
) -> Inputs:
    """The cluster's objects, each part from a tree or from a cluster. Raises InputError or ClusterError where one
    cannot be read.

    SOPS-encrypted manifests are opened with ``keys``, else with those that ``environment`` leads to. One that no key
    opens is among the problems. ``KeySearch(environment, without_keys=True)`` opens none: every encrypted value is
    then a stand-in that follows from its ciphertext and fits where the value is used, so that inputs which are read
    so can be rendered and compared with each other, and with nothing else. Stand-ins count as secrets.

    Without ``tokens`` those of a cluster are left out: a run that keeps them reads them anyway. Of the built-in
    profiles those are there that pools refer to.
    """
    reader = _Reader(spec, settings, environment, keys or KeySearch(environment), connections)
    source = spec.source
    inputs = reader.machines()
    if source.facts != source.machines or isinstance(source.facts, LiveRef):
        inputs = _with_facts_of(inputs, reader.facts(inputs, tokens=tokens))
    if source.profiles != source.machines or isinstance(source.profiles, LiveRef):
        inputs = with_profiles_of(inputs, reader.profiles(inputs))
    from_cluster = isinstance(source.profiles, LiveRef)
    inputs = with_default_profiles(inputs, settings, from_cluster=from_cluster)
    return replace(inputs, hosts=reader.hosts())


def _with_facts_of(inputs: Inputs, facts: Inputs) -> Inputs:
    """``inputs`` with the facts of another source in place of its own."""
    return replace(
        inputs,
        facts=facts.facts,
        unreadable=_joined(inputs.unreadable, facts.unreadable),
        warnings=_joined(inputs.warnings, facts.warnings),
        notes=_joined(inputs.notes, facts.notes),
        sources=_joined(inputs.sources, facts.sources),
        sensitive=inputs.sensitive | facts.sensitive,
    )


class _Reader:
    """Reads the parts of one cluster's source; every tree once, of clusters what MachineDeployments need."""

    def __init__(
        self,
        spec: ClusterSpec,
        settings: Settings,
        environment: Mapping[str, str],
        keys: KeySearch,
        connections: Connections | None,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._environment = environment
        self._keys = keys
        self._connections = connections or Connections(environment)
        self._trees: dict[TreeRef, Inputs] = {}

    def machines(self) -> Inputs:
        part = self._spec.source.machines
        return cluster.read_machines(self._worker) if isinstance(part, LiveRef) else self._tree(part)

    def facts(self, inputs: Inputs, *, tokens: bool) -> Inputs:
        part = self._spec.source.facts
        if isinstance(part, TreeRef):
            return self._tree(part)
        return cluster.read_facts(self._worker, inputs.machines, self._settings, self._environment, tokens=tokens)

    def profiles(self, inputs: Inputs) -> Inputs:
        part = self._spec.source.profiles
        if isinstance(part, TreeRef):
            return self._tree(part)
        management = self._connections.management(self._spec)
        at_hand = default_profiles(self._settings)
        return cluster.read_profiles(management, inputs.machines, self._settings.namespace, at_hand)

    def hosts(self) -> tuple[str, ...]:
        """The API servers that were read."""
        source = self._spec.source
        asked = {Side.WORKER: (source.machines, source.facts), Side.MANAGEMENT: (source.profiles,)}
        sides = {side for side, parts in asked.items() if LiveRef() in parts}
        return self._connections.hosts(self._spec, sides) if sides else ()

    @property
    def _worker(self) -> Api:
        return self._connections.worker(self._spec)

    def _tree(self, tree: TreeRef) -> Inputs:
        if tree not in self._trees:
            self._trees[tree] = _read(tree, self._settings.namespace, self._environment, self._keys)
        return self._trees[tree]


def _read(tree: TreeRef, namespace: str, environment: Mapping[str, str], keys: KeySearch) -> Inputs:
    if tree.revision:
        with open_revision(tree.path, tree.revision, tree.display) as files:
            inputs = read_tree(files, management_namespace=namespace, environment=environment, keys=keys)
            # A branch moves on; the commit tells for ever what was read.
            return replace(inputs, sources=(f"{tree.display}@{files.commit}",))
    keeper, revision, trouble = _in_git(tree.path)
    folder = Folder(tree.path, tree.display, keeper)
    inputs = read_tree(folder, management_namespace=namespace, environment=environment, keys=keys)
    source = f"{tree.display}@{revision}" if revision else tree.display
    return replace(inputs, sources=(source,), warnings=(*inputs.warnings, *trouble))


def _in_git(path: Path) -> tuple[Keeper, str | None, tuple[Problem, ...]]:
    """Which files at ``path`` git keeps, their revision, and why that cannot be told."""
    root = find_work_tree(path)
    if root is None:
        return in_no_git, None, ()
    try:
        repository, inside = Repository(root), _inside(path, root)
        revision = repository.head()
        if revision and repository.changed_paths(inside):
            revision += "-dirty"  # as git describe says it: more than that commit holds
        return lambda files: _kept(repository, files), revision, ()
    except TargetError as failure:
        # The manifests are there all the same; only their revision cannot be told.
        return lambda files: files, None, failure.problems


def _kept(repository: Repository, files: Sequence[PurePath]) -> Collection[PurePath]:
    """Those in the work tree that git does not ignore; all of them where it does not tell."""
    root = repository.root.resolve()
    inside = {file.relative_to(root).as_posix(): file for file in files if file.is_relative_to(root)}
    try:
        ignored = repository.ignored(inside)
    except TargetError:
        return files
    return [file for path, file in inside.items() if path not in ignored]


def _inside(path: Path, root: Path) -> str:
    return Path(os.path.normpath(path.absolute())).relative_to(os.path.normpath(root)).as_posix()


def _joined(first: tuple[T, ...], second: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _read_text(path: str) -> str:
    with Path(path).open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()
