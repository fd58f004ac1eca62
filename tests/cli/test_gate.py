"""Every outcome is an exit code and a sentence; what a bug's message holds is not told."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from osm_gitops.cli import gate
from osm_gitops.cli.console import Console, Progress, console
from osm_gitops.errors import Code, Problem
from osm_gitops.model.objects import ObjectRef
from osm_gitops.report.mask import Masker
from osm_gitops.sops.keys import new_identity
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_tree
from tests.git.repos import new_repository


def _struck_by(monkeypatch: pytest.MonkeyPatch, blow: BaseException) -> None:
    def run(_arguments: Sequence[str], _command_line: object) -> int:
        raise blow

    monkeypatch.setattr(gate, "_run", run)


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    _struck_by(monkeypatch, KeyboardInterrupt())
    ran = osm_gitops("plan")
    assert (ran.code, ran.out) == (130, "")
    assert ran.err == "Interrupted. Each object and file is either unchanged or completely written.\n"


def test_a_bug_tells_its_place_and_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    _struck_by(monkeypatch, ValueError("a secret"))
    ran = osm_gitops("plan")
    assert ran.code == 1
    assert "this is a bug in osm-gitops" in ran.err
    assert "ValueError at " in ran.err
    assert "test_gate.py:" in ran.err
    assert "a secret" not in ran.err


def test_trouble_of_the_machine_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    _struck_by(monkeypatch, OSError(28, "No space left on device", "/out/a"))
    ran = osm_gitops("plan")
    assert (ran.code, ran.err) == (1, "Error: /out/a: No space left on device\n")


def test_a_reader_that_goes_away_is_no_error_to_talk_about(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "osm_gitops", "render", "--from", "tree", "--to", "-"]
    done = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("closed", "arguments"),
    [("<&-", "osp convert -"), (">&-", "schema plan")],
)
def test_a_stream_that_is_closed_is_as_one_that_nobody_reads(closed: str, arguments: str, tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m osm_gitops {arguments} {closed}'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if closed == ">&-" else 1)
    assert "bug" not in done.stderr


def test_a_current_folder_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert osm_gitops("plan").err == "Error: the current folder: No such file or directory\n"


def test_a_group_without_a_command_shows_its_help() -> None:
    ran = osm_gitops("osp")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Usage: osm-gitops osp ")
    assert "Error" not in ran.err


def test_without_git_manifests_are_rendered_all_the_same(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repo")
    write_tree(repository / "tree", profile(), pool())
    command = [sys.executable, "-m", "osm_gitops", "render", "--from", "repo/tree", "--to", "-"]
    environment = os.environ | {"PATH": "/nonexistent"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"git cannot be run. Install git 2.25 or newer, or correct PATH" in done.stderr


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Console().problems([Problem(Code.INVALID_VALUE, "a\x1b[31mred\x07 name", where="\u202eevil\u200f\u061c")])
    assert capsys.readouterr().err == "Error: \\u202eevil\\u200f\\u061c: a\\x1b[31mred\\x07 name [OG1024]\n"


def test_a_problem_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    Console().problems(
        [Problem(Code.INVALID_VALUE, "a"), Problem(Code.INVALID_VALUE, "b"), Problem(Code.INVALID_VALUE, "a")],
        label="Warning",
    )
    assert capsys.readouterr().err == "Warning: a [OG1024]\nWarning: b [OG1024]\n"


def test_a_problem_of_one_pool_needs_no_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    ref = ObjectRef("MachineDeployment", "kube-system", "a")
    Console().failures("prod", {ref: (Problem(Code.INVALID_VALUE, "bad", about=str(ref)),)}, Masker())
    assert capsys.readouterr().err == "Error: MachineDeployment kube-system/a: bad [OG1024]\n"
    Console().failures("prod", {ref: (Problem(Code.INVALID_VALUE, "bad", about="cluster-info"),)}, Masker())
    assert capsys.readouterr().err == (
        "Error: cluster-info: bad [OG1024]\n  Not rendered because of it in cluster prod: kube-system/a.\n"
    )


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _no_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_colours_can_be_asked_for_and_whoever_wants_none_wins(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setenv(name, "0")
    assert not console.colours()
    monkeypatch.setenv(name, "1")
    assert console.colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.colours()


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert console.colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.colours()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not console.colours()
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert not console.colours()


def test_long_work_shows_a_bar_on_a_terminal_and_clears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = iter([0.0, 0.4, 0.7, 1.0, 1.2])
    monkeypatch.setattr("osm_gitops.cli.console.monotonic", lambda: next(now))
    progress = Progress("prod", "pools rendered")
    for done in (1, 2, 3, 4):
        progress(done, 4)
    shown = terminal.getvalue()
    assert "prod" in shown
    assert "2/4 pools rendered" in shown
    assert "1/4" not in shown
    assert shown.endswith("\r\x1b[K")


def _drawn_bar(monkeypatch: pytest.MonkeyPatch) -> tuple[_Terminal, Progress]:
    """A terminal that shows a bar for one of two steps."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = iter([0.0, 0.7, 0.9])
    monkeypatch.setattr("osm_gitops.cli.console.monotonic", lambda: next(now))
    progress = Progress("prod", "pools rendered")
    progress(1, 2)
    assert "1/2 pools rendered" in terminal.getvalue()
    return terminal, progress


