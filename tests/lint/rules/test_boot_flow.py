"""Mistakes in the flow of a boot are found where they are, and what works has no finding."""

from __future__ import annotations

import pytest

from tests.lint.rules.boot_edits import Edit, Planted, base
from tests.lint.rules.boot_mistakes import FINE, MISTAKES
from tests.lint.rules.documents import findings_of


@pytest.mark.parametrize("planted", MISTAKES, ids=str)
def test_a_planted_mistake_is_found_where_it_is(planted: Planted) -> None:
    edited = planted.edit(base(planted.os))
    found = [(finding.id, finding.where.partition(":")[0]) for finding in findings_of(edited)]

    assert planted.id in {id_ for id_, _ in found}
    assert not planted.at or (planted.id, planted.at) in found


@pytest.mark.parametrize("edit", FINE.values(), ids=FINE)
def test_what_works_has_no_finding(edit: Edit) -> None:
    assert findings_of(edit(base("ubuntu"))) == []


@pytest.mark.parametrize("os", ["ubuntu", "rhel", "rockylinux", "amzn2", "flatcar", "flatcar-cloud-init"])
def test_the_default_profiles_have_no_finding(os: str) -> None:
    assert findings_of(base(os)) == []
