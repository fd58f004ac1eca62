"""The fleet as one HTML page that loads nothing.

Clusters, versions and the last changes are markup. Pools may be ten thousand: the page has them as compact data, of
which its script makes rows; the script also filters and sorts. Without it all but the table of pools is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Final
from urllib.parse import quote

from osm_gitops.commands.report.fleet import ClusterReport, FleetReport, LiveFacts, PoolReport, Revision, State
from osm_gitops.commands.report.script import SCRIPT
from osm_gitops.commands.report.words import (
    STATE_WORDS,
    actions_words,
    changes_words,
    exact_size,
    few,
    in_order,
    kubelets_of,
    profile_words,
    size_words,
    summary,
    system_words,
    token_words,
)
from osm_gitops.model.objects import Json
from osm_gitops.model.pool_facts import HalfSize
from osm_gitops.report.html import Anchors, changes_of
from osm_gitops.report.html_parts import FULL, STYLE, bar, code, embedded, foot, fullness, head, items
from osm_gitops.report.visible import many, visible

_STYLE: Final = """\
header { display: flex; flex-wrap: wrap; gap: .2rem 1.5rem; align-items: baseline; }
.totals { display: flex; flex-wrap: wrap; gap: 0; margin: 1.4rem 0 0; padding: 0; border-block: 1px solid var(--line); }
.totals div { padding: .7rem 2.2rem .6rem 0; }
.totals dt { color: var(--soft); }
.totals dd { margin: 0; font-size: 1.45rem; line-height: 1.25; font-weight: 600; }
.totals a { color: inherit; text-decoration-color: var(--line); }
html { scroll-padding-top: 6rem; }
.top { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .3rem 2rem; align-items: baseline;
  background: var(--page); padding: .7rem 0 .6rem; margin-top: 1rem; border-bottom: 1px solid var(--line); }
