"""From what a check says of a file to a finding at the file's line in its source."""

from __future__ import annotations

from osm_gitops.checks.boot_file import BootDocument, BootFile, Remark
from osm_gitops.model.finding import Finding


def told(document: BootDocument, file: BootFile, remark: Remark) -> Finding:
    """The remark as a finding of the document's profile."""
    profile = document.profile
    return Finding(
        remark.rule,
        remark.message,
        where=file.place(remark.line) or profile.manifest.line_of(f"spec.{file.half}Config"),
        about=f"OperatingSystemProfile {profile.namespace}/{profile.name}, {file.path}",
        fix=remark.fix,
    )
