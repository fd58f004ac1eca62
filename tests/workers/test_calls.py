"""Calls in workers: the same results and errors as without, and limits that end one call alone."""

from __future__ import annotations

import math
import operator
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from osm_gitops.errors import Code, InputError, Problem, UnexpectedError, input_error
from osm_gitops.model.desired import Side
from osm_gitops.model.objects import ObjectRef, Origin
from osm_gitops.workers import process
from osm_gitops.workers.calls import Series, Session, Use, call, end_idle
from osm_gitops.workers.limits import MEBIBYTE, Limits
from osm_gitops.workers.messages import LENGTH, Answer, Done, frame, read_answer
from osm_gitops.workers.process import LimitReached
from tests.faults import Expected, refused

_SHORT = Limits(seconds=1)
_ENDLESS = (math.factorial, 10_000_000)  # minutes in C, where no signal handler of Python runs


def test_results_come_back_as_they_are() -> None:
    assert call(math.sqrt, 9) == 3.0
    assert call(ObjectRef, "Secret", "a", "b") == ObjectRef("Secret", "a", "b")
    assert call(operator.getitem, {"a": (None, {1, 2}, Side.WORKER, PurePosixPath("/a"))}, "a") == (
        *(None, {1, 2}, Side.WORKER),
        PurePosixPath("/a"),
    )


@dataclass(frozen=True, slots=True)
class _Plain:
    first: int
    second: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _ByName:
    second: int
    first: int


@dataclass(frozen=True, slots=True)
class _Computed:
    text: str
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", len(self.text))


@dataclass(frozen=True)
class _WithoutSecret:
    name: str
    secret: str = "none"

    def __getstate__(self) -> dict[str, str]:
        return {"name": self.name, "secret": "left out"}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (_Plain(1, (2,)), _Plain(1, (2,))),
        (_ByName(first=1, second=2), _ByName(first=1, second=2)),
        (_Computed("abc"), _Computed("abc")),
        (_WithoutSecret("a", "b"), _WithoutSecret("a", "left out")),
    ],
)
def test_records_of_every_form_come_back(record: object, expected: object) -> None:
    message = frame(Answer(Done((record, record))))
    answer = read_answer(message[LENGTH.size :], walled=False)
    assert isinstance(answer, Answer)
    assert answer.outcome == Done((expected, expected))
    assert answer.outcome.value[0] is answer.outcome.value[1]


