"""Shamir's secret sharing over GF(2⁸), as sops splits a data key among key groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_POLYNOMIAL: Final = 0x11B


def combine(shares: Sequence[bytes]) -> bytes:
    """The secret of two or more different ``shares`` of one length; the last byte of each is its x.

    Raises ValueError for shares that do not belong together. Too few shares give a wrong secret.
    """
    places = [share[-1] for share in shares if share]
    if len(set(places)) < max(2, len(shares)) or len({len(share) for share in shares}) != 1 or 0 in places:
        raise ValueError("the shares do not belong together")
    weights = [_weight(x, places) for x in places]
    return bytes(
        _sum(_times(y, weight) for y, weight in zip(column, weights, strict=True)) for column in _columns(shares)
    )


def _columns(shares: Sequence[bytes]) -> zip[tuple[int, ...]]:
    return zip(*(share[:-1] for share in shares), strict=True)


def _weight(x: int, places: Sequence[int]) -> int:
    """Lagrange's coefficient of the share at ``x`` for the value at 0; subtraction is exclusive or."""
    weight = 1
    for other in places:
        if other != x:
            weight = _times(weight, _times(other, _inverse(other ^ x)))
    return weight


def _sum(values: Iterable[int]) -> int:
    total = 0
    for value in values:
        total ^= value
    return total


def _times(left: int, right: int) -> int:
    product = 0
    while right:
        if right & 1:
            product ^= left
        left <<= 1
        if left & 0x100:
            left ^= _POLYNOMIAL
        right >>= 1
    return product


def _inverse(value: int) -> int:
    """``value`` to the power of 254, by Fermat's little theorem."""
    result = 1
    for _ in range(254):
        result = _times(result, value)
    return result
