"""What clusters share while they are planned: found once, and forgotten before they are planned again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")

_KEPT: Final = 64
_NONE: Final[Mapping[Path, tuple[str, ...]]] = {}


class Memo:
    """Keeps the most recently used answers, at most so many. With ``kept=0`` each question is answered anew.

    ``folders`` are those in work trees about which git is asked once for all clusters.
    """

    def __init__(self, kept: int = _KEPT, folders: Mapping[Path, tuple[str, ...]] = _NONE) -> None:
        self.folders = folders
        self._kept = kept
        self._known: dict[Hashable, Any] = {}

    def get(self, question: Hashable, answer: Callable[[], T]) -> T:
        """The answer to a question. An error is not kept."""
        found: T = self._known.pop(question) if question in self._known else answer()
        self._known[question] = found  # the most recently used one is last
        while len(self._known) > self._kept:
            del self._known[next(iter(self._known))]
        return found
