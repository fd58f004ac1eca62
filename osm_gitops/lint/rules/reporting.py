"""From what a check says of a file to a finding at the file's line in its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from osm_gitops.lint.rules.boot_file import BootDocument, BootFile, Remark
from osm_gitops.model.finding import Finding

MOST_REMARKS: Final = 100
"""How much one check says of one file."""


def first_remarks(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """What a check says of a file, up to :data:`MOST_REMARKS`; the rest is not even looked for."""
    for number, remark in enumerate(remarks):
        if number == MOST_REMARKS:
            yield Remark(remark.rule, f"there is more than these {MOST_REMARKS} findings, not listed", remark.line)
            return
        yield remark


def to_finding(document: BootDocument, file: BootFile, remark: Remark) -> Finding:
    """The remark as a finding of the document's profile."""
    profile = document.profile
    return Finding(
        remark.rule,
        remark.message,
        where=file.place(remark.line) or profile.manifest.line_of(f"spec.{file.half}Config"),
        about=f"OperatingSystemProfile {profile.namespace}/{profile.name}, {file.path}",
        fix=remark.fix,
    )
