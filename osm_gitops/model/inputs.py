"""Inputs: everything that one run reads for one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from osm_gitops.errors import Problem
from osm_gitops.model.facts import Facts
from osm_gitops.model.machine import MachineDeployment
from osm_gitops.model.objects import Json, ObjectRef
from osm_gitops.model.overlay import Patch
from osm_gitops.model.profile import OperatingSystemProfile


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a source gave.

    ``broken`` names MachineDeployments and profiles that were found but cannot be used,
    each with all its problems: their live objects are left as they are, and a
    MachineDeployment that refers to a broken profile fails with it. ``unfit`` are those with
    a name that no API server takes: rendered with a warning, and broken on the way into a
    cluster. ``unreadable`` are
    problems of whole documents: they disable deletion for the cluster (design.md, "Guards").
    ``notes`` are for ``-v``. ``sources`` are one line each on where the inputs came from
    (a path and, in git, its revision), for commit trailers; ``uncommitted`` name what of it
    differs from that revision; ``hosts`` are the API servers
    among them, as plans name them. ``sensitive`` are texts that stand encrypted in the
    source outside of Secrets, which are secret by themselves.
    ``unread`` are the names of built-in profiles that a pool could name as well.
    What overlays did: ``patched`` are profiles with the patches that made them, ``left_out``
    those that the cluster does not get, with the place that says so, ``values`` the user's own,
    and ``value_places`` where each of them (``downloads.cni``) is set.
    """

    machines: tuple[MachineDeployment, ...] = ()
    profiles: Mapping[tuple[str, str], OperatingSystemProfile] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    broken: Mapping[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unfit: Mapping[ObjectRef, tuple[Problem, ...]] = field(default_factory=dict)
    unreadable: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    uncommitted: tuple[Problem, ...] = ()
    hosts: tuple[str, ...] = ()
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    unread: frozenset[tuple[str, str]] = frozenset()
    patched: Mapping[ObjectRef, tuple[Patch, ...]] = field(default_factory=dict)
    left_out: Mapping[ObjectRef, str] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    value_places: Mapping[str, str] = field(default_factory=dict)
