"""Masterminds/semver 3.4.0: every expectation was given by the library itself."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.semver import parse_constraint, parse_version
from tests.conformance_data import template_lines

_CALL = re.compile(r'\{\{ semverCompare ("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*") \}\}')


def _holds(constraint: str, version: str) -> bool:
    return parse_constraint(constraint).check(parse_version(version))


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("1.30", "1.30.0"),
        ("v1", "1.0.0"),
        ("01.030.1", "1.30.1"),
        ("1.30.5+k3s1", "1.30.5+k3s1"),
        ("v1.2-rc.1", "1.2.0-rc.1"),
        ("1.2.3-0a.0+001", "1.2.3-0a.0+001"),
        ("18446744073709551615.0.0", "18446744073709551615.0.0"),
    ],
)
def test_a_version_is_normalised(text: str, normalised: str) -> None:
    version = parse_version(text)
    assert str(version) == normalised
    assert version.original == text


@pytest.mark.parametrize("text", ["", "V1.30.0", " 1.30.0", "1.30.x", "1.2.3.4", "1.2.3-", "1.2.3\n", "١.0.0", "1..2"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(GoError, match=r"^invalid semantic version$"):
        parse_version(text)


@pytest.mark.parametrize("text", ["1.2.3-01", "1.2.3-rc.01", "18446744073709551616", "1.99999999999999999999"])
def test_leading_zeros_of_a_pre_release_and_huge_numbers_are_refused(text: str) -> None:
    with pytest.raises(GoError):
        parse_version(text)


def test_versions_are_ordered_pre_releases_first_and_numbers_before_words() -> None:
    ascending = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-18446744073709551616", "1.0.0-A", "1.0.0-a", "1.0.0-a.1"]
    ascending += ["1.0.0-a.b", "1.0.0", "1.0.1-0", "1.0.1", "1.10.0", "2.0.0"]
    versions = list(map(parse_version, ascending))
    assert all(lower < higher for lower, higher in pairwise(versions))
    assert parse_version("1.0.0+a") == parse_version("v1+b")
    assert hash(parse_version("1.0.0+a")) == hash(parse_version("1"))


@pytest.mark.parametrize(
    ("constraint", "satisfied_by", "not_by"),
    [
        ("<1.29", "1.28.9", "1.29.0"),
        (">1.30", "1.31.0", "1.30.9"),
        ("<=1.30", "1.30.9", "1.31.0"),
        ("=1.30", "1.30.9", "1.31.0"),
        ("1.30.x", "1.30.9", "1.31.0"),
        ("~1.33.0", "1.33.4", "1.34.0"),
        ("~1", "1.99.0", "2.0.0"),
        ("^1.2.3", "1.9.0", "1.2.2"),
        ("^0.2.3", "0.2.9", "0.3.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("!=1.2", "1.3.0", "1.2.5"),
        (">=1.2,<1.4", "1.3.0", "1.4.0"),
        (">= 1.2 < 1.4", "1.3.0", "1.4.0"),
        ("1.2 - 1.4", "1.4.0", "1.5.0"),
        ("<1 || >=2", "2.0.0", "1.5.0"),
        ("=> v1.2", "1.2.0", "1.1.9"),
        (">=1.29.0-0", "1.29.0-rc.1", "1.28.0"),
    ],
)
def test_a_constraint_holds_or_not(constraint: str, satisfied_by: str, not_by: str) -> None:
    assert _holds(constraint, satisfied_by)
    assert not _holds(constraint, not_by)


@pytest.mark.parametrize("constraint", ["<1.29", ">=1.29", "*", "~1.29", "!=1.0"])
def test_a_pre_release_satisfies_only_what_names_one(constraint: str) -> None:
    assert not _holds(constraint, "1.29.0-rc.1")
    assert _holds("1.29.0-rc.1", "1.29.0-rc.1")
    assert not _holds(">=1.29.0-0 <2 || <1", "0.5.0-rc.1")


@pytest.mark.parametrize("constraint", ["", " ", "||", ">", "> = 1", "1.2.3.4", "1;2", "a", "1,,2", "1xx", "v", "1.x1"])
def test_a_bad_constraint_is_refused(constraint: str) -> None:
    with pytest.raises(GoError):
        parse_constraint(constraint)


def test_every_comparison_of_the_conformance_data_agrees() -> None:
    checked = 0
    for line in template_lines():
        call = _CALL.fullmatch(line["template"])
        if call is None:
            continue
        checked += 1
        constraint, version = map(json.loads, call.groups())
        if line.get("refused"):
            with pytest.raises(GoError):
                _holds(constraint, version)
        else:
            assert _holds(constraint, version) is (line["output"] == "true"), line
    assert checked >= 200


def test_a_long_constraint_with_many_blanks_is_refused_at_once() -> None:
    with pytest.raises(GoError, match="improper constraint"):
        parse_constraint("1" + ("  " * 50 + "1") * 2000 + "!")
