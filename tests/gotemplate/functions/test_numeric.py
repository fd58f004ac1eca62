"""Sprig's numbers."""

from __future__ import annotations

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import Bounds, Spending
from osm_gitops.gotemplate.faults import BoundExceeded
from osm_gitops.gotemplate.functions import numeric
from osm_gitops.gotemplate.values import Duration, Int32, Int64, NamedString, Pointer, Uint64, nil
from tests.gotemplate.functions.go_vectors import disagreements, vectors


def test_the_functions_do_what_sprig_does() -> None:
    assert disagreements("numeric", numeric.FUNCTIONS) == []
    assert {name for name, _, _ in vectors("numeric")} == {function.name for function in numeric.FUNCTIONS}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (Pointer(Int32(110), "int32"), 110),
        (Pointer(Pointer("7", "string"), "*string"), 7),
        (nil("int32"), 0),
        (Duration(90), 90),
        (Pointer(Duration(7), "time.Duration"), 7),
        (NamedString("0x10"), 16),
        (Uint64((1 << 64) - 1), -1),
        (1e20, -(1 << 63)),
        (float("nan"), -(1 << 63)),
        ([1], 0),
    ],
)
def test_any_value_becomes_an_integer(value: object, number: int) -> None:
    assert numeric.to_int(value) == number
    assert type(numeric.to_int(value)) is int
    assert type(numeric.to_int64(value)) is Int64


def test_the_smallest_number_divided_by_minus_one_stays_itself() -> None:
    assert numeric.divide(-(1 << 63), -1) == -(1 << 63)
    assert numeric.modulo(-(1 << 63), -1) == 0


def test_division_by_zero_is_an_error() -> None:
    for wrong in (numeric.divide, numeric.modulo, numeric.divide_floats):
        with pytest.raises(GoError, match=r"by (zero|0)"):
            wrong(1, "x")


@pytest.mark.parametrize("stop", [1001, -(1 << 63), (1 << 63) - 1])
def test_a_long_sequence_is_refused_before_it_is_made(stop: int) -> None:
    for spent in (Bounds(loop_steps=1000), Bounds(output_bytes=1000)):
        with Spending(spent), pytest.raises(BoundExceeded):
            numeric.until(stop)
        with Spending(spent), pytest.raises(BoundExceeded):
            numeric.seq(stop)
