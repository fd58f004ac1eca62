"""Boot files that keep linters busy, or make checks say the same thing 100,000 times: validate ends, and says so."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any, Final

import pytest

from osm_gitops.lint.external.programs import run, scratch
from osm_gitops.model.plan import TextChange
from osm_gitops.report.diff import text_diff
from tests.cli.scenes import file, profile
from tests.hostile.cases import cases
from tests.hostile.walled import walled, walled_cli

_MOST_TOLD: Final = 100_000
_KUBELET: Final = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
_BASH: Final = "#!/bin/bash\n"


def _file(path: str, text: str) -> dict[str, Any]:
    return profile(provisioningConfig={"files": [file(path, text)]})


def _unit(text: str) -> dict[str, Any]:
    return profile(provisioningConfig={"units": [{"name": "a.service", "enable": True, "content": text}]})


def _lines(form: str, count: int) -> str:
    return "".join(form.format(each) for each in range(count))


_SCRIPTS: Final[dict[str, Callable[[], str]]] = {
    "300 substitutions in each other": lambda: "a=" + "$(echo " * 300 + "x" + ")" * 300,
    "28 substitutions in each other": lambda: "a=" + "$(echo " * 28 + "x" + ")" * 28,
    "2,000 parentheses": lambda: "(" * 2_000 + "x" + ")" * 2_000,
    "60,000 lines": lambda: "echo $a\n" * 60_000,
}
_AND_FELL: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "keys of containerd": lambda: _file("/etc/containerd/config.toml", "version = 2\n" + _lines("k{}=1\n", 80_000)),
    "a dotted key": lambda: _file("/etc/containerd/config.toml", "a." * 400_000 + "a=1"),
    "feature gates": lambda: _file(
        "/etc/kubernetes/kubelet.conf", _KUBELET + "featureGates:\n" + _lines("  k{}: true\n", 60_000)
    ),
    "keys of a unit": lambda: _unit("[Service]\n" + _lines("Foo{}=a\n", 70_000)),
}  # fmt: skip
_AND_HELD: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "sections": lambda: _unit(_lines("[S{}]\n", 80_000)),
    "no sections": lambda: _unit(_lines("a{}\n", 80_000)),
    "continued lines": lambda: _unit("[Service]\nExecStart=/bin/a " + "\\\n" * 400_000),
    "commands": lambda: _unit("[Service]\n" + "ExecStart=/bin/a\n" * 50_000),
    "a long command": lambda: _unit("[Service]\nExecStart=/bin/sh -c '" + "/a;" * 300_000 + "'"),
    "dependencies": lambda: _unit("[Unit]\n" + _lines("After=x{}.service\n", 50_000)),
    "lines of sysctl": lambda: _file("/etc/sysctl.d/a.conf", "a b c\n" * 150_000),
    "a line of sysctl": lambda: _file("/etc/sysctl.d/a.conf", "a" * 1_000_000),
    "plugins": lambda: _file("/etc/containerd/config.toml", "version = 2\n" + _lines("[plugins.p{}]\n", 50_000)),
    "hosts": lambda: _file("/etc/containerd/certs.d/a/hosts.toml", _lines('[host."https://h{}"]\nfoo=1\n', 20_000)),
    "deep JSON": lambda: _file("/etc/a.json", "[" * 500_000),
    "keys of the kubelet": lambda: _file("/etc/kubernetes/kubelet.conf", _KUBELET + _lines("k{}: 1\n", 70_000)),
    "keys of netplan": lambda: _file("/etc/netplan/a.yaml", "network:\n" + _lines("  k{}: 1\n", 70_000)),
    "a YAML key": lambda: _file("/etc/kubernetes/manifests/a.yaml", "a: 1\n" * 150_000),
    "sources": lambda: _file("/etc/apt/sources.list.d/a.sources", "Types: a\n\n" * 90_000),
    "passwords": lambda: _file("/opt/a", "password=abcdefgh1234567\n" * 40_000),
    "a long word": lambda: _file("/opt/a.sh", _BASH + "a" * 1_000_000),
    "commands in a line": lambda: _file("/opt/a.sh", _BASH + "a;" * 300_000),
    "open brackets": lambda: _file("/opt/a.sh", _BASH + "[[ " * 2_000),
    "open documents": lambda: _file("/opt/a.sh", _BASH + "cat <<A\n" * 3_000),
    "5,000 files": lambda: profile(provisioningConfig={"files": [file(f"/f{each}", "x") for each in range(5_000)]}),
    "a file 5,000 times": lambda: profile(provisioningConfig={"files": [file("/f", "x")] * 5_000}),
    "50,000 commands": lambda: profile(provisioningConfig={"modules": {"runcmd": ["echo"] * 50_000}}),
    "entries of a wrong type": lambda: profile(provisioningConfig={"files": [1] * 100_000}),
    "unknown fields": lambda: profile(**{f"f{each}": "a" for each in range(100_000)}),
}  # fmt: skip


def _validate(folder: Path, body: dict[str, Any]) -> str:
    (folder / "a.json").write_text(json.dumps(body))
    outcome = walled_cli("validate", str(folder), seconds=15)
    assert outcome.faults == []
    assert len(outcome.out) < _MOST_TOLD
    return outcome.out


@pytest.mark.parametrize("kind", cases(_SCRIPTS, ("2,000 parentheses",)))
def test_a_script_that_keeps_shellcheck_busy_is_named(kind: str, tmp_path: Path) -> None:
    out = _validate(tmp_path, _file("/opt/a.sh", _BASH + _SCRIPTS[kind]()))
    assert "warning checker-stopped: shellcheck " in out


@pytest.mark.parametrize("kind", cases(_AND_FELL, ("a dotted key",)))
def test_checks_say_a_few_things_of_a_hostile_file(kind: str, tmp_path: Path) -> None:
    _validate(tmp_path, _AND_FELL[kind]())


@pytest.mark.oracle
@pytest.mark.parametrize("kind", _AND_HELD)
def test_a_large_boot_file_is_judged(kind: str, tmp_path: Path) -> None:
    _validate(tmp_path, _AND_HELD[kind]())


@pytest.mark.oracle
def test_a_script_that_is_not_judged_keeps_no_other_from_being_judged(tmp_path: Path) -> None:
    files = [
        file("/opt/slow.sh", _BASH + _SCRIPTS["28 substitutions in each other"]()),
        file("/opt/wrong.sh", _BASH + "if [ $a == 1 ; then echo; fi\n"),
    ]
    out = _validate(tmp_path, profile(provisioningConfig={"files": files}))
    assert "kube-system/osp-a, /opt/slow.sh\n" in out.partition("checker-stopped")[2]
    assert "kube-system/osp-a, /opt/wrong.sh\n" in out.partition("error shellcheck-SC10")[2]


_PATH: Final = {"PATH": os.environ["PATH"]}


def _bash(script: str, seconds: int = 1) -> tuple[int | None, str]:
    with scratch() as folder:
        ran = run(["bash", "-c", script], folder, _PATH, seconds)
    return ran.code, ran.stopped


def test_a_program_has_limits_of_time_and_output() -> None:
    assert _bash("while :; do :; done") == (None, "it takes more than 1 s of CPU time")
    assert _bash("exec sleep 1000") == (None, "it takes more than 6 s")
    assert _bash("exec yes", 9) == (None, "it prints more than 16 MiB")
    assert _bash("kill -SEGV $$") == (None, "SIGSEGV stopped it")


@pytest.mark.oracle
def test_a_program_has_a_limit_of_memory() -> None:
    code, _ = _bash("a=$(head -c 3G /dev/zero | tr '\\0' a); echo ${#a}", 9)
    assert code != 0


def test_what_a_program_leaves_behind_is_ended(tmp_path: Path) -> None:
    with scratch() as folder:
        ran = run(["bash", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid"], folder, _PATH)
    assert ran.code == 0
    state = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    for _ in range(1000):  # what is killed still runs until its turn comes
        if not state.exists() or state.read_text().split()[2] == "Z":
            break
        sleep(0.01)
    else:
        pytest.fail("it runs on")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\n" * 1990 + "x\n", "y\n" + "a\nb\n" * 1000),
        ("a\n" * 500_000, "b\n" + "a\n" * 500_000),
        ("a\n", "b\n" * 500_000 + "a\nc"),
        ("a" * (1 << 20), "b" * (1 << 20)),
    ],
    ids=["repeated lines", "long ends", "one line", "long lines"],
)
def test_texts_are_compared_in_bounded_time(before: str, after: str) -> None:
    outcome = walled(lambda: text_diff(TextChange("a", before, after)).added)
    assert outcome.faults == []
    assert outcome.value >= 1
