"""Workflows and actions as they stand: pinned, with few rights, nothing pasted into scripts, and fitting together."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from osm_gitops import __version__
from tests.actions.runner import ACTIONS, ROOT, load
from tests.real_tools import real_tool

_SCAFFOLD = ROOT / "osm_gitops" / "commands" / "init" / "files" / "workflow.yml"
_WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), _SCAFFOLD]
_DEFINITIONS = [*_WORKFLOWS, *sorted(ACTIONS.glob("*/action.yml"))]
_FLEET = load(ROOT / ".github" / "workflows" / "fleet.yml")
# What jobs may write, by workflow; the scaffold's one job hands its rights to the jobs of fleet.yml.
_WRITES = {
    "fleet": {"plan": {"pull-requests"}, "apply": {"contents"}},
    "workflow": {"fleet": {"pull-requests", "contents"}},
    "release": {
        "attest": {"id-token", "attestations"},
        "image": {"id-token", "attestations", "packages"},
        "pypi": {"id-token"},
        "github": {"contents"},
    },
}
_ON: Any = True  # how YAML 1.1 reads the key `on`


_PAGE = (ROOT / "docs" / "how-to" / "github-actions.md").read_text("utf-8")


def _example(number: int) -> Any:
    """A block of YAML of the page about GitHub."""
    return yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)[number])


def _steps(definition: Any) -> Iterator[Any]:
    if "runs" in definition:
        yield from definition["runs"]["steps"]
    for job in definition.get("jobs", {}).values():
        yield job
        yield from job.get("steps", [])


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", _DEFINITIONS, ids=_name)
def test_foreign_actions_are_pinned_to_commits_and_say_which_version_that_is(path: Path) -> None:
    for used in re.findall(r"uses: (.*)", path.read_text("utf-8")):
        ours = used.startswith("./") or re.fullmatch(rf"OWNER/osm-gitops/\S+@COMMIT # v{__version__}", used)
        assert ours or re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used


@pytest.mark.parametrize("path", _DEFINITIONS, ids=_name)
def test_no_script_has_a_text_of_somebody_else_pasted_into_it(path: Path) -> None:
    for step in _steps(load(path)):
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("path", _WORKFLOWS, ids=_name)
def test_workflows_have_few_rights_and_never_run_a_strangers_code_with_secrets(path: Path) -> None:
    workflow = load(path)
    events = workflow[_ON]
    assert "pull_request_target" not in events
    assert "workflow_run" not in events
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        rights = job.get("permissions", {})
        writes = {right for right, level in rights.items() if level == "write"}
        assert writes == _WRITES.get(path.stem, {}).get(name, set()), name


def test_only_the_checkout_that_pushes_keeps_credentials() -> None:
    kept = [
        (name, step["with"]["path"])
        for name, job in _FLEET["jobs"].items()
        for step in job["steps"]
        if step["uses"].startswith("actions/checkout@") and step["with"]["persist-credentials"]
    ]
    assert kept == [("apply", "config")]


def test_runs_that_apply_wait_for_each_other_and_start_from_the_default_branch_alone() -> None:
    apply = _FLEET["jobs"]["apply"]
    assert apply["concurrency"]["cancel-in-progress"] is False
    default = "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"
    assert apply["if"] == f"github.event_name == 'schedule' || (github.event_name != 'pull_request' && {default})"


def test_the_reusable_workflow_gives_its_actions_inputs_that_they_have() -> None:
    for name, job in _FLEET["jobs"].items():
        (step,) = [step for step in job["steps"] if step["uses"].startswith("./")]
        assert step["uses"] == f"./osm-gitops/.github/actions/{name}"
        assert step["with"].keys() <= load(ACTIONS / name / "action.yml")["inputs"].keys()
        checkout = next(each for each in job["steps"] if each["with"].get("path") == "osm-gitops")
        assert checkout["with"]["ref"] == "${{ job.workflow_sha }}"


def test_the_scaffold_names_inputs_and_secrets_that_there_are() -> None:
    called = _FLEET[_ON]["workflow_call"]
    text = _SCAFFOLD.read_text("utf-8")
    offered = re.findall(r"^    #   ([a-z-]+):", text, re.MULTILINE)
    assert offered
    assert set(offered) <= called["inputs"].keys()
    assert set(re.findall(r"^      # ([A-Z_]+): ", text, re.MULTILINE)) <= called["secrets"].keys()


def test_the_page_about_github_tells_all_inputs_and_secrets() -> None:
    called = _FLEET[_ON]["workflow_call"]
    rows = re.findall(r"^\| `([\w-]+)` \|", _PAGE, re.MULTILINE)
    assert set(rows) == called["inputs"].keys() | called["secrets"].keys()


@pytest.mark.parametrize("workflow", [load(_SCAFFOLD), _example(0)], ids=["scaffold", "page"])
def test_who_calls_the_reusable_workflow_gives_it_what_it_takes(workflow: Any) -> None:
    called = _FLEET[_ON]["workflow_call"]
    (job,) = workflow["jobs"].values()
    assert job["uses"] == "OWNER/osm-gitops/.github/workflows/fleet.yml@COMMIT"
    assert job["secrets"].keys() <= called["secrets"].keys()
    wanted: dict[str, str] = {}
    for each in _FLEET["jobs"].values():
        wanted |= {right: level for right, level in each["permissions"].items() if level == "write"}
    assert job["permissions"] == wanted


def test_the_examples_of_the_page_say_which_version_the_commit_is() -> None:
    ours = re.findall(r"uses: (OWNER/.*)", _PAGE)
    assert len(ours) == 2
    assert all(used.endswith(f"@COMMIT # v{__version__}") for used in ours)


def test_the_pages_example_of_an_action_has_inputs_that_there_are() -> None:
    step = _example(1)["jobs"]["plan"]["steps"][-1]
    assert step["uses"] == "OWNER/osm-gitops/.github/actions/plan@COMMIT"
    assert step["with"].keys() <= load(ACTIONS / "plan" / "action.yml")["inputs"].keys()


def test_the_uv_of_the_actions_is_that_of_the_makefile() -> None:
    found = re.findall(r"^UV_VERSION := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert re.findall(r"^uv_version=(.*)$", (ACTIONS / "setup.sh").read_text("utf-8"), re.MULTILINE) == found


def test_what_is_installed_is_a_copy_of_the_actions_own_revision(programs: Path) -> None:
    script = "import osm_gitops; print(osm_gitops.__version__, osm_gitops.__file__)"
    ask: list[str | Path] = [programs / "python", "-c", script]
    ran = subprocess.run(ask, capture_output=True, text=True, check=True, cwd="/")
    assert ran.stdout.startswith(f"{__version__} {programs.parent}")


@pytest.mark.oracle
@pytest.mark.parametrize("path", _WORKFLOWS, ids=_name)
def test_actionlint_finds_nothing_wrong(path: Path) -> None:
    config = ROOT / ".github" / "actionlint.yaml"
    ran = subprocess.run(
        [real_tool("actionlint"), "-no-color", "-config-file", config, path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
