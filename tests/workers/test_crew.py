"""A crew: the same results in the same order as without, and a call that hangs or dies holds no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from osm_gitops.errors import Code, InputError, Problem, UnexpectedError, input_error
from osm_gitops.workers.crew import Crew
from osm_gitops.workers.process import LimitReached

_HANG = 600.0


def _make(base: int) -> int:
    return base


def _later(base: int, number: int, seconds: float) -> int:
    time.sleep(seconds)
    return base + number


def test_results_come_in_the_order_of_calls_whichever_is_quicker() -> None:
    crew = Crew(_make, (100,), 3)
    calls = [(number, 0.4 if number == 0 else 0.0) for number in range(9)]
    assert list(crew.map(_later, calls)) == [100 + number for number in range(9)]


def test_few_calls_are_taken_in_advance() -> None:
    taken = count()
    calls = ((next(taken), 0.0) for _ in range(1_000))
    with closing(Crew(_make, (0,), 1).map(_later, calls)) as results:
        assert next(results) == 0
    assert next(taken) < 10


def _refuse(_base: int, where: str) -> None:
    raise input_error(Code.INVALID_VALUE, "not this", where=where)


def test_an_error_is_the_result_of_its_call_alone() -> None:
    first, second = Crew(_make, (0,), 1).map(_refuse, [("x",), ("y",)])
    assert isinstance(first, InputError)
    assert first.problems == (Problem(Code.INVALID_VALUE, "not this", where="x"),)
    assert second.problems[0].where == "y"


def _leak(_base: int) -> None:
    raise ZeroDivisionError("the password")


def test_a_bug_ends_the_run_without_its_message() -> None:
    with pytest.raises(UnexpectedError) as bug:
        list(Crew(_make, (0,), 2).map(_leak, [(), ()]))
    assert bug.value.kind == "ZeroDivisionError"
    assert "password" not in str(bug.value)


def _hang_or_not(_base: int, path: str) -> str:
    if path:
        child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({_HANG})"])
        Path(path).write_text(str(child.pid), "utf-8")
        time.sleep(_HANG)
    return "done"


def test_a_call_that_takes_too_long_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    crew = Crew(_make, (0,), 2, seconds=2)
    hung, *others = crew.map(_hang_or_not, [(str(path),), *[("",)] * 4])
    assert isinstance(hung, LimitReached)
    assert hung.time
    assert others == ["done"] * 4
    _assert_gone(int(path.read_text("utf-8")))


def _die_or_not(_base: int, number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_process_that_dies_takes_no_other_call_with_it() -> None:
    first, died, *others = Crew(_make, (0,), 1).map(_die_or_not, [(number,) for number in range(4)])
    assert (first, others) == (0, [2, 3])
    assert isinstance(died, LimitReached)
    assert not died.time
    assert died.problems[0].code is Code.WORK_LIMIT


def _rights(_base: int, path: str) -> tuple[str, str, str]:
    print("not a frame")
    asked = subprocess.run(["cat"], capture_output=True, text=True, check=True, timeout=60).stdout
    Path(path).write_text("written", "utf-8")
    return os.environ["CREW"], str(Path.cwd()), asked


def test_it_has_the_rights_of_its_parent_but_not_its_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CREW", "seen")
    (found,) = Crew(_make, (0,), 1).map(_rights, [("file",)])
    assert found == ("seen", str(tmp_path), "")
    assert (tmp_path / "file").read_text("utf-8") == "written"


def _pid(_base: int) -> int:
    return os.getpid()


def test_a_crew_that_is_left_in_the_middle_leaves_no_process() -> None:
    with closing(Crew(_make, (0,), 2).map(_pid, [()] * 20)) as results:
        pid = next(results)
    _assert_gone(pid)


def _assert_gone(pid: int) -> None:
    for _ in range(1_000):  # killed, and then reaped by whoever inherits it
        try:
            state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return
        if state in "ZX":
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} still runs")
