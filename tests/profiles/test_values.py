"""The values that default profiles read are the documented ones, with the documented defaults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from osm_gitops.sources import builtin

_PAGE: Final = Path(__file__).parents[2] / "docs/default-profiles.md"


def _read() -> dict[str, set[str]]:
    """The defaults, as they are written, of each value that sources and parts of the newest set read."""
    found: dict[str, set[str]] = {}
    for path in sorted((builtin.FOLDER / builtin.newest()).rglob("*")):
        if path.is_file():
            for name, default in re.findall(
                r'value\("([\w.]+)"(?:, ("[^"]*"|true|false|\d+|\[\]|\{\}))?', path.read_text("utf-8")
            ):
                found.setdefault(name, set()).update([default] if default else [])
    return found


def _documented() -> dict[str, str]:
    """Value and default column of each row."""
    table = _PAGE.read_text("utf-8").split("<!-- values -->")[1].split("<!-- end -->")[0]
    rows = [line.split("|")[1:3] for line in table.strip().splitlines()[2:]]
    return {name: default.strip() for names, default in rows for name in re.findall(r"`([^`]+)`", names)}


def test_every_value_that_a_default_profile_reads_is_documented_and_no_other() -> None:
    assert sorted(_documented()) == sorted(_read())


def test_the_documented_defaults_are_those_of_the_profiles() -> None:
    documented = _documented()
    for name, defaults in _read().items():
        texts = {default.strip('"') for default in defaults} - {"", "{}"}
        assert all(f"`{text}`" in documented[name] for text in texts), name