def test_a_program_without_assertions_gets_answers_too() -> None:
    script = "import math; from osm_gitops.workers.calls import call; print(call(math.sqrt, 9))"
    ran = subprocess.run([sys.executable, "-O", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "3.0\n"), ran.stderr


def test_errors_come_back_with_their_problems() -> None:
    with pytest.raises(InputError) as failure:
        call(_refuse, "x")
    assert failure.value.problems == (Problem(Code.INVALID_VALUE, "not this", where="x"),)


def _refuse(where: str) -> None:
    raise input_error(Code.INVALID_VALUE, "not this", where=where)


def test_what_nobody_expects_is_a_bug_without_its_message() -> None:
    with pytest.raises(UnexpectedError) as bug:
        call(_leak)
    assert bug.value.kind == "ZeroDivisionError"
    assert "password" not in str(bug.value)
    assert call(math.sqrt, 4) == 2.0


def _leak() -> None:
    raise ZeroDivisionError("password")


def test_time_ends_a_call_and_no_other() -> None:
    with refused(Expected(Code.WORK_LIMIT, "1 s"), kind=LimitReached):
        call(*_ENDLESS, limits=_SHORT)
    assert call(math.sqrt, 4, limits=_SHORT) == 2.0


@pytest.mark.parametrize("size", [1 << 40, 700 * MEBIBYTE, 400 * MEBIBYTE], ids=["at once", "beyond", "as an answer"])
def test_memory_ends_a_call_and_no_other(size: int) -> None:
    with refused(Expected(Code.WORK_LIMIT, "512 MiB"), kind=LimitReached):
        call(operator.mul, "a", size)
    assert call(math.sqrt, 4) == 2.0


def test_a_crash_is_a_sentence() -> None:
    with refused(Expected(Code.WORK_LIMIT, "SIGABRT"), kind=LimitReached):
        call(os.abort)


def test_a_worker_that_hangs_without_working_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_TIMEOUT_FACTOR", 1)
    with refused(Expected(Code.WORK_LIMIT, "1 s"), kind=LimitReached):
        call(time.sleep, 600, limits=_SHORT)


def test_other_threads_run_while_a_call_does() -> None:
    """As the one that renews the Lease."""
    counted = []
    stop = threading.Event()

    def count() -> None:
        while not stop.wait(0.01):
            counted.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(LimitReached):
        call(*_ENDLESS, limits=_SHORT)
    stop.set()
    thread.join()
    assert len(counted) > 3


def test_an_interruption_is_answered_while_a_call_runs() -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call(*_ENDLESS, limits=Limits(seconds=300))
    assert call(math.sqrt, 4, limits=Limits(seconds=300)) == 2.0


# What a worker may do


def test_a_worker_has_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", "AGE-SECRET-KEY-1")
    assert set(call(_environment)) <= {"LC_CTYPE"}  # which Python itself sets where no locale is


def _environment() -> dict[str, str]:
    return dict(os.environ)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (os.open, ("/etc/passwd", os.O_RDONLY)),
        (os.open, ("/proc/self/environ", os.O_RDONLY)),
        (socket.socket, ()),
        (os.pipe, ()),
        (os.dup, (0,)),
        (os.listdir, ("/",)),
    ],
)
def test_a_worker_opens_nothing(function: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(UnexpectedError):
        call(function, *arguments)


def test_a_worker_writes_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnexpectedError):
        call(os.truncate, str(_touched(tmp_path / "a")), 10)


def _touched(path: Path) -> Path:
    path.touch()
    path.chmod(0o666)
    return path


def test_an_import_that_comes_too_late_is_a_bug_and_no_other_result() -> None:
    with pytest.raises(UnexpectedError, match="an import that comes too late"):
        call(_import_late)


def _import_late() -> str:
    try:
        import antigravity  # noqa: F401
    except ImportError:
        return "without it"
    except OSError:
        return "something else"
    return "with it"


# What an answer may be


class _Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = function, arguments

    def __reduce__(self) -> Any:
        return self.reduced


