"""The entry point of ``osm-gitops`` and ``python -m osm_gitops``."""

from __future__ import annotations

import sys

from osm_gitops.cli.gate import run


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
