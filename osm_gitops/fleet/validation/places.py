"""From a line of a rendered file to the line of the source that it came from."""

from __future__ import annotations

from dataclasses import dataclass

from osm_gitops.checks.boot_file import Half
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.render.config import half_texts


@dataclass(frozen=True, slots=True)
class Places:
    """Places in one profile."""

    profile: OperatingSystemProfile

    def of_file(self, half: Half, index: int, line: int) -> str:
        """``file:line`` of a line of the half's file at ``index``, empty where no profile holds it."""
        config = self.profile.bootstrap if half == "bootstrap" else self.profile.provisioning
        files = half_texts(config, f"spec.{half}Config").files
        return self.of_text(files[index][1], line) if index < len(files) else ""

    def of_text(self, field: str, line: int) -> str:
        """``file:line`` of a line of the text that stands at ``field`` of the profile."""
        return self.profile.manifest.line_in(field, line)
