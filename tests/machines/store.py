"""Where what the tests build of machines and of the API server is kept. As a program it builds what tests take along
that boot no machine: they have a home of their own, without Go's cache of what it has built."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from osm_gitops.commands.boot.lane.programs import controller_manager
from osm_gitops.commands.boot.lane.store import Store


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


CACHE: Final = (Path(__file__).parent.parent.parent / ".tools" / "cache").resolve()
"""The cache folder of the tests, as XDG_CACHE_HOME names one."""
STORE: Final = Store(CACHE / "osm-gitops" / "boot", _say)

if __name__ == "__main__":
    controller_manager(STORE)
