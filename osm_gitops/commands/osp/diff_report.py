"""How two profiles differ: a diff for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from osm_gitops.plan.content import TextChange
from osm_gitops.report.diff import TextDiff, text_diff
from osm_gitops.report.mask import Masker
from osm_gitops.report.text import Style, paint
from osm_gitops.report.visible import visible

FORMAT_VERSION: Final = "1.0"
_SYMBOLS: Final = {"new": "+", "gone": "-", "changed": "~"}


def format_profile_diff(changes: Sequence[TextChange], masker: Masker, style: Style) -> str:
    """Every file, template, unit and field that differs, each with its diff, and how many there are."""
    lines = list(_lines([text_diff(change) for change in changes], masker, style)) or ["No differences."]
    return "".join(f"{line}\n" for line in lines)


def _lines(diffs: Sequence[TextDiff], masker: Masker, style: Style) -> Iterator[str]:
    for diff in diffs:
        symbol = _SYMBOLS[diff.state]
        yield paint(f"{symbol} {visible(masker.line(diff.name))}", symbol, style)
        for line in masker.diff_lines(diff.lines):
            yield paint(f"    {visible(line)}", line[:1], style)
    if diffs:
        states = [diff.state for diff in diffs]
        yield f"{states.count('new')} new, {states.count('changed')} changed, {states.count('gone')} gone."


def profile_diff_json(before: str, after: str, changes: Sequence[TextChange], masker: Masker) -> str:
    """``formatVersion``, what was compared, and ``changes``; the meaning of a key changes only with the first number
    of the version."""
    diffs = [text_diff(change) for change in changes]
    document = {
        "formatVersion": FORMAT_VERSION,
        "before": before,
        "after": after,
        "differ": bool(diffs),
        "changes": [
            {
                "name": masker.line(diff.name),
                "state": diff.state,
                "added": diff.added,
                "removed": diff.removed,
                "diff": masker.diff_lines(diff.lines),
            }
            for diff in diffs
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
