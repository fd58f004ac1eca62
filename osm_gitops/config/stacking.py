"""Stack overlays (design.md, "Overlays"), in a worker: combine them, and render texts of their values and settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.config.overlay_stack import PlacedValue, Stack, ValuePath, value_tree
from osm_gitops.config.patches import are_rivals, conflict
from osm_gitops.config.setting_names import SETTINGS_BY_KEY
from osm_gitops.config.settings import RawSetting
from osm_gitops.errors import Code, InputError, Problem, first_problems, some
from osm_gitops.gotemplate.assembly import compile_jinja_half
from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFaults
from osm_gitops.gotemplate.inspection import value_uses
from osm_gitops.model.objects import Json
from osm_gitops.model.overlay import Overlay, Spot, is_template

_MOST_TEXTS: Final = 500
_LONGEST_TEXT: Final = 1 << 16  # characters of a text with template code
_MOST_RENDERED: Final = 8 << 20  # characters of all rendered texts together
_MOST_STEPS: Final = 1_000_000  # of loops in all texts together
_DEEPEST: Final = 20
_NAMED: Final = 5


def stack_overlays(overlays: Sequence[Overlay]) -> Stack:
    """Combine overlays, of which later ones take precedence.

    Texts with ``{{ … }}`` in settings and values are rendered with the values. Raises InputError with all problems.
    """
    builder = _StackBuilder()
    for overlay in overlays:
        builder.add(overlay)
    given = {path: each for path, each in builder.values.items() if each.value is not None}
    settings_given = [(each.where.rpartition(" ")[0], each.value) for each in builder.settings.values()]
    count = _check_templates([*((each.spot.where, each.value) for each in given.values()), *settings_given])
    texts = _TextRenderer(given, count)
    values = texts.values()
    settings = tuple(texts.setting(each) for each in builder.settings.values())
    if texts.problems:
        raise InputError(first_problems(texts.problems))
    return Stack(
        overlays=tuple(overlays),
        settings=settings,
        values=values,
        uses=frozenset(texts.uses),
        profiles=builder.profiles,
        chosen_at=builder.chosen_at,
        warnings=tuple(builder.warnings),
    )


@dataclass(slots=True)
class _StackBuilder:
    """Combines overlays one by one; ``tree`` has the paths of ``values`` by their keys."""

    settings: dict[str, RawSetting] = field(default_factory=dict)
    owners: dict[str, tuple[Overlay, Spot]] = field(default_factory=dict)
    values: dict[ValuePath, PlacedValue] = field(default_factory=dict)
    tree: _PathTree = field(default_factory=dict)
    profiles: tuple[str, ...] | None = None
    chosen: tuple[Overlay, Spot] | None = None
    warnings: list[Problem] = field(default_factory=list)

    @property
    def chosen_at(self) -> str:
        return self.chosen[1].where if self.chosen else ""

    def add(self, overlay: Overlay) -> None:
        for key, value in overlay.settings.items():
            self.setting(overlay, key, value)
        for path, value in _leaves(overlay.values, ()):
            self.value(path, PlacedValue(value, overlay, overlay.spot(_shown(path))))
        if overlay.profiles is not None:
            spot = overlay.spot("profiles")
            if self.chosen is not None and self.profiles != overlay.profiles:
                self.rival(self.chosen[0], overlay, (self.chosen[1], spot), "profiles")
            self.profiles, self.chosen = overlay.profiles, (overlay, spot)

    def setting(self, overlay: Overlay, key: str, value: Json) -> None:
        flag = SETTINGS_BY_KEY[key].flag
        spot = overlay.spot(f"settings.{key}")
        before = self.owners.get(flag)
        if before is not None and self.settings[flag].value != value:
            self.rival(before[0], overlay, (before[1], spot), f"settings.{key}")
        where = f"{spot.where} settings.{key}"
        self.settings[flag] = RawSetting(flag, value, where, overlay.folder, from_tree=not overlay.built_in)
        self.owners[flag] = (overlay, spot)

    def value(self, path: ValuePath, given: PlacedValue) -> None:
        """Set a value; it replaces values at, above and below its path. An empty map replaces nothing."""
        inner = self.tree
        replaced: list[ValuePath] = []
        for key in path[:-1]:
            found = inner.get(key)
            if isinstance(found, tuple):
                replaced.append(found)
            if not isinstance(found, dict):
                found = inner[key] = {}
            inner = found
        present = inner.get(path[-1])
        if isinstance(present, dict) and given.value == {}:
            return
        replaced += [present] if isinstance(present, tuple) else _paths(present or {})
        inner[path[-1]] = path
        for at in replaced:
            before = self.values.pop(at)
            if before.value != given.value and (at == path or before.value not in ({}, None)):
                self.rival(before.overlay, given.overlay, (before.spot, given.spot), _shown(path))
        self.values[path] = given

    def rival(self, first: Overlay, second: Overlay, spots: tuple[Spot, Spot], at: str) -> None:
        if are_rivals(first, second):
            self.warnings.append(replace(conflict(first, second, *spots), field=at))


_PathTree = dict[str, "_PathTree | ValuePath"]
"""Paths by their keys: a map of the next keys, or the whole path at its end."""


def _paths(tree: _PathTree) -> list[ValuePath]:
    """All paths in a tree."""
    found: list[ValuePath] = []
    waiting: list[_PathTree | ValuePath] = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            found.append(each)
        else:
            waiting += reversed(each.values())
    return found


def _read_paths(tree: _PathTree, use: ValuePath) -> list[ValuePath]:
    """The paths in a tree that a text with ``use`` reads: those below it, or the one above it."""
    for key in use:
        found = tree.get(key)
        if not isinstance(found, dict):
            return [] if found is None else [found]
        tree = found
    return _paths(tree)


def _leaves(values: Mapping[str, Json], above: ValuePath) -> Iterator[tuple[ValuePath, Json]]:
    """All values with their paths; maps only if they are empty."""
    for key, value in values.items():
        path = (*above, key)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, path)
        else:
            yield path, value


def _shown(path: ValuePath) -> str:
    return ".".join(("values", *path))


@dataclass(slots=True)
class _TextRenderer:
    """Renders the texts of values and settings with template code, values first; ``count`` is their number."""

    given: Mapping[ValuePath, PlacedValue]
    count: int
    done: dict[ValuePath, Json] = field(default_factory=dict)
    uses: set[ValuePath] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    engine: Engine | None = None
    rendered_length: int = 0

    def values(self) -> dict[ValuePath, PlacedValue]:
        """All values with their final texts; a value is rendered after those that it reads."""
        waiting = {path: _reads(each.value) for path, each in self.given.items() if is_template(each.value)}
        self.uses.update(*waiting.values())
        self.done = {path: each.value for path, each in self.given.items() if path not in waiting}
        needs = _needs(waiting)
        for _ in range(_DEEPEST):
            ready = [path for path, needed in needs.items() if needs.keys().isdisjoint(needed)]
            for path in ready:
                given = self.given[path]
                self.done[path] = self.rendered(given.value, given.spot.where, _shown(path))
                del needs[path]
            self.engine = None
            if not ready:
                self.problems += (_cycle(self.given[path], path, needs, "in a cycle") for path in needs)
                needs = {}
        deep = f"nested more than {_DEEPEST} deep"
        self.problems += (_cycle(self.given[path], path, needs, deep) for path in needs)
        return {path: replace(each, value=self.done.get(path, "")) for path, each in self.given.items()}

    def setting(self, setting: RawSetting) -> RawSetting:
        if not is_template(setting.value):
            return setting
        self.uses |= _reads(setting.value)
        where, _, at = setting.where.rpartition(" ")
        return replace(setting, value=self.rendered(setting.value, where, at))

    def rendered(self, value: Json, where: str, at: str) -> Json:
        if isinstance(value, Mapping):
            return {key: self.rendered(each, where, f"{at}.{key}") for key, each in value.items()}
        if isinstance(value, list):
            return [self.rendered(each, where, f"{at}[{index}]") for index, each in enumerate(value)]
        return self.text(value, where, at) if is_template(value) else value

    def text(self, text: str, where: str, at: str) -> str:
        if self.rendered_length > _MOST_RENDERED:
            return ""
        steps = Bounds(loop_steps=_MOST_STEPS // max(self.count, 1))
        self.engine = self.engine or Engine({}, steps, values=value_tree(self.done))
        try:
            (found,) = compile_jinja_half(self.engine, {}, [(at, text)]).render({})
        except TemplateFaults as failure:
            self.problems += (
                Problem(Code.OVERLAY_TEMPLATE, each.message, where=where, field=at, fix=each.fix)
                for each in failure.faults
            )
            return ""
        self.rendered_length += len(found)
        if self.rendered_length > _MOST_RENDERED:
            what = f"all texts of values and settings together are longer than {_MOST_RENDERED >> 20} MiB"
            self.problems.append(
                Problem(Code.OVERLAY_TOO_LARGE, what, where=where, field=at, fix="Use fewer repetitions")
            )
        return found


def _needs(waiting: Mapping[ValuePath, frozenset[ValuePath]]) -> dict[ValuePath, set[ValuePath]]:
    """The waiting values that each waiting value reads."""
    tree: _PathTree = {}
    for path in waiting:
        inner = tree
        for key in path[:-1]:
            inner = inner.setdefault(key, {})  # type: ignore[assignment] # there are no values below a value
        inner[path[-1]] = path
    return {path: {found for use in reads for found in _read_paths(tree, use)} for path, reads in waiting.items()}


def _check_templates(given: Iterable[tuple[str, Json]]) -> int:
    """The number of texts with template code in ``given`` (place, value). Raises InputError for too many or too
    long."""
    texts = [(where, text) for where, value in given for text in _templates(value)]
    problems = [
        Problem(
            Code.OVERLAY_TOO_LARGE, f"a text with template code is longer than {_LONGEST_TEXT >> 10} KiB", where=where
        )
        for where, text in texts
        if len(text) > _LONGEST_TEXT
    ]
    if len(texts) > _MOST_TEXTS:
        problems.append(
            Problem(Code.OVERLAY_TOO_LARGE, f"more than {_MOST_TEXTS} texts have template code", where=texts[0][0])
        )
    if problems:
        raise InputError(first_problems(problems))
    return len(texts)


def _templates(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        if is_template(value):
            yield value
        return
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _templates(each)


def _reads(value: Json) -> frozenset[ValuePath]:
    """The values that a text, or the texts in a list or map, read."""
    if isinstance(value, str):
        return value_uses(value, native=True) if is_template(value) else frozenset()
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return frozenset().union(*map(_reads, inner))


def _cycle(given: PlacedValue, path: ValuePath, needs: Mapping[ValuePath, set[ValuePath]], how: str) -> Problem:
    others = sorted(".".join(each) for each in needs[path] if each != path and each in needs)
    what = f"depends on {some(others, _NAMED) or 'itself'}, {how}"
    return Problem(
        Code.OVERLAY_VALUE_CIRCLE,
        what,
        where=given.spot.where,
        field=_shown(path),
        fix="Write one of them as a plain text",
    )
