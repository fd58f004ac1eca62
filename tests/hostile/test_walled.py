"""The walls that hold attacks hold: what would exceed them is found out."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from osm_gitops.errors import Code, input_error
from tests.hostile.walled import walled, walled_cli


def _spin() -> None:
    while True:
        pass


def _hold() -> Any:
    return bytearray(900 << 20)


def _say() -> list[Any]:
    print("said")
    return [1, "a"]


def _refuse() -> None:
    raise input_error(Code.INVALID_VALUE, "the text is no UTF-8", where="a.yaml:1")


def test_a_function_that_does_not_end_is_killed() -> None:
    outcome = walled(_spin, seconds=1)
    assert (outcome.signal, outcome.faults) == (signal.SIGXCPU, ["killed by SIGXCPU"])


def test_a_function_that_takes_too_much_memory_is_found_out() -> None:
    outcome = walled(_hold)
    assert outcome.code == 3
    assert "MemoryError" in outcome.err
    assert outcome.faults


def test_a_function_says_what_it_returns_and_prints() -> None:
    outcome = walled(_say)
    assert (outcome.code, outcome.out, outcome.value, outcome.faults) == (0, "said\n", [1, "a"], [])


def test_a_refusal_is_an_outcome_and_no_fault() -> None:
    outcome = walled(_refuse)
    assert (outcome.code, outcome.err, outcome.faults) == (1, "a.yaml:1: the text is no UTF-8 [OG1024]\n", [])


def test_a_function_that_kills_itself_is_found_out() -> None:
    assert walled(lambda: os.kill(os.getpid(), signal.SIGKILL)).faults == ["killed by SIGKILL"]


def test_a_command_line_runs_walled() -> None:
    outcome = walled_cli("--version")
    assert (outcome.code, outcome.faults) == (0, [])
    assert outcome.out.startswith("osm-gitops ")


def test_a_command_line_that_takes_too_much_memory_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_text("a: " + "x" * (8 << 20))
    arguments = ("render", "--from", str(tmp_path), "--to", "-")
    assert "this is a bug" not in walled_cli(*arguments).err
    assert walled_cli(*arguments, memory=4 << 20).faults
