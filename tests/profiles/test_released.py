"""Sets of default profiles never change: their digests are recorded in ``released.json``.

Fleets pin them, and ``init`` pins the newest, so a set is recorded by the change that adds it, with what
:func:`digest` gives for its folder.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from osm_gitops.sources import builtin

RELEASED = Path(__file__).with_name("released.json")


def digest(folder: Path) -> str:
    """SHA-256 over the names and bytes of all files below a folder, in the order of their names."""
    found = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return found.hexdigest()


def test_a_released_set_is_byte_for_byte_what_it_was() -> None:
    released = json.loads(RELEASED.read_text("utf-8"))
    assert {version: digest(builtin.FOLDER / version) for version in released} == released


def test_every_set_that_a_fleet_can_pin_is_recorded() -> None:
    assert set(json.loads(RELEASED.read_text("utf-8"))) == set(builtin.versions())


def test_every_change_of_a_set_shows_in_its_digest(tmp_path: Path) -> None:
    folder = tmp_path / "v1.0.0"
    (folder / "parts").mkdir(parents=True)
    (folder / "a.yaml").write_text("a", "utf-8")
    seen = {digest(folder)}
    (folder / "a.yaml").write_text("b", "utf-8")
    seen.add(digest(folder))
    (folder / "parts" / "a.yaml").write_text("", "utf-8")
    seen.add(digest(folder))
    (folder / "parts" / "a.yaml").rename(folder / "parts" / "b.yaml")
    seen.add(digest(folder))
    assert len(seen) == 4