.top nav { display: flex; gap: 1.2rem; margin-left: auto; }
#tools { flex: 1 1 30rem; }
#tools > div { display: flex; gap: .5rem; align-items: center; }
#tools input { flex: 1 1 18rem; max-width: 44rem; }
#tools p { margin: .3rem 0 0; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0 3rem; }
.grid td:nth-child(2) { width: 6rem; }
#cluster-table td, #pool-table td, .totals dt { white-space: nowrap; }
th button { border: 0; padding: 0; background: none; font-weight: 600; }
th[aria-sort] button::after { content: " \\2191"; }
th[aria-sort="descending"] button::after { content: " \\2193"; }
button.pool { border: 0; padding: 0; background: none; color: var(--link); text-align: left; }
button.pool::before { content: "\\25B8"; display: inline-block; width: 1.1em; }
button.pool[aria-expanded="true"]::before { content: "\\25BE"; }
#pool-table tr.more > td { white-space: normal; padding: .3rem 0 .8rem 1.1em; }
.state { font-weight: 600; }
.size { display: inline-flex; align-items: center; gap: .6rem; }
.revision { border-top: 1px solid var(--line); padding: .7rem 0; }
.revision h3 { margin: 0; font-weight: 600; }
section.change { padding-left: 1rem; border-left: 2px solid var(--line); }
.revision section section { padding-left: 1rem; }
@page { size: landscape; margin: 12mm; }
@media print {
  .top { display: none; }
  .totals div { padding-right: 1.2rem; }
  .bar { width: 3rem; }
  button.pool { color: inherit; }
  button.pool[aria-expanded="false"]::before { display: none; }
  #cluster-table td, #pool-table td { white-space: normal; }
  .size { white-space: nowrap; }
}
"""
_CLASSES: Final = {
    State.FAILED: "bad",
    State.PROBLEM: "bad",
    State.WAITING: "warn",
    State.CHANGES: "warn",
    State.OK: "good",
}
_NAMED: Final = 20
_MOST_BYTES: Final = 1 << 20
"""Markup of the last changes: what is longer is left out, so that a page of a large fleet stays small."""
_SHORT: Final = 12
_HINT: Final = "Words, or column=value: cluster=prod-eu kubelet=1.34.2 state=changes size=near"


def report_html(fleet: FleetReport) -> Iterator[str]:
    """The report as pieces of one page, without secrets."""
    columns = [column for column in COLUMNS if column.used(fleet)]
    yield head("osm-gitops fleet report", STYLE + _STYLE, SCRIPT)
    yield "<header>\n<h1>Fleet report</h1>\n"
    yield f'<p class="soft">{fleet.now:%Y-%m-%d %H:%M} UTC, osm-gitops {escape(fleet.version)}</p>\n</header>\n<main>\n'
    yield f"<p>{escape(summary(fleet))}</p>\n"
    yield from _totals(fleet)
    yield from _problems(fleet)
    yield from _top(fleet)
    yield from _versions(fleet)
    yield from _clusters(fleet)
    yield '<section aria-labelledby="pools">\n<h2 id="pools">Pools</h2>\n'
    yield "<noscript><p>The table of pools takes JavaScript. <code>osm-gitops report -o json</code> has the same data."
    yield "</p></noscript>\n"
    yield '<div class="scroll" id="pool-table" role="region" aria-label="Table of pools" tabindex="0" hidden></div>\n'
    yield '<p class="tools" id="more" hidden><button type="button" id="some"></button> '
    yield '<button type="button" id="all">Show all</button></p>\n</section>\n'
    yield from _history(fleet)
    yield "</main>\n"
    yield embedded("data", _data(fleet, columns))
    yield foot(SCRIPT)


def _link(key: str, value: str) -> str:
    """The address by which the script filters the page."""
    return f"#q={quote(f'{key}={_quoted(value)}')}"


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value


def _totals(fleet: FleetReport) -> Iterator[str]:
    states = fleet.states()
    totals = [("Clusters", len(fleet.clusters), "", ""), ("Pools", sum(states.values()), "", "")]
    if fleet.is_live:
        machines = sum(cluster.machines or 0 for cluster in fleet.clusters)
        totals.append(("Machines", machines, "", ""))
    totals += [
        (_capital(STATE_WORDS[state]), states[state], _CLASSES[state], _link("state", state.value)) for state in State
    ]
    near = sum(_filtered_size(pool.bootstrap) == _NEAR for _, pool in fleet.pools())
    totals.append((f"User-data from {FULL * 100:.0f} % of the limit", near, "warn", _link("size", _NEAR)))
    yield '<dl class="totals">\n'
    for title, number, kind, link in totals:
        value = f'<a href="{link}">{number:,}</a>' if link and number else f"{number:,}"
        yield f'<div><dt>{title}</dt><dd class="{kind if number else ""}">{value}</dd></div>\n'
    yield "</dl>\n"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _problems(fleet: FleetReport) -> Iterator[str]:
    found = [code(visible(str(problem))) for problem in fleet.problems]
    found += [
        f"<strong>{escape(visible(few(names)))}</strong>: {code(visible(str(problem)))}"
        for names, problem in fleet.problems_of_clusters()
    ]
    if found:
        yield f'<div class="notice">\n<h2>Problems of clusters</h2>\n{items(found[:_NAMED])}'
        rest = found[_NAMED:]
        yield f"<details><summary>{len(rest)} more</summary>\n{items(rest)}</details>\n" if rest else ""
        yield "</div>\n"


def _top(fleet: FleetReport) -> Iterator[str]:
    """The bar that stays at the top: the filter, which takes the script, and links to the sections."""
    yield '<div class="top">\n'
    yield '<div class="tools" id="tools" role="search" hidden>\n<div><label for="search">Filter</label>\n'
    yield f'<input type="search" id="search" placeholder="{escape(_HINT)}" autocomplete="off" spellcheck="false">\n'
    yield '<button type="button" id="clear">Clear</button></div>\n'
    yield '<p id="found" role="status" class="soft"></p>\n</div>\n'
    sections = [("versions", "Versions"), ("clusters", "Clusters"), ("pools", "Pools")]
    sections += [("history", "Last changes")] if fleet.revisions or fleet.no_history else []
    links = " ".join(f'<a href="#{name}">{title}</a>' for name, title in sections)
    yield f'<nav aria-label="Sections">{links}</nav>\n</div>\n'


# --- clusters ---


def _clusters(fleet: FleetReport) -> Iterator[str]:
    heads = ["Cluster", "State", "Pools", "Kubelet", "Profiles", "Largest user-data", "Changes"]
    if fleet.is_live:
        heads += ["Machines", "First token", "Last run"]
    yield '<section aria-labelledby="clusters">\n<h2 id="clusters">Clusters</h2>\n'
    yield '<div class="scroll" role="region" aria-label="Table of clusters" tabindex="0">\n<table id="cluster-table">\n'
    yield "<thead><tr>" + "".join(f'<th scope="col">{each}</th>' for each in heads) + "</tr></thead>\n<tbody>\n"
    for number, cluster in enumerate(fleet.clusters):
        yield f'<tr data-cluster="{number}">{"".join(_cluster_cells(cluster, fleet))}</tr>\n'
    yield "</tbody>\n</table>\n</div>\n"
    yield '<p class="tools" hidden><button type="button" id="all-clusters"></button></p>\n</section>\n'


def _cluster_cells(cluster: ClusterReport, fleet: FleetReport) -> Iterator[str]:
    name, state, size = visible(cluster.name), cluster.state, cluster.fullest
    sources = escape(visible("; ".join((*cluster.sources, *cluster.hosts))))
    profiles = in_order(profile_words(pool.facts) for pool in cluster.pools if pool.facts)
    yield f'<td title="{sources}"><a href="{_link("cluster", name)}">{escape(name)}</a></td>'
    yield f'<td data-sort="{state.weight}"><span class="state {_CLASSES[state]}">{_state(cluster)}</span></td>'
    yield f"<td>{len(cluster.pools)}</td>"
    yield f"<td>{escape(visible(kubelets_of(cluster)))}</td>"
    yield f'<td title="{escape(visible(", ".join(profiles)))}">{escape(visible(_either(profiles)))}</td>'
    yield f'<td data-sort="{_size_key(size)}">{_size(size) if size else ""}</td>'
    yield f'<td data-sort="{cluster.changed + sum(cluster.others.values())}">{changes_words(cluster)}</td>'
    if fleet.is_live:
        token = cluster.token
        words = token_words(token, fleet.now) if token else "not read"
        left = (token.expires - fleet.now).total_seconds() if token and token.expires else -1
        kind = "bad" if words in _BAD_TOKENS else ""
        yield f"<td>{'not read' if cluster.machines is None else cluster.machines}</td>"
        yield f'<td data-sort="{left:.0f}" class="{kind}">{escape(visible(words))}</td>'
        yield f"<td>{escape(visible(cluster.last_run or 'not known'))}</td>"


def _either(profiles: Sequence[str]) -> str:
    """The one profile, or how many there are."""
    return profiles[0] if len(profiles) == 1 else many(len(profiles), "profile")


def _state(cluster: ClusterReport) -> str:
    return cluster.state.value if cluster.planned else "not planned"


def _size(size: HalfSize) -> str:
    drawn = bar(size.share) if size.limit else ""
    return f'<span class="size" title="{escape(exact_size(size))}">{drawn}{_aligned(size)}</span>'


def _aligned(size: HalfSize) -> str:
    """The size in words, with percentages of one width: blanks as wide as digits stand before short ones."""
    words = size_words(size)
    digits = words.partition(" %")[0]
    return words if size.limit is None else "\u2007" * (3 - len(digits)) + words


def _size_key(size: HalfSize | None) -> str:
    return f"{size.share:.4f}" if size else "-1"


# --- versions ---


def _versions(fleet: FleetReport) -> Iterator[str]:
    known = [pool.facts for _, pool in fleet.pools() if pool.facts]
    groups = (
        ("Kubelet", "kubelet", Counter(facts.kubelet for facts in known)),
        ("Profile", "profile", Counter(profile_words(facts) for facts in known)),
        ("System", "system", Counter(system_words(facts) for facts in known)),
    )
    yield '<section aria-labelledby="versions">\n<h2 id="versions">Versions</h2>\n<div class="grid">\n'
    for title, key, counts in groups:
        yield f'<div><table>\n<thead><tr><th scope="col">{title}</th><th scope="col">Share</th>'
        yield '<th scope="col" class="number">Pools</th></tr></thead>\n<tbody>\n'
        for value in in_order(counts)[::-1][:_NAMED]:
            link = f'<a href="{_link(key, visible(value))}">{escape(visible(value))}</a>'
            share = bar(counts[value] / len(known), limit=False)
            yield f'<tr><td>{link}</td><td>{share}</td><td class="number">{counts[value]:,}</td></tr>\n'
        more = len(counts) - _NAMED
        yield f'<tr><td colspan="3" class="soft">and {more} more</td></tr>\n' if more > 0 else ""
        yield "</tbody>\n</table></div>\n"
    yield "</div>\n</section>\n"


# --- pools ---

_NEAR: Final = "near"
_BAD_TOKENS: Final = ("expired", "missing")


def _filtered_size(size: HalfSize | None) -> str:
    if size is None or size.limit is None:
        return "none"
    return _NEAR if fullness(size.share) else "ok"


@dataclass(slots=True)
class _Texts:
    """The texts of the page's data, each once."""

    known: dict[str, int] = field(default_factory=dict)

    def of(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known))


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a pool: its text, and what it has beside it. ``order`` sorts it (``None``: by the text), ``share`` is
    drawn as a bar, ``kind`` colours it, ``filter`` is its value in a filter (empty: the text)."""

    text: str
    order: float | None = None
    share: float | None = None
    kind: str = ""
    filter: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of pools. A column whose cells are all empty is not shown: what only some fleets have, such
    as machines of clusters that were read, takes no room in others."""

    key: str
    title: str
    cell: Callable[[ClusterReport, PoolReport, datetime], Cell | None]

    def used(self, fleet: FleetReport) -> bool:
        return any(self.cell(cluster, pool, fleet.now) is not None for cluster, pool in fleet.pools())


