"""The order in which Go visits a map: ``fmt``, ``range`` and encoders sort its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from osm_gitops.gocompat.text import to_bytes
from osm_gitops.gotemplate.bounds import budget, text_bytes
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.values import go_type


def sorted_texts(texts: list[str]) -> list[str]:
    """Texts by their bytes, with the steps that sorting takes; those of one text that a list holds often, too."""
    spent = budget()
    size, rounds = sum(map(len, texts)), len(texts).bit_length()
    spent.step((size >> 8) + ((len(texts) >> 2) + (size >> 12)) * rounds)
    if all(map(str.isascii, texts)):
        return sorted(texts)
    spent.make(sum(map(text_bytes, texts)))
    return sorted(texts, key=to_bytes)


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
