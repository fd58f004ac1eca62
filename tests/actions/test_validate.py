"""The action that validates pull requests: annotations at lines of the repository, and no key."""

from __future__ import annotations

import yaml

from tests.actions.conftest import Config, Jobs
from tests.actions.runner import Job
from tests.cli.scenes import profile


def _write(config: Config, script: str) -> None:
    path = next(config.work.rglob("OperatingSystemProfile-*.yaml"))
    path.write_text(yaml.safe_dump(profile(path.stem.partition("-")[2], script), sort_keys=False), "utf-8")


def _validate(jobs: Jobs, config: Config, **inputs: str) -> Job:
    return jobs.pull_request(config).run("validate", **inputs)


def test_a_pull_request_that_would_not_boot_fails_with_an_annotation_at_its_line(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(lambda config: _write(config, "#!/bin/sh\n{{ nonsense 1 }}\n"))
    job = _validate(jobs, applied)
    assert job.failed
    lines = [line for line in job.log.splitlines() if line.startswith("::error file=pools/OperatingSystemProfile-")]
    assert any("title=template-syntax::function 'nonsense' is not defined" in line for line in lines), job.log


def test_a_profile_that_changed_without_a_new_version_is_annotated(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(lambda config: _write(config, "#!/bin/sh\necho {{ .KubeVersion }} once more\n"))
    job = _validate(jobs, applied)
    assert "title=version-not-raised::" in job.log
    assert job.failed


def test_a_sound_pull_request_passes_without_keys(applied: Config, jobs: Jobs) -> None:
    applied.pull_request(lambda config: config.pool("c"))
    job = _validate(jobs, applied)
    assert not job.failed, job.log
