"""The list of a script's commands: in the order of the text, with what decides whether each runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from osm_gitops.shell.simple_commands import SimpleCommand, simple_commands
from osm_gitops.shell.state import shown


def _commands(script: str) -> list[SimpleCommand]:
    listing = simple_commands(script)
    assert listing.complete
    return list(listing.commands)


def _words(script: str) -> list[str]:
    return [" ".join(map(shown, command.words)) for command in _commands(script)]


_KNOWN = {
    "variables": ('a=b; c="$a/d"; one "$c" ${c%/d}', ["one b/d b"]),
    "a loop": ("for a in x y; do one $a; done", ["one x", "one y"]),
    "a function": ('f() { one "$1" "$@"; }; f x y', ["one x x y"]),
    "a function in a function": ('again() { until "$@"; do two; done; }; f() { one $1; }; again f x', ["one x", "two"]),
    "wrappers": ("sudo -u a env B=c timeout 5 one x", ["one x"]),
    "a shell": ("bash -ec 'one x && two'", ["bash -ec one x && two", "one x", "two"]),
    "heredocs": ("cat <<E | one\nx\nE\ncat <<E >/a\ny\nE", ["cat", "one", "cat"]),
    "substitutions": ("a=$(one x); two `three`", ["one x", "three", "two `three`"]),
    "what is set only sometimes": ("a=x; if one; then a=y; fi; two $a", ["one", "two $a"]),
    "what is set in each case": ("case $(one) in a) b=x ;; *) b=x ;; esac; two $b", ["one", "two $b"]),
    "a test that is known": ('a=x; if [ -z "$a" ]; then a=y; fi; one $a', ["one x"]),
    "a folder": ("cd /opt; one", ["cd /opt", "one"]),
    "a subshell": ("(a=x; one $a); two $a", ["one x", "two $a"]),
    "arguments": ("one $1 $2", ["one $@ ${2}"]),
}


@pytest.mark.parametrize(("script", "words"), _KNOWN.values(), ids=_KNOWN)
def test_the_words_of_commands_are_known_as_far_as_possible(script: str, words: list[str]) -> None:
    assert _words(script) == words


def test_what_decides_whether_a_command_runs_is_told() -> None:
    script = "one\nif two; then three; else four; fi\nfive || six\nwhile seven; do eight; done\nnine && ten || true\n"
    found = {command.name: command for command in _commands(script)}

    assert {name for name, each in found.items() if not each.tests} == {"one", "two", "five", "seven", "nine"}
    assert {name for name, each in found.items() if each.tolerated} == {"two", "five", "nine", "ten"}
    assert found["eight"].tests == ("seven",)


def test_a_command_has_its_line_and_that_of_the_call_of_its_function() -> None:
    found = _commands("f() {\n  one\n}\n\nf\nbash -c '\ntwo'\n")

    assert [(each.name, each.line, each.called) for each in found] == [("one", 2, 5), ("bash", 6, 6), ("two", 7, 7)]


def test_files_pipelines_and_input_are_told() -> None:
    found = {each.name: each for each in _commands("cd /opt; echo a | one >b 2>c; two <<<d; x=$(three); : >e")}

    assert (found["echo"].feeds, found["one"].writes, found["one"].given) == (("one",), ("b",), "a\n")
    assert (found["two"].given, found["three"].captured, found[":"].writes) == ("d\n", True, ("e",))
    assert found["one"].folder == "/opt"


@pytest.mark.parametrize(
    "script",
    [
        "f() { f; f; }; f",
        "a=x; " + "a=$a$a; " * 40 + "one $a",
        "f() { for a in 1 2 3 4 5 6 7 8; do $1 f f; done; }; f f f",
        "(" * 5_000,
        "x=$(" * 200 + ")" * 200,
        "one\n" * 10_000,
        "x" * 600_000,
    ],
)
def test_a_script_that_is_too_large_is_listed_in_part(script: str) -> None:
    assert len(simple_commands(script).commands) <= 3_001


def test_bash_runs_the_same_commands_in_the_same_order(tmp_path: Path) -> None:
    script = (
        'again() {\n  until "$@"; do false; done\n}\n'
        'f() { one "$1" && three "$2"; }\n'
        'for a in x \'y z\'; do again f "$a" "${a#x}"; done\n'
        "b=c-d; four $b e{f,g} \"h i\" 'j'\n"
        'set -- k l; one "$@"; two "$2"; sh -c \'three p "$1"\' m \'n o\'\n'
        "(one sub); cat <<E | two pipe\ntext\nE\n"
    )
    names = ("one", "two", "three", "four")
    for name in names:
        (tmp_path / name).write_text('#!/bin/sh\n{ printf "%s" "${0##*/}"; printf "|%s" "$@"; echo; } >>log\n')
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True)

    listed = ["|".join(map(shown, each.words)) for each in _commands(script) if each.name in names]
    assert listed == (tmp_path / "log").read_text().splitlines()
