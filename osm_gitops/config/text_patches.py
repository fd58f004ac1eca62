"""Change texts of profiles (design.md, "Overlays"): edit a few lines of a text, and tell an outdated copy of one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from osm_gitops.model.objects import ComposedOrigin, Origin
from osm_gitops.model.overlay import EDITS, Spot, TextEdit

_DIGEST: Final = 12


class WrongEdit(Exception):
    """An edit that does not apply; the message contains no text of the profile."""


@dataclass(frozen=True, slots=True)
class EditedSpot(Spot):
    """The place of an edited text: ``lines`` is where each of its lines comes from, if that is known."""

    lines: Origin | None = None

    @property
    def first_line(self) -> Origin | None:
        return self.lines


def text_digest(text: str) -> str:
    """The digest by which a copy names the text that it was made from: 12 hexadecimal digits of SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def edit_text(text: str, place: Spot, edits: Sequence[TextEdit], patch: Spot) -> tuple[str, EditedSpot]:
    """A text of ``place`` with all edits of ``patch``, one after the other, and its new place. Raises WrongEdit."""
    first = place.first_line
    lines = [first.line_below(number) for number in range(1, text.count("\n") + 2)] if first else []
    for edit in edits:
        text, lines = _edited(text, lines, edit)
    origin = ComposedOrigin(first.path, first.line, tuple(lines)) if first else None
    return text, EditedSpot(patch.manifest, patch.field, origin)


def _edited(text: str, lines: list[str], edit: TextEdit) -> tuple[str, list[str]]:
    """The text after one edit, and the places of its lines if those of ``text`` are given."""
    count = text.count(edit.found)
    if count != 1:
        how_often = f"in the text {count:,} times" if count else "not in the text"
        raise WrongEdit(f"what {edit.operation} looks for is {how_often}; it must be there exactly once")
    new = edit.new
    start = text.index(edit.found)
    end = start + len(edit.found)
    at_end = False
    if edit.operation == "insertBefore":
        start = end = text.rfind("\n", 0, start) + 1
    elif edit.operation == "insertAfter":
        line_end = text.find("\n", end - 1)
        at_end = line_end < 0
        start = end = len(text) if at_end else line_end + 1
    if edit.operation != "replace":
        new = new.removesuffix("\n") + "\n"
    first, last = text.count("\n", 0, start), text.count("\n", 0, end)
    own = []
    if lines:
        key = f"{edit.spot.field}.{EDITS[edit.operation]}"
        own = [edit.spot.manifest.line_in(key, number) for number in range(1, new.count("\n") + 2)]
    # At the end of the last line the end of line comes first; else the rest of a line follows that is not new.
    if at_end:
        new, own = "\n" + new.removesuffix("\n"), [*lines[first : first + 1], *own[:-1]]
    elif not new or new.endswith("\n"):
        own = [*own[:-1], *lines[last : last + 1]]
    return f"{text[:start]}{new}{text[end:]}", [*lines[:first], *own, *lines[last + 1 :]]
