"""Overlays: settings, values and patches on profiles, for one environment or cluster (design.md, "Overlays")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from osm_gitops.model.objects import Json, Manifest

DELETE: Final = "$delete"
"""In a merge patch: an entry or key that has this removes what is there."""


@dataclass(frozen=True, slots=True)
class OverlayRef:
    """An overlay as the user named it: a folder, the file in it, or ``builtin:NAME``.

    With a ``revision`` it is what git has there; then the path need not exist now.
    """

    path: Path
    display: str = field(compare=False)
    revision: str = ""
    built_in: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """A field of a manifest: where a piece of a profile comes from."""

    manifest: Manifest
    field: str

    def __deepcopy__(self, _memo: object) -> Spot:
        return self

    @property
    def where(self) -> str:
        """``file:line``."""
        return self.manifest.line_of(self.field)


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of the profiles whose name fits the glob ``name``, and that are for ``os_name`` unless it is empty.

    Either ``merge``, a piece of a profile, or ``operations`` of JSON 6902. ``spot`` is where it stands; files that
    it names are read already.
    """

    name: str
    os_name: str
    spot: Spot
    merge: Mapping[str, Json] | None = None
    operations: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class Overlay:
    """One overlay as it was read.

    ``key`` tells it from all others and ``name`` stands in versions. ``bases`` are the keys of all overlays that it is
    built on, directly or not. ``settings`` and ``values`` are as the file holds them; ``profiles`` is ``None`` where it
    does not say which a cluster gets. ``folder`` is where the names of files in its settings start; ``texts`` are those
    files where they cannot be opened there, since they stand in a ``revision``.
    """

    key: str
    name: str
    display: str
    manifest: Manifest
    bases: frozenset[str] = frozenset()
    settings: Mapping[str, Json] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    profiles: tuple[str, ...] | None = None
    patches: tuple[Patch, ...] = ()
    folder: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    built_in: bool = False
    revision: str = ""

    def spot(self, at: str) -> Spot:
        """A field of the overlay's file."""
        return Spot(self.manifest, at)
