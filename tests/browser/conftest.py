"""One browser for the tests of a module: to start one takes a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.judges.browser import Browser, browser


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as window:
        yield window


@pytest.fixture
def window(opened: Browser) -> Iterator[Browser]:
    """The browser as it is at first."""
    opened.resize(1300, 900)
    opened.emulate()
    opened.scripts(on=True)
    yield opened
    assert opened.log() == []  # nothing was refused, and no script failed
