"""The checks that ``validate`` runs on what pools render to, and the rules that they have."""

from __future__ import annotations

from typing import Final

from osm_gitops.checks.boot_file import DocumentCheck, FileCheck
from osm_gitops.model.finding import Rule

FILE_CHECKS: Final[tuple[FileCheck, ...]] = ()
DOCUMENT_CHECKS: Final[tuple[DocumentCheck, ...]] = ()
RULES: Final[tuple[Rule, ...]] = ()
