"""Plans as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from osm_gitops.errors import Code, Problem
from osm_gitops.model.plan import Plan
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report.html import Anchors, Page, format_html
from tests.plan.objects import current, desired, pool
from tests.report.hostile import hostile_text
from tests.report.pages import Reader, allows_its_own_parts_alone


def _page(new: Mapping[str, str], old: Mapping[str, str], *, cluster: str = "prod", **more: Any) -> str:
    wanted = replace(desired(new, **more), cluster=cluster)
    plan = Plan((make_cluster_plan(wanted, current(desired(old)), PlanOptions()),))
    return "".join(format_html(plan, Page(verbose=True), [Problem(Code.INVALID_VALUE, "a whole cluster failed")]))


def test_the_page_holds_what_the_plan_says() -> None:
    failed = {pool("b"): (Problem(Code.INVALID_VALUE, "no such profile"),)}
    page = _page(
        {"a": "one\n<two>\n"}, {"a": "one\n2\n"}, failed=failed, warnings=(Problem(Code.INVALID_VALUE, "odd"),)
    )
    for part in (
        "Plan: 0 to create, 2 to update, 0 to replace, 0 to delete, 1 unchanged.",
        "<td>existing ones keep the old configuration</td>",
        '<span class="old">-2</span><span class="new">+&lt;two&gt;</span>',
        "<li><code>MachineDeployment kube-system/b: no such profile [OG1024]</code></li>",
        "<li><code>a whole cluster failed [OG1024]</code></li>",
        "<li>Warning: <code>odd [OG1024]</code></li>",
        "<code>provisioning /opt/bin/setup</code>: as above",
        "kubectl -n kube-system patch machinedeployment a",
    ):
        assert part in page


def test_the_page_needs_nothing_from_elsewhere_and_runs_its_own_script_alone() -> None:
    page = _page({"a": "x\n"}, {"a": "y\n"})
    assert "prefers-color-scheme: dark" in page
    assert allows_its_own_parts_alone(page)
    read = Reader(page)
    assert {"link", "img", "iframe"}.isdisjoint(read.elements)
    assert read.elements.count("script") == read.elements.count("style") == 1
    assert {"src", "onclick", "style", "action"}.isdisjoint(read.attributes)
    assert read.links
    assert all(link.removeprefix("#") in read.names for link in read.links)


def test_the_page_says_by_what_when_and_from_which_commits_it_was_made() -> None:
    wanted = replace(desired({"a": "x\n"}), sources=("pools@0123abcd-dirty",))
    plan = Plan((make_cluster_plan(wanted, current(desired({})), PlanOptions()),))
    page = "".join(format_html(plan, Page(command="apply", version="1.2.3", made="2026-01-02 03:04 UTC")))
    assert "<title>osm-gitops apply</title>" in page
    assert "<h1>osm-gitops apply</h1>" in page
    assert '<p class="soft">Made by osm-gitops 1.2.3, 2026-01-02 03:04 UTC</p>' in page
    assert "<p>Sources: <code>pools@0123abcd-dirty</code></p>" in page


def test_failed_pools_are_counted_at_the_top() -> None:
    failed = {pool(name): (Problem(Code.INVALID_VALUE, "no such profile"),) for name in ("b", "c")}
    page = _page({"a": "x\n"}, {"a": "x\n"}, failed=failed)
    top = page.partition("<nav ")[0]
    assert '<strong>2 pools failed</strong>: <a href="#prod"><code>prod</code></a> (2)' in top
    assert "failed</strong>" not in _page({"a": "x\n"}, {"a": "y\n"})


def test_boxes_filter_by_action_and_by_cluster_without_a_script() -> None:
    page = _page({"a": "new\n", "b": "x\n"}, {"a": "old\n", "c": "x\n"})
    read = Reader(page)
    assert {"show-create", "show-update", "show-replace", "show-delete", "show-cluster-1"} <= set(read.names)
    assert "body:has(#show-update:not(:checked)) .update { display: none; }" in page
    assert "body:has(#show-create:not(:checked)):has(#show-delete:not(:checked)) .create-delete {" in page
    assert "body:has(#show-cluster-1:not(:checked)) .cluster-1 { display: none; }" in page
    for action in ("create", "update", "delete"):
        assert f'<tr class="{action}">' in page
        assert f'class="{action}"><summary>' in page


def test_links_lead_to_places_that_are_named_by_what_is_there() -> None:
    page = _page({"a": "x\n", "b": "new\n"}, {"a": "y\n", "b": "old\n"}, cluster="prod <eu>")
    read = Reader(page)
    assert {"prod~20~3ceu~3e", "prod~20~3ceu~3e/kube-system/a", "prod~20~3ceu~3e/kube-system/b"} <= set(read.names)
    assert {f"#{name}" for name in read.names if name.startswith("prod")} <= set(read.links)
    assert len(read.names) == len(set(read.names))


def test_anchors_are_all_different() -> None:
    anchors = Anchors()
    assert [anchors.of("a/b"), anchors.of("b", "a"), anchors.of("a~"), anchors.of("a b\"'<")] == [
        "a/b",
        "a/b~~2",
        "a~7e",
        "a~20b~22~27~3c",
    ]


def test_words_break_in_code_alone() -> None:
    style = _page({"a": "x\n"}, {"a": "y\n"}).partition("</style>")[0]
    breaking = [line.partition(" {")[0] for line in style.splitlines() if "overflow-wrap" in line]
    assert breaking == ["code", "pre span"]
    assert "td.what { white-space: nowrap; }" in style


@settings(max_examples=100, deadline=None)
@given(hostile_text(least=1), hostile_text(least=1), hostile_text(least=1))
def test_whatever_a_text_holds_it_is_no_element(script: str, name: str, problem: str) -> None:
    more: dict[str, Any] = {
        "warnings": (Problem(Code.INVALID_VALUE, problem),),
        "failed": {pool(problem): (Problem(Code.INVALID_VALUE, problem),)},
    }
    read = Reader(_page({name: script + "!"}, {name: "old\n"}, cluster=name, **more))
    assert read.open == []
    assert set(read.elements) <= {
        *("html", "head", "meta", "title", "style", "body", "header", "main", "h1", "h2", "h3", "p", "strong", "div"),
        *("ul", "li", "code", "pre", "span", "table", "thead", "tbody", "tr", "th", "td", "br", "details", "summary"),
        *("a", "nav", "section", "label", "input", "button", "script"),
    }
