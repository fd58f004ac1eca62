"""The outer line: what takes too much in spite of all bounds inside meets a limit of the system, and fails alone.

The bounds inside are raised so far that they do not hold any more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, write_tree
from tests.faults import Expected, told

_UNBOUND = ("--max-loop-steps", "1000000000000000", "--max-output-bytes", "1000000000000000")
_TIME = {
    "go": "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}",
    "jinja": "{% for a in until(100000) %}{% for b in until(100000) %}{% endfor %}{% endfor %}",
}
_MEMORY = {"go": '{{ repeat 3000000000 "a" }}', "jinja": "{{ 'a' * 3000000000 }}"}
_JINJA = {"annotations": {"osm-gitops.io/template": "jinja2/v1"}}


def _profile(script: str, dialect: str) -> dict[str, Any]:
    found = profile("osp-bad", script)
    if dialect == "jinja":
        found["metadata"] |= _JINJA
        found["spec"]["provisioningConfig"] = {"files": []}
    return found


def _tree(folder: Path, script: str, dialect: str, pools: int = 1) -> Path:
    bad = (pool(f"bad-{number}", "osp-bad") for number in range(pools))
    return write_tree(
        folder / "tree", _profile(script, dialect), profile("osp-good"), pool("good", "osp-good"), *bad, *facts()
    )


def _render(tree: Path, *more: str) -> Ran:
    return osm_gitops("render", "--from", str(tree), "--to", "-", *_UNBOUND, *more)


@pytest.mark.parametrize("dialect", ["go", pytest.param("jinja", marks=pytest.mark.exhaustive)])
def test_a_profile_that_takes_too_long_fails_its_pool_alone(tmp_path: Path, dialect: str) -> None:
    ran = _render(_tree(tmp_path, _TIME[dialect], dialect), "--max-render-seconds", "1")
    assert ran.code == 1
    assert Expected(Code.WORK_LIMIT, "MachineDeployment", "kube-system/bad-0") in told(ran.err)
    assert Expected(Code.WORK_LIMIT, "OperatingSystemProfile", "kube-system/osp-bad") in told(ran.err)
    assert Expected(Code.WORK_LIMIT, "1 s", "--max-render-seconds") in told(ran.err)
    assert "good-kube-system-config" in ran.out


@pytest.mark.parametrize("dialect", ["go", "jinja"])
def test_a_profile_that_takes_too_much_memory_fails_its_pool_alone(tmp_path: Path, dialect: str) -> None:
    ran = _render(_tree(tmp_path, _MEMORY[dialect], dialect))
    assert ran.code == 1
    assert Expected(Code.TEMPLATE_LIMIT, "osp-bad", "memory") in told(ran.err)
    assert "kube-system/bad-0" in ran.err
    assert "good-kube-system-config" in ran.out


@pytest.mark.exhaustive
def test_a_profile_of_many_pools_does_not_take_its_time_for_each(tmp_path: Path) -> None:
    ran = _render(_tree(tmp_path, _TIME["go"], "go", pools=20), "--max-render-seconds", "1")
    assert ran.code == 1
    assert ran.err.count("more than 1 s of CPU time") < 10
    assert Expected(Code.POOL_NOT_TRIED, "3") in told(ran.err)
    assert "good-kube-system-config" in ran.out


@pytest.mark.exhaustive
def test_explain_says_so(tmp_path: Path) -> None:
    tree = _tree(tmp_path, _TIME["go"], "go")
    ran = osm_gitops("explain", "bad-0", "--from", str(tree), *_UNBOUND, "--max-render-seconds", "1")
    assert ran.code == 1
    # It is rendered four times, with other secrets too, to tell what may be shown.
    assert Code.WORK_LIMIT.value in ran.out + ran.err


@pytest.mark.exhaustive
def test_explain_of_downloads_says_so_and_lists_the_others(tmp_path: Path) -> None:
    tree = _tree(tmp_path, _TIME["go"], "go")
    more = (*_UNBOUND, "--max-render-seconds", "1", "--output", "json")
    ran = osm_gitops("explain", "--downloads", "--from", str(tree), *more)
    assert ran.code == 1
    told = json.loads(ran.out)
    assert "more than 1 s of CPU time" in json.dumps(told["failed"])
    assert [each["name"] for each in told["pools"]] == ["good"]


@pytest.mark.exhaustive
def test_validate_judges_the_others(tmp_path: Path) -> None:
    tree = _tree(tmp_path, _TIME["go"], "go")
    limits = (*_UNBOUND, "--max-render-seconds", "1")
    ran = osm_gitops("validate", *limits, "--output", "json", str(tree))
    assert ran.code == 1
    told = json.loads(ran.out)
    limited = [each for each in told["findings"] if "more than 1 s of CPU time" in each["message"]]
    assert {each.get("object") for each in limited} == {
        "OperatingSystemProfile kube-system/osp-bad",
        "MachineDeployment kube-system/bad-0",
    }
    # Its token lies in a file that everybody may read.
    assert any("osp-good" in each.get("object", "") for each in told["findings"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_answered_while_a_template_runs(tmp_path: Path, number: signal.Signals) -> None:
    tree = _tree(tmp_path, _TIME["go"], "go")
    command = [sys.executable, "-m", "osm_gitops", "render", "-v", "--from", str(tree), "--to", "-", *_UNBOUND]
    with subprocess.Popen(
        [*command, "--max-render-seconds", "3000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as running:
        _wait_for_a_child(running.pid)
        running.send_signal(number)
        running.communicate(timeout=60)
    assert running.returncode == 130
    assert not _children(running.pid)


def _wait_for_a_child(pid: int) -> None:
    """Until the worker has used some CPU time of its own."""
    while True:
        for child in _children(pid):
            fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            if int(fields[11]) > 100:  # user time in hundredths of a second: more than importing takes
                return


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found
