"""Running all checks on documents: every distinct one is looked at once, and told wherever it is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from osm_gitops.checks.boot_file import HALVES, BootDocument, BootFile, Checker, Remark
from osm_gitops.checks.catalogue import DOCUMENT_CHECKS, FILE_CHECKS
from osm_gitops.checks.cloud_config import user_data_files
from osm_gitops.checks.templates import profile_name
from osm_gitops.model.finding import Finding

_VARYING: Final = re.compile(r"[0-9a-f]{32,}|v?\d+(?:\.\d+)+")

_Key = tuple[str, str, int]
"""Path, text and permissions of a file."""


@dataclass(slots=True)
class _Distinct:
    """The pools whose documents are the same but for their names. The document is looked at once and not kept."""

    pools: list[str]


@dataclass(slots=True)
class _Text:
    """A text, and by profile the first file that has it with all documents."""

    file: BootFile
    where: dict[str, tuple[BootFile, list[_Distinct]]] = field(default_factory=dict)


@dataclass(slots=True)
class Judge:
    """Takes documents one by one, and tells at the end what is wrong with them."""

    checkers: Sequence[Checker]
    _documents: dict[bytes, _Distinct] = field(default_factory=dict)
    _found: dict[Finding, list[_Distinct]] = field(default_factory=dict)
    _texts: dict[_Key, _Text] = field(default_factory=dict)
    _user_data: dict[_Key, _Text] = field(default_factory=dict)

    def add(self, document: BootDocument, own: Sequence[str] = ()) -> None:
        """Take a document; ``own`` are texts in it that name its pool, by which others need not differ."""
        key = _key(document, own)
        known = self._documents.get(key)
        if known is not None:
            known.pools.append(document.pool)
            return
        distinct = self._documents[key] = _Distinct([document.pool])
        about, where = profile_name(document.profile), str(document.profile.manifest.origin)
        for check in DOCUMENT_CHECKS:
            for finding in check(document):
                self._found.setdefault(finding.at(about=about, where=where), []).append(distinct)
        # Whole user-data is for checkers alone: what is in it is there for checks as files and units.
        for texts, files in ((self._texts, document.texts), (self._user_data, user_data_files(document))):
            for file in files:
                text = texts.setdefault((file.path, _without(file.text, own), file.permissions), _Text(file))
                text.where.setdefault(about, (file, []))[1].append(distinct)

    @property
    def distinct(self) -> tuple[int, int]:
        """How many documents and texts there are that differ."""
        return len(self._documents), len(self._texts)

    def findings(self) -> Iterator[Finding]:
        """Everything that checks and checkers say."""
        for finding, documents in self._found.items():
            yield replace(finding, seen_in=finding.seen_in or _pools(documents))
        for text in self._texts.values():
            for check in FILE_CHECKS:
                yield from _told(text, check(text.file))
        yield from self._of_checkers()

    def _of_checkers(self) -> Iterator[Finding]:
        # Checkers run programs: those files that differ in nothing but their permissions are one to them.
        texts: dict[tuple[str, str], list[_Text]] = {}
        for text in (*self._texts.values(), *self._user_data.values()):
            texts.setdefault((text.file.path, text.file.text), []).append(text)
        distinct = [same[0] for same in texts.values()]
        for checker in self.checkers:
            missing = checker.missing()
            if missing is not None:
                yield missing
                continue
            chosen = _telling(distinct) if checker.slow else distinct
            for file, remark in checker.check([text.file for text in chosen]):
                for text in texts[file.path, file.text]:
                    yield from _told(text, [remark])


def _telling(texts: Iterable[_Text]) -> list[_Text]:
    """Those texts of each profile in which every pair of neighbouring lines of all of them occurs.

    Settings put blocks of lines in or leave them out, so that hundreds of scripts are made of the same few blocks.
    What differs in nothing but versions and checksums is the same here.
    """
    chosen = []
    seen: set[tuple[str, str, str, str]] = set()
    for text in sorted(texts, key=lambda each: -len(each.file.text)):
        profile = next(iter(text.where))
        lines = ["", *_VARYING.sub("0", text.file.text).split("\n"), ""]
        pairs = {(profile, text.file.path, *pair) for pair in pairwise(lines)}
        if not pairs <= seen:
            seen |= pairs
            chosen.append(text)
    return chosen


def _key(document: BootDocument, own: Sequence[str]) -> bytes:
    """A digest of all that checks may look at: paths and permissions are in user-data."""
    digest = hashlib.sha256()
    halves = (_without(document.user_data[half].decode(), own) for half in HALVES)
    for part in (profile_name(document.profile), document.provider, document.kube_version, *halves):
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.digest()


def _without(text: str, own: Sequence[str]) -> str:
    for each in own:
        text = text.replace(each, "…")
    return text


def _pools(documents: Iterable[_Distinct]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pool for distinct in documents for pool in distinct.pools))


def _told(text: _Text, remarks: Iterable[Remark]) -> Iterator[Finding]:
    for remark in remarks:
        for about, (file, documents) in text.where.items():
            yield Finding(
                remark.rule,
                remark.message,
                where=file.place(remark.line),
                about=f"{about}, {file.path}",
                fix=remark.fix,
                seen_in=_pools(documents),
            )
