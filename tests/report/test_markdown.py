"""Plans as Markdown: what GitHub makes of them, and how they are cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from osm_gitops.cli.reports import LEAST_LENGTH
from osm_gitops.errors import Code, Problem
from osm_gitops.model.desired import Desired
from osm_gitops.model.plan import Plan
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report import masked
from osm_gitops.report.markdown import Markdown, format_markdown
from tests.plan.objects import current, desired, pool
from tests.report.hostile import hostile_text

_WHOLE = Markdown(verbose=True)


def _plan(new: Mapping[str, str], old: Mapping[str, str], **more: Any) -> Plan:
    cluster = more.pop("cluster", "prod")
    wanted = replace(desired(new, **more), cluster=cluster)
    return Plan((make_cluster_plan(wanted, current(desired(old)), PlanOptions()),))


def _many_pools(number: int) -> Plan:
    """Pools of which no two change alike."""
    names = [f"pool-{each:05}" for each in range(number)]
    new = {name: f"line {each * 7919}\n" for each, name in enumerate(names)}
    return _plan(new, dict.fromkeys(names, "old\n"))


def _text(plan: Plan, style: Markdown = _WHOLE, problems: Sequence[Problem] = ()) -> str:
    return "".join(format_markdown(plan, style, problems))


def _tokens(text: str) -> Iterator[Token]:
    """What a reader that knows GitHub's tables and links makes of a text."""
    for token in MarkdownIt("gfm-like").parse(text):
        yield token
        yield from token.children or ()


def test_a_summary_a_table_and_the_diff_of_each_object() -> None:
    text = _text(_plan({"a": "one\ntwo\n"}, {"a": "one\n2\n"}), Markdown())
    assert text == (
        "## osm-gitops plan\n\n"
        "Plan: 0 to create, 2 to update, 0 to replace, 0 to delete, 1 unchanged.\n\n"
        "\n### `prod`: 0 to create, 2 to update, 0 to replace, 0 to delete, 1 unchanged\n\n"
        "| | pools | why | machines |\n|---|---|---|---|\n"
        "| 2 to update | Pool `kube-system/a` | `changed: provisioning /opt/bin/setup` "
        "| existing ones keep the old configuration |\n\n"
        "1 pool with a changed boot configuration: machines that exist keep the one they booted with, only new "
        "machines get the new one.\n"
        "To replace the machines of a pool, rolling, change its template, for example:\n\n"
        "```sh\nkubectl -n kube-system patch machinedeployment a --type merge -p "
        """'{"spec":{"template":{"metadata":{"annotations":"""
        """{"forceRestart":"'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'"}}}}}'"""
        "\n```\n\n"
        "### What changes inside\n\n"
        "#### `prod` · Pool `kube-system/a`\n\n"
        "<details><summary>~ <code>update OperatingSystemConfig kube-system/a-kube-system-config</code></summary>\n\n"
        "`changed: provisioning /opt/bin/setup`\n\n`provisioning /opt/bin/setup`\n\n"
        "```diff\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n```\n\n</details>\n\n"
        "<details><summary>~ <code>update Secret cloud-init-settings/a-kube-system-provisioning-config</code>"
        "</summary>\n\n`changed: provisioning /opt/bin/setup`\n\n`provisioning /opt/bin/setup`: as above\n\n"
        "</details>\n\n"
    )


def test_no_change_says_so_and_nothing_else() -> None:
    assert _text(_plan({"a": "x\n"}, {"a": "x\n"})) == "## osm-gitops plan\n\nNo changes.\n\n"


def test_clusters_without_changes_share_a_line() -> None:
    quiet = [replace(_plan({"a": "x\n"}, {"a": "x\n"}).clusters[0], cluster=f"quiet-{number}") for number in range(30)]
    text = _text(Plan((*quiet, *_plan({"a": "y\n"}, {"a": "x\n"}).clusters)))
    assert "\nNo changes: `quiet-0`, `quiet-1`" in text
    assert "`quiet-19` and 10 more\n" in text


def test_failures_refusals_and_warnings_are_told_also_those_of_whole_clusters() -> None:
    failing = {pool("b"): (Problem(Code.INVALID_VALUE, "no such profile"),)}
    plan = _plan({"a": "x\n"}, {"a": "x\n"}, failed=failing, warnings=(Problem(Code.INVALID_VALUE, "odd"),))
    refused = make_cluster_plan(Desired("empty", ()), current(desired({"a": "x\n"})), PlanOptions())
    text = _text(
        Plan((*plan.clusters, refused)), _WHOLE, [Problem(Code.INVALID_VALUE, "cannot be read", where="dump/")]
    )
    assert "### Refused\n\n- `cluster empty: nothing is desired" in text
    assert (
        "### Failed\n\n- `dump/: cannot be read [OG1024]`\n"
        "- `prod`: `MachineDeployment kube-system/b: no such profile [OG1024]`"
    ) in text
    assert "- Warning in `prod`: `odd [OG1024]`" in text


def test_secrets_are_masked_in_problems_of_whole_clusters_too() -> None:
    plan = _plan({"a": "x\n"}, {"a": "x\n"}, sensitive=frozenset({"getter-token-1"}))
    assert "getter-token" not in _text(plan, _WHOLE, [Problem(Code.INVALID_VALUE, "odd value getter-token-1")])


# -- nothing gets out --

