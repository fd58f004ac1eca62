"""Kubernetes' quantities (``500Mi``, ``100m``) and Go's durations (``1h30m``), as far as they are right or wrong."""

from __future__ import annotations

import re
from typing import Final

from osm_gitops.gocompat.duration import parse_duration
from osm_gitops.gocompat.fault import GoError

_QUANTITY: Final = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")


def is_quantity(text: str) -> bool:
    """Whether Kubernetes can read the text as a quantity."""
    return _QUANTITY.fullmatch(text) is not None


def is_positive_quantity(text: str) -> bool:
    """A quantity that is more than zero."""
    match = _QUANTITY.fullmatch(text)
    return match is not None and match[1] != "-" and float(match[2]) > 0


def duration(text: str) -> int | None:
    """Nanoseconds; ``None`` where Go reads no duration."""
    try:
        return parse_duration(text)
    except GoError:
        return None
