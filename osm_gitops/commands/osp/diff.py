"""``osp diff``: compare two profiles, each of the fleet, built in, or in a file; as text, and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from osm_gitops.commands.osp.profile_list import AvailableProfiles, choose_profile, profiles_of, released_profile
from osm_gitops.config.overlays import overlay_key, read_overlays
from osm_gitops.config.settings import RawSetting
from osm_gitops.config.spec import ClusterSpec, SourceSpec, TreeRef, tree_ref
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import OverlayRef
from osm_gitops.model.plan import TextChange, TextDiff
from osm_gitops.pipeline.connections import Connections
from osm_gitops.plan.content import changed_texts
from osm_gitops.report.diff import text_diff
from osm_gitops.report.json_words import FORMAT_VERSION
from osm_gitops.report.mask import Masker
from osm_gitops.report.schema_words import COUNT, format_version, head, listing, record, text, texts, truth
from osm_gitops.report.text import Style, paint
from osm_gitops.report.visible import visible
from osm_gitops.sources.manifests import PROFILE
from osm_gitops.sources.trust import distrust

_NAMED = 10
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class ProfileDiff:
    """The texts in which two profiles differ; ``before`` and ``after`` are the arguments that name them. ``problems``
    may hide other profiles; ``sensitive`` are secret texts of the sources."""

    before: str
    after: str
    changes: tuple[TextChange, ...]
    problems: tuple[Problem, ...] = ()
    sensitive: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Sides:
    """Where profiles are searched: paths are relative to ``base``; ``available`` reads the profiles of the fleet.
    ``untrusted``: do not trust what is found there."""

    base: Path
    environment: Mapping[str, str]
    available: Callable[[], AvailableProfiles]
    untrusted: bool = False


def diff_profiles(before: str, after: str, sides: Sides) -> ProfileDiff:
    """Compare two profiles as an API server would show them, with defaults.

    Raises InputError if one does not exist, or a path has several.
    """
    return _compared((before, after), _side(before, sides), _side(after, sides))


def diff_overlaid(
    name: str, plain: AvailableProfiles, overlaid: AvailableProfiles, overlays: Sequence[str]
) -> ProfileDiff:
    """Compare a profile without and with further overlays. Raises InputError if it does not exist."""
    after = f"{name} with {', '.join(overlays)}"
    old, new = ((choose_profile(name, found), found) for found in (plain, overlaid))
    return _compared((name, after), old, new)


def without_and_with(spec: ClusterSpec, overlays: Sequence[OverlayRef]) -> tuple[ClusterSpec, ClusterSpec]:
    """A cluster without ``overlays`` and with them. Overlays of the cluster that are built on them are in neither."""
    given = {overlay_key(ref) for ref in overlays}
    others = tuple(
        ref
        for ref in spec.overlays
        if given.isdisjoint(key for each in read_overlays([ref], spec.trust) for key in (each.key, *each.bases))
    )
    kept = (ref for ref in spec.overlays if ref in others or overlay_key(ref) in given)
    return replace(spec, overlays=others), replace(spec, overlays=(*kept, *overlays))


_Side = tuple[dict[str, Json], AvailableProfiles]


def _compared(names: tuple[str, str], first: _Side, second: _Side) -> ProfileDiff:
    (before, after), (old, hidden), (new, more) = names, first, second
    return ProfileDiff(
        before,
        after,
        changed_texts(old, new),
        problems=tuple(dict.fromkeys((*hidden.problems, *more.problems))),
        sensitive=hidden.sensitive | more.sensitive,
    )


def _side(text: str, sides: Sides) -> _Side:
    tree = tree_ref(sides.base, text)
    if os.path.lexists(tree.path) or tree.path.suffix in _SUFFIXES:
        found = _of_tree(tree, sides)
        return choose_profile(_only(found, text), found), found
    available = released_profile(text, ()) if "@" in text else sides.available()
    return choose_profile(text, available), available


def _of_tree(tree: TreeRef, sides: Sides) -> AvailableProfiles:
    """The profiles in a file or folder."""
    alone = RawSetting("disable-default-osps", "true", "")
    spec = ClusterSpec(tree.display, SourceSpec(tree, tree, tree), (alone,), None)
    if sides.untrusted:
        spec = replace(spec, trust=distrust(tree.path))
    return profiles_of([spec], sides.environment, Connections(sides.environment))


def _only(found: AvailableProfiles, text: str) -> str:
    names = [use.name for use in found.found]
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError([*found.problems, Problem(Code.NO_PROFILE_IN_FILE, f"no {PROFILE} in it", where=text)])
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    raise input_error(
        Code.SEVERAL_PROFILES_IN_FILE,
        f"it has several profiles: {shown}",
        where=text,
        fix="Name a file with one of them",
    )


_SYMBOLS: Final = {"new": "+", "gone": "-", "changed": "~"}


def format_profile_diff(changes: Sequence[TextChange], masker: Masker, style: Style) -> str:
    """The diff of each file, template, unit and field that differs, and their number."""
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
    """JSON with ``formatVersion``; the meaning of a key changes only with the first number of the version."""
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


def profile_diff_schema() -> dict[str, Json]:
    """The JSON schema, draft 2020-12. Its ``$id`` contains the ``formatVersion``."""
    change = record(
        "A file, template, unit or field that differs.",
        name=text("What differs: a half and a path such as bootstrap /opt/bin/bootstrap, or a field."),
        state={
            "enum": list(_SYMBOLS),
            "description": "Whether only the second profile has it, only the first, or both.",
        },
        added=COUNT | {"description": "Lines that are added."},
        removed=COUNT | {"description": "Lines that are removed."},
        diff=texts("The unified diff, masked."),
    )
    return {
        **head("profile-diff", "Diff of profiles"),
        **record(
            "The differences between two profiles.",
            formatVersion=format_version(),
            before=text("The first profile."),
            after=text("The second profile."),
            differ=truth("Whether they differ."),
            changes=listing("change", "All differences."),
        ),
        "$defs": {"change": change},
    }
