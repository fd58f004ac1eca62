"""Compiled texts of profiles, kept from run to run (docs/explanation/security.md, "The cache").

A worker may open no file, so the run reads entries for it, and stores what it has compiled. This process never loads
them: what a worker gets, it loads without rights.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from osm_gitops.cache.digest import digest_of
from osm_gitops.cache.folder import open_folder
from osm_gitops.cache.program import program_digest
from osm_gitops.errors import InputError
from osm_gitops.gotemplate.compiled import Compiled, TextSource, texts_to_compile
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.model.settings import Settings
from osm_gitops.pipeline.options import limits_of
from osm_gitops.pipeline.rendered import WORKER
from osm_gitops.render.half_texts import half_texts
from osm_gitops.workers.calls import Series, Use
from osm_gitops.workers.messages import Named

_KIND: Final = "profiles"
_MOST_BYTES: Final = 32 << 20
_LARGEST: Final = 1 << 20
_COMPILER: Final = ("gotemplate", "gocompat", "render/data.py")
"""The parts of this program on which compiled texts depend."""
_LIBRARIES: Final = ("jinja2",)
_KEPT: Final = 2_000
"""Texts that are not read again for the next cluster: a fleet has fewer of them."""
_Key = tuple[tuple[int, int, int], TextSource]
"""A text with the limits of templates."""
_COMPILE_TEXTS: Final = Named(WORKER, "compile_texts")


@dataclass(slots=True)
class CompiledTexts:
    """The entries in the cache folder of the user with this ``environment``. Where there can be no folder that only
    this user can write, workers compile what they render."""

    environment: Mapping[str, str] = field(repr=False)
    _known: dict[_Key, bytes] = field(init=False, default_factory=dict, repr=False)

    def of(
        self, profiles: Iterable[OperatingSystemProfile], settings: Settings, encrypted: Collection[str]
    ) -> Compiled:
        """The compiled texts of the profiles, as far as they can be compiled. ``encrypted`` are texts that are
        encrypted in the source: what has one is not stored."""
        folder = open_folder(self.environment, _KIND, _MOST_BYTES, _LARGEST)
        if folder is None:
            return {}
        # The limits of templates are those of compiling them too.
        limits = settings.max_output_bytes, settings.max_loop_steps, settings.max_template_depth
        found: dict[TextSource, bytes] = {}
        asked: set[TextSource] = set()
        missing: list[tuple[TextSource, ...]] = []
        for profile in profiles:
            new = [each for each in _sources(profile) if each not in asked]
            asked.update(new)
            for source in new:
                saved = self._known.get((limits, source)) or folder.get(_name((limits, source)))
                if saved is not None:
                    found[source] = self._keep((limits, source), saved)
            lacking = (each for each in new if each not in found and not profile.manifest.sealed)
            missing.append(tuple(each for each in lacking if not any(secret in each.text for secret in encrypted)))
        missing = [each for each in missing if each]
        for sources, compiled in zip(missing, _compiled(missing, settings), strict=True):
            if isinstance(compiled, InputError):
                continue  # it reaches a limit, as rendering does, which tells it
            for source, saved in zip(sources, compiled, strict=True):
                if saved is not None:
                    found[source] = self._keep((limits, source), saved)
                    folder.put(_name((limits, source)), saved)
        folder.trim()
        return found

    def _keep(self, key: _Key, saved: bytes) -> bytes:
        while len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[key] = saved
        return saved


def _sources(profile: OperatingSystemProfile) -> Iterator[TextSource]:
    """The texts of a profile that are compiled, each once."""
    texts = (half_texts(config, "") for config in (profile.bootstrap, profile.provisioning))
    every = (each for half in texts for each in texts_to_compile(*half.sources, jinja=profile.jinja))
    yield from dict.fromkeys(every)


def _compiled(missing: Iterable[Iterable[TextSource]], settings: Settings) -> Iterator[Any]:
    """The compiled texts of each profile, ``None`` for what is wrong; or an error of its worker.

    Nothing of a profile ran in that worker before: one that was attacked by a profile could answer for others.
    """
    calls = ((settings, tuple(sources)) for sources in missing)
    return Series(tuple, limits=limits_of(settings), use=Use.READ_FIRST).map(_COMPILE_TEXTS, calls)


def _name(key: _Key) -> str:
    return digest_of(program_digest(_COMPILER, _LIBRARIES), key)
