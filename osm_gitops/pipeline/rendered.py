"""What passes between a run and the worker that renders its pools: apart from ``pool_worker``, because a run imports no
template engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.gotemplate.compiled import Compiled
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import ObjectRef
from osm_gitops.model.pool_facts import HalfSize

WORKER: Final = "osm_gitops.pipeline.pool_worker"
"""The module with the functions that a worker calls."""


def prepare() -> None:
    """Start a worker that renders pools, if there is none: it imports its modules while this process goes on."""
    from osm_gitops.workers.calls import warm_up  # noqa: PLC0415 - workers import this module too

    warm_up(WORKER)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """``only`` are globs of pool names; empty selects all. ``for_git``: add annotations for Flux and Argo CD, which are
    not needed for direct apply. ``measured``: the result has the facts of pools. ``compiled`` are texts of profiles
    that need not be compiled."""

    only: tuple[str, ...] = ()
    for_git: bool = True
    measured: bool = False
    compiled: Compiled = field(default_factory=dict, repr=False)


DEFAULTS: Final = RenderOptions()


@dataclass(frozen=True, slots=True)
class RenderedText:
    """One rendered object of a worker. ``text`` is its YAML for a file, or its JSON for a cluster: that is what is
    sent, and parsing it takes a tenth of the time. ``digest`` is the SHA-256 of its YAML in both cases."""

    ref: ObjectRef
    side: Side
    text: bytes = field(repr=False)
    digest: bytes


@dataclass(frozen=True, slots=True)
class RenderedPool:
    """A rendered pool of a worker."""

    profile: tuple[str, str]
    objects: tuple[RenderedText, ...]
    warnings: tuple[Problem, ...]
    sizes: tuple[HalfSize, ...] = ()
