"""Random bodies: text, trim markers, comments, variables, nested control, definitions (osm-behaviour.md, "Template
language")."""

from __future__ import annotations

from random import Random

import pytest

from tests.oracle_tests.bodies import Bodies
from tests.oracle_tests.comparison import compare, one_file
from tests.oracle_tests.random_data import random_data

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("seed", range(3))
def test_bodies_print_what_go_prints(seed: int) -> None:
    random = Random(seed)
    texts = [Bodies(random, defined=("d", "e")).template() for _ in range(1500)]
    compare([one_file(text, random_data(random)) for text in texts]).check(most_refused=0.05)
