"""The fields of a Go struct as plain data."""

from __future__ import annotations

from typing import Any


class Fields(dict[str, Any]):
    """A Go struct handed to an encoder: names and values in the struct's own order, never sorted."""

    __slots__ = ()
