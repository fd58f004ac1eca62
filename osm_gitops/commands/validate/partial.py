"""A profile without the texts that cannot be rendered, so that a mistake in one file does not hide those in others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from osm_gitops.errors import Problem
from osm_gitops.model.profile import File, OperatingSystemProfile, ProfileConfig
from osm_gitops.pipeline.boot_documents import Renderers


@dataclass(frozen=True, slots=True)
class PartialProfile:
    """A profile with empty texts in the place of some; ``unknown`` are the paths of files that these are part of."""

    profile: OperatingSystemProfile
    renderers: Renderers
    unknown: frozenset[str] = frozenset()


def failed_texts(problems: Iterable[Problem]) -> frozenset[str]:
    """The paths of files and the names of templates in which rendering failed."""
    return frozenset(problem.about.partition(", ")[2] for problem in problems) - {""}


def without(checked: PartialProfile, names: frozenset[str]) -> PartialProfile | None:
    """The profile without the files and templates of these names; ``None`` if it lacks one of them."""
    halves = (checked.profile.bootstrap, checked.profile.provisioning)
    if not names or not names <= {name for half in halves for name, _ in _texts(half)}:
        return None
    bootstrap, provisioning = (_without(half, names) for half in halves)
    profile = replace(checked.profile, bootstrap=bootstrap, provisioning=provisioning)
    unknown = checked.unknown.union(*(_unknown(half, names) for half in halves))
    # Compiled profiles are kept by their name, so this one has renderers of its own.
    return PartialProfile(profile, checked.renderers.again(), unknown)


def _texts(half: ProfileConfig) -> Iterator[tuple[str, str]]:
    for files in (half.files, *(runtime.files for runtime in half.runtimes)):
        yield from ((file.path, file.content) for file in files)
    for templates in (half.templates, *(runtime.templates for runtime in half.runtimes)):
        yield from templates.items()


def _without(half: ProfileConfig, names: Collection[str]) -> ProfileConfig:
    def files(every: Iterable[File]) -> tuple[File, ...]:
        return tuple(replace(file, content="") if file.path in names else file for file in every)

    def templates(every: Mapping[str, str]) -> Mapping[str, str]:
        return {name: "" if name in names else text for name, text in every.items()}

    runtimes = tuple(
        replace(each, files=files(each.files), templates=templates(each.templates)) for each in half.runtimes
    )
    return replace(half, files=files(half.files), templates=templates(half.templates), runtimes=runtimes)


def _unknown(half: ProfileConfig, names: Collection[str]) -> frozenset[str]:
    """The names, and those of all texts that name one of them in quotes, as the calls of templates do."""
    texts = dict(_texts(half))
    unknown = {name for name in names if name in texts}
    waiting = list(unknown)
    while waiting:
        name = waiting.pop()
        users = {
            each
            for each, text in texts.items()
            if each not in unknown and any(f"{quote}{name}{quote}" in text for quote in "\"'`")
        }
        unknown |= users
        waiting += users
    return frozenset(unknown)
