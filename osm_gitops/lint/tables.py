"""Read the tables of ``lint/rules``: the keys of systemd, containerd and the kubelet, in TOML files beside the
rules."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_table(name: str) -> dict[str, Any]:
    """The table in ``lint/rules/NAME``. Call it at import: a worker process cannot open files later."""
    return tomllib.loads((Path(__file__).parent / "rules" / name).read_text("utf-8"))
