"""``apply`` and ``uninstall`` ask before they write; where nobody can be asked, they need ``--yes``."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.cli.adopted import Adopted
from tests.cli.running import osm_gitops
from tests.cli.scenes import pool, profile, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository

_APPLY = ("apply", "--from", "tree", "--to", "repo/clusters", "--dangerously-plaintext-secrets")
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", profile(), pool())
    return new_repository(tmp_path / "repo")


def _commits(repo: Path) -> int:
    return int(git(repo, "rev-list", "--count", "HEAD"))


def _run(stdin: int, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "osm_gitops", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=stdin, stdout=pipe, stderr=pipe, env=os.environ | environment, text=True)


def _at_a_terminal(answer: bytes, *arguments: str) -> tuple[int, str, str]:
    """Run with a terminal on stdin alone, as in ``apply 2>&1 | tee log``, and type ``answer``."""
    ours, theirs = pty.openpty()
    try:
        with _run(theirs, *arguments) as process:
            os.write(ours, answer)
            out, err = process.communicate(timeout=120)
    finally:
        os.close(ours)
        os.close(theirs)
    return process.returncode, out, err


@pytest.mark.parametrize("answer", ["y\n", "n\n", ""])
def test_without_a_terminal_apply_needs_yes_whatever_comes_on_stdin(
    repo: Path, tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    (tmp_path / "answer").write_text(answer)
    with (tmp_path / "answer").open() as stdin, _run(stdin.fileno(), *_APPLY) as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, "")
    assert told(err) == [Expected(Code.NO_TERMINAL, "apply: ", "--yes", "plan --out")]
    assert _commits(repo) == 1
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize(("flag", "variable"), [("--yes", ""), ("-y", ""), ("", "true")])
def test_yes_is_a_flag_or_its_variable(repo: Path, flag: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable:
        monkeypatch.setenv("OSM_GITOPS_YES", variable)
    ran = osm_gitops(*_APPLY, *([flag] if flag else []))
    assert ran.code == 0, ran.err
    assert _commits(repo) == 2


def test_a_saved_plan_is_its_own_yes(repo: Path) -> None:
    assert osm_gitops("plan", *_APPLY[1:], "--out", "plan.json").code == 0
    ran = osm_gitops("apply", "plan.json", "--dangerously-plaintext-secrets")
    assert ran.code == 0, ran.err
    assert _commits(repo) == 2


@pytest.mark.parametrize(
    ("answer", "code"), [(b"y\n", 0), (b"YES\n", 0), (b"n\n", 1), (b"\n", 1), (b"yellow\n", 1), (b"\x04", 1)]
)
def test_with_a_terminal_on_stdin_apply_asks_wherever_its_output_goes(repo: Path, answer: bytes, code: int) -> None:
    ended, out, err = _at_a_terminal(answer, *_APPLY)
    assert ended == code, err
    assert "Plan: 4 to create" in out
    assert "Apply this plan?" not in out
    assert "Apply this plan? [y/N]: " in err
    assert ("Not confirmed: nothing was changed." in err) == (code == 1)
    assert _commits(repo) == (2 if code == 0 else 1)


def test_ctrl_c_at_the_question_interrupts(repo: Path) -> None:
    ours, theirs = pty.openpty()
    with _run(theirs, *_APPLY) as process:
        assert process.stderr is not None
        said = ""
        while not said.endswith("[y/N]: "):
            said += process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 130
    assert err == "\nInterrupted. Each object and file is either unchanged or completely written.\n"
    assert _commits(repo) == 1


def test_without_a_terminal_nothing_is_given_back_unasked(adopted: Adopted) -> None:
    assert adopted.run("apply").code == 0
    kubeconfig = str(adopted.osm.management.kubeconfig(adopted.folder / "kubeconfig"))
    ran = osm_gitops("uninstall", "--kubeconfig", kubeconfig)
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [Expected(Code.NO_TERMINAL, "uninstall", "--yes")]
    leases = adopted.osm.management.client().get(_LEASES)["items"]
    assert "osm-gitops" in [lease["metadata"]["name"] for lease in leases]
    ended, out, err = _at_a_terminal(b"n\n", "uninstall", "--kubeconfig", kubeconfig)
    assert ended == 1
    assert "Give this cluster back? [y/N]: " in err
    assert "[y/N]" not in out
    assert osm_gitops("uninstall", "--kubeconfig", kubeconfig, "--yes").code == 0
