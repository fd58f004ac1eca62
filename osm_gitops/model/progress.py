"""Progress of long work: who does it tells how far it is, and knows nothing of who listens."""

from __future__ import annotations

from collections.abc import Callable

Advance = Callable[[int, int], None]
"""Told after each piece of work how many are done, of how many."""


def unwatched(_done: int, _total: int) -> None:
    """For work that nobody watches."""