def _state_cell(_cluster: ClusterReport, pool: PoolReport, _now: datetime) -> Cell:
    state = pool.state
    return Cell(state.value, order=state.weight, kind=_CLASSES[state])


def _size_cell(_cluster: ClusterReport, pool: PoolReport, _now: datetime) -> Cell | None:
    size = pool.bootstrap
    if size is None:
        return None
    share = size.share if size.limit else None
    return Cell(_aligned(size), round(size.share, 4), share, fullness(size.share), _filtered_size(size))


def _change_cell(_cluster: ClusterReport, pool: PoolReport, _now: datetime) -> Cell | None:
    return Cell(actions_words(pool.changes), order=sum(pool.changes.values())) if pool.changes else None


def _token_cell(_cluster: ClusterReport, pool: PoolReport, now: datetime) -> Cell | None:
    if pool.live is None:
        return None
    token = pool.live.token
    text = token_words(token, now)
    left = (token.expires - now).total_seconds() if token.expires else -1
    return Cell(text, order=int(left), kind="bad" if text in _BAD_TOKENS else "")


def _machines_cell(_cluster: ClusterReport, pool: PoolReport, _now: datetime) -> Cell | None:
    return Cell(_machines(pool.live), order=pool.live.machines) if pool.live else None


def _machines(live: LiveFacts) -> str:
    return f"{live.machines}, {live.waiting} waiting" if live.waiting else str(live.machines)


