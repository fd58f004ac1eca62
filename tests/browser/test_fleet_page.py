"""The page of the fleet in a real browser: rows, filter, order, keyboard, colours, print, no script, attacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from osm_gitops.commands.report.fleet import FleetReport, Token
from osm_gitops.commands.report.html import report_html
from osm_gitops.errors import Code, Problem
from tests.commands.report.fleets import fleet, revision
from tests.commands.report.test_page import BREAKING
from tests.judges.browser import ENTER, TAB, Browser, offences

pytestmark = pytest.mark.oracle

_ROWS = """
return [...document.querySelectorAll('#pool-table tbody tr:not(.more)')].map(
  (row) => [...row.cells].map((cell) => cell.textContent.replace(/^\\u2007+/, '')));
"""
_DETAILS = "return [...document.querySelectorAll('#pool-table tr.more')].map((row) => row.textContent);"
_CLUSTERS = """
return [...document.querySelectorAll('#cluster-table tbody tr')].filter((row) => row.checkVisibility())
  .map((row) => row.cells[0].textContent);
"""
_HEADS = "return [...document.querySelectorAll('#pool-table th')].map((head) => head.textContent);"


def _written(folder: Path, report: FleetReport) -> Path:
    path = folder / "fleet.html"
    path.write_text("".join(report_html(report)), "utf-8")
    return path


def _column(window: Browser, title: str) -> list[str]:
    at = window.run(_HEADS).index(title)
    return [row[at] for row in window.run(_ROWS)]


def _found(window: Browser) -> str:
    return str(window.run("return document.getElementById('found').textContent"))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return _written(tmp_path, fleet(4, 30, live=True))


def test_every_pool_has_a_row_and_details_that_open(window: Browser, page: Path) -> None:
    window.open(page)
    report = fleet(4, 30, live=True)
    assert _found(window) == "120 pools, 4 clusters"
    assert len(window.run(_ROWS)) == 100
    window.click("#some")
    assert _column(window, "Pool") == [pool.full_name for _, pool in report.pools()]
    assert _column(window, "State") == [pool.state.value for _, pool in report.pools()]
    window.click("#pool-table tbody tr:nth-child(6) button")
    (details,) = window.run(_DETAILS)
    assert "no profile osp-5" in details
    window.click("#pool-table tbody tr:nth-child(6) button")
    assert window.run(_DETAILS) == []


def test_the_filter_takes_words_and_values_of_columns(window: Browser, page: Path) -> None:
    window.open(page)
    window.type("#search", "cluster=prod-001 kubelet=1.34.10 aws")
    rows = window.run(_ROWS)
    assert rows
    assert {(row[0], row[3], row[4]) for row in rows} == {("prod-001", "ubuntu on aws", "1.34.10")}
    assert _found(window) == f"{len(rows)} of 120 pools, 1 of 4 clusters"
    assert window.run(_CLUSTERS) == ["prod-001"]
    address = window.run("return location.hash")
    assert address == f"#q={quote('cluster=prod-001 kubelet=1.34.10 aws', safe='')}"
    window.open(Path("/dev/null"))
    window.open(page, address)
    assert window.run(_ROWS) == rows
    window.click("#clear")
    assert _found(window) == "120 pools, 4 clusters"
    window.type("#search", 'profile="osp-flatcar v1.8.0" size=ok')
    assert set(_column(window, "Profile")) == {"osp-flatcar v1.8.0"}
    window.click("#clear")
    window.type("#search", "cluster=prod-00")
    assert window.run(_ROWS) == []


def test_numbers_and_values_lead_to_their_pools(window: Browser, page: Path) -> None:
    window.open(page)
    window.click(".totals a[href*='waiting']")
    assert set(_column(window, "State")) == {"waiting"}
    assert window.run("return document.getElementById('search').value") == "state=waiting"
    window.click("#clear")
    window.click("#versions ~ .grid a[href*='1.33.9']")
    assert set(_column(window, "Kubelet")) == {"1.33.9"}
    window.click("#clear")
    window.click("#cluster-table a")
    assert set(_column(window, "Cluster")) == {"prod-000"}


def test_a_click_on_a_head_sorts_by_value_and_leaves_the_empty_at_the_end(window: Browser, page: Path) -> None:
    window.open(page)
    window.type("#search", "cluster=prod-000")

    def sorted_by(title: str) -> list[str]:
        heads = window.run(_HEADS)
        window.click(f"#pool-table th:nth-child({heads.index(title) + 1}) button")
        return _column(window, title)

    kubelets = sorted_by("Kubelet")
    assert list(dict.fromkeys(kubelets)) == ["1.33.9", "1.34.2", "1.34.10"]
    assert sorted_by("Kubelet") == kubelets[::-1]
    assert window.run("return document.querySelector('#pool-table th[aria-sort]').ariaSort") == "descending"
    assert list(dict.fromkeys(sorted_by("State"))) == ["failed", "waiting", "changes", "ok"]
    sizes = sorted_by("Bootstrap user-data")
    shares = [int(size.partition(" %")[0]) if "%" in size else 0 for size in sizes if size]
    assert shares == sorted(shares)
    assert sizes[-1] == ""
    changes = sorted_by("Changes")
    assert changes[0] == "3 to update"
    assert changes[-1] == ""


def test_bars_are_as_long_as_the_share_that_they_show(window: Browser, page: Path) -> None:
    window.open(page)
    script = """
    return [...document.querySelectorAll('.size')].map((size) => {
      const [track, fill] = [...size.querySelectorAll('rect')].map((each) => each.getBoundingClientRect().width);
      return [size.textContent, track && fill / track];
    });
    """
    measured = [(text, share) for text, share in window.run(script) if "%" in text]
    assert len(measured) > 50
    assert all(abs(float(text.strip("\u2007").partition(" %")[0]) / 100 - share) < 0.006 for text, share in measured)


def test_ten_thousand_pools_are_drawn_as_they_are_asked_for(window: Browser, tmp_path: Path) -> None:
    window.open(_written(tmp_path, fleet(500, 20, live=True)))
    assert (len(window.run(_ROWS)), len(window.run(_CLUSTERS))) == (100, 25)
    window.click("#some")
    assert len(window.run(_ROWS)) == 600
    window.click("#all")
    assert len(window.run(_ROWS)) == 10_000
    window.click("#all-clusters")
    assert len(window.run(_CLUSTERS)) == 500
    window.type("#search", "workers-09999")
    assert (_column(window, "Cluster"), window.run(_CLUSTERS)) == (["prod-499"], ["prod-499"])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_wrong(window: Browser, page: Path, dark: bool) -> None:
    window.emulate(dark=dark)
    window.open(page)
    window.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    window.run("[...document.querySelectorAll('button.pool')].slice(0, 8).forEach((each) => each.click())")
    assert offences(window) == []
    assert window.run("return getComputedStyle(document.body).backgroundColor") != (
        "rgb(255, 255, 255)" if dark else "rgb(0, 0, 0)"
    )


def test_all_is_reached_with_the_keyboard(window: Browser, page: Path) -> None:
    window.open(page)
    seen = []
    for _ in range(60):
        window.press(TAB)
        seen.append(window.run("const at = document.activeElement; return at.id || at.className || at.textContent"))
        if seen[-1] == "pool":
            break
    assert {"search", "clear", "Versions", "Cluster", "prod-000", "pool"} <= set(seen)
    assert window.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    window.press(ENTER)
    assert window.run("return document.activeElement.ariaExpanded") == "true"
    (details,) = window.run(_DETAILS)
    assert "bootstrap: " in details


def test_print_is_light_and_without_tools(window: Browser, page: Path) -> None:
    window.open(page)
    window.emulate(dark=True, media="print")
    assert window.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert window.run("return document.getElementById('tools').checkVisibility()") is False
    assert window.printed().startswith(b"%PDF")


def test_without_scripts_all_but_the_table_of_pools_is_shown(window: Browser, page: Path) -> None:
    window.scripts(on=False)
    window.open(page)
    window.scripts(on=True)
    assert len(window.run(_CLUSTERS)) == 4
    shown = window.run("return document.querySelector('main').innerText")
    assert "The table of pools takes JavaScript" in shown
    assert "Change 0 of the profiles" in shown
    assert window.run("return document.getElementById('tools').checkVisibility()") is False


def _evil(text: str) -> FleetReport:
    report = fleet(1, 2, live=True)
    (cluster,) = report.clusters
    problem = Problem(Code.INVALID_VALUE, text)
    pools = tuple(
        replace(
            pool,
            name=text,
            reasons=(text,),
            problems=(problem,),
            facts=replace(pool.facts, kubelet=text, profile=text),
            live=replace(pool.live, token=Token(None, text)),
        )
        for pool in cluster.pools
        if pool.facts and pool.live
    )
    evil = replace(cluster, name=text, pools=pools, problems=(problem,), sources=(text,))
    return replace(report, clusters=(evil,), revisions=(revision(text, text + "!\n", author=text),))


@pytest.mark.parametrize("text", BREAKING)
def test_texts_that_attack_the_page_are_only_shown(window: Browser, tmp_path: Path, text: str) -> None:
    window.open(_written(tmp_path, _evil(text)))
    window.click("#pool-table button.pool")
    assert window.run("return document.scripts.length") == 2
    assert window.run("return document.images.length") == 0
    assert window.run("return window.attacked ?? null") is None
    shown: list[Any] = _column(window, "Kubelet")
    assert shown[0] == text.replace("\u202e", "\\u202e").replace("\u2066", "\\u2066")


def test_the_policy_of_the_page_stops_markup_that_should_not_be_there(opened: Browser, page: Path) -> None:
    opened.open(page)
    opened.run("""
    document.body.insertAdjacentHTML('beforeend', '<img src="x" onerror="window.attacked = 1"><p style="top: 0">x</p>');
    document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.attacked = 2'}));
    return new Promise((done) => setTimeout(done, 50));
    """)
    assert opened.run("return window.attacked ?? null") is None
    refused = opened.log()
    assert len(refused) >= 3
    assert all("Content Security Policy" in each for each in refused)
