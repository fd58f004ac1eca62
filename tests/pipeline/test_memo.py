"""What clusters share is found once, and an error is not kept."""

from __future__ import annotations

from itertools import count

import pytest

from osm_gitops.pipeline.memo import Memo


def test_an_answer_is_found_once_as_long_as_it_is_used() -> None:
    memo, asked = Memo(2), count()
    assert memo.get("a", lambda: next(asked)) == 0
    assert memo.get("b", lambda: next(asked)) == 1
    assert memo.get("a", lambda: next(asked)) == 0
    assert memo.get("c", lambda: next(asked)) == 2
    assert memo.get("a", lambda: next(asked)) == 0
    assert memo.get("b", lambda: next(asked)) == 3


def test_an_error_is_not_kept_and_no_memory_keeps_nothing() -> None:
    def fail() -> int:
        raise KeyError

    memo = Memo()
    with pytest.raises(KeyError):
        memo.get("a", fail)
    assert memo.get("a", lambda: 1) == 1
    none = Memo(0)
    assert [none.get("a", lambda value=value: value) for value in range(2)] == [0, 1]  # type: ignore[misc]
