"""Results of shards, merged."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from osm_gitops.commands.status.runs import ShardState, merged, runs_text
from osm_gitops.commands.status.runs_html import runs_html
from osm_gitops.errors import Code
from osm_gitops.model.run_result import FailedCluster, RunResult
from tests.cli.running import osm_gitops
from tests.faults import Expected, told

_START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _result(shard: str, minutes: int = 0, *, failed: int = 0, command: str = "apply") -> RunResult:
    began = _START + timedelta(minutes=minutes)
    ended = began + timedelta(seconds=30)
    return RunResult(
        command=command, shard=shard, started=began, ended=ended, clusters=2, failed_clusters=failed, pools=4, changed=1
    )


def _states(*results: RunResult) -> dict[str, str]:
    (runs,) = merged(results)
    return {each.shard: each.state.value for each in runs.shards}


def test_a_shard_that_left_nothing_and_one_that_stayed_behind_are_told() -> None:
    states = _states(_result("0/4", 10), _result("1/4", 0), _result("3/4", 10, failed=1))
    assert states == {"0/4": "ok", "1/4": "behind", "2/4": "missing", "3/4": "failed"}


def test_a_shard_that_its_job_started_again_later_leaves_no_other_behind() -> None:
    first, again, earlier = _result("0/3", 0), _result("1/3", 10), _result("2/3", 5)
    states = _states(replace(first, job="a"), replace(again, job="a"), replace(earlier, job="b"))
    assert states == {"0/3": "ok", "1/3": "ok", "2/3": "behind"}


def test_results_of_another_number_of_shards_do_not_count() -> None:
    assert _states(_result("0/2", 10), _result("1/2", 10), _result("2/3", 0)) == {"0/2": "ok", "1/2": "ok"}


def test_a_run_without_shards_is_the_only_one() -> None:
    (runs,) = merged([_result("")])
    assert [each.state for each in runs.shards] == [ShardState.OK]


def test_commands_stand_apart_and_are_added_up() -> None:
    runs = merged([_result("0/1", command="refresh"), _result("1/2"), _result("0/2")])
    assert [each.command for each in runs] == ["apply", "refresh"]
    text = runs_text("home", runs, _START + timedelta(minutes=5))
    assert text.splitlines()[:4] == [
        "apply: OK: 2 shards, 4 clusters, 0 failed",
        "  SHARD  STATE  ENDED           TOOK  CLUSTERS  POOLS  CHANGED  FAILED  SKIPPED",
        "  0/2    ok     4 min 30 s ago  30 s  2         4      1        0       0",
        "  1/2    ok     4 min 30 s ago  30 s  2         4      1        0       0",
    ]


def test_no_results_are_no_success() -> None:
    assert "--result-in home" in runs_text("home", merged([]), _START)


def test_the_page_shows_each_shard_and_every_text_as_text() -> None:
    bad = FailedCluster("<b>", ("rendering <script> failed",))
    failed = replace(_result("1/3", failed=3), failures=(bad,), errors=("no & end",))
    page = "".join(runs_html("home", merged([_result("0/3"), failed]), _START + timedelta(minutes=5)))
    assert "script-src 'none'" in page
    assert "<script" not in page
    assert "not OK: 3 shards, 4 clusters, 3 failed" in page
    assert [state in page for state in (">ok<", ">failed<", ">missing<")] == [True] * 3
    for text in ("&lt;b&gt;: rendering &lt;script&gt; failed", "and 2 more", "shard 1/3: no &amp; end"):
        assert f"<code>{text}</code>" in page
    assert "--result-in" in "".join(runs_html("home", (), _START))


def test_a_page_is_only_of_runs() -> None:
    ran = osm_gitops("status", "--output=html")
    assert ran.code == 1
    assert told(ran.err) == [Expected(Code.OPTIONS_CONFLICT, "--output html")]
