"""Merging an edit that a library wrote in its own layout into an original that has another one."""

from __future__ import annotations

import pytest

from osm_gitops.yaml.merge import keeps_lines, merge_texts

_NEXT_TO_IT = "l:\n-   a: 1\n    n: v\n    b: 2\n"


@pytest.mark.parametrize(
    ("base", "after", "original", "merged"),
    [
        ("a: x\nb: 1\n", "a: y\nb: 1\n", "a: x\nb: 1\n", "a: y\nb: 1\n"),
        ("a: x\nb: 1\n", "a: y\nb: 1\n", "a: x\n# c\nb:   1  \n", "a: y\n# c\nb:   1  \n"),
        ("a: x # c\n", "a: y # c\n", "a:   x   # c\n", "a:   y   # c\n"),
        ("a: [1, x]\n", "a: [1, y]\n", "a: [\n  1,\n  x]\n", "a: [\n  1,\n  y]\n"),
        ("l:\n  - a: 1\n    b: 2\n", "l:\n  - a: 1\n    n: v\n    b: 2\n", "l:\n-   a: 1\n    b: 2\n", _NEXT_TO_IT),
        ("a: |\n  x\n", "a: |\n  y\n    z\n", "a: |\n     x\n", "a: |\n     y\n       z\n"),
        ("a: |2\n   x\n", "a: |2\n   y\n", "a: |4\n     x\n", "a: |4\n     y\n"),
        ("a: x\nb: 1\n", "a: y\nn: v\nb: 1\n", "a: x\r\nb:  1\r\n", "a: y\r\nn: v\r\nb:  1\r\n"),
    ],
)
def test_what_the_edit_changes_is_changed_and_nothing_else(base: str, after: str, original: str, merged: str) -> None:
    assert merge_texts(base, after, original) == merged


def test_lines_that_no_edit_concerns_are_looked_for_in_their_order() -> None:
    assert keeps_lines("a\nnew\nb\nc", "a\nx\nb\nc", {1})
    assert not keeps_lines("a\nnew\nc", "a\nx\nb\nc", {1})
    assert not keeps_lines("b\na", "a\nb", set())
