"""Gathering problems: one fault must not hide the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from osm_gitops.errors import InputError, Problem

T = TypeVar("T")


class ErrorCollector:
    """Runs steps that may raise InputError, and keeps each problem once, in order."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def run(self, step: Callable[[], T]) -> T | None:
        """The step's result, or ``None`` where it failed."""
        try:
            return step()
        except InputError as failure:
            self.problems += [problem for problem in failure.problems if problem not in self.problems]
            return None
