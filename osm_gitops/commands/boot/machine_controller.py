"""What machine-controller does between the bootstrap Secret and the provider (osm-behaviour.md,
"machine-controller")."""

from __future__ import annotations

import gzip
from typing import Final
from urllib.parse import quote_plus

from osm_gitops.render.user_data import MACHINE_NAME

_BLANKS: Final = " \t"


def user_data_of(text: str, machine: str, *, gzipped: bool) -> bytes:
    """The user-data of a Machine: its name is filled in, lines of blanks are emptied, and some providers get it
    ``gzipped``."""
    named = text.replace(MACHINE_NAME, machine).replace(quote_plus(MACHINE_NAME), quote_plus(machine))
    lines = ("" if line and not line.strip(_BLANKS) else line for line in named.split("\n"))
    data = "\n".join(lines).encode()
    return gzip.compress(data, mtime=0) if gzipped else data
