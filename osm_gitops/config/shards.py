"""Shards: the clusters of a fleet distributed over runs on several machines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from osm_gitops.errors import Code, input_error

_MOST: Final = 1_000
_NUMBER: Final = re.compile("[0-9]{1,4}")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of ``count`` shards, from 0 on."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str, where: str) -> Self:
        """``2/16``. Raises InputError."""
        index, slash, count = text.partition("/")
        numbers = [int(each) if _NUMBER.fullmatch(each) else -1 for each in (index, count)]
        if not slash or not 0 <= numbers[0] < numbers[1] <= _MOST:
            raise input_error(
                Code.INVALID_OPTION,
                "is not a shard such as 0/4: its index, which is less than the number of shards",
                where=where,
                fix=f"The first of four shards is 0/4, the last one 3/4. There may be {_MOST:,}",
            )
        return cls(*numbers)

    def has(self, cluster: str) -> bool:
        """Whether the cluster is in this shard.

        Rendezvous hashing: each cluster is in the shard with the largest digest of shard and cluster. One shard more
        gets its clusters from all others, and no other cluster moves.
        """
        digests = [sha256(f"{shard} {cluster}".encode()).digest() for shard in range(self.count)]
        return digests.index(max(digests)) == self.index
