"""The site of the documents has every page, and the generated parts of docs/reference are as the code has them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops.commands.validate.linter import all_rules
from osm_gitops.config.setting_names import DEFAULT_TEXTS, PASSED_OVER, SETTINGS
from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.model.settings import Settings
from tests.cli.running import command_group
from tests.tools.write_reference import BLOCKS, commands_of, options_of, pages, rewritten

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PARTS = {"Tutorials": "tutorials", "How-to guides": "how-to", "Reference": "reference", "Explanation": "explanation"}


def navigation() -> dict[str, Any]:
    entries = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    return {name: pages for entry in entries for name, pages in entry.items()}


def test_the_navigation_has_every_page_in_its_part() -> None:
    nav = navigation()
    assert nav.pop("Home") == "index.md"
    assert nav.keys() == PARTS.keys()
    for name, folder in PARTS.items():
        pages = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / folder).rglob("*.md"))
        assert sorted(nav[name]) == pages
    assert {path.parent.name for path in DOCS.rglob("*.md")} == {"docs", *PARTS.values()}


def test_the_site_is_strict_about_links_anchors_and_pages() -> None:
    validation = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["validation"]
    assert validation == {
        "nav": dict.fromkeys(("omitted_files", "not_found", "absolute_links"), "warn"),
        "links": dict.fromkeys(("not_found", "anchors", "absolute_links", "unrecognized_links"), "warn"),
    }
    assert "mkdocs build --quiet --strict" in (ROOT / "Makefile").read_text("utf-8")


def test_the_documents_that_files_name_are_there() -> None:
    folders = ("osm_gitops", "tests", "overlays", "osps", ".github", ".ci")
    named = {
        (name, path.relative_to(ROOT).as_posix())
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in {".py", ".md", ".yaml", ".yml", ".sh", ".go", ".service"}
        for name in re.findall(r"(?<![\w/-])docs/[\w/-]+\.md\b", path.read_text("utf-8"))
    }
    assert len(named) > 20
    assert [each for each in sorted(named) if not (ROOT / each[0]).is_file()] == []


# --- generated parts ---


def page(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_the_reference_is_what_the_code_has(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text == rewritten(text), "run `make reference` and commit the result"


def test_every_generated_part_has_one_place() -> None:
    named = [name for path in pages() for name in re.findall(r"<!-- generated: (.+) -->", path.read_text("utf-8"))]
    assert sorted(named) == sorted(BLOCKS)


def test_the_page_of_commands_has_every_command_and_option() -> None:
    sections = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", page("commands"), re.MULTILINE))
    settings = {f"--{setting.flag}" for setting in SETTINGS}
    for name, command in commands_of(command_group()).items():
        for option in options_of(command):
            own, shared = sections[name], sections["Options of several commands"]
            spellings = set(re.findall(r"`(--?[a-z-]+)", own if f"`{option.opts[0]}" in own else shared))
            assert {*option.opts, *option.secondary_opts} <= spellings or option.opts[0] in settings, (name, option)


def test_settings_rules_and_ignored_flags_are_all_there() -> None:
    shown = re.findall(r"^\| `--([\w-]+)` \| `(\w+)` \|", page("settings"), re.MULTILINE)
    assert shown == [(setting.flag, setting.key) for setting in SETTINGS]
    assert re.findall(r"^\| `-(\w[\w-]*)` \|", page("settings"), re.MULTILINE) == list(PASSED_OVER)
    ids = re.findall(r'^\| <a id="([\w-]+)"></a>`\1` \|', page("lint-rules"), re.MULTILINE)
    assert ids == [rule.id for rule in all_rules()]


def test_the_defaults_of_settings_are_the_programs() -> None:
    own = Settings()
    assert dict(DEFAULT_TEXTS) == {
        "namespace": own.namespace,
        "container-runtime": own.container_runtime,
        "cluster-dns": ",".join(own.cluster_dns),
        "node-kubelet-feature-gates": ",".join(f"{gate}={str(on).lower()}" for gate, on in own.feature_gates.items()),
        "node-no-proxy": own.no_proxy,
        "max-output-bytes": str(own.max_output_bytes),
        "max-loop-steps": str(own.max_loop_steps),
        "max-template-depth": str(own.max_template_depth),
        "max-render-seconds": str(own.max_render_seconds),
        "max-render-memory": str(own.max_render_memory),
        "token-life": f"{own.token_life // timedelta(hours=1)}h",
        "interval": f"{own.interval // timedelta(minutes=1)}m",
    }
    assert Bounds() == Bounds(own.max_output_bytes, own.max_loop_steps, own.max_template_depth)


def test_every_option_has_the_environment_variable_that_the_page_promises() -> None:
    for command in commands_of(command_group()).values():
        for option in options_of(command):
            name = next(each for each in option.opts if each.startswith("--")).removeprefix("--")
            if name != "help":
                assert option.envvar == "OSM_GITOPS_" + name.upper().replace("-", "_")
