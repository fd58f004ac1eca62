"""Reading what one cluster's run needs: settings and trees."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TypeVar

from osm_gitops.errors import Problem, TargetError, input_error
from osm_gitops.fleet.spec import ClusterSpec, LiveRef, SourceRef, TreeRef
from osm_gitops.gitdoor.repository import Repository, find_work_tree
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings
from osm_gitops.resolve.settings import parse_settings
from osm_gitops.sops.search import KeySearch
from osm_gitops.sources.files import Folder, Keeper, in_no_git
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.tree import read_tree, with_profiles_of

T = TypeVar("T")


def load_settings(spec: ClusterSpec) -> Settings:
    """The cluster's settings. Raises InputError with every problem."""
    return parse_settings(spec.settings, _read_text)


def load_inputs(
    spec: ClusterSpec, settings: Settings, environment: Mapping[str, str], keys: KeySearch | None = None
) -> Inputs:
    """The cluster's objects, from one tree or from several. Raises InputError where one cannot be read.

    SOPS-encrypted manifests are opened with ``keys``, else with those that ``environment`` leads to. One that no key
    opens is among the problems. ``KeySearch(environment, without_keys=True)`` opens none: every encrypted value is
    then a stand-in that follows from its ciphertext and fits where the value is used, so that inputs which are read
    so can be rendered and compared with each other, and with nothing else. Stand-ins count as secrets.
    """
    source = spec.source
    known: dict[SourceRef, Inputs] = {}
    keys = keys or KeySearch(environment)

    def read(part: SourceRef) -> Inputs:
        if isinstance(part, LiveRef):
            raise input_error("clusters are not read yet", fix="Name a tree of manifests")
        if part not in known:
            known[part] = _read(part, settings.namespace, environment, keys)
        return known[part]

    inputs = read(source.machines)
    if source.facts != source.machines:
        facts = read(source.facts)
        inputs = replace(
            inputs,
            facts=facts.facts,
            unreadable=_joined(inputs.unreadable, facts.unreadable),
            warnings=_joined(inputs.warnings, facts.warnings),
            notes=_joined(inputs.notes, facts.notes),
            sources=_joined(inputs.sources, facts.sources),
            sensitive=inputs.sensitive | facts.sensitive,
        )
    if source.profiles != source.machines:
        inputs = with_profiles_of(inputs, read(source.profiles))
    return inputs


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
