"""The page of a plan in a real browser: search, folding, boxes, links, keyboard, colours, no script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from osm_gitops.errors import Code, Problem
from osm_gitops.model.plan import Plan
from osm_gitops.plan.compare import make_cluster_plan
from osm_gitops.plan.guards import PlanOptions
from osm_gitops.report.html import Page, format_html
from tests.judges.browser import Browser, offences
from tests.plan.objects import current, desired, pool

pytestmark = pytest.mark.oracle

_SHOWN = """
return [...document.querySelectorAll('main > section')].filter((each) => each.checkVisibility()).map((each) => each.id);
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A plan of three clusters that change in different ways."""
    problem = Problem(Code.INVALID_VALUE, "no such profile")
    plans = [
        make_cluster_plan(replace(desired(new, **more), cluster=name), current(desired(old)), PlanOptions())
        for name, new, old, more in (
            ("prod-eu", {"a": "new <b>\n", "b": "x\n"}, {"a": "old\n"}, {}),
            ("prod us", {"c": "new\n"}, {"c": "old\n", "d": "x\n"}, {"warnings": (problem,)}),
            ("test", {"e": "other\n"}, {"e": "old\n"}, {"failed": {pool("f"): (problem,)}}),
        )
    ]
    path = tmp_path / "plan.html"
    path.write_text("".join(format_html(Plan(tuple(plans)), Page(version="1.2.3"), [problem])), "utf-8")
    return path


def _open_details(window: Browser) -> list[bool]:
    found: list[bool] = window.run("return [...document.querySelectorAll('main details')].map((each) => each.open)")
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_wrong(window: Browser, page: Path, dark: bool) -> None:
    window.emulate(dark=dark)
    window.open(page)
    window.click("#unfold")
    assert offences(window) == []


def test_the_search_leaves_clusters_and_pools_with_all_words(window: Browser, page: Path) -> None:
    window.open(page)
    assert window.run(_SHOWN) == ["prod-eu", "prod~20us", "test"]
    window.type("#search", "kube-system/c")
    assert window.run(_SHOWN) == ["prod~20us"]
    assert window.run("return document.getElementById('found').textContent") == "1 of 3 entries"
    links = "return [...document.querySelectorAll('nav a')].filter((each) => each.checkVisibility()).length"
    assert window.run(links) == 1
    rows = (
        "return [...document.querySelectorAll('main td:nth-child(2)')].filter((each) => each.checkVisibility()).length"
    )
    assert window.run(rows) == 1
    window.run("document.getElementById('search').value = ''")
    window.type("#search", "NEW")
    assert window.run(_SHOWN) == ["prod-eu", "prod~20us"]


def test_all_is_folded_and_unfolded_at_once(window: Browser, page: Path) -> None:
    window.open(page)
    window.click("#unfold")
    assert all(_open_details(window))
    window.click("#fold")
    assert not any(_open_details(window))


def test_a_link_opens_what_is_folded_and_is_an_address_to_share(window: Browser, page: Path) -> None:
    window.open(page)
    window.click("#test a.anchor")
    assert window.run("return location.hash") == "#test"
    window.click("#fold")
    window.click("nav a[href='#prod-eu']")
    assert window.run("return location.hash") == "#prod-eu"
    window.open(page, "#test/kube-system/e")
    assert window.run("return document.getElementById('test/kube-system/e').checkVisibility()")


def test_boxes_filter_without_a_script(window: Browser, page: Path) -> None:
    window.scripts(on=False)
    window.open(page)
    window.scripts(on=True)
    assert window.run("return document.getElementById('search').checkVisibility()") is False
    assert len(window.run(_SHOWN)) == 3
    window.click("#show-cluster-2")
    assert window.run(_SHOWN) == ["prod-eu", "test"]
    window.click("#show-create")
    rows = "return [...document.querySelectorAll('main tr.create')].filter((each) => each.checkVisibility()).length"
    assert window.run(rows) == 0
