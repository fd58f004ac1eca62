"""Kinds of attacks as parameters of tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def cases(kinds: Iterable[str], quick: Collection[str]) -> list[Any]:
    """Kinds as parameters: those that are ``quick`` are in every run, the others in whole ones only."""
    return [pytest.param(kind, id=kind, marks=[] if kind in quick else [pytest.mark.oracle]) for kind in kinds]
