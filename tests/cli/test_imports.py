"""What help and completion import: what declares options, and nothing that works with clusters, files or profiles.

Importing is most of their time, so this is what keeps the tab key quick.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from osm_gitops.commands.app import COMMANDS
from tests.cli.scenes import pool, profile, write_fleet, write_tree

_DECLARING = frozenset(
    {
        "__main__", "bounded.files", "cli.completion", "cli.config_repo", "cli.console", "cli.gate", "cli.help",
        "cli.options", "cli.reports", "cli.results", "cli.run_options", "cli.saved", "cli.watching",
        "commands.app", "commands.install.install_plan", "commands.schema", "config.go_flags",
        "config.setting_names", "context_ref",
        "errors", "forge.place", "gocompat.duration", "gocompat.fault", "gocompat.numbers", "gocompat.text",
        "gocompat.unicode15", "model.finding", "model.settings", "model.span", "report.json_words", "report.visible",
    }
)  # fmt: skip
"""The modules that a page of help, or the completion of an option, may import beside that of the command."""
_WORKING = ("git", "sops", "targets", "pipeline", "render", "gotemplate", "plan", "lint", "workers", "downloads")
"""Rooms that no completion needs: it reads the fleet file and names in manifests and kubeconfigs."""
_SLOW = frozenset({"rich", "jinja2", "git", "kubernetes", "cryptography", "pyrage", "re2", "tree_sitter", "ruamel"})

_HELP = """
import contextlib, io, json, sys
from osm_gitops.__main__ import run
found, known = {}, set()
for name in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()):
        assert run([name, "--help"]) == 0
    found[name] = sorted(set(sys.modules) - known)
    known = set(sys.modules)
print(json.dumps(found))
"""
_COMPLETION = """
import json, sys
from osm_gitops.__main__ import run
try:
    run([])
except SystemExit:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def _own(modules: list[str]) -> set[str]:
    """Our modules, without the rooms themselves."""
    parts = {each.partition(".")[2] for each in modules if each.startswith("osm_gitops.")}
    return {each for each in parts if not any(other.startswith(f"{each}.") for other in parts)}


def _slow(modules: list[str]) -> set[str]:
    return {each.partition(".")[0] for each in modules} & _SLOW


def _completed(shell: str, line: str, folder: Path) -> tuple[str, list[str]]:
    """What is offered at the end of a line, and the modules that this took."""
    words = line.split()
    at = len(words) if line.endswith(" ") else len(words) - 1
    asked = {
        "_OSM_GITOPS_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(at),  # as bash asks
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",  # as the others do
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1],
    }
    ran = subprocess.run(
        [sys.executable, "-c", _COMPLETION],
        env=dict(os.environ) | asked,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout, json.loads(ran.stderr)


def test_a_page_of_help_imports_what_declares_options_and_its_own_command() -> None:
    ran = subprocess.run([sys.executable, "-c", _HELP, *COMMANDS], capture_output=True, text=True, check=True)
    for name, modules in json.loads(ran.stdout).items():
        module = name.replace("-", "_")
        own = {f"commands.{each}{end}" for each in (module, f"{module}_") for end in ("", ".command")}
        assert (name, _own(modules) - _DECLARING - own, _slow(modules)) == (name, set(), set())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_completion_of_an_option_imports_no_more(shell: str, tmp_path: Path) -> None:
    offered, modules = _completed(shell, "osm-gitops plan --detailed", tmp_path)
    assert "--detailed-exitcode" in offered
    assert (_own(modules) - _DECLARING, _slow(modules)) == ({"commands.plan"}, set())


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("osm-gitops plan --output j", "json"),
        ("osm-gitops plan --cluster prod", "prod-eu"),
        ("osm-gitops plan --only work", "workers"),
        ("osm-gitops osp show osp-u", "osp-ubuntu"),
        ("osm-gitops plan --context se", "seed"),
    ],
)
def test_the_completion_of_a_value_imports_nothing_that_renders_or_writes(
    line: str, offered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path / "eu", profile(), pool("workers"))
    write_fleet(tmp_path, "clusters: [{name: prod-eu, from: eu}]")
    (tmp_path / "config").write_text("{kind: Config, contexts: [{name: seed, context: {}}]}", "utf-8")
    monkeypatch.setenv("KUBECONFIG", "config")
    found, modules = _completed("bash", line, tmp_path)
    assert found.split() == [offered]
    working = {each for each in _own(modules) if each.startswith(tuple(f"{room}." for room in _WORKING))}
    assert (working - {"render.resolve.json_fields"}, _slow(modules)) == (set(), set())


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_the_text_of_an_option_is_offered_in_one_line_with_its_default(shell: str, tmp_path: Path) -> None:
    offered, _ = _completed(shell, "osm-gitops plan --max-output", tmp_path)
    assert "Maximum output of one template in bytes." in offered
    assert "1048576]" in offered
    offered, _ = _completed(shell, "osm-gitops plan --external-cloud", tmp_path)
    assert "so nodes get no cloud-config." in offered
    assert len(offered.strip().splitlines()) == 1
