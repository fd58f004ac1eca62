"""``--notify-url-file``: a webhook hears of changes and of each new error once, and never fails a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import facts, pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import git, new_repository, pin_git
from tests.kube.inbox import Inbox, opened_inbox


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    """A config repository, and the webhook that gets messages of its runs."""
    pin_git(monkeypatch)
    nodes = new_repository(tmp_path / "nodes")
    write_fleet(nodes, "clusters: [{name: prod, from: pools, to: {git: {path: clusters}}}]\n")
    write_tree(nodes / "pools", profile(), pool("a"), *facts())
    git(nodes, "add", ".")
    git(nodes, "commit", "--quiet", "-m", "pools")
    monkeypatch.chdir(nodes)
    with opened_inbox() as inbox:
        (tmp_path / "url").write_text(f"http://{inbox.address}/secret-path\n")
        yield inbox


def _messages(hook: Inbox) -> list[Any]:
    return [json.loads(each.body) for each in hook.sent]


def _apply(*more: str) -> Ran:
    return osm_gitops(
        *("apply", "--yes", "--dangerously-plaintext-secrets", "--metrics-file=../metrics.prom"),
        *("--notify-url-file=../url", *more),
    )


def test_changes_and_each_new_error_are_told_once(hook: Inbox) -> None:
    assert _apply().code == 0
    assert [message["text"] for message in _messages(hook)] == ["prod: OK: 1 pool changed, 0 errors, 0 of them new"]
    assert _apply().code == 0
    assert len(hook.sent) == 1
    write_tree(Path("pools"), profile(), pool("a"), pool("b", operatingSystem="debian"), *facts())
    ran = _apply()
    assert ran.code == 1
    (code,) = {code for code, _ in told(ran.err)}
    assert [(event["kind"], event["code"]) for event in _messages(hook)[1]["events"]] == [
        ("run", None),
        ("failure", code.value),
    ]
    assert "MachineDeployment kube-system/b" in _messages(hook)[1]["text"]
    assert _apply().code == 1
    assert len(hook.sent) == 2
    write_tree(Path("pools"), profile(), pool("a"), pool("b"), *facts())
    assert _apply("--notify-format=slack").code == 0
    assert _messages(hook)[2] == {"text": "prod: OK again"}


def test_a_webhook_that_fails_is_a_warning_without_its_address(
    hook: Inbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSM_GITOPS_NOTIFY_URL", "http://127.0.0.1:1/secret-path")
    ran = osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets")
    assert (ran.code, hook.sent) == (0, [])
    assert told(ran.err) == [Expected(Code.WEBHOOK_NOT_NOTIFIED, "refused")]
    assert "secret-path" not in ran.out + ran.err
    (tmp_path / "url").write_text("secret-path\n")
    ran = _apply()
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.INVALID_OPTION, "--notify-url-file")]
    assert "secret-path" not in ran.out + ran.err


def test_runs_that_cannot_start_are_told_once_and_when_they_start_again(hook: Inbox) -> None:
    assert _apply().code == 0
    good, metrics = Path("osm-gitops.yaml").read_text("utf-8"), Path("../metrics.prom").read_text("utf-8")
    write_fleet(Path(), "clusters: [{name: prod, form: pools}]\n")
    for _ in range(2):
        ran = _apply()
        assert ran.code == 1
    (_, failed) = _messages(hook)
    codes = {code.value for code, _ in told(ran.err)}
    assert {(each["cluster"], each["kind"]) for each in failed["events"]} == {(None, "run"), (None, "failure")}
    assert {each["code"] for each in failed["events"]} == {None, *codes}
    assert "form" in failed["text"]
    assert Path("../metrics.prom").read_text("utf-8").startswith(metrics)  # those of the last run stay
    assert _apply("--repo=../none").code == 1  # another error
    assert len(hook.sent) == 3
    Path("osm-gitops.yaml").write_text(good, "utf-8")
    for _ in range(2):
        assert _apply().code == 0
    assert [each["text"] for each in _messages(hook)[3:]] == ["runs are carried out again"]


def test_a_run_into_git_without_a_memory_says_that_errors_are_told_again(hook: Inbox) -> None:
    write_tree(Path("pools"), profile(), pool("a"), pool("b", operatingSystem="debian"), *facts())
    command = ("apply", "--yes", "--dangerously-plaintext-secrets", "--notify-url-file=../url")
    assert [code for code, _ in told(osm_gitops(*command).err)].count(Code.NOTIFIED_AGAIN) == 1
    assert Code.NOTIFIED_AGAIN not in {code for code, _ in told(_apply().err)}
    assert len(hook.sent) == 2
