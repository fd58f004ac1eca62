"""Overlays: settings, values and patches on profiles, for one environment or cluster (design.md, "Overlays")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from osm_gitops.model.objects import Json, Manifest, Origin

DELETE: Final = "$delete"
"""In a merge patch: an entry or key with this marker is removed."""


_MARKS: Final = ("{{", "{%", "{#")


def is_template(value: Json) -> bool:
    """Whether a text, or one in a list or map, has template code in it."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            if any(mark in found for mark in _MARKS):
                return True
        elif isinstance(found, Mapping):
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
    return False


@dataclass(frozen=True, slots=True)
class OverlayRef:
    """A reference to an overlay: a folder, its file, or ``builtin:NAME``.

    With a ``revision`` it is read from git; then the path need not exist in the work tree.
    """

    path: Path
    display: str = field(compare=False)
    revision: str = ""
    built_in: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """A field of a manifest: the place of a part of a profile."""

    manifest: Manifest
    field: str

    def __deepcopy__(self, _memo: object) -> Spot:
        return self

    @property
    def where(self) -> str:
        """``file:line``."""
        return self.manifest.line_of(self.field)

    @property
    def first_line(self) -> Origin | None:
        """The place of the first line of a text, if it is known."""
        return self.manifest.place_of(f"{self.field}|")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A change of a few lines of a text: ``operation`` is a key of :data:`EDITS`.

    ``found`` must be in the text exactly once. ``new`` replaces it, or is inserted as lines of its own before or after
    the lines with it. ``spot`` is the place of ``new``.
    """

    operation: str
    found: str
    new: str
    spot: Spot


EDITS: Final[Mapping[str, str]] = {"replace": "with", "insertBefore": "text", "insertAfter": "text"}
"""The operations on a text, each with the key of the new text."""


@dataclass(frozen=True, slots=True)
class EditedText:
    """In a merge patch: a text of the profile with a few lines changed."""

    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class CopiedText:
    """In a merge patch: a text that was copied from a text of the profile and then changed.

    ``base`` is the digest of the text that was copied, as :func:`osm_gitops.config.text_patches.text_digest` makes it;
    ``spot`` is its place.
    """

    text: str
    base: str
    spot: Spot


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch of profiles whose name matches the glob ``name``, and whose OS is ``os_name`` unless it is empty.

    Either ``merge``, a part of a profile, or ``operations`` of JSON 6902. ``spot`` is its place. Files that it names
    are already read.
    """

    name: str
    os_name: str
    spot: Spot
    merge: Mapping[str, Json] | None = None
    operations: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class Overlay:
    """One overlay as read.

    ``key`` is unique, ``name`` is a part of versions. ``bases`` are the keys of all direct and indirect base overlays.
    ``settings`` and ``values`` are raw. ``profiles`` is ``None`` if it does not select profiles. File names in its
    settings are relative to ``folder``; ``texts`` has these files if they are read from a ``revision``.
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

    @property
    def has_templates(self) -> bool:
        """Whether a value or setting is computed by template code in the overlay."""
        return is_template([self.values, self.settings])

    def spot(self, at: str) -> Spot:
        """A field of the overlay's file."""
        return Spot(self.manifest, at)