_OURS = re.compile(r"<details><summary>[^<>\n]*(<code>[^<>\n]*</code>)?</summary>\n|</details>\n")


@settings(max_examples=150, deadline=None)
@given(
    script=st.tuples(hostile_text(), hostile_text(least=1)),
    cluster=hostile_text(least=1),
    name=hostile_text(least=1),
    problem=hostile_text(least=1),
    limit=st.sampled_from([None, LEAST_LENGTH, 3_000, 5_000]),
)
def test_whatever_a_text_holds_it_stays_in_its_place(
    script: tuple[str, str], cluster: str, name: str, problem: str, limit: int | None
) -> None:
    old, new = script
    more = {
        "warnings": (Problem(Code.INVALID_VALUE, problem),),
        "failed": {pool(problem): (Problem(Code.INVALID_VALUE, problem, fix=problem),)},
    }
    plan = _plan({name: new, "b": "x\n"}, {name: old}, cluster=cluster, **more)
    style = replace(_WHOLE, max_length=limit, whole_at=problem if "http" not in problem else "")
    tokens = list(_tokens(_text(plan, style, [Problem(Code.INVALID_VALUE, problem)])))
    assert {token.type for token in tokens} & {"link_open", "image", "blockquote_open", "hr", "code_block"} == set()
    assert {token.content for token in tokens if token.type == "html_inline"} <= {"<br>"}
    assert [
        token.content for token in tokens if token.type == "html_block" and not _OURS.fullmatch(token.content)
    ] == []
    openings = [token.content.startswith("<d") for token in tokens if token.type == "html_block"]
    assert openings == [True, False] * (len(openings) // 2)
    cells = [token for token in tokens if token.type in {"th_open", "td_open"}]
    assert len(cells) == 4 * sum(token.type == "tr_open" for token in tokens)
    # All text between code is ours.
    outside = [token.content for token in tokens if token.type == "text"]
    assert not any(re.search(r"[@#<|\\]|www|http|evil", text) for text in outside)


@settings(max_examples=150, deadline=None)
@given(hostile_text(least=1), hostile_text())
def test_a_fence_holds_the_diff_and_nothing_else(new: str, old: str) -> None:
    fences = [token for token in _tokens(_text(_plan({"a": new + "!"}, {"a": old + "?"}))) if token.type == "fence"]
    assert [token.info for token in fences] == ["sh", "diff"]
    lines = fences[1].content.splitlines()
    assert lines[0].startswith("@@ ")
    assert all(line[:1] in {" ", "+", "-", "\\"} or line.startswith("@@ ") for line in lines)


# -- cutting --


@pytest.mark.parametrize("limit", [LEAST_LENGTH, 5_000, 65_536])
def test_a_cut_report_keeps_the_summary_some_of_the_table_and_points_to_the_whole(limit: int) -> None:
    style = Markdown(max_length=limit, whole_at="https://ci.example.com/runs/7")
    text = _text(_many_pools(600), style)
    assert limit * 0.5 < len(text.encode()) <= limit
    assert "Plan: 0 to create, 1200 to update" in text
    assert "| 2 to update | Pool `kube-system/pool-00000` |" in text
    assert re.search(r"… and \d+ more lines\n", text)
    assert text.endswith(
        f"\n**This report is cut to {limit} bytes.** The whole plan is in <https://ci.example.com/runs/7>.\n"
    )


def test_a_report_is_cut_between_objects() -> None:
    whole, cut = _text(_many_pools(60), Markdown()), _text(_many_pools(60), Markdown(max_length=12_000))
    objects = re.findall(r"<details>.*?</details>\n\n", cut, re.DOTALL)
    assert 0 < len(objects) < whole.count("<details>")
    assert "".join(objects) == "".join(re.findall(r"<details>.*?</details>\n\n", whole, re.DOTALL)[: len(objects)])
    assert re.search(rf"… and {120 - len(objects)} more objects\n", cut)


def test_a_report_that_fits_is_not_cut() -> None:
    plan = _many_pools(3)
    assert _text(plan, Markdown(max_length=65_536)) == _text(plan, Markdown())


def test_what_does_not_fit_is_not_even_made(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    real = masked._Masks.diff

    def counting(self: Any, diff: Any) -> Any:
        nonlocal looked_at
        looked_at += 1
        return real(self, diff)

    monkeypatch.setattr(masked._Masks, "diff", counting)
    text = _text(_many_pools(400), Markdown(max_length=10_000))
    assert len(text.encode()) <= 10_000
    assert looked_at < 100
    first = list(islice(format_markdown(_many_pools(5), Markdown()), 1))
    assert first[0].startswith("## osm-gitops plan")


@given(limit=st.integers(LEAST_LENGTH, 20_000), clusters=st.integers(1, 5), failing=st.integers(0, 40))
@settings(max_examples=25, deadline=None)
def test_no_report_is_longer_than_allowed(limit: int, clusters: int, failing: int) -> None:
    failed = {pool(f"f{number}"): (Problem(Code.INVALID_VALUE, "é" * 300),) for number in range(failing)}
    one = _many_pools(20).clusters[0]
    plan = Plan(tuple(replace(one, cluster=f"c{number}", failed=failed) for number in range(clusters)))
    text = _text(plan, Markdown(max_length=limit, whole_at="the artifact"))
    assert len(text.encode()) <= limit
