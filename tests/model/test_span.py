"""Lengths of time as people say them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from osm_gitops.model.span import spoken


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(), "0 s"),
        (timedelta(seconds=-5), "0 s"),
        (timedelta(seconds=59, milliseconds=900), "59 s"),
        (timedelta(seconds=61), "1 min 1 s"),
        (timedelta(minutes=90), "1 h 30 min"),
        (timedelta(hours=24), "24 h"),
        (timedelta(hours=71, minutes=59, seconds=59), "71 h 59 min"),
        (timedelta(hours=72), "3 d"),
        (timedelta(days=400, hours=5, minutes=9), "400 d 5 h"),
    ],
)
def test_a_length_of_time_is_said_in_two_units(length: timedelta, text: str) -> None:
    assert spoken(length) == text
