"""The token for the API of a forge: from a file that may rotate, or from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from osm_gitops.errors import Code, input_error
from osm_gitops.git.address import TokenFile

VARIABLE: Final = "OSM_GITOPS_FORGE_TOKEN"
FLAG: Final = "--forge-token-file"


@dataclass(frozen=True, slots=True)
class ForgeToken:
    """Where the token is: ``file``, else the variable of ``environment``, else ``git``, the file for pushes."""

    file: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    git: TokenFile | None = None

    def read(self) -> str:
        """The token. Raises InputError or TargetError, which do not repeat it."""
        if self.file is not None:
            return TokenFile(self.file, FLAG).read()
        text = self.environment.get(VARIABLE, "").strip()
        if text:
            return text
        if self.git is not None:
            return self.git.read()
        raise input_error(
            Code.FORGE_TOKEN,
            "there is no token for the forge",
            where="--pull-request",
            fix=f"Name a file with {FLAG}, or set {VARIABLE}",
        )