COLUMNS: Final = (
    Column("cluster", "Cluster", lambda cluster, _pool, _now: Cell(cluster.name)),
    Column("pool", "Pool", lambda _cluster, pool, _now: Cell(pool.full_name)),
    Column("state", "State", _state_cell),
    Column("system", "System", lambda _cluster, pool, _now: Cell(system_words(pool.facts)) if pool.facts else None),
    Column("kubelet", "Kubelet", lambda _cluster, pool, _now: Cell(pool.facts.kubelet) if pool.facts else None),
    Column("profile", "Profile", lambda _cluster, pool, _now: Cell(profile_words(pool.facts)) if pool.facts else None),
    Column("size", "Bootstrap user-data", _size_cell),
    Column("machines", "Machines", _machines_cell),
    Column("token", "Token", _token_cell),
    Column("changes", "Changes", _change_cell),
)
"""The columns of the table of pools, which is also the vocabulary of its filter."""


def _data(fleet: FleetReport, columns: Iterable[Column]) -> dict[str, Json]:
    """The pools for the script: a list for each pool, with a cell for each column and its details. Texts are numbers of
    ``texts``; a cell is such a number, or a list ``[text, order, share, kind, filter]`` without its empty end."""
    texts = _Texts()
    chosen = list(columns)
    clusters = {cluster.name: number for number, cluster in enumerate(fleet.clusters)}
    rows = [
        [
            clusters[cluster.name],
            [_packed(column.cell(cluster, pool, fleet.now), texts) for column in chosen],
            [texts.of(line) for line in _details(pool)],
        ]
        for cluster, pool in fleet.pools()
    ]
    return {
        "columns": [{"key": column.key, "title": column.title} for column in chosen],
        "texts": list(map(visible, texts.known)),
        "rows": rows,
    }


