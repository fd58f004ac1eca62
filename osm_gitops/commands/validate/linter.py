"""Run all checks on documents, each distinct one once; and apply suppressions, which are annotations
``ignore.osm-gitops.io/<id>: reason`` on a profile or a MachineDeployment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import islice, pairwise
from typing import Final

from osm_gitops.lint import external
from osm_gitops.lint.rules import catalogue, files, rules
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, BootFile, Remark, first_remarks
from osm_gitops.lint.rules.catalogue import DOCUMENT_CHECKS, FILE_CHECKS
from osm_gitops.lint.rules.cloud_config import skeleton, user_data_files
from osm_gitops.lint.rules.paths import displaced_files
from osm_gitops.lint.rules.problems import profile_name
from osm_gitops.lint.rules.systemd import is_unit_file
from osm_gitops.model.finding import Finding, Rule

_VARYING: Final = re.compile(r"[0-9a-f]{32,}|v?\d+(?:\.\d+)+")

_MOST_OF_DOCUMENT: Final = 100
"""Maximum number of findings of one check for one document."""

_Key = tuple[str, str, int, bool]
"""Path, text and permissions of a file, and whether it is in the place of another one."""


@dataclass(slots=True)
class _Distinct:
    """The pools whose documents differ only in the pool's names. The document is checked once and not kept."""

    pools: list[str]


@dataclass(slots=True)
class CheckedText:
    """A text with the remarks of our checks; ``where`` has by profile the first file with it, and all documents.
    ``plain`` is the text without names of pools."""

    file: BootFile
    plain: str
    remarks: tuple[Remark, ...] = ()
    where: dict[str, tuple[BootFile, list[_Distinct]]] = field(default_factory=dict)

    def findings(self, remarks: Iterable[Remark]) -> Iterator[Finding]:
        """The remarks in each profile."""
        for remark in remarks:
            for about, (file, documents) in self.where.items():
                yield Finding(
                    remark.rule,
                    remark.message,
                    where=file.place(remark.line),
                    about=f"{about}, {file.path}",
                    fix=remark.fix,
                    seen_in=_pools(documents),
                )


@dataclass(slots=True)
class Linter:
    """Takes documents one by one, and returns all findings at the end. ``user_data``: keep it for external programs."""

    user_data: bool = True
    _documents: dict[bytes, _Distinct] = field(default_factory=dict)
    _found: dict[Finding, list[_Distinct]] = field(default_factory=dict)
    _texts: dict[_Key, CheckedText] = field(default_factory=dict)
    _user_data: dict[bytes, CheckedText] = field(default_factory=dict)

    def add(self, document: BootDocument, own: Sequence[str] = ()) -> None:
        """Take a document; ``own`` are the pool's names in it, which do not make it distinct."""
        key = _key(document, own)
        known = self._documents.get(key)
        if known is not None:
            known.pools.append(document.pool)
            return
        distinct = self._documents[key] = _Distinct([document.pool])
        about, where = profile_name(document.profile), str(document.profile.manifest.origin)
        for check in DOCUMENT_CHECKS:
            for number, finding in enumerate(islice(check(document), _MOST_OF_DOCUMENT + 1)):
                if number == _MOST_OF_DOCUMENT:
                    more = f"more than these {_MOST_OF_DOCUMENT:,} findings; the others are not listed"
                    finding = replace(finding, message=more, fix="")  # noqa: PLW2901
                self._found.setdefault(finding.at(about=about, where=where), []).append(distinct)
        self._add_files(document, own, distinct)
        # Whole user-data is only for external programs, to which the texts in it are just strings: our checks get its
        # files and units. Documents are large, so one of each kind is kept.
        for file in user_data_files(document) if self.user_data else ():
            kind = hashlib.sha256(skeleton(file.text).encode(errors="surrogateescape")).digest()
            text = self._user_data.setdefault(kind, CheckedText(file, file.text))
            text.where.setdefault(about, (file, []))[1].append(distinct)

    def add_files(self, document: BootDocument, own: Sequence[str], unknown: Collection[str]) -> None:
        """Take the files of a document that cannot be rendered as a whole, without those of ``unknown`` paths."""
        key = _key(document, own) + repr(sorted(unknown)).encode()
        known = self._documents.get(key)
        if known is None:
            known = self._documents[key] = _Distinct([])
            self._add_files(document, own, known, unknown)
        known.pools.append(document.pool)

    def _add_files(
        self, document: BootDocument, own: Sequence[str], distinct: _Distinct, unknown: Collection[str] = ()
    ) -> None:
        about = profile_name(document.profile)
        displaced, names = displaced_files(document), tuple(own)
        for file in document.texts:
            if file.path in unknown:
                continue
            is_displaced = id(file) in displaced
            plain = _plain(file.text, names)
            of_file = (file.path, plain, file.permissions, is_displaced)
            text = self._texts.get(of_file)
            if text is None:
                # The format of a path is not that of a file which is there by mistake.
                checks = files.FILE_CHECKS if is_displaced else FILE_CHECKS
                remarks = tuple(remark for check in checks for remark in first_remarks(check(file)))
                text = self._texts[of_file] = CheckedText(file, plain, remarks)
            text.where.setdefault(about, (file, []))[1].append(distinct)

    @property
    def distinct(self) -> tuple[int, int]:
        """The number of distinct documents and of distinct texts."""
        return len(self._documents), len(self._texts)

    def texts(self) -> Iterator[CheckedText]:
        """The texts for external programs."""
        for (path, _, _, is_displaced), text in self._texts.items():
            if not (is_displaced and is_unit_file(path)):
                yield text
        yield from self._user_data.values()

    def findings(self) -> Iterator[Finding]:
        """All findings of our checks."""
        for finding, documents in self._found.items():
            yield replace(finding, seen_in=finding.seen_in or _pools(documents))
        for text in self._texts.values():
            yield from text.findings(text.remarks)


