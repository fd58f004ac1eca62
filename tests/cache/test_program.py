"""The digest of this program follows its files, and those of libraries."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from osm_gitops.cache import program
from osm_gitops.cache.program import program_digest


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of two rooms, with a library."""
    for name in ("package/room/a.py", "package/room/b.toml", "package/other/c.py", "lib/deep/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "lib/__init__.py").write_text("raise SystemExit  # it is not imported\n")
    monkeypatch.setattr(program, "_PACKAGE", tmp_path / "package")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def _digest(*parts: str) -> str:
    program_digest.cache_clear()
    return program_digest(parts or ("room", "other/c.py"), ("lib",))


@pytest.mark.parametrize(
    "name", ["package/room/a.py", "package/room/b.toml", "package/other/c.py", "lib/deep/d.py", "package/room/new.py"]
)
def test_a_file_that_changes_makes_another_digest(package: Path, name: str) -> None:
    before = _digest()
    assert _digest() == before
    (package / name).write_text("changed")
    assert _digest() != before


def test_a_file_elsewhere_does_not(package: Path) -> None:
    before = _digest()
    (package / "package/other/new.py").write_text("")
    (package / "package/room/notes.md").write_text("")
    assert _digest() == before
    assert _digest("room") != before


def test_another_version_makes_another_digest(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert package.exists()
    found = [_digest()]
    monkeypatch.setattr(program, "__version__", "0.0.0")
    found.append(_digest())
    monkeypatch.setattr(sys, "version", "3.99")
    found.append(_digest())
    assert len(set(found)) == len(found)
