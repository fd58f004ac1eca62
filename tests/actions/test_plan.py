"""The action that plans pull requests: its steps run by bash, with real repositories and an API of comments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from osm_gitops.errors import Code
from tests.actions.conftest import Config, Jobs
from tests.actions.github import BOT, MOST_CHARACTERS, READING, GitHub
from tests.actions.runner import Job
from tests.cli.scenes import GETTER_TOKEN, pool, profile, write_tree
from tests.faults import Expected, told
from tests.sources.sealed import KEY, RECIPIENT

_MARKER = "<!-- osm-gitops plan: fleet -->\n"
_NEW_POOL = "Plan: 3 to create, 0 to update, 0 to replace, 0 to delete, 7 unchanged."


def _new_pool(config: Config) -> None:
    config.pool("c")


def _other_file(config: Config) -> None:
    (config.work / "README.md").write_text("other\n")


def _break_fleet(config: Config) -> None:
    (config.work / "osm-gitops.yaml").write_text("kind: Nothing\n")


def _bodies(github: GitHub) -> list[str]:
    return [comment["body"] for comment in github.comments]


def _plan(jobs: Jobs, config: Config, **inputs: str) -> Job:
    return jobs.pull_request(config).run("plan", sops_age_key=KEY, **inputs)


def test_a_pull_request_gets_a_summary_a_comment_and_the_whole_plan(
    applied: Config, jobs: Jobs, github: GitHub
) -> None:
    applied.pull_request(_new_pool)
    job = _plan(jobs, applied)
    assert not job.failed, job.log
    assert job.outputs["plan.changes"] == "true"
    assert _NEW_POOL in job.summary
    (body,) = _bodies(github)
    assert body.startswith(f"{_MARKER}## osm-gitops plan\n\n{_NEW_POOL}\n")
    assert github.comments[0]["user"]["login"] == BOT
    folder = job.uploads["osm-gitops-plan-fleet"]
    assert sorted(path.name for path in folder.iterdir()) == ["plan.html", "plan.json", "plan.md"]
    assert json.loads((folder / "plan.json").read_text("utf-8"))["hasChanges"] is True
    assert GETTER_TOKEN not in job.log + job.summary + body


@pytest.mark.exhaustive
def test_a_plan_of_what_is_not_committed_fails(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(_new_pool)
    job = jobs.pull_request(applied)
    write_tree(job.workspace / "pools", pool("unreviewed"))
    job.run("plan", sops_age_key=KEY)
    assert job.failed
    assert "not as committed: pools/MachineDeployment-unreviewed.yaml" in job.log


@pytest.mark.exhaustive
def test_the_comment_is_updated_not_repeated_and_found_on_any_page(applied: Config, jobs: Jobs, github: GitHub) -> None:
    for number in range(150):
        github.add("someone", f"opinion {number}")
    applied.pull_request(_new_pool)
    _plan(jobs, applied)
    applied.pull_request(lambda config: config.pool("a", kubelet="1.35.0"))
    _plan(jobs, applied)
    ours = _bodies(github)[150:]
    assert len(ours) == 1
    assert "Plan: 0 to create, 3 to update" in ours[0]
    before = len(github.requests)
    _plan(jobs, applied)
    assert [request.split()[0] for request in github.requests[before:]] == ["GET", "GET"]  # it says so already
    applied.pull_request(_other_file)
    job = _plan(jobs, applied)
    assert job.outputs["plan.changes"] == "false"
    assert _bodies(github)[150:] == [f"{_MARKER}## osm-gitops plan\n\nNo changes.\n\n"]


@pytest.mark.exhaustive
def test_where_nothing_changes_no_comment_is_begun(applied: Config, jobs: Jobs, github: GitHub) -> None:
    applied.pull_request(_other_file)
    job = _plan(jobs, applied)
    assert not job.failed, job.log
    assert "No changes." in job.summary
    assert github.comments == []


@pytest.mark.exhaustive
def test_comments_of_others_are_left_alone_whatever_marker_they_bear(
    applied: Config, jobs: Jobs, github: GitHub
) -> None:
    github.add("someone", f"{_MARKER}I was here first")
    github.add(BOT, "<!-- osm-gitops plan: other -->\nanother fleet")
    github.add("gone", f"{_MARKER}my account is gone")["user"] = None
    before = _bodies(github)
    applied.pull_request(_new_pool)
    job = _plan(jobs, applied)
    assert not job.failed, job.log
    assert _bodies(github)[:3] == before
    assert len(github.comments) == 4


def _many_lines(pools: int) -> Callable[[Config], None]:
    """A change that adds pools whose scripts have 2,000 lines of their own, some 30 kB each."""

    def change(config: Config) -> None:
        script = "#!/bin/sh\n" + "".join(f"echo {{{{ .KubeVersion }}}} {line}\n" for line in range(2000))
        write_tree(config.work / "pools", profile("osp-long", script=script))
        config.token("getter-token-1")
        for number in range(pools):
            config.pool(f"pool-{number:02}", profile="osp-long", kubelet=f"1.{number}.0")

    return change


@pytest.mark.exhaustive
def test_a_plan_too_long_for_a_comment_is_cut_there_and_whole_elsewhere(
    applied: Config, jobs: Jobs, github: GitHub
) -> None:
    applied.pull_request(_many_lines(6))
    job = _plan(jobs, applied, args="--verbose")
    assert not job.failed, job.log
    (body,) = _bodies(github)
    page = "https://github.com/org/nodes/actions/runs/4711"
    assert len(body) <= MOST_CHARACTERS
    assert re.search(rf"This report is cut to \d+ bytes\.\*\* The whole plan is in <{page}>\.\n$", body)
    assert len(job.summary) > MOST_CHARACTERS
    assert "is cut" not in job.summary
    whole = (job.uploads["osm-gitops-plan-fleet"] / "plan.html").read_text("utf-8")
    assert all(f"pool-{number:02}-kube-system-bootstrap-config" in whole for number in range(6))


@pytest.mark.exhaustive
def test_a_plan_too_long_for_the_summary_is_cut_there_too(applied: Config, jobs: Jobs, github: GitHub) -> None:
    applied.pull_request(_many_lines(27))
    job = _plan(jobs, applied, args="--verbose")
    assert not job.failed, job.log
    assert (job.uploads["osm-gitops-plan-fleet"] / "plan.md").stat().st_size > 2**20
    assert len(job.summary.encode()) < 2**20
    assert "Plan: 82 to create" in job.summary
    assert "This report is cut to " in job.summary
    assert len(_bodies(github)[0]) <= MOST_CHARACTERS


# -- without keys --


@pytest.mark.parametrize(("fork", "actor"), [(True, "stranger"), (False, "dependabot[bot]")])
def test_a_pull_request_without_secrets_is_planned_against_its_base(
    fork: bool, actor: str, applied: Config, jobs: Jobs, github: GitHub
) -> None:
    applied.pull_request(_new_pool)
    job = jobs.pull_request(applied, fork=fork, actor=actor).run("plan", token=READING)
    assert not job.failed, job.log
    assert job.outputs["plan.changes"] == "true"
    assert job.summary.startswith("This run has no keys. So it compares with `HEAD^1`, not with the desired state")
    assert _NEW_POOL in job.summary
    assert "The token may not write comments on this pull request: nothing was written." in job.log
    assert github.comments == []


def test_a_pull_request_without_secrets_shows_which_files_changed(applied: Config, jobs: Jobs, github: GitHub) -> None:
    applied.pull_request(lambda config: config.token("getter-token-2"))
    job = jobs.pull_request(applied, fork=True).run("plan")
    assert not job.failed, job.log
    assert "bootstrap /opt/bin/bootstrap`: contents not shown" in job.summary
    (body,) = _bodies(github)  # some repositories let forks write
    assert body.startswith(f"{_MARKER}This run has no keys.")


def test_a_key_never_meets_what_a_fork_wrote(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(_new_pool)
    job = jobs.pull_request(applied, fork=True)
    job.github = {**job.github, "event_name": "pull_request_target"}  # which gets secrets
    job.run("plan", sops_age_key=KEY)
    assert not job.failed, job.log
    assert job.summary.startswith("This run has no keys.")


@pytest.mark.exhaustive
def test_dependabot_with_a_key_is_planned_like_others(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(_new_pool)
    job = jobs.pull_request(applied, actor="dependabot[bot]").run("plan", sops_age_key=KEY)
    assert not job.failed, job.log
    assert job.summary.startswith("## osm-gitops plan")


@pytest.mark.exhaustive
def test_keys_can_be_kept_from_all_pull_requests(applied: Config, jobs: Jobs, github: GitHub) -> None:
    applied.pull_request(_new_pool)
    job = jobs.pull_request(applied).run("plan", without_keys="true")
    assert not job.failed, job.log
    assert _bodies(github)[0].startswith(f"{_MARKER}This run has no keys.")


# -- failures --


@pytest.mark.exhaustive
def test_a_comment_that_is_refused_fails_where_it_should_have_worked(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(_new_pool)
    job = _plan(jobs, applied, token=READING)
    assert job.failed
    assert Expected(Code.FORGE_REFUSED, "403") in told(job.log)
    assert READING not in job.log


@pytest.mark.exhaustive
def test_an_api_that_is_not_there_fails_with_a_sentence(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(_new_pool)
    job = jobs.pull_request(applied)
    job.github = {**job.github, "api_url": "http://127.0.0.1:1"}
    job.run("plan", sops_age_key=KEY)
    assert job.failed
    assert Expected(Code.FORGE_UNREACHABLE, "http://127.0.0.1:1") in told(job.log)
    assert "Traceback" not in job.log


def test_a_pool_that_fails_fails_the_check_and_is_in_the_comment(applied: Config, jobs: Jobs, github: GitHub) -> None:
    applied.pull_request(lambda config: config.pool("a", operatingSystem="debian"))
    job = _plan(jobs, applied)
    assert job.failed
    assert "plan.changes" not in job.outputs
    assert "### Failed\n\n- `prod`: " in job.summary
    assert "### Failed\n\n- `prod`: " in _bodies(github)[0]
    assert "osm-gitops-plan-fleet" in job.uploads


def test_a_plan_that_apply_would_refuse_fails_the_check_and_is_reported(
    applied: Config, jobs: Jobs, github: GitHub
) -> None:
    applied.pull_request(_new_pool)
    job = _plan(jobs, applied, args="--max-changed-pools\n0")
    assert job.failed
    refusal = "1 pools would change, more than the 0 allowed"
    assert refusal in job.summary
    (body,) = _bodies(github)
    assert refusal in body
    assert _NEW_POOL in body
    assert refusal in (job.uploads["osm-gitops-plan-fleet"] / "plan.md").read_text("utf-8")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "change",
    [
        _break_fleet,
        lambda config: (config.work / "osm-gitops.yaml").unlink(),
    ],
    ids=["broken", "gone"],
)
def test_a_fleet_that_cannot_be_read_says_so_in_the_comment(
    change: Callable[[Config], None], applied: Config, jobs: Jobs, github: GitHub
) -> None:
    applied.pull_request(change)
    job = _plan(jobs, applied)
    assert job.failed
    for text in (job.summary, _bodies(github)[0]):
        assert "**osm-gitops plan failed** before there was anything to show." in text
        assert "<https://github.com/org/nodes/actions/runs/4711>" in text


# -- inputs --


def test_inputs_are_data_whatever_they_hold(applied: Config, jobs: Jobs, tmp_path: Path) -> None:
    applied.pull_request(_new_pool)
    evil = f"$(touch {tmp_path}/one)`touch {tmp_path}/two`; touch {tmp_path}/three"
    job = _plan(jobs, applied, args=f"--only\n{evil}", fleet=evil, name=evil, base=evil)
    assert job.failed
    assert not any((tmp_path / name).exists() for name in ("one", "two", "three"))


def test_options_stand_on_lines_of_their_own(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(_new_pool)
    job = _plan(jobs, applied, args=f"\n--age-recipient\n{RECIPIENT}\n--max-changed-pools\n0\n")
    assert "1 pools would change, more than the 0 allowed" in job.summary


def test_a_folder_inside_of_the_repository_can_be_named(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(_new_pool)
    job = _plan(jobs, applied, working_directory="pools", fleet="../osm-gitops.yaml", comment="false")
    assert not job.failed, job.log
    assert _NEW_POOL in job.summary