def _packed(cell: Cell | None, texts: _Texts) -> Json:
    if cell is None:
        return None
    parts = [
        texts.of(cell.text),
        cell.order,
        None if cell.share is None else round(cell.share, 4),
        texts.of(cell.kind) if cell.kind else None,
        texts.of(cell.filter) if cell.filter else None,
    ]
    while parts[-1] is None:
        parts.pop()
    return parts[0] if len(parts) == 1 else parts


def _details(pool: PoolReport) -> Iterator[str]:
    """What a row shows when it is opened."""
    yield from (f"Cannot be rendered: {problem}" for problem in pool.problems)
    yield from pool.troubles
    if pool.left:
        yield f"Apply skips it for now: {pool.left}"
    yield from (f"Changes: {reason}" for reason in pool.reasons)
    yield from map(exact_size, pool.sizes)
    if pool.facts and pool.facts.profile:
        yield f"Profile: {pool.facts.profile} {pool.facts.profile_version}".rstrip()


# --- the last changes ---


def _history(fleet: FleetReport) -> Iterator[str]:
    if not fleet.revisions and not fleet.no_history:
        return
    yield '<section aria-labelledby="history">\n<h2 id="history">Last changes</h2>\n'
    if fleet.no_history:
        yield f"<p>Not known: {escape(visible(fleet.no_history))}.</p>\n"
    anchors, left = Anchors(), _MOST_BYTES
    for revision in fleet.revisions:
        parts = list(_revision(revision, anchors, left))
        left -= sum(map(len, parts))
        yield from parts
    yield "</section>\n"


def _revision(revision: Revision, anchors: Anchors, room: int) -> Iterator[str]:
    """A commit with what it changed in boot configurations, as far as there is ``room`` for its markup."""
    commit, content = revision.commit, revision.content
    short = commit.identity[:_SHORT]
    names = [visible(name) for name in revision.clusters]
    yield f'<section class="revision" id="{anchors.of(short)}">\n<h3>{escape(visible(commit.subject))}</h3>\n'
    yield f'<p class="soft">{code(short)}, {commit.date}, {escape(visible(commit.author))}: '
    yield f"{many(len(names), 'cluster')}: {escape(few(names))}</p>\n"
    if content.problems:
        yield f'<details class="notice"><summary>{many(len(content.problems), "problem")}</summary>\n'
        yield f"{items(map(code, content.problems))}</details>\n"
    changed = [cluster for cluster in content.clusters if cluster.pools]
    if not changed:
        yield "<p>No boot configuration changed.</p>\n"
    for cluster in changed:
        parts = list(changes_of(cluster, short, anchors, "h4"))
        room -= sum(map(len, parts))
        pools = many(sum(bool(name) for each in cluster.pools for name in each.pools.names), "pool")
        yield f'<details><summary>{code(cluster.title)}: {pools}</summary>\n<section class="change">\n'
        yield from parts if room > 0 else ["<p>Too long for this page; the same with osm-gitops plan --against.</p>\n"]
        yield "</section>\n</details>\n"
    if revision.rendered < len(names):
        yield f'<p class="soft">The first {revision.rendered} of these clusters are compared.</p>\n'
    yield "</section>\n"