@pytest.mark.parametrize(
    "evil",
    [
        _Evil(os.system, "touch pwned"),
        _Evil(eval, "1"),
        _Evil(getattr, Origin, "mro"),
        _Evil(bytearray, 1 << 40),
        _Evil(Path.touch, Path("pwned")),
        _Evil(Series, len),
        _Evil(call, os.system, "touch pwned"),
        _Evil(pickle.loads, b""),
    ],
)
def test_an_answer_holds_data_alone(evil: _Evil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_answer(frame(Answer(Done(evil)))[8:]) is None
    assert not list(tmp_path.iterdir())


def test_an_answer_that_is_no_answer_is_refused() -> None:
    for data in (b"", b"garbage", pickle.dumps("text"), pickle.dumps(Done(1))):
        assert read_answer(data) is None


def test_a_call_whose_result_is_no_data_is_a_sentence() -> None:
    with refused(Code.WORK_LIMIT, kind=LimitReached):
        call(_Evil, print)


# Series


def test_a_series_answers_in_order_and_fails_one_by_one() -> None:
    series: Series[dict[str, int]] = Series(dict, {"a": 1, "b": 2}, limits=_SHORT)
    outcomes = list(series.map(_looked_up, [("a",), ("endless",), ("b",), ("refused",), ("a",)]))
    assert [type(each) for each in outcomes] == [int, LimitReached, int, InputError, int]
    assert [each for each in outcomes if isinstance(each, int)] == [1, 2, 1]


def _looked_up(state: dict[str, int], key: str) -> int:
    if key == "endless":
        math.factorial(10_000_000)
    if key == "refused":
        raise input_error(Code.INVALID_VALUE, "not this")
    return state[key]


def test_what_earlier_calls_left_in_memory_is_no_later_ones_fault() -> None:
    series: Series[list[str]] = Series(list, limits=Limits(memory=100 * MEBIBYTE))
    sizes = list(series.map(_keep, [(40 * MEBIBYTE,)] * 9))
    assert [size for size in sizes if isinstance(size, int)] == [40 * MEBIBYTE] * 9


def test_what_needs_too_much_by_itself_fails_in_a_series_too() -> None:
    series: Series[list[str]] = Series(list, limits=Limits(memory=100 * MEBIBYTE))
    outcomes = list(series.map(_keep, [(1,), (200 * MEBIBYTE,), (2,)]))
    assert [type(each) for each in outcomes] == [int, LimitReached, int]


def _keep(state: list[str], size: int) -> int:
    state.append("x" * size)
    return size


def test_a_series_whose_state_cannot_be_made_says_why() -> None:
    with refused(Expected(Code.INVALID_VALUE, "not this")):
        list(Series(_refuse, "x").map(len, [()]))


def test_series_do_not_mix() -> None:
    first: Series[dict[str, int]] = Series(dict, {"a": 1})
    second: Series[dict[str, int]] = Series(dict, {"a": 2})
    assert [each.ask(_looked_up, "a") for each in (first, second, first)] == [1, 2, 1]


def test_a_series_that_is_left_in_the_middle_leaves_nothing_behind() -> None:
    series: Series[dict[str, int]] = Series(dict, {"a": 1, "b": 2})
    assert next(_values(series)) == 1
    assert series.ask(_looked_up, "b") == 2


def _values(series: Series[dict[str, int]]) -> Iterator[int]:
    yield from series.map(_looked_up, [("a",)] * 100)


# Sessions


def test_a_session_keeps_what_its_calls_change() -> None:
    with Session(_numbers) as session:
        session.ask(list.append, 1)
        session.ask(list.append, 2)
        assert session.ask(tuple) == (1, 2)


def test_a_function_can_be_named_without_its_module() -> None:
    script = """
import sys
from osm_gitops.workers.calls import Session
from osm_gitops.workers.messages import Named
with Session(Named("osm_gitops.gocompat.semver", "parse_version"), "v1.2.3") as session:
    print(session.ask(str), "osm_gitops.gocompat.semver" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "1.2.3 False\n"


def test_a_session_that_reaches_a_limit_is_over() -> None:
    with Session(_numbers, limits=_SHORT) as session, pytest.raises(LimitReached):
        session.ask(_endless)


def _numbers() -> list[int]:
    return []


def _endless(_state: list[int]) -> None:
    math.factorial(10_000_000)


def _ran(use: Use) -> int:
    return call(os.getpid, use=use)


def test_what_is_kept_comes_from_a_worker_in_which_nothing_ran() -> None:
    end_idle()
    clean = _ran(Use.READ)
    assert _ran(Use.READ_FIRST) == clean
    assert _ran(Use.EXECUTE) == clean  # the only one: no other is started
    other = _ran(Use.READ_FIRST)
    assert other != clean
    assert _ran(Use.READ_FIRST) == other
    # Now that there are two, what runs content spares the clean one.
    assert [_ran(use) for use in (Use.EXECUTE, Use.READ, Use.EXECUTE)] == [clean] * 3
    assert _ran(Use.READ_FIRST) == other


def test_the_state_of_a_series_and_a_session_count_as_run() -> None:
    end_idle()
    clean = _ran(Use.READ_FIRST)
    assert Series(os.getpid, use=Use.READ).ask(operator.pos) == clean == _ran(Use.READ_FIRST)
    assert Series(os.getpid).ask(operator.pos) == clean
    other = _ran(Use.READ_FIRST)
    assert other != clean
    end_idle()
    clean = _ran(Use.READ_FIRST)
    with Session(os.getpid) as session:
        assert session.ask(operator.pos) == clean
    assert _ran(Use.READ_FIRST) != clean
