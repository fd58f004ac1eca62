"""The tables of ``lint/rules``: what systemd, containerd and the kubelet know, as TOML files beside the rules."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_table(name: str) -> dict[str, Any]:
    """The table in ``lint/rules/NAME``. Call it when a module is imported: a worker process opens no file later."""
    return tomllib.loads((Path(__file__).parent / "rules" / name).read_text("utf-8"))
