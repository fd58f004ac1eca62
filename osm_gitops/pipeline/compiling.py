"""Compiled texts of profiles, kept from run to run (docs/explanation/security.md, "The cache").

A worker may open no file, so the run reads entries for it, and stores what it has compiled. This process never loads
them: what a worker gets, it loads without rights.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

from osm_gitops.cache.digest import digest_of
from osm_gitops.cache.folder import CacheFolder, open_folder
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
_MOST_BYTES: Final = 64 << 20
_LARGEST: Final = 4 << 20
_COMPILER: Final = ("gotemplate", "gocompat", "render/data.py")
"""The parts of this program on which compiled texts depend."""
_LIBRARIES: Final = ("jinja2",)
_KEPT: Final = 256
"""Profiles that are not read again for the next cluster: a fleet has fewer of them."""
_LENGTH: Final = Struct(">I")
_COMPILE_TEXTS: Final = Named(WORKER, "compile_texts")

_Key = tuple[tuple[int, int, int], tuple[TextSource, ...]]
"""The texts of a profile, and the limits of templates, which are those of compiling them too."""


@dataclass(slots=True)
class CompiledTexts:
    """The entries in the cache folder of the user with this ``environment``, one for each profile: to create a file
    takes as long as to compile a small text. Where there can be no folder that only this user can write, workers
    compile what they render."""

    environment: Mapping[str, str] = field(repr=False)
    _known: dict[_Key, Compiled] = field(init=False, default_factory=dict, repr=False)

    def of(
        self, profiles: Iterable[OperatingSystemProfile], settings: Settings, encrypted: Collection[str]
    ) -> Compiled:
        """The compiled texts of the profiles, as far as they can be compiled. ``encrypted`` are texts that are
        encrypted in the source: a profile that has one is not stored."""
        folder = open_folder(self.environment, _KIND, _MOST_BYTES, _LARGEST)
        if folder is None:
            return {}
        limits = settings.max_output_bytes, settings.max_loop_steps, settings.max_template_depth
        found: dict[TextSource, bytes] = {}
        missing: list[_Key] = []
        for profile in profiles:
            key = limits, tuple(_sources(profile))
            known = self._known.get(key)
            if known is None:
                known = _unpacked(folder.get(_name(key)), key)
            if known is not None:
                found |= self._keep(key, known)
            elif not profile.manifest.sealed and not _holds(key, encrypted):
                missing.append(key)
        self._add(missing, settings, folder, found)
        folder.trim()
        return found

    def _add(
        self, missing: list[_Key], settings: Settings, folder: CacheFolder, found: dict[TextSource, bytes]
    ) -> None:
        """Compile the texts that are not in ``found``, each once, add them and store the profiles."""
        asked, lost = set(found), set[TextSource]()
        calls = []
        for _, sources in missing:
            calls.append(tuple(each for each in sources if each not in asked))
            asked.update(sources)
        for key, sources, compiled in zip(missing, calls, _compiled(calls, settings), strict=True):
            if isinstance(compiled, InputError):  # it reaches a limit, as rendering does, which tells it
                lost.update(sources)
                continue
            found |= {source: saved for source, saved in zip(sources, compiled, strict=True) if saved is not None}
            if lost.isdisjoint(key[1]):
                self._keep(key, {each: found[each] for each in key[1] if each in found})
                folder.put(_name(key), b"".join(_packed(found.get(each, b"") for each in key[1])))

    def _keep(self, key: _Key, known: Compiled) -> Compiled:
        self._known.pop(key, None)  # the most recently used one is last
        while len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        self._known[key] = known
        return known


def _holds(key: _Key, words: Collection[str]) -> bool:
    return any(word in source.text for source in key[1] for word in words)


def _packed(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Each compiled text behind its length; nothing for one with a fault."""
    for text in texts:
        yield _LENGTH.pack(len(text))
        yield text


def _unpacked(entry: bytes | None, key: _Key) -> Compiled | None:
    if entry is None:
        return None
    texts, at = [], 0
    for _ in key[1]:
        (length,) = _LENGTH.unpack_from(entry, at)
        at += _LENGTH.size + length
        texts.append(entry[at - length : at])
    return {source: text for source, text in zip(key[1], texts, strict=True) if text}


def _sources(profile: OperatingSystemProfile) -> Iterator[TextSource]:
    """The texts of a profile that are compiled, each once."""
    texts = (half_texts(config, "") for config in (profile.bootstrap, profile.provisioning))
    every = (each for half in texts for each in texts_to_compile(*half.sources, jinja=profile.jinja))
    yield from dict.fromkeys(every)


def _compiled(texts: Iterable[tuple[TextSource, ...]], settings: Settings) -> Iterator[Any]:
    """The compiled texts of each call, ``None`` for what is wrong; or an error of its worker.

    Nothing of a profile ran in that worker before: one that was attacked by a profile could answer for others.
    """
    calls = ((settings, sources) for sources in texts)
    return Series(tuple, limits=limits_of(settings), use=Use.READ_FIRST).map(_COMPILE_TEXTS, calls)


def _name(key: _Key) -> str:
    return digest_of(program_digest(_COMPILER, _LIBRARIES), key)
