"""Random whole cases through the command line.

What templates make is compared with Go; the rest must hold by itself: an exit code and a sentence, user-data that
is JSON or YAML, and nothing left to do after an apply.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from osm_gitops.errors import InputError
from osm_gitops.gotemplate.assembly import CompiledHalf, Machine, compile_go_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.pipeline import rendering
from osm_gitops.render import config
from osm_gitops.workers.limits import Limits
from tests.apiserver.after_osm import recorded
from tests.cli.running import osm_gitops
from tests.conformance.test_cases import flags_of, render_case
from tests.conformance_data import case_names, outside_names, released_profiles
from tests.oracle_tests.comparison import Half, compare
from tests.oracle_tests.random_cases import Cases

pytestmark = pytest.mark.oracle


class _Watched:
    """A half that notes with what data it is rendered."""

    def __init__(self, half: CompiledHalf, note: Half, notes: list[Half]) -> None:
        self.half, self.note, self.notes = half, note, notes

    def render(self, data: Mapping[str, Any] | Machine) -> tuple[str, ...]:
        seen = data.data if isinstance(data, Machine) else data
        self.notes.append(Half(self.note.files, dict(seen), self.note.templates))
        return self.half.render(data)

    def reads(self) -> frozenset[str]:
        return self.half.reads()

    def reads_by_file(self) -> tuple[frozenset[str], ...]:
        return self.half.reads_by_file()


class _Here:
    """A series whose calls run in this process, where they can be watched."""

    def __init__(self, make: Callable[..., Any], *arguments: Any, limits: Limits) -> None:  # noqa: ARG002
        self.state = make(*arguments)

    def ask(self, function: Callable[..., Any], *arguments: Any, times: int = 1) -> Any:  # noqa: ARG002
        return function(self.state, *arguments)

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for arguments in calls:
            try:
                yield function(self.state, *arguments)
            except InputError as failure:
                yield failure


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> list[Half]:
    """Every half that the command line renders, with its data."""
    notes: list[Half] = []

    def compile_half(engine: Engine, templates: Mapping[str, str], files: Sequence[tuple[str, str]]) -> CompiledHalf:
        return _Watched(compile_go_half(engine, templates, files), Half(dict(files), {}, dict(templates)), notes)

    monkeypatch.setattr(config, "compile_go_half", compile_half)
    monkeypatch.setattr(rendering, "Series", _Here)
    return notes


def _check_user_data(objects: list[dict[str, Any]]) -> None:
    for text in (each["data"]["cloud-config"] for each in objects if "cloud-config" in each.get("data", {})):
        if text.startswith("{"):
            json.loads(text)
        elif "\nwrite_files:\n" in text and "coreos:" not in text:
            yaml.safe_load(text)


def _nothing_is_left(case: dict[str, Any], folder: Path) -> None:
    """Apply the tree of a rendered case to a repository, and plan again."""
    target = folder / "repository"
    subprocess.run(["git", "init", "--quiet", target], check=True)
    places = ["--from", str(folder / "tree"), "--to", str(target), *flags_of(case)]
    applied = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets", *places)
    assert applied.code == 0, applied.err
    planned = osm_gitops("plan", "--detailed-exitcode", "--dangerously-plaintext-secrets", *places)
    assert planned.code == 0, planned.out + planned.err


@pytest.mark.parametrize("seed", range(2))
def test_whole_cases_render_or_say_why_not(seed: int, tmp_path: Path, halves: list[Half]) -> None:
    profiles = [body for body in recorded() if body["kind"] == "OperatingSystemProfile"]
    _check_cases(Cases(Random(seed), case_names(), profiles), tmp_path, halves)


@pytest.mark.conformance
@pytest.mark.parametrize("seed", range(2))
def test_whole_cases_of_released_profiles_render_or_say_why_not(seed: int, tmp_path: Path, halves: list[Half]) -> None:
    profiles = [yaml.safe_load(path.read_text("utf-8")) for path in released_profiles()]
    _check_cases(Cases(Random(seed), (*case_names(), *outside_names()), profiles), tmp_path, halves)


def _check_cases(cases: Cases, tmp_path: Path, halves: list[Half]) -> None:
    rendered = 0
    for number in range(40):
        case, folder = cases.case(), tmp_path / str(number)
        folder.mkdir()
        code, objects, said = render_case(case, folder)
        assert "Traceback" not in said
        if code == 0:
            rendered += 1
            _check_user_data(objects)
            if number % 4 == 0:
                _nothing_is_left(case, folder)
        else:
            assert code == 1
            assert "Error: " in said
    assert rendered > 10
    compare(halves).check(most_refused=0.1)
