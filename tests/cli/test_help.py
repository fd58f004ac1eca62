"""Help pages: short, with examples that the parser takes, options in groups, defaults shown."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from osm_gitops.config.go_flags import normalise_arguments
from osm_gitops.config.setting_names import DEFAULT_TEXTS, SETTINGS
from tests.cli.running import command_group, osm_gitops

_GROUP: Any = command_group()


def _commands(group: Any = _GROUP, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with the words that lead to them, groups too."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, (*path, name))


_ALL = list(_commands())


@pytest.mark.parametrize(("path", "command"), _ALL, ids=[" ".join(("osm-gitops", *path)) for path, _ in _ALL])
def test_every_page_has_several_examples_and_the_parser_takes_each(path: tuple[str, ...], command: Any) -> None:
    assert len(command.examples) >= 2
    for example in command.examples:
        words = shlex.split(example, comments=True)
        words = words[: words.index(">")] if ">" in words else words
        assert words[: len(path) + 1] == ["osm-gitops", *path], example
        parsed = normalise_arguments(words[1:]).args
        if "--help" not in parsed:
            _parse(list(parsed))


def _parse(words: list[str]) -> None:
    """Parse as far as the command that would run; a typo raises."""
    context = _GROUP.make_context("osm-gitops", words)
    while hasattr(context.command, "commands"):
        name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, list(rest), parent=context)


@pytest.mark.parametrize(("path", "command"), _ALL, ids=[" ".join(("osm-gitops", *path)) for path, _ in _ALL])
def test_every_page_tells_the_command_before_its_options_and_ends_its_lines_in_time(
    path: tuple[str, ...], command: Any
) -> None:
    ran = osm_gitops(*path, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.index("\nExamples:\n") < ran.out.index("\nOptions:\n")
    assert ran.out[: ran.out.index("\nExamples:\n")].count("\n") <= 12
    for example in command.examples:
        assert f"  {example}\n" in ran.out  # whole, to be copied
        assert len(example) <= 100


_GROUPS = [(path, group) for path, group in _ALL if hasattr(group, "commands")]


@pytest.mark.parametrize(("path", "group"), _GROUPS, ids=[" ".join(("osm-gitops", *path)) for path, _ in _GROUPS])
def test_the_list_of_commands_is_not_cut(path: tuple[str, ...], group: Any) -> None:
    listed = osm_gitops(*path, "--help").out.split("\nCommands:\n", 1)[1].split("\n\n", 1)[0]
    assert "..." not in listed
    assert all(name in listed for name in group.commands)


def test_what_most_people_want_comes_before_the_settings_of_operating_system_manager() -> None:
    page = osm_gitops("plan", "--help").out
    panels = [line for line in page.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert panels[:4] == ["Examples:", "Options:", "Guards:", "What to work on:"]
    assert panels[-2:] == ["Settings, named as Operating System Manager names them:", "Environment:"]


def test_defaults_are_shown_and_the_variables_of_options_too() -> None:
    page = " ".join(osm_gitops("plan", "--help").out.split())
    assert "pools to delete per cluster. [default: 50%]" in page
    assert "OSM_GITOPS_DETAILED_EXITCODE for --detailed-exitcode" in page
    for setting in SETTINGS:
        assert f"--{setting.flag}" in page
        if setting.flag in DEFAULT_TEXTS:
            assert f"[default: {DEFAULT_TEXTS[setting.flag]}]".replace(" ", "") in page.replace(" ", "")


def test_the_list_of_commands_has_the_first_line_of_each_page() -> None:
    listed = osm_gitops("--help").out.split("\nCommands:\n", 1)[1].split("\n\n", 1)[0]
    shown = [tuple(line.split(maxsplit=1)) for line in listed.splitlines()]
    assert shown == [(name, command.help.splitlines()[0]) for name, command in _GROUP.commands.items()]


def test_help_and_completion_of_names_load_no_command() -> None:
    script = """
import sys
from osm_gitops.__main__ import run
run(sys.argv[1:])
print(sorted(name for name in sys.modules if name.startswith("osm_gitops.pipeline")), file=sys.stderr)
"""
    for arguments in (["--help"], ["pln"]):
        ran = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
        assert ran.stderr.splitlines()[-1] == "[]"
