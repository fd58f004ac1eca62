"""The entry point of ``osm-gitops`` and ``python -m osm_gitops``."""

from __future__ import annotations

import gc
import sys

from osm_gitops.cli.gate import run


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    # A run makes much and keeps little of it in cycles: looking for those less often saves a tenth of its time.
    gc.set_threshold(50_000, 20, 50)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
