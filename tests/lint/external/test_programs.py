"""Checkers that need no more than what the tests' own packages and a shell bring."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from osm_gitops.lint.external import RULES, checkers
from osm_gitops.lint.external.cloud_init import CloudInit
from osm_gitops.lint.external.programs import run, scratch
from osm_gitops.lint.external.shell import Bash, Shellcheck, shell_of
from osm_gitops.lint.external.systemd import SystemdAnalyze, verify
from osm_gitops.lint.rules.boot_file import BootFile

PATH = {"PATH": os.environ["PATH"]}
# The kinds of mistakes of real-parts, each with the line that it is told at.
_MISTAKES = {
    "missing fi": ("if true; then\n  echo a\n", "SC1047"),
    "missing esac": ("case a in\na) echo b ;;\n", "SC1072"),
    "unclosed quote": ("echo 'a\n", "SC1072"),
    "unclosed substitution": ("a=$(date\necho b\n", "SC1073"),
    "no value": ("echo <no value>\n", "SC1073"),
    "undefined variable": ('echo "$nowhere"\n', "SC2154"),
    "indented heredoc end": ("cat <<EOF\na\n  EOF\n", "SC1039"),
    "test without a blank": ("if [-f /a ]; then echo b; fi\n", "SC1035"),
    "blank behind a backslash": ("echo a \\ \n  b\n", "SC1101"),
    "blank behind an assignment": ('A= "b"\nexport A\n', "SC1007"),
    "CR LF": ("echo a\r\n", "SC1017"),
}


def script(text: str, path: str = "/opt/bin/a", shebang: str = "#!/bin/bash") -> BootFile:
    return BootFile(path, f"{shebang}\n{text}", 755, "bootstrap")


@pytest.mark.parametrize(("text", "code"), _MISTAKES.values(), ids=_MISTAKES)
def test_shellcheck_finds_the_mistake(text: str, code: str) -> None:
    found = [remark.rule.id for _, remark in Shellcheck(PATH).check([script(text)])]

    assert f"shellcheck-{code}" in found


def test_many_scripts_of_several_shells_are_told_each_by_its_own_lines() -> None:
    files = [script(f"echo {number}\nread -r a b\n", f"/opt/bin/{number}") for number in range(40)]
    wrong = script("true\nlocal a=1\n[[ a ]]\n", "/opt/bin/wrong", "#!/bin/sh")
    text = BootFile("/etc/motd", "echo $x `a", 644, "bootstrap")

    found = list(Shellcheck(PATH).check([*files, wrong, text]))

    assert {file.path for file, _ in found} == {*(file.path for file in files), "/opt/bin/wrong"}
    assert {(remark.rule.id, remark.line) for file, remark in found if file is wrong} >= {("shellcheck-SC3010", 4)}


@pytest.mark.parametrize(
    ("text", "shell"),
    [
        ("#!/bin/bash\n", "bash"),
        ("#! /usr/bin/env bash\n", "bash"),
        ("#!/usr/bin/env -S bash -eu\n", "bash"),
        ("#!/bin/sh -e\n", "sh"),
        ("#!/usr/bin/python3\n", ""),
        ("echo a\n", ""),
    ],
)
def test_the_shell_of_a_script_stands_in_its_first_line(text: str, shell: str) -> None:
    assert shell_of(BootFile("/opt/bin/a", text, 755, "bootstrap")) == shell


def test_what_is_sourced_counts_as_a_script_by_its_name() -> None:
    assert shell_of(BootFile("/etc/profile.d/path.sh", "export A=b\n", 644, "bootstrap")) == "bash"


def test_bash_tells_the_line_and_not_the_text_which_may_hold_a_token() -> None:
    good, bad = script("echo a\n"), script("echo a\ntoken=abc) def\n", "/opt/bin/b")

    ((file, remark),) = Bash(PATH).check([good, bad])

    assert file is bad
    assert remark.line == 3
    assert "abc" not in remark.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo `a\n", "unexpected EOF while looking for matching backquote"),
        ("echo $(a\n", "unexpected EOF while looking for matching )"),
        ("if [ a ]; then fi\n", "syntax error near unexpected token fi"),
        ("for ((i=0;hunter2)); do :; done\n", "syntax error: arithmetic expression required"),
        ("hunter1 () hunter2\n", "syntax error near unexpected token a word"),
    ],
)
def test_what_bash_says_is_whole_without_words_of_the_script(text: str, said: str) -> None:
    ((_, remark),) = Bash(PATH).check([script(text)])

    assert remark.message.endswith(f": {said}")


@pytest.mark.parametrize(
    ("name", "text", "about"),
    [
        ("a.service", "[Unit]\n[Service]\nType=simple\n", "a.service"),
        ("a.service", "[Service]\nExecStart=/bin/true\nType=dbus\n", "a.service"),
        ("a.timer", "[Timer]\nPersistent=yes\n", "a.timer"),
        ("a.service", "[Service]\nExecStart=/bin/true\nMemoryMax=hunter2\n", "MemoryMax in a.service"),
        ("a.service", "[Service]\nExecStart=/bin/true\nWorkingDirectory=hunter2\n", "WorkingDirectory in a.service"),
        ("a.socket", "[Socket]\nListenStream=/run/a\nListenStream=hunter2 b\n", "ListenStream in a.socket"),
    ],
)
@pytest.mark.skipif(SystemdAnalyze(PATH).missing() is not None, reason="systemd-analyze is not installed")
def test_what_systemd_says_names_what_it_is_about_and_no_value(name: str, text: str, about: str) -> None:
    found = list(verify([BootFile(f"/etc/systemd/system/{name}", text, 644, "bootstrap")], PATH))

    assert [remark.message.partition(": ")[0] for _, remark in found] == [f"systemd says of {about}"]
    assert "hunter2" not in found[0][1].message


def test_a_script_that_stops_bash_does_not_hide_mistakes_of_others(tmp_path: Path) -> None:
    bash = tmp_path / "bash"
    bash.write_text(
        '#!/bin/sh\ngrep -q stop "$3" && kill -KILL $$\ngrep -q odd "$3" && exit 255\nexec /bin/bash "$@"\n'
    )
    bash.chmod(0o755)
    files = [script("fi\n", "/opt/bin/a"), script("stop\n", "/opt/bin/b"), script("true\ndone\n", "/opt/bin/c")]
    files.append(script("odd\n", "/opt/bin/d"))

    found = list(Bash({"PATH": f"{tmp_path}:{PATH['PATH']}"}).check(files))

    told = [(file.path, remark.rule.id, remark.line) for file, remark in found]
    assert told == [
        ("/opt/bin/a", "bash-syntax", 2),
        ("/opt/bin/b", "checker-stopped", 1),
        ("/opt/bin/c", "bash-syntax", 3),
    ]


def test_what_is_not_installed_is_told_once_and_what_to_install(tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path)}
    missing = [checker.missing() for checker in (Bash(nowhere), SystemdAnalyze(nowhere), CloudInit(nowhere))]

    assert [finding.id for finding in missing if finding] == [
        "bash-not-installed",
        "systemd-analyze-not-installed",
        "cloud-init-not-installed",
    ]
    assert all(finding.fix for finding in missing if finding)


def test_a_program_sees_nothing_of_our_environment_and_leaves_nothing_behind() -> None:
    with scratch() as folder:
        ran = run(["bash", "-c", "env; touch left"], folder, {**PATH, "TOKEN": "hidden"})
        assert "hidden" not in ran.output
        assert (folder / "left").exists()
    assert not folder.exists()


def test_a_program_that_takes_too_long_or_cannot_start_gave_no_answer() -> None:
    with scratch() as folder:
        assert run(["bash", "-c", "while :; do :; done"], folder, PATH, seconds=1).code is None
        assert run([str(folder)], folder, PATH).code is None


def test_every_rule_has_an_id_of_its_own() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)
    assert len(checkers(PATH)) == 4
