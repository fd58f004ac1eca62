"""The habits of this repository: hooks that check each commit, and what GitHub reads beside the workflows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.actions.runner import ACTIONS, load

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
HOOKS = [hook for repo in load(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]

# A mistake for each hook: the file, and what the hook says of it.
MISTAKES = {
    "lint-style": ("osm_gitops/style.py", "import os\n", "F401"),
    "lint-format": ("osm_gitops/format.py", "A = 'a'\n", "would be reformatted"),
    "lint-types": ("osm_gitops/types.py", 'A: int = "a"\n', "Incompatible types"),
    "lint-layers": ("osm_gitops/errors.py", "from osm_gitops import cli\n\nCLI = cli\n", "errors -> osm_gitops.cli"),
    "lint-shell": (".ci/run", "#!/bin/bash\nrm $1\n", "SC2086"),
}


# --- pre-commit ---


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    environment = {
        "PATH": f"{ROOT / '.tools' / 'bin'}:{os.environ['PATH']}",
        "UV_PROJECT_ENVIRONMENT": sys.prefix,  # the tools are those that run the tests
        "UV_NO_SYNC": "1",
        "PRE_COMMIT_HOME": str(folder.parent / "pre-commit"),
        "http_proxy": "http://127.0.0.1:9",  # no hook needs the network
        "https_proxy": "http://127.0.0.1:9",
    }
    return subprocess.run(
        command, cwd=folder, env=kept | environment, capture_output=True, text=True, check=False, errors="replace"
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A repository with this one's settings and hooks, and all of its rooms, empty."""
    folder = tmp_path / "small"
    for name in ("Makefile", "pyproject.toml", "uv.lock", "LICENSE", ".pre-commit-config.yaml"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    rooms = re.findall(r"osm_gitops[\w.]*", str(settings["importlinter"]))
    scripts = re.findall(
        r"[\w./-]+", re.findall(r"^SCRIPTS := (.*?)\$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0]
    )
    files = {
        **{f"{room.replace('.', '/')}/__init__.py": "" for room in rooms},
        **{f"{checked}/a{number}.py": "" for number, checked in enumerate(settings["mypy"]["files"])},
        **dict.fromkeys(scripts, "#!/bin/bash\n"),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    shutil.rmtree(folder / "osm_gitops" / "errors", ignore_errors=True)
    (folder / "osm_gitops" / "errors.py").write_text("", "utf-8")
    (folder / ".venv").mkdir()
    (folder / ".venv" / ".ready").touch()
    (folder / ".gitignore").write_text(".venv\n", "utf-8")
    for command in (["init", "--quiet"], ["add", "--all"]):
        assert run(folder, "git", *command).returncode == 0
    return folder


def failed(folder: Path) -> tuple[set[str], str]:
    """The hooks that fail, and all that they print."""
    ran = run(folder, sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never", "--verbose")
    ids = {hook["name"]: hook["id"] for hook in HOOKS}
    results = dict(re.findall(r"^(.*?)\.+(Passed|Failed|Skipped|\(.*\)Skipped)$", ran.stdout, re.MULTILINE))
    assert results.keys() == ids.keys(), ran.stdout + ran.stderr
    assert set(results.values()) <= {"Passed", "Failed"}, ran.stdout
    assert (ran.returncode != 0) == ("Failed" in results.values())
    return {ids[name] for name, result in results.items() if result == "Failed"}, ran.stdout


def test_the_hooks_are_the_parts_of_make_lint_and_fetch_nothing() -> None:
    assert {repo["repo"] for repo in load(ROOT / ".pre-commit-config.yaml")["repos"]} == {"local"}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (parts,) = re.findall(r"^LINTS := (.*)$", makefile, re.MULTILINE)
    assert [hook["id"] for hook in HOOKS] == parts.split() == [*MISTAKES]
    assert all(hook["entry"] == f"make --silent {hook['id']}" for hook in HOOKS)
    assert all(hook["language"] == "system" for hook in HOOKS)
    assert re.search(r"^lint: \$\(LINTS\)", makefile, re.MULTILINE)


def test_each_hook_finds_its_mistake_and_passes_without_it(small: Path) -> None:
    found, output = failed(small)
    assert found == set(), output
    for path, text, _ in MISTAKES.values():
        (small / path).write_text(text, "utf-8")
    assert run(small, "git", "add", "--all").returncode == 0
    found, output = failed(small)
    assert found == set(MISTAKES)
    assert [said for _, _, said in MISTAKES.values() if said not in output] == []


# --- what GitHub reads ---


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("dependabot", GITHUB / "dependabot.yml"),
        ("github-issue-config", GITHUB / "ISSUE_TEMPLATE" / "config.yml"),
        *(("github-issue-forms", path) for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml"))),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_github_understands_its_files(schema: str, path: Path) -> None:
    judge = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path))
    ran = subprocess.run(judge, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_bug_report_asks_for_the_version_and_warns_of_secrets() -> None:
    form = load(GITHUB / "ISSUE_TEMPLATE" / "bug.yml")
    required = {each["id"] for each in form["body"] if each.get("validations", {}).get("required")}
    assert {"version", "input", "happened", "expected"} <= required
    text = (GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text("utf-8")
    assert "SECURITY.md" in text
    assert "Do not paste tokens" in text


def test_the_files_that_templates_and_policies_name_are_there() -> None:
    for path in [GITHUB / "pull_request_template.md", *(GITHUB / "ISSUE_TEMPLATE").glob("*.yml"), ROOT / "SECURITY.md"]:
        for name in re.findall(r"\b[A-Z]+\.md\b", path.read_text("utf-8")):
            assert (ROOT / name).is_file(), (path, name)


def test_the_commands_that_templates_name_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = (GITHUB / "pull_request_template.md").read_text("utf-8")
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets


def test_dependabot_watches_packages_actions_and_the_image_wherever_they_are_named() -> None:
    updates = {each["package-ecosystem"]: each for each in load(GITHUB / "dependabot.yml")["updates"]}
    assert updates.keys() == {"uv", "github-actions", "docker"}
    assert (ROOT / updates["uv"]["directory"].strip("/") / "uv.lock").is_file()
    assert (ROOT / updates["docker"]["directory"].strip("/") / "Dockerfile").is_file()
    # GitHub reads .github/workflows for the root; actions are found in folders that are named.
    patterns = updates["github-actions"]["directories"]
    assert "/" in patterns
    for path in ACTIONS.glob("*/action.yml"):
        folder = f"/{path.parent.relative_to(ROOT).as_posix()}"
        assert any(fnmatch(folder, pattern) for pattern in patterns), folder
