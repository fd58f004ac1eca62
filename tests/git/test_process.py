"""git itself: which versions are taken, and that it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from osm_gitops.errors import Code, TargetError
from osm_gitops.git.process import Git
from tests.faults import Expected, refused


def _git_says(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{text}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))


@pytest.mark.parametrize("version", ["2.24.4", "1.8.3.1"])
def test_an_old_git_is_refused_with_what_to_do(tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _git_says(tmp_path, f"git version {version}", monkeypatch)
    with refused(Expected(Code.GIT_UNUSABLE, version, "2.25"), kind=TargetError):
        Git(tmp_path)


@pytest.mark.parametrize("version", ["2.25.0", "2.39.5 (Apple Git-154)", "2.51.0.windows.1", "3.0.0"])
def test_a_git_that_is_young_enough_is_taken(tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _git_says(tmp_path, f"git version {version}", monkeypatch)
    Git(tmp_path)


def test_a_git_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused(Expected(Code.GIT_UNUSABLE, "2.25"), kind=TargetError):
        Git(tmp_path)
