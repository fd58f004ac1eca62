"""The texts of a profile's half that are rendered, and their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.model.profile import File, ProfileConfig

_RUNTIME: Final = "containerd"


@dataclass(frozen=True, slots=True)
class HalfTexts:
    """What is rendered of one half: templates by name, and files in OSM's order, each with its field in the profile."""

    templates: Mapping[str, tuple[str, str]]
    files: tuple[tuple[File, str], ...]

    @property
    def places(self) -> Mapping[str, str]:
        """Fields by a template's name or a file's path."""
        return {name: place for name, (_, place) in self.templates.items()} | {
            file.path: place for file, place in self.files
        }

    @property
    def sources(self) -> tuple[Mapping[str, str], tuple[tuple[str, str], ...]]:
        """The texts of the templates by name, and of the files with their paths."""
        templates = {name: text for name, (text, _) in self.templates.items()}
        return templates, tuple((file.path, file.content) for file, _ in self.files)


def half_texts(config: ProfileConfig, field: str) -> HalfTexts:
    """The texts of the half at ``field`` of its profile (osm-behaviour.md, "Two renderings", steps 1 and
    2)."""
    files = [(file, f"{field}.files[{index}].content.inline.data") for index, file in enumerate(config.files)]
    templates = {name: (text, f"{field}.templates.{name}") for name, text in config.templates.items()}
    # Only the first entry for containerd counts, and its templates give way.
    for index, runtime in enumerate(config.runtimes):
        if runtime.name == _RUNTIME:
            below = f"{field}.supportedContainerRuntimes[{index}]"
            files += [(file, f"{below}.files[{at}].content.inline.data") for at, file in enumerate(runtime.files)]
            added = {name: (text, f"{below}.templates.{name}") for name, text in runtime.templates.items()}
            templates = added | templates
            break
    return HalfTexts(templates, tuple(files))
