"""Templates that try to take more time or memory than they may end with a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import pytest

from osm_gitops.gotemplate.bounds import Bounds
from tests.hostile.cases import cases
from tests.hostile.confined import Confinement, Prison
from tests.hostile.templates import (
    NAMED,
    Attack,
    filter_attacks,
    function_attacks,
    go_attacks,
    text_attacks,
)

_SMALL: Final = Confinement(Bounds(output_bytes=1 << 18, loop_steps=20_000), cpu=1.0, memory=300)
"""A fiftieth of the default steps: what meets these bounds in a second meets the default ones in ten or so."""
_USUAL: Final = Confinement()
_SHARES: Final = 4


@pytest.fixture(scope="module")
def usual() -> Iterator[Prison]:
    prison = Prison(_USUAL)
    yield prison
    prison.close()


@pytest.fixture(scope="module")
def small() -> Iterator[Prison]:
    prison = Prison(_SMALL)
    yield prison
    prison.close()


def _share(attacks: Iterable[Attack], every: int, first: int = 0) -> list[Attack]:
    return list(islice(attacks, first, None, every))


@pytest.mark.parametrize("name", cases(NAMED, list(NAMED)[::4]))
def test_known_attacks_end_with_a_sentence(usual: Prison, name: str) -> None:
    """Each of these once took all memory, or minutes and more."""
    assert not usual.failures([NAMED[name]])


def test_some_attacks_of_every_kind_end_with_a_sentence(small: Prison) -> None:
    chosen = [*_share(function_attacks(), 41), *_share(filter_attacks(), 41), *_share(go_attacks(), 41)]
    assert len(chosen) > 40
    assert not small.failures(chosen)


@pytest.mark.exhaustive
def test_some_long_texts_are_translated_or_refused(usual: Prison) -> None:
    chosen = _share(text_attacks(), 17)
    assert len(chosen) > 10
    assert not usual.failures(chosen)


@pytest.mark.oracle
@pytest.mark.parametrize("first", range(_SHARES))
def test_every_function_keeps_its_bounds(small: Prison, first: int) -> None:
    assert not small.failures(_share(function_attacks(), _SHARES, first))


@pytest.mark.oracle
@pytest.mark.parametrize("first", range(_SHARES))
def test_every_filter_test_and_operator_keeps_its_bounds(small: Prison, first: int) -> None:
    assert not small.failures(_share(filter_attacks(), _SHARES, first))


@pytest.mark.oracle
def test_every_function_keeps_its_bounds_in_go_templates(small: Prison) -> None:
    assert not small.failures(list(go_attacks()))


@pytest.mark.oracle
@pytest.mark.parametrize("first", range(_SHARES))
def test_every_long_text_is_translated_or_refused(usual: Prison, first: int) -> None:
    assert not usual.failures(_share(text_attacks(), _SHARES, first))
