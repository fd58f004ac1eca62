"""Plans as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from hypothesis import given, settings

from osm_gitops.errors import Problem
from osm_gitops.model.plan import Plan
from osm_gitops.plan.compare import PlanOptions, make_cluster_plan
from osm_gitops.report.html import format_html
from osm_gitops.report.outline import Detail
from tests.plan.objects import current, desired, pool
from tests.report.hostile import hostile_text

_VOID = {"meta", "br"}


def _page(new: Mapping[str, str], old: Mapping[str, str], *, cluster: str = "prod", **more: Any) -> str:
    wanted = replace(desired(new, **more), cluster=cluster)
    plan = Plan((make_cluster_plan(wanted, current(desired(old)), PlanOptions()),))
    return "".join(format_html(plan, Detail(verbose=True), [Problem("a whole cluster failed")]))


class _Reader(HTMLParser):
    """Gathers elements and checks that each is closed in its turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_holds_what_the_plan_says() -> None:
    failed = {pool("b"): (Problem("no such profile"),)}
    page = _page({"a": "one\n<two>\n"}, {"a": "one\n2\n"}, failed=failed, warnings=(Problem("odd"),))
    for part in (
        "Plan: 0 to create, 2 to update, 0 to replace, 0 to delete, 1 unchanged.",
        "<td>existing ones keep the old configuration</td>",
        '<span class="old">-2</span><span class="new">+&lt;two&gt;</span>',
        "<li><code>MachineDeployment kube-system/b: no such profile</code></li>",
        "<li><code>a whole cluster failed</code></li>",
        "<li>Warning: <code>odd</code></li>",
        "<code>provisioning /opt/bin/setup</code>: as above",
        "kubectl -n kube-system patch machinedeployment a",
    ):
        assert part in page


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    page = _page({"a": "x\n"}, {"a": "y\n"})
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    read = _Reader(page)
    assert {"script", "link", "img", "iframe"}.isdisjoint(read.elements)
    assert {"src", "href", "onclick", "style"}.isdisjoint(read.attributes)


@settings(max_examples=100, deadline=None)
@given(hostile_text(least=1), hostile_text(least=1), hostile_text(least=1))
def test_whatever_a_text_holds_it_is_no_element(script: str, name: str, problem: str) -> None:
    more: dict[str, Any] = {"warnings": (Problem(problem),), "failed": {pool(problem): (Problem(problem),)}}
    read = _Reader(_page({name: script + "!"}, {name: "old\n"}, cluster=name, **more))
    assert read.open == []
    assert set(read.elements) <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "strong", "div", "ul", "li"),
        *("code", "pre", "span", "table", "tr", "th", "td", "br", "details", "summary"),
    }
