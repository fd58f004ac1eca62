"""The page of the fleet: its structure, its data, its size, and texts that try to get out of their place."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from osm_gitops.commands.report.fleet import FleetReport, State, Token
from osm_gitops.commands.report.html import COLUMNS, report_html
from osm_gitops.commands.report.words import few, in_order, size_words, summary, token_words
from osm_gitops.errors import Code, Problem
from osm_gitops.model.pool_facts import HalfSize
from osm_gitops.report.html_parts import bar
from tests.commands.report.fleets import NOW, fleet, revision
from tests.report.hostile import hostile_text
from tests.report.pages import Reader, allows_its_own_parts_alone

BREAKING = (
    "</script><script>window.attacked = 1</script>",
    "<!--<script>",
    "'; script-src * 'unsafe-inline'",
    '"><img src=x onerror=window.attacked=1>',
    "&lt;b&gt; &amp;",
    "\u202egnp.exe\u2066",
    "]]> ${alert(1)} `x`",
)


def _page(report: FleetReport) -> str:
    return "".join(report_html(report))


def _data(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(text)
    return data


def test_the_page_needs_nothing_from_elsewhere_and_runs_its_own_script_alone() -> None:
    page = _page(fleet(4, 20, live=True))
    assert allows_its_own_parts_alone(page)
    read = Reader(page)
    assert read.open == []
    assert {"link", "img", "iframe", "object", "form"}.isdisjoint(read.elements)
    assert {"src", "style", "onclick", "action"}.isdisjoint(read.attributes)
    assert len(read.names) == len(set(read.names))


def test_without_a_script_all_but_the_pools_is_there() -> None:
    page = _page(fleet(4, 20)).partition('<script type="application/json"')[0]
    report = fleet(4, 20)
    assert all(f">{cluster.name}</a>" in page for cluster in report.clusters)
    assert summary(report) in page
    assert "more than half of its pools would be deleted" in page
    assert ">1.34.10</a>" in page
    assert "Change 0 of the profiles" in page
    assert '<span class="old">-old</span><span class="new">+new</span>' in page
    assert "workers-00001" not in page
    assert "takes JavaScript" in page


def test_the_data_have_every_pool_with_its_cells_and_details() -> None:
    report = fleet(2, 100)
    data = _data(_page(report))
    keys, texts = [column["key"] for column in data["columns"]], data["texts"]
    assert len(data["rows"]) == 200

    def shown(number: int) -> tuple[int, dict[str, Any], list[str]]:
        cluster, cells, details = data["rows"][number]
        numbers = [cell[0] if isinstance(cell, list) else cell for cell in cells]
        cells = {key: None if at is None else texts[at] for key, at in zip(keys, numbers, strict=True)}
        return cluster, cells, [texts[at] for at in details]

    cluster, cells, details = shown(104)
    assert cluster == 1
    assert cells == {
        "cluster": "prod-001",
        "pool": "kube-system/workers-00104",
        "state": "ok",
        "system": "ubuntu on aws",
        "kubelet": "1.34.10",
        "profile": "osp-ubuntu v1.7.0",
        "size": "\u200758 %, 9.4 of 16 KiB",
        "changes": None,
    }
    assert details[0].startswith("bootstrap: 9,576 of 16,384 bytes with gzip (Amazon EC2:")
    assert shown(5)[2][0].startswith(
        "Cannot be rendered: MachineDeployment kube-system/workers-00005: no profile osp-5"
    )
    assert "Apply skips it for now: it is paused (paused)" in shown(6)[2]
    assert shown(15)[1]["changes"] == "3 to update"
    assert "Changes: changed: bootstrap /opt/bin/setup" in shown(15)[2]
    assert shown(3)[1]["size"] == "7.6 KiB, no limit"
    assert {shown(number)[1]["state"] for number in range(200)} == {"ok", "failed", "waiting", "changes"}


def test_a_column_that_no_pool_fills_is_not_there() -> None:
    def keys(report: FleetReport) -> list[str]:
        return [column["key"] for column in _data(_page(report))["columns"]]

    without, alive = keys(fleet(1, 3)), keys(fleet(1, 3, live=True))
    assert set(alive) - set(without) == {"machines", "token"}
    assert alive == [column.key for column in COLUMNS if column.key in alive]
    assert "Machines" not in _page(fleet(1, 3))
    assert ">First token</th>" in _page(fleet(1, 3, live=True))


def test_five_hundred_clusters_with_twenty_pools_take_less_than_five_megabytes() -> None:
    page = _page(fleet(500, 20, live=True, revisions=5))
    assert len(_data(page)["rows"]) == 10_000
    assert len(page.encode()) < 5_000_000


def test_changes_that_are_too_long_are_named_and_left_out() -> None:
    long = "".join(f"line {number} of a long script\n" for number in range(20_000))
    page = _page(replace(fleet(1, 1), revisions=(revision("short"), revision("long", long), revision("last"))))
    assert page.count("Too long for this page") == 1
    assert len(page) < 1_500_000
    assert all(f"<h3>{subject}</h3>" in page for subject in ("short", "long", "last"))


@pytest.mark.parametrize("text", BREAKING)
def test_no_text_breaks_out_of_the_place_where_it_is(text: str) -> None:
    _attack(text)


@settings(max_examples=40, deadline=None)
@given(hostile_text(least=1))
def test_whatever_a_text_holds_it_is_no_element(text: str) -> None:
    _attack(text)


def _attack(text: str) -> None:
    report = fleet(1, 2, live=True)
    (cluster,) = report.clusters
    problem = Problem(Code.INVALID_VALUE, text, where=text, about=text)
    pools = tuple(
        replace(
            pool,
            name=text,
            namespace=text,
            reasons=(text,),
            left=text,
            problems=(problem,),
            troubles=(text,),
            facts=replace(pool.facts, os=text, provider=text, kubelet=text, profile=text, profile_version=text),
            live=replace(pool.live, token=Token(None, text)),
        )
        for pool in cluster.pools
        if pool.facts and pool.live
    )
    evil = replace(cluster, name=text, pools=pools, sources=(text,), hosts=(text,), problems=(problem,), last_run=text)
    changed = revision(text, text + "!\n", author=text)
    page = _page(replace(report, clusters=(evil,), problems=(problem,), revisions=(changed,), no_history=text))
    harmless = Reader(_page(replace(report, clusters=(replace(evil, name="x"),), revisions=(revision("x", "y\n"),))))
    read = Reader(page)
    assert read.open == []
    assert read.elements.count("script") == 2
    assert set(read.elements) <= set(harmless.elements) | {
        "a",
        "section",
        "notice",
        "div",
        "details",
        "summary",
        "ul",
        "li",
    }
    assert read.attributes <= harmless.attributes | {"title", "class", "href", "id", "aria-label"}
    assert allows_its_own_parts_alone(page)
    assert len(_data(page)["rows"]) == 2
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page)


def test_bars_are_as_long_as_their_share() -> None:
    assert 'class="fill" width="41.25"' in bar(0.4125)
    assert 'class="fill warn" width="90.00"' in bar(0.9)
    assert 'class="fill" width="90.00"' in bar(0.9, limit=False)
    assert 'class="fill bad" width="100.00"' in bar(1.2)
    assert 'class="fill" width="100.00"' in bar(1, limit=False)


def test_sizes_are_said_in_the_unit_of_their_limit() -> None:
    def words(size: int, limit: int | None) -> str:
        return size_words(HalfSize("bootstrap", size, "raw", limit, ""))

    assert words(6_412, 16 << 10) == "39 %, 6.3 of 16 KiB"
    assert words(17_000, 16 << 10) == "104 %, 16.6 of 16 KiB"
    assert words(300, 1 << 20) == "0 %, 0 of 1 MiB"
    assert words(300, None) == "300 B, no limit"


def test_the_life_of_tokens_is_said_from_the_time_of_the_report() -> None:
    assert token_words(Token(NOW + timedelta(hours=5), ""), NOW) == "5 h"
    assert token_words(Token(NOW, ""), NOW) == "expired"
    assert token_words(Token(None, "missing"), NOW) == "missing"


def test_versions_are_in_the_order_of_their_numbers() -> None:
    assert in_order(["1.34.10", "1.9.0", "1.34.2", "", "1.34.2", "v2", "odd-¹"]) == [
        "1.9.0",
        "1.34.2",
        "1.34.10",
        "odd-¹",
        "v2",
    ]
    assert few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_a_cluster_is_in_the_worst_state_of_its_pools() -> None:
    (cluster,) = fleet(1, 7).clusters
    assert cluster.state is State.FAILED
    assert replace(cluster, pools=cluster.pools[:4]).state is State.OK
    assert replace(cluster, pools=cluster.pools[4:5]).state is State.CHANGES
    assert replace(cluster, pools=(), problems=(Problem(Code.INVALID_VALUE, "x"),)).state is State.PROBLEM
    assert replace(cluster, pools=(), planned=False).state is State.FAILED
    fullest = cluster.fullest
    assert fullest is not None
    assert fullest.share == max(size.share for pool in cluster.pools for size in pool.sizes if size.half == "bootstrap")
