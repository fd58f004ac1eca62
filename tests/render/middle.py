"""From objects to what rendering takes, without the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from osm_gitops.gotemplate.engine import Engine
from osm_gitops.model.desired import DesiredObject
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.pools import PoolRenderer
from osm_gitops.render.resolve.cluster_info import resolve_cluster
from osm_gitops.render.resolve.pools import ResolvedPool, resolve_pool
from osm_gitops.sources.tree import read_tree
from osm_gitops.sources.walk import Folder
from tests.cli.scenes import write_tree

Objects = dict[str, DesiredObject]


def inputs_of(folder: Path, *objects: Mapping[str, Any]) -> Inputs:
    """Objects and the facts that every cluster needs, as a source reads them."""
    tree = write_tree(folder / "tree", *objects)
    return read_tree(Folder(tree, "tree"), management_namespace="kube-system", environment={})


def resolved(inputs: Inputs, settings: Settings | None = None) -> ResolvedPool:
    """The only pool of the inputs."""
    (machine,) = inputs.machines
    return resolve_pool(machine, inputs, resolve_cluster(settings or Settings(), inputs.facts))


def renderer(inputs: Inputs, settings: Settings | None = None) -> PoolRenderer:
    return PoolRenderer(Engine(ROOT_TYPES), resolve_cluster(settings or Settings(), inputs.facts))


def rendered(inputs: Inputs, settings: Settings | None = None) -> Objects:
    """All objects of the only pool, by name."""
    objects, _ = renderer(inputs, settings).render(resolved(inputs, settings))
    return {wanted.ref.name: wanted for wanted in objects}
