"""How long to wait for a server, and how often to ask again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_RETRY_AFTER = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Seconds, and ways to wait that tests replace.

    ``connect`` bounds making a connection, ``read`` every wait for more bytes, ``total`` a request with all of its
    tries to the last byte of the answer. A server that never answered is given up after ``strange`` tries: its address
    may be wrong. Without ``sleep`` a pause ends when the run is interrupted.
    """

    connect: float = 10.0
    read: float = 60.0
    total: float = 180.0
    tries: int = 8
    strange: int = 3
    first: float = 0.25
    longest: float = 15.0
    sleep: Callable[[float], None] | None = None
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    today: Callable[[], datetime] = lambda: datetime.now(UTC)

    def pause(self, tried: int, retry_after: str = "") -> float:
        """How long to wait after so many tries: twice as long each time, and never many clients at the same moment."""
        wait = min(self.longest, self.first * 2.0 ** (tried - 1))
        jittered = wait * (0.5 + self.chance() / 2)
        return max(jittered, self._asked(retry_after) + self.first * self.chance())

    def _asked(self, retry_after: str) -> float:
        """What a Retry-After asks for, seconds or a date; nothing that makes no sense, and never more than a minute."""
        text = retry_after.strip()
        if text.isascii() and text.isdigit():
            return min(float(text), _LONGEST_RETRY_AFTER)
        try:
            at = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return 0.0
        moment = at if at.tzinfo else at.replace(tzinfo=UTC)
        return min(max(0.0, (moment - self.today()).total_seconds()), _LONGEST_RETRY_AFTER)


RETRY_POLICY = RetryPolicy()
