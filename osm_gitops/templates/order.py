"""The order in which Go visits a map: ``fmt``, ``range`` and encoders sort its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from osm_gitops.golang.text import to_bytes
from osm_gitops.templates.faults import Refused
from osm_gitops.templates.values import go_type


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """The keys in Go's order: strings by bytes, numbers by value.

    Raises Refused for keys of several types (YAML allows them): Go sorts those by the
    address of their type.
    """
    keys = list(mapping)
    if all(isinstance(key, str) for key in keys):
        return sorted(keys) if all(map(str.isascii, keys)) else sorted(keys, key=to_bytes)
    if len({go_type(key) for key in keys}) > 1:
        raise Refused("a map whose keys are of several types has no fixed order in Go; use strings as keys")
    return sorted(keys)
