"""How large patches may make a profile, counted before it is made.

What counts is the profile written out: text that stands in it twice counts twice, whatever Python shares of it.
etcd takes objects of 1.5 MiB, so no profile that a cluster can hold comes near these limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from osm_gitops.model.objects import Json

MOST_PROFILE: Final = 8 << 20
"""The largest size of a patched profile, as :func:`size_of` counts it."""
MOST_WRITTEN: Final = 16 << 20
"""How much all patches together may write into one profile, what later ones replace included."""
MOST_DEPTH: Final = 100

_VALUE: Final = 256  # what a list, a map or a scalar takes in memory, with where it comes from
_OPERATION: Final = 4096  # what it costs to apply a patch or an operation that writes nothing


class PatchLimitError(Exception):
    """Patches would make a profile larger than it may be; the message is what is said of the patch."""


@dataclass(slots=True)
class PatchBudget:
    """What patches have written into one profile so far."""

    written: int = 0

    def write(self, value: Json) -> None:
        """Count a value that is going to be written. Raises PatchLimitError."""
        self.written += _OPERATION + size_of(value, MOST_WRITTEN)
        if self.written > MOST_WRITTEN:
            raise PatchLimitError(f"all patches together write more than {MOST_WRITTEN >> 20} MiB into this profile")


def check_size(body: Json) -> None:
    """Check the size of a profile. Raises PatchLimitError."""
    if size_of(body, MOST_PROFILE) > MOST_PROFILE:
        raise PatchLimitError(f"the profile is larger than {MOST_PROFILE >> 20} MiB")


def size_of(value: Json, most: int) -> int:
    """The size of JSON: the characters of its texts and keys, and 256 for each value; counting ends beyond ``most``."""
    size = 0
    waiting = [value]
    while waiting and size <= most:
        each = waiting.pop()
        size += _VALUE
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, Mapping):
            size += sum(map(len, each))
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return size


def depth_of(value: Json) -> int:
    """How deep lists and maps are nested in JSON; 0 for a scalar."""
    depth = 0
    level = [value]
    while level := [each for each in level if isinstance(each, Mapping | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, Mapping) else each)]
    return depth
