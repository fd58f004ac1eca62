"""The action that applies: its steps run by bash, against a real repository to push to."""

from __future__ import annotations

import re

import pytest

from tests.actions.conftest import Config, Jobs
from tests.actions.runner import Job
from tests.cli.scenes import GETTER_TOKEN, profile, write_tree
from tests.git.repos import git
from tests.sources.sealed import KEY, RECIPIENT


def test_it_commits_encrypts_and_pushes_once(config: Config, jobs: Jobs) -> None:
    before = git(config.remote, "rev-parse", "main")
    job = jobs.push(config).run("apply", sops_age_key=KEY)
    assert not job.failed, job.log
    assert git(config.remote, "rev-parse", "main^") == before
    author = git(config.remote, "log", "-1", "--format=%an <%ae>", "main")
    assert author == "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
    shown = git(config.remote, "show", "main:clusters/prod/worker/secrets/a-kube-system-bootstrap-config.yaml")
    assert "ENC[AES256_GCM" in shown
    assert "Plan: 7 to create" in job.summary
    again = jobs.push(config).run("apply", sops_age_key=KEY)
    assert not again.failed, again.log
    assert git(config.remote, "rev-parse", "main^") == before
    assert again.summary == "## osm-gitops apply\n\nNo changes.\n\n"
    assert not any(secret in job.log + job.summary for secret in (GETTER_TOKEN, KEY))


def test_a_push_that_is_refused_fails_and_the_summary_says_where_to_look(config: Config, jobs: Jobs) -> None:
    hook = config.remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho protected branch >&2\nexit 1\n")
    hook.chmod(0o755)
    before = git(config.remote, "rev-parse", "main")
    job = jobs.push(config).run("apply", sops_age_key=KEY)
    assert job.failed
    assert git(config.remote, "rev-parse", "main") == before
    assert job.summary.startswith("**osm-gitops apply failed.** The log of this run says what was not done and why: ")


def test_without_a_key_nothing_is_lost(applied: Config, jobs: Jobs) -> None:
    before = git(applied.remote, "rev-parse", "main:clusters")
    job = jobs.push(applied).run("apply")
    assert job.failed
    assert git(applied.remote, "rev-parse", "main:clusters") == before
    assert RECIPIENT in job.log  # for whom it is encrypted


@pytest.mark.exhaustive
def test_no_line_of_a_script_is_a_command_to_the_runner(applied: Config, jobs: Jobs) -> None:
    for lines in ("one", "two"):
        script = f"#!/bin/sh\n::warning::a stranger's words\n: {lines}\n"
        write_tree(applied.work / "pools", profile(script=script))
        applied.token("getter-token-1")
        applied.commit()
        git(applied.work, "push", "--quiet", "origin", "HEAD")
        job = jobs.push(applied).run("apply", sops_age_key=KEY)
        assert not job.failed, job.log
        git(applied.work, "pull", "--quiet", "--rebase")
    opened, words, closed = (
        re.search(pattern, job.log, re.MULTILINE)
        for pattern in (
            r"^::stop-commands::([0-9a-f]{32})$",
            r"^ +::warning::a stranger's words$",
            r"^::[0-9a-f]{32}::$",
        )
    )
    assert opened
    assert words
    assert closed
    assert closed[0] == f"::{opened[1]}::"
    assert opened.start() < words.start() < closed.start()


@pytest.mark.exhaustive
def test_options_and_committer_are_inputs(config: Config, jobs: Jobs) -> None:
    inputs = {"args": "--branch\nosm-gitops/update\n", "committer_name": "A Bot", "committer_email": "bot@example.com"}
    job = jobs.push(config).run("apply", sops_age_key=KEY, **inputs)
    assert not job.failed, job.log
    assert git(config.remote, "log", "-1", "--format=%cn %ce", "osm-gitops/update") == "A Bot bot@example.com"
    assert "clusters" not in git(config.remote, "ls-tree", "--name-only", "main").split()


@pytest.mark.exhaustive
def test_what_is_not_committed_is_refused_unless_the_workflow_allows_it(config: Config, jobs: Jobs) -> None:
    before = git(config.remote, "rev-parse", "main")
    job = jobs.push(config)
    _edit_fleet_file(job)
    assert job.run("apply", sops_age_key=KEY).failed
    assert "not as committed: osm-gitops.yaml. Commit it, or run without --require-clean" in job.log
    assert git(config.remote, "rev-parse", "main") == before
    allowed = jobs.push(config)
    _edit_fleet_file(allowed)
    allowed.environment = {**allowed.environment, "OSM_GITOPS_REQUIRE_CLEAN": "false"}
    allowed.run("apply", sops_age_key=KEY)
    assert not allowed.failed, allowed.log
    sources = git(config.remote, "log", "-1", "--format=%(trailers:key=Osm-Gitops-Source,valueonly)", "main").split()
    assert f"osm-gitops.yaml@{before}-dirty" in sources


def _edit_fleet_file(job: Job) -> None:
    with (job.workspace / "osm-gitops.yaml").open("a") as file:
        file.write("# edited\n")
