"""``--log-format json``: every line on stderr is one JSON object, whatever happens."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.cli import gate
from osm_gitops.cli.console import Console, LogFormat, Progress, console
from osm_gitops.errors import Code, Problem
from osm_gitops.model.objects import ObjectRef
from osm_gitops.report.mask import Masker
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_tree
from tests.cli.schemas import checked

Told = Callable[[], list[Mapping[str, Any]]]


def entries(text: str) -> list[Mapping[str, Any]]:
    """The lines, which have a time that a collector understands."""
    found = [checked("log", line) for line in text.splitlines()]
    for entry in found:
        assert datetime.fromisoformat(entry.pop("time")).tzinfo is not None
    return list(found)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """What the console has said since, in JSON."""
    monkeypatch.setattr(console, "form", LogFormat.JSON)
    return lambda: entries(capsys.readouterr().err)


def test_a_failed_pool_is_an_entry_with_its_cluster_its_pool_and_its_parts(tmp_path: Path) -> None:
    bad = pool("bad", provider={"operatingSystem": "suse"})
    write_tree(tmp_path / "tree", profile(), bad, pool("good"))
    command = ("render", "--from", "tree", "--to", "-", "--cluster", "prod")
    ran = osm_gitops(*command, "--log-format", "json")
    assert ran.code == 1
    (entry,) = (each for each in entries(ran.err) if each["level"] == "error")
    assert (entry["cluster"], entry["pool"]) == ("prod", "kube-system/bad")
    assert entry["problem"]["object"] == "MachineDeployment kube-system/bad"
    assert f"Error: {entry['message']}" in osm_gitops(*command).err.splitlines()


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "-log-format=JSON", "--nonsense"),
        ("plan", "-log-format", "json", "-external-cloud-provider=perhaps"),
        ("render", "--from", "nowhere", "--to", "-", "--log-format=json"),
        ("osp", "show", "--log-format", "json"),
    ],
)
def test_mistakes_on_the_command_line_are_entries_too(arguments: tuple[str, ...]) -> None:
    ran = osm_gitops(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert {entry["level"] for entry in entries(ran.err)} == {"error"}


def test_the_environment_asks_for_it_and_a_flag_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSM_GITOPS_LOG_FORMAT", "json")
    assert entries(osm_gitops("plan", "--nonsense").err)
    assert osm_gitops("plan", "--nonsense", "-log-format=Console").err.startswith("Error: ")
    ran = osm_gitops("plan", "--log-format", "xml")
    assert ran.code == 1
    assert "'xml' is not one of 'text', 'json'" in ran.err


def test_a_bug_and_an_interrupt_are_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    blows = {"info": KeyboardInterrupt(), "error": ValueError("a secret")}
    for level, blow in blows.items():

        def run(_arguments: object, _command_line: object, blow: BaseException = blow) -> int:
            raise blow

        monkeypatch.setattr(gate, "_run", run)
        (entry,) = entries(osm_gitops("plan", "--log-format", "json").err)
        assert entry["level"] == level
        assert "a secret" not in entry["message"]


@pytest.mark.usefixtures("told")
def test_progress_is_a_line_with_figures_even_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = iter([0.0, 5.0, 12.0])
    monkeypatch.setattr("osm_gitops.cli.console.monotonic", lambda: next(now))
    progress = Progress("prod", "pools written")
    for done in (1, 2):
        progress(done, 9)
    assert entries(terminal.getvalue()) == [
        {
            "level": "info",
            "message": "prod: 2 of 9 pools written",
            "cluster": "prod",
            "fields": {"what": "pools written", "done": 2, "total": 9},
        }
    ]


def test_a_problem_tells_whose_it_is_as_far_as_that_is_known(told: Told) -> None:
    console.problems([Problem(Code.INVALID_VALUE, "bad", about="MachineDeployment kube-system/a")], cluster="prod")
    console.problems(
        [
            Problem(Code.INVALID_VALUE, "bad", about="cluster dev"),
            Problem(Code.INVALID_VALUE, "bad", about="ConfigMap kube-public/cluster-info"),
        ]
    )
    assert [(each.get("cluster"), each.get("pool")) for each in told()] == [
        ("prod", "kube-system/a"),
        ("dev", None),
        (None, None),
    ]


def test_a_problem_that_many_pools_share_is_one_entry_that_names_them_all(told: Told) -> None:
    refs = [ObjectRef("MachineDeployment", "kube-system", f"p{number}") for number in range(7)]
    console.failures("prod", dict.fromkeys(refs, (Problem(Code.INVALID_VALUE, "no cluster-info"),)), Masker())
    (entry,) = told()
    assert entry["fields"]["pools"] == [f"kube-system/p{number}" for number in range(7)]


@pytest.mark.usefixtures("told")
def test_whatever_a_message_holds_it_stays_one_line_of_ascii_and_secrets_stay_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = Problem(Code.INVALID_VALUE, "a\nb\u202e\x1b[31m \udcff hunter-two", where="x.yaml", fix="Drop hunter-two")
    stderr = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stderr)
        console.problems([odd], masker=Masker(["hunter-two"]))
    assert stderr.getvalue().isascii()
    assert "hunter-two" not in stderr.getvalue()
    (entry,) = entries(stderr.getvalue())
    assert entry["problem"]["where"] == "x.yaml"
    assert "\x1b" not in entry["message"]


def test_the_folder_of_a_clone_is_shown_by_its_name(told: Told) -> None:
    own = Console()
    own.form = LogFormat.JSON
    own.shows(Path("/tmp/clone-x"), "https://git.example.com/nodes.git")
    own.problems([Problem(Code.INVALID_VALUE, "bad", where="/tmp/clone-x/a.yaml")])
    (entry,) = told()
    assert entry["problem"]["where"] == "https://git.example.com/nodes.git/a.yaml"