def test_a_bar_is_not_drawn_for_work_that_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = iter([0.0, 2.0])
    monkeypatch.setattr("osm_gitops.cli.console.monotonic", lambda: next(now))
    Progress("prod", "pools rendered")(1, 1)
    assert terminal.getvalue() == ""


def test_what_is_written_while_a_bar_is_shown_clears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, progress = _drawn_bar(monkeypatch)
    console.fail("no such file")
    assert terminal.getvalue().endswith("pools rendered\x1b[K\r\x1b[KError: no such file\n")
    progress(2, 2)
    assert terminal.getvalue().endswith("Error: no such file\n")


def test_a_result_clears_the_bar_of_work_that_broke_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal, _ = _drawn_bar(monkeypatch)
    console.out("a plan\n")
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert capsys.readouterr().out == "a plan\n"


def test_elsewhere_it_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    now = iter([0.0, 5.0, 12.0, 13.0])
    monkeypatch.setattr("osm_gitops.cli.console.monotonic", lambda: next(now))
    progress = Progress("prod", "pools rendered")
    for done in (1, 2, 3):
        progress(done, 9)
    assert plain.getvalue() == "prod: 2 of 9 pools rendered\n"


def test_a_plan_that_is_refused_is_not_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path / "tree", profile(), pool())
    new_repository(tmp_path / "repo")
    monkeypatch.setattr(sys, "stdin", _Terminal(""))
    command = ("apply", "--from", "tree", "--to", "repo/clusters", "--dangerously-plaintext-secrets")
    ran = osm_gitops(*command, "--max-changed-pools", "0")
    assert ran.code == 1
    assert "Apply this plan?" not in ran.err
    assert "1 pools would change" in ran.err


def test_rendering_comparing_and_writing_are_counted_to_their_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def counting(cluster: str, what: str) -> Callable[[int, int], None]:
        return lambda done, total: told.setdefault((cluster, what), []).append((done, total))

    monkeypatch.setattr("osm_gitops.cli.run_options.Progress", counting)
    monkeypatch.setattr("osm_gitops.commands.rekey.command.Progress", counting)
    key, recipient = new_identity()
    monkeypatch.setenv("SOPS_AGE_KEY", key.splitlines()[-1])
    monkeypatch.setenv("OSM_GITOPS_AGE_RECIPIENT", recipient)
    write_tree(tmp_path / "tree", profile(), pool("a"), pool("b"))
    new_repository(tmp_path / "repo")
    assert osm_gitops("apply", "--yes", "--from", "tree", "--to", "repo/clusters").code == 0
    assert osm_gitops("rekey", "--rotate", "repo").code == 0
    assert told == {
        ("default", "pools rendered"): [(1, 2), (2, 2)],
        ("default", "files compared"): [(done, 7) for done in range(1, 8)],
        ("default", "files written"): [(done, 9) for done in range(1, 10)],  # both kustomization.yaml too
        ("rekey", "files checked"): [(done, 6) for done in range(1, 7)],
    }


def test_what_one_command_needs_alone_is_not_loaded_for_the_others() -> None:
    alone = (
        *(
            "commands.doctor.checkup",
            "commands.init.scaffold",
            "commands.osp.convert",
            "yaml.round_trip",
            "git.committing",
        ),
        *("pipeline.run", "pipeline.refresh", "commands.uninstall.run", "kube.api", "kube.transport", "kube.pool"),
    )
    slow = (
        "git",
        "ruamel",
        "pyrage",
        "cryptography",
        "filelock",
        "jsonschema",
        "kubernetes",
        "urllib3",
        "pydantic",
        "ssl",
    )
    script = f"""
import sys
import osm_gitops.commands.app
print(sorted({{f"osm_gitops.{{name}}" for name in {alone!r}}} & set(sys.modules)))
print(sorted({{*{slow!r}, "email"}} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["[]", "[]"]


def test_what_ends_every_start_comes_without_what_renders() -> None:
    script = """
import sys
import osm_gitops.cli.gate
print(sorted(name for name in sys.modules if name.startswith(("osm_gitops.render", "osm_gitops.gotemplate", "typer"))))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_only_workers_import_the_template_engine() -> None:
    modules = ("commands.plan", "pipeline.run", "report.html", "commands.validate.run", "commands.validate.scope")
    script = f"""
import importlib
import sys
for name in {modules!r}:
    importlib.import_module(f"osm_gitops.{{name}}")
print("jinja2" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
