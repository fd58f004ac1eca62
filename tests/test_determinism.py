"""The same inputs give the same bytes: whatever the hash seed, locale, time zone, folder or order of files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.sops.keys import new_identity
from tests.conformance.test_cases import _write_tree, flags_of
from tests.conformance_data import case_names, load_case, outside_names
from tests.demo_fleet import DEMO, DEMO_KEY

# Colours are no surrounding but a wish that a plan fulfils, so none that is in force here may reach a run.
_NOT_PASSED_ON = ("LC_", "LANG", "OSM_GITOPS_", "OS_", "SOPS_", "NO_COLOR", "FORCE_COLOR", "CLICOLOR")
_PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
# Each run costs seconds, so each differs from the plain one in all that it can at once.
_SURROUNDINGS: dict[str, dict[str, str]] = {
    "random hash seed, Turkish, Kiritimati, narrow terminal": {
        "PYTHONHASHSEED": "random",
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "Pacific/Kiritimati",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "COLUMNS": "20",
    },
    "hash seed 1, C, Los Angeles, optimised, no UTF-8": {
        "PYTHONHASHSEED": "1",
        "LC_ALL": "C",
        "TZ": "America/Los_Angeles",
        "PYTHONOPTIMIZE": "1",
        "PYTHONUTF8": "0",
    },
}


def _run(folder: Path, *arguments: str, **surroundings: str) -> bytes:
    """stdout of one run in a process of its own."""
    environment = _PLAIN | DEMO_KEY | {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"} | surroundings
    done = subprocess.run(
        [sys.executable, "-m", "osm_gitops", *arguments], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout
    return done.stdout


def _shuffled(tree: Path, into: Path) -> Path:
    """The same files under other names, made in another order."""
    into.mkdir()
    for number, path in enumerate(sorted(tree.iterdir(), reverse=True)):
        shutil.copy(path, into / f"{'zyxwvutsrq'[number % 10]}{number}{path.suffix}")
    return into


def _richest_case(names: Sequence[str]) -> dict[str, Any]:
    """The accepted case whose objects are largest: most flags, files and credentials together."""
    cases = [load_case(name) for name in names]
    accepted = [case for case in cases if "objects" in case["expected"] and "md" in case]
    return max(accepted, key=lambda case: len(json.dumps(case["expected"])))


@pytest.fixture(scope="module")
def demo_plan() -> bytes:
    return _run(DEMO, "plan", "-v")


@pytest.fixture(scope="module")
def demo_objects() -> bytes:
    return _run(DEMO, "render", "--to", "-")


@pytest.mark.parametrize("surroundings", _SURROUNDINGS.values(), ids=_SURROUNDINGS)
def test_the_demo_fleet_is_the_same_in_all_surroundings(
    surroundings: dict[str, str], demo_objects: bytes, demo_plan: bytes
) -> None:
    assert _run(DEMO, "render", "--to", "-", **surroundings) == demo_objects
    assert _run(DEMO, "plan", "-v", **surroundings) == demo_plan


def test_pipes_get_utf_8_and_bare_line_feeds_where_the_system_has_another_encoding(tmp_path: Path) -> None:
    written = _run(
        tmp_path, "init", "»Köln«", "--age-recipient", new_identity()[1], PYTHONUTF8="0", PYTHONIOENCODING="cp1252"
    )
    assert "»Köln«/osm-gitops.yaml\n" in written.decode()
    assert b"\r" not in written


def test_the_demo_fleet_is_the_same_from_any_folder(tmp_path: Path, demo_objects: bytes) -> None:
    fleet = ("render", "--to", "-", "--fleet", str(DEMO / "osm-gitops.yaml"))
    assert _run(tmp_path, *fleet) == demo_objects
    assert _run(DEMO / "osps", "render", "--to", "-") == demo_objects


@pytest.mark.parametrize("names", [case_names, pytest.param(outside_names, marks=pytest.mark.conformance)])
def test_a_case_with_everything_is_the_same_whatever_its_files_are_called(
    tmp_path: Path, names: Callable[[], Sequence[str]]
) -> None:
    case = _richest_case(names())
    tree = tmp_path / "tree"
    _write_tree(case, tree)
    first = _run(tmp_path, "render", "--from", "tree", "--to", "-", *flags_of(case))
    other = _shuffled(tree, tmp_path / "other")
    for surroundings in ({"PYTHONHASHSEED": "7"}, {"PYTHONHASHSEED": "random", "LC_ALL": "C", "PYTHONOPTIMIZE": "2"}):
        assert _run(tmp_path, "render", "--from", str(other), "--to", "-", *flags_of(case), **surroundings) == first


def test_written_files_are_the_same_bytes_too(tmp_path: Path) -> None:
    for number, surroundings in enumerate(({"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "1", "LC_ALL": "C"})):
        environment = _PLAIN | DEMO_KEY | surroundings
        command = [sys.executable, "-m", "osm_gitops", "render", "--to", str(tmp_path / str(number))]
        subprocess.run(command, cwd=DEMO, env=environment, capture_output=True, check=True)
    first, second = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.yaml")}
        for name in ("0", "1")
    )
    assert first == second
    assert len(first) > 20
