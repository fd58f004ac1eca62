"""Overlays in the files and folders that somebody named: read, whether or not a cluster has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from osm_gitops.config.overlay_keys import OVERLAY_FILE
from osm_gitops.config.overlays import read_overlays
from osm_gitops.config.spec import TreeRef
from osm_gitops.errors import InputError
from osm_gitops.lint.rules import rules
from osm_gitops.lint.rules.templates import problem_finding
from osm_gitops.model.finding import Finding
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.sources.files import Folder
from osm_gitops.sources.revision import open_revision
from osm_gitops.sources.trust import TRUSTED, Trust
from osm_gitops.sources.walk import walk


def overlay_findings(trees: Sequence[TreeRef], trust: Trust = TRUSTED) -> Iterator[Finding]:
    """What is wrong with the overlays of these trees by themselves: whether they fit profiles, only a cluster tells."""
    found: dict[Finding, None] = {}
    for tree in trees:
        for ref in overlays_in(tree, trust):
            try:
                read_overlays([ref], trust)
            except InputError as failure:
                # One that others are built on is told once.
                found |= dict.fromkeys(problem_finding(rules.OVERLAY, problem) for problem in failure.problems)
    yield from found


def overlays_in(tree: TreeRef, trust: Trust = TRUSTED) -> Iterator[OverlayRef]:
    """The overlays among a tree's files."""
    shown = tree.display.rstrip("/")
    for name in _names(tree, trust):
        inside = PurePosixPath(name).relative_to(shown) if name != shown else PurePosixPath()
        if PurePosixPath(name).name == OVERLAY_FILE:
            yield OverlayRef(tree.path / inside, name, tree.revision)


def _names(tree: TreeRef, trust: Trust) -> list[str]:
    """The files of a tree as they are shown, without what a revision adds; none where it cannot be read, which is told
    elsewhere."""
    try:
        trust.check(tree.path, tree.display)
        if not tree.revision:
            return [name for _, name in walk(Folder(tree.path, tree.display)).files]
        with open_revision(tree.path, tree.revision, tree.display, trust) as files:
            return [name.removesuffix(files.suffix) for _, name in walk(files).files]
    except InputError:
        return []
