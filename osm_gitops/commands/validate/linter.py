"""Run all checks on documents, each distinct one once; and apply suppressions, which are annotations
``ignore.osm-gitops.io/<id>: reason`` on a profile or a MachineDeployment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Final

from osm_gitops.gotemplate.faults import similar
from osm_gitops.lint import external
from osm_gitops.lint.rules import catalogue, rules
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, BootFile, Checker, Half, Remark, first_remarks
from osm_gitops.lint.rules.catalogue import DOCUMENT_CHECKS, FILE_CHECKS
from osm_gitops.lint.rules.cloud_config import user_data_files
from osm_gitops.lint.rules.templates import profile_name
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.objects import Manifest

_VARYING: Final = re.compile(r"[0-9a-f]{32,}|v?\d+(?:\.\d+)+")

_MOST_OF_DOCUMENT: Final = 100
"""Maximum number of findings of one check for one document."""

_Key = tuple[str, str, int]
"""Path, text and permissions of a file."""


@dataclass(slots=True)
class _Distinct:
    """The pools whose documents differ only in the pool's names. The document is checked once and not kept."""

    pools: list[str]


@dataclass(slots=True)
class _Text:
    """A text with the remarks of our checks; ``where`` has by profile the first file with it, and all documents."""

    file: BootFile
    remarks: tuple[Remark, ...] = ()
    where: dict[str, tuple[BootFile, list[_Distinct]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A file for external programs. ``representative``: it has lines that no other file of its profile has."""

    path: str
    text: str
    permissions: int
    half: Half
    representative: bool


@dataclass(slots=True)
class Linter:
    """Takes documents one by one, and returns all findings at the end."""

    _documents: dict[bytes, _Distinct] = field(default_factory=dict)
    _found: dict[Finding, list[_Distinct]] = field(default_factory=dict)
    _texts: dict[_Key, _Text] = field(default_factory=dict)
    _user_data: dict[_Key, _Text] = field(default_factory=dict)

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
        # Whole user-data is only for external programs: our checks get its files and units.
        for texts, files, checks in (
            (self._texts, document.texts, FILE_CHECKS),
            (self._user_data, user_data_files(document), ()),
        ):
            for file in files:
                key_of_file = (file.path, _without(file.text, own), file.permissions)
                text = texts.get(key_of_file)
                if text is None:
                    remarks = tuple(remark for check in checks for remark in first_remarks(check(file)))
                    text = texts[key_of_file] = _Text(file, remarks)
                text.where.setdefault(about, (file, []))[1].append(distinct)

    @property
    def distinct(self) -> tuple[int, int]:
        """The number of distinct documents and of distinct texts."""
        return len(self._documents), len(self._texts)

    def texts(self) -> tuple[Text, ...]:
        """The texts for external programs. Files that differ only in their permissions are one text."""
        distinct = [same[0] for same in self._same().values()]
        representative = {id(text) for text in _representative(distinct)}
        return tuple(
            Text(text.file.path, text.file.text, text.file.permissions, text.file.half, id(text) in representative)
            for text in distinct
        )

    def findings(self, remarks: Iterable[tuple[int, Remark]]) -> Iterator[Finding]:
        """All findings of our checks, and of ``remarks`` by the index of the text in :meth:`texts`."""
        for finding, documents in self._found.items():
            yield replace(finding, seen_in=finding.seen_in or _pools(documents))
        for text in self._texts.values():
            yield from _remark_findings(text, text.remarks)
        same = list(self._same().values())
        for number, remark in remarks:
            for text in same[number]:
                yield from _remark_findings(text, [remark])

    def _same(self) -> dict[tuple[str, str], list[_Text]]:
        texts: dict[tuple[str, str], list[_Text]] = {}
        for text in (*self._texts.values(), *self._user_data.values()):
            texts.setdefault((text.file.path, text.file.text), []).append(text)
        return texts


def ask_programs(checkers: Iterable[Checker], texts: Sequence[Text]) -> tuple[list[Finding], list[tuple[int, Remark]]]:
    """Findings for missing programs, and the remarks of the others by the index of the text."""
    files = {(each.path, each.text): BootFile(each.path, each.text, each.permissions, each.half) for each in texts}
    numbers = {(each.path, each.text): number for number, each in enumerate(texts)}
    missing, remarks = [], []
    for checker in checkers:
        lacking = checker.missing()
        if lacking is not None:
            missing.append(lacking)
            continue
        chosen = [files[each.path, each.text] for each in texts if each.representative or not checker.slow]
        remarks += [(numbers[file.path, file.text], remark) for file, remark in checker.check(chosen)]
    return missing, remarks


def _representative(texts: Iterable[_Text]) -> list[_Text]:
    """A subset of each profile's texts that contains every pair of neighbouring lines.

    Settings add or remove blocks of lines, so hundreds of scripts consist of the same few blocks. Versions and
    checksums do not count as differences.
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
    """A digest of everything that checks read: paths and permissions are part of user-data."""
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


def _remark_findings(text: _Text, remarks: Iterable[Remark]) -> Iterator[Finding]:
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


PREFIX: Final = "ignore.osm-gitops.io/"


def all_rules() -> tuple[Rule, ...]:
    """Every rule of findings, except the codes of families."""
    return (*rules.RULES, *catalogue.RULES, *external.RULES)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One annotation: the object, the rule, and the reason."""

    about: str
    id: str
    reason: str
    where: str

    def holds_for(self, finding: Finding) -> bool:
        """Whether the finding is on this object, or only on its pools, and has the rule or one of its family."""
        named = finding.about == self.about or finding.about.startswith(f"{self.about}, ")
        only = bool(finding.seen_in) and all(pool.startswith(f"{self.about} of ") for pool in finding.seen_in)
        return (named or only) and self.id in {finding.id, finding.rule.family or finding.id}


@dataclass(slots=True)
class Suppressions:
    """The suppressions of all sources."""

    found: dict[Suppression, None] = field(default_factory=dict)

    def read(self, inputs: Inputs) -> None:
        """Add those of the profiles and MachineDeployments of a source."""
        for profile in inputs.profiles.values():
            self._read(profile.manifest)
        for machine in inputs.machines:
            self._read(machine.manifest)

    def _read(self, manifest: Manifest) -> None:
        metadata = manifest.body.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
        for key, reason in (annotations or {}).items() if isinstance(annotations, Mapping) else ():
            if key.startswith(PREFIX):
                where = manifest.line_of(f"metadata.annotations.{key}")
                self.found[Suppression(str(manifest.ref), key.removeprefix(PREFIX), str(reason).strip(), where)] = None


def suppress(findings: Iterable[Finding], suppressions: Suppressions) -> Iterator[Finding]:
    """The findings, with the reason if suppressed, and the findings on wrong suppressions."""
    by_id: dict[str, list[Suppression]] = {}
    for each in suppressions.found:
        by_id.setdefault(each.id, []).append(each)
    used = set()
    for finding in findings:
        candidates = [each for key in (finding.id, finding.rule.family) for each in by_id.get(key, ())]
        holding = next((each for each in candidates if each.reason and each.holds_for(finding)), None)
        if holding is None:
            yield finding
        else:
            used.add(holding)
            yield replace(finding, suppressed=holding.reason)
    for each in suppressions.found:
        yield from _wrong(each, used=each in used)


def _wrong(suppression: Suppression, *, used: bool) -> Iterator[Finding]:
    known = {rule.id for rule in all_rules()}
    if not suppression.reason:
        message, fix = f"the suppression of {suppression.id} gives no reason", "Write why as the annotation's value"
        yield Finding(rules.SUPPRESSION_REASON, message, suppression.where, suppression.about, fix=fix)
    elif not used and not any(suppression.id == id_ or suppression.id.startswith(f"{id_}-") for id_ in known):
        message = f"rule {suppression.id} does not exist{similar(suppression.id, known)}"
        yield Finding(rules.SUPPRESSION_UNKNOWN, message, suppression.where, suppression.about)
    elif not used:
        message = f"there is no finding of {suppression.id} to suppress"
        yield Finding(rules.SUPPRESSION_UNUSED, message, suppression.where, suppression.about, fix="Remove it")