def representative(texts: Iterable[CheckedText]) -> list[CheckedText]:
    """A subset of each profile's texts that contains every pair of neighbouring lines.

    Settings add or remove blocks of lines, so hundreds of scripts consist of the same few blocks. Versions, checksums
    and names of pools do not count as differences.
    """
    alike: dict[str, str] = {"": ""}
    every: list[tuple[CheckedText, set[tuple[str, str, str, str]]]] = []
    for text in sorted(texts, key=lambda each: len(each.plain)):
        profile = next(iter(text.where))
        lines = ["", *text.plain.split("\n"), ""]
        for line in lines:
            if line not in alike:
                alike[line] = _VARYING.sub("0", line)
        pairs = {(profile, text.file.path, alike[line], alike[following]) for line, following in pairwise(lines)}
        every.append((text, pairs))
    # Next is always the text with the most new pairs; how many it has at most is known from the last time.
    waiting = [(-len(pairs), number) for number, (_, pairs) in enumerate(every)]
    heapify(waiting)
    chosen, seen = [], set[tuple[str, str, str, str]]()
    while waiting:
        _, number = heappop(waiting)
        text, pairs = every[number]
        new = len(pairs - seen)
        if new and waiting and new < -waiting[0][0]:
            heappush(waiting, (-new, number))
        elif new:
            chosen.append(text)
            seen |= pairs
    return chosen


def _key(document: BootDocument, own: Sequence[str]) -> bytes:
    """A digest of everything that checks read: paths and permissions are part of user-data."""
    digest = hashlib.sha256()
    halves = (_without(document.user_data[half].decode(), own) for half in HALVES)
    for part in (profile_name(document.profile), document.provider, document.kube_version, *halves):
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.digest()


@lru_cache(maxsize=512)
def _plain(text: str, own: tuple[str, ...]) -> str:
    """A text without names of a pool. Synthetic pools have the same names, and most of their files."""
    return _without(text, own)


def _without(text: str, own: Sequence[str]) -> str:
    for each in own:
        text = text.replace(each, "…")
    return text


def _pools(documents: Iterable[_Distinct]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pool for distinct in documents for pool in distinct.pools))


def all_rules() -> tuple[Rule, ...]:
    """Every rule of findings, except the codes of families."""
    return (*rules.RULES, *catalogue.RULES, *external.RULES)
