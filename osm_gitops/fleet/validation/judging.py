"""Running all checks on documents: every distinct text is looked at once, and told wherever it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from osm_gitops.checks.boot_file import BootDocument, BootFile, Checker, Remark
from osm_gitops.checks.catalogue import DOCUMENT_CHECKS, FILE_CHECKS
from osm_gitops.model.finding import Finding

_Text = tuple[str, str, int]


@dataclass(slots=True)
class _Seen:
    """One text, and where it was met: by profile the first file, and all pools."""

    file: BootFile
    where: dict[str, tuple[BootFile, list[str]]] = field(default_factory=dict)


@dataclass(slots=True)
class Judge:
    """Takes documents one by one, and tells at the end what is wrong with them."""

    checkers: Sequence[Checker]
    _texts: dict[_Text, _Seen] = field(default_factory=dict)
    _findings: dict[Finding, list[str]] = field(default_factory=dict)

    def add(self, document: BootDocument) -> None:
        """Look at a document; its texts wait for :meth:`findings`."""
        about = _about(document)
        for file in document.texts:
            seen = self._texts.setdefault((file.path, file.text, file.permissions), _Seen(file))
            seen.where.setdefault(about, (file, []))[1].append(document.pool)
        for check in DOCUMENT_CHECKS:
            for finding in check(document):
                self._findings.setdefault(finding.at(about=about), []).append(document.pool)

    def findings(self) -> Iterator[Finding]:
        """Everything that checks and checkers say, each once."""
        yield from (replace(each, seen_in=tuple(dict.fromkeys(pools))) for each, pools in self._findings.items())
        for seen in self._texts.values():
            for check in FILE_CHECKS:
                yield from _told(seen, check(seen.file))
        files = {(seen.file.path, seen.file.text): seen for seen in self._texts.values()}
        for checker in self.checkers:
            missing = checker.missing()
            if missing is not None:
                yield missing
                continue
            for file, remark in checker.check([seen.file for seen in files.values()]):
                yield from _told(files[file.path, file.text], [remark])


def _about(document: BootDocument) -> str:
    return f"OperatingSystemProfile {document.profile.namespace}/{document.profile.name}"


def _told(seen: _Seen, remarks: Iterable[Remark]) -> Iterator[Finding]:
    for remark in remarks:
        for about, (file, pools) in seen.where.items():
            yield Finding(
                remark.rule,
                remark.message,
                where=file.place(remark.line),
                about=f"{about}, {file.path}",
                fix=remark.fix,
                seen_in=tuple(dict.fromkeys(pools)),
            )
