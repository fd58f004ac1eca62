"""``osm-gitops plan`` as reports: forms, files, cut to a length."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from osm_gitops import __version__
from osm_gitops.cli.reports import LEAST_LENGTH
from osm_gitops.errors import Code
from tests.cli.running import Ran, osm_gitops
from tests.cli.scenes import pool, profile, write_fleet, write_tree
from tests.faults import Expected, told
from tests.git.repos import new_repository

_PLAN = ("plan", "--from", "tree", "--to", "out")


@pytest.fixture(autouse=True)
def _tree(tmp_path: Path) -> None:
    write_tree(tmp_path / "tree", profile(), *(pool(f"pool-{number:02}") for number in range(40)))
    assert osm_gitops("render", *_PLAN[1:]).code == 0
    # Each pool changes in a way of its own.
    pools = (pool(f"pool-{number:02}", kubelet=f"1.{number}.0") for number in range(40))
    write_tree(tmp_path / "tree", profile(), *pools)


def _plan(*more: str) -> Ran:
    ran = osm_gitops(*_PLAN, *more)
    assert ran.code == 0, ran.err
    return ran


def test_markdown_and_html_tell_what_text_tells() -> None:
    summary = "Plan: 0 to create, 120 to update, 0 to replace, 0 to delete, 1 unchanged."
    assert summary in _plan().out
    markdown = _plan("-o", "markdown").out
    assert markdown.startswith(f"## osm-gitops plan\n\n{summary}\n\n")
    assert "-echo v1.34.2\n+echo v1.7.0\n" in markdown
    html = _plan("-o", "html").out
    assert f"<strong>{summary}</strong>" in html
    assert '<span class="old">-echo v1.34.2</span><span class="new">+echo v1.7.0</span>' in html
    HTMLParser().feed(html)


def test_a_page_says_when_it_was_made_and_the_same_time_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert f">Made by osm-gitops {__version__}, 20" in _plan("-o", "html").out
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323045")
    page = _plan("-o", "html").out
    assert f">Made by osm-gitops {__version__}, 2026-01-02 03:04 UTC</p>" in page
    assert page == _plan("-o", "html").out
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    ran = osm_gitops(*_PLAN, "-o", "html")
    assert (ran.code, ran.out) == (1, "")
    assert told(ran.err) == [Expected(Code.INVALID_OPTION)]


def test_a_report_of_apply_is_headed_apply(tmp_path: Path) -> None:
    new_repository(tmp_path / "repo")
    files = ("--report", "a.md", "--report", "a.html")
    ran = osm_gitops(
        *("apply", "--yes", "--from", "tree", "--to", "repo/clusters", "--dangerously-plaintext-secrets"), *files
    )
    assert ran.code == 0, ran.err
    assert (tmp_path / "a.md").read_text("utf-8").startswith("## osm-gitops apply\n")
    assert "<h1>osm-gitops apply</h1>" in (tmp_path / "a.html").read_text("utf-8")


def test_report_files_hold_what_the_option_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323045")
    names = {"text": "a.txt", "json": "a.json", "markdown": "a.md", "html": "a.html"}
    files = [part for name in names.values() for part in ("--report", name)]
    cut = _plan("-o", "markdown", "--max-length", "5000", *files).out
    for form, name in names.items():
        assert (tmp_path / name).read_text("utf-8") == _plan("-o", form).out
    assert len(cut) <= 5000 < (tmp_path / "a.md").stat().st_size
    assert json.loads((tmp_path / "a.json").read_text("utf-8"))["hasChanges"]


def test_a_report_that_is_cut_says_where_the_whole_is() -> None:
    ran = _plan("-o", "markdown", "--max-length", "5000", "--full-report-at", "https://ci.example.com/runs/7")
    assert "**This report is cut to 5000 bytes.** The whole plan is in <https://ci.example.com/runs/7>." in ran.out


def test_what_cannot_be_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    ran = osm_gitops("plan", "--from", "nowhere", "--to", "out", "--report", "plan.pdf", "--max-length", "5000")
    assert (ran.code, ran.out) == (1, "")
    assert Expected(Code.INVALID_OPTION, "plan.pdf") in told(ran.err)
    assert "--max-length: only Markdown can be cut. Add -o markdown" in ran.err
    assert "nowhere" not in ran.err
    assert not (tmp_path / "plan.pdf").exists()
    few = osm_gitops(*_PLAN, "-o", "markdown", "--max-length", str(LEAST_LENGTH - 1))
    assert (few.code, few.out) == (1, "")


def test_a_report_that_cannot_be_written_is_an_error_with_its_name() -> None:
    ran = osm_gitops(*_PLAN, "--report", "no/such/folder.md")
    assert ran.code == 1
    assert Expected(Code.FILE_UNWRITABLE, "no/such/folder.md") in told(ran.err)


def test_a_cluster_that_fails_as_a_whole_is_in_the_report(tmp_path: Path) -> None:
    fleet = (
        "clusters:\n- {name: a, from: tree, to: {git: {path: out}}}\n- {name: b, from: gone, to: {git: {path: out}}}\n"
    )
    write_fleet(tmp_path, fleet)
    ran = osm_gitops("plan", "-o", "markdown", "--report", "plan.html")
    assert ran.code == 1
    assert "### Failed\n\n- `gone: cluster b: " in ran.out
    assert "<code>gone: cluster b: " in (tmp_path / "plan.html").read_text("utf-8")


def _fleet(folder: Path, *clusters: str, script: str) -> None:
    """A tree for each cluster: the first one has one pool, the second one two."""
    for number, name in enumerate(clusters, start=1):
        body = profile(script=f"#!/bin/sh\necho {script}\n")
        write_tree(folder / "fleet" / name, body, *(pool(f"pool-{at}") for at in range(number)))
    entries = "".join(f"- {{name: {name}, from: fleet/{name}, to: {{git: {{path: desired}}}}}}\n" for name in clusters)
    write_fleet(folder, f"clusters:\n{entries}")


def test_clusters_that_change_alike_are_told_once(tmp_path: Path) -> None:
    new_repository(tmp_path / "desired")
    names = ("eu", "us", "asia", "idle")
    _fleet(tmp_path, *names, script="one")
    assert osm_gitops("apply", "--yes", "--dangerously-plaintext-secrets").code == 0
    _fleet(tmp_path, *names, script="two")
    write_tree(tmp_path / "fleet" / "idle", profile(script="#!/bin/sh\necho one\n"))

    def plan(*more: str) -> str:
        ran = osm_gitops("plan", "--dangerously-plaintext-secrets", *more)
        assert (ran.code, ran.err) == (0, "")
        return ran.out

    text = plan()
    assert text.startswith("3 clusters, the same change: eu, us, asia\n")
    assert "  6 pools, alike: kube-system/pool-0, kube-system/pool-1, kube-system/pool-2\n" in text
    assert text.count("+echo two") == plan("--cluster", "eu").count("+echo two")
    summary = text[text.index("Plan: ") :].removeprefix("Plan: ").partition(" unchanged")[0].rpartition(", ")[0]
    markdown = plan("-o", "markdown")
    assert f"### `3 clusters, the same change: eu, us, asia`: {summary}" in markdown
    assert "No changes: `idle`" in markdown
    assert f"<code>3 clusters, the same change: eu, us, asia</code>: {summary}" in plan("-o", "html")
    assert [each["name"] for each in json.loads(plan("-o", "json"))["clusters"]] == [*names]

    write_tree(tmp_path / "fleet" / "us", profile(script="#!/bin/sh\necho three\n"))
    text = plan()
    assert "2 clusters, the same change: eu, asia\n" in text
    assert "\nCluster us\n" in text


def test_what_is_wrong_in_a_cluster_is_told_for_it_alone(tmp_path: Path) -> None:
    new_repository(tmp_path / "desired")
    _fleet(tmp_path, "eu", "us", script="one")
    write_tree(tmp_path / "fleet" / "us", pool("broken", profile="missing"))
    ran = osm_gitops("plan", "--dangerously-plaintext-secrets")
    assert ran.code == 1
    assert [line for line in ran.out.splitlines() if line.startswith("Cluster")] == ["Cluster eu", "Cluster us"]
