"""A plan as one HTML page that loads nothing.

Its style sheet filters it: it hides the content of boxes that are not checked. A script adds search, folding and links
that are copied; without it the page shows the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.model.plan import Action, Plan
from osm_gitops.report.html_parts import STYLE, code, foot, head, items
from osm_gitops.report.outline import (
    SYMBOLS,
    ChangeEntry,
    ClusterEntry,
    Detail,
    DiffEntry,
    Outline,
    PoolsEntry,
    counted,
    outline,
)
from osm_gitops.report.plan_script import SCRIPT
from osm_gitops.report.visible import many

_STYLE: Final = """\
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 2.5rem; margin-top: 1.5rem; }
@media screen and (min-width: 64rem) {
  .columns { grid-template-columns: 17rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 1rem 0; }
}
nav ul { list-style: none; padding: 0; }
nav li { display: flex; gap: .4rem; align-items: baseline; padding: .25rem 0; border-bottom: 1px solid var(--line); }
nav li span { margin-left: auto; text-align: right; }
nav input[type="checkbox"] { margin: 0 .2rem 0 0; align-self: center; vertical-align: -1px; }
nav input[type="search"] { margin-bottom: .5rem; }
.boxes label { display: inline-block; margin-right: .8rem; }
main section section { padding-left: 1rem; border-left: 2px solid var(--line); margin-bottom: 1.2rem; }
main > section:first-child h2 { margin-top: 0; }
td.what { white-space: nowrap; }
.anchor { text-decoration: none; padding: 0 .3rem; font-weight: 400; }
nav label[for="search"] { display: block; }
details details { margin-left: .2rem; }
"""
_ACTIONS: Final = tuple(action for action in Action if action is not Action.UNCHANGED)


def _hidden(boxes: Iterable[str], what: str) -> str:
    """The rule that hides ``what`` if none of these boxes is checked."""
    return f"body{''.join(f':has(#{box}:not(:checked))' for box in boxes)} .{what} {{ display: none; }}\n"


_FILTERS = "".join(
    _hidden([f"show-{action.value}" for action in actions], "-".join(action.value for action in actions))
    for number in range(1, len(_ACTIONS) + 1)
    for actions in combinations(_ACTIONS, number)
)
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._/-]")
_CLASSES: Final = {"+": "new", "-": "old", "@": "at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Detail):
    """Options of a page. ``version`` is that of the program, ``made`` is when the plan was made."""

    version: str = ""
    made: str = ""


def format_html(plan: Plan, page: Page, problems: Iterable[Problem] = ()) -> Iterator[str]:
    """The plan, and problems of whole clusters, as pieces of one page, without secrets."""
    content = outline(plan, page, problems)
    anchors = Anchors()
    clusters = [
        (anchors.of(each.name), f"cluster-{at}", each)
        for at, each in enumerate(content.clusters, start=1)
        if each.has_content
    ]
    filters = _FILTERS + "".join(_hidden([f"show-{name}"], name) for _, name, _ in clusters)
    yield head(f"osm-gitops {page.command}", STYLE + _STYLE + filters, SCRIPT)
    yield f"<header>\n<h1>osm-gitops {escape(page.command)}</h1>\n<p><strong>{escape(content.summary)}</strong></p>\n"
    yield from _failed_pools(clusters)
    made = [part for part in (f"osm-gitops {page.version}" if page.version else "", page.made) if part]
    yield f'<p class="soft">Made by {escape(", ".join(made))}</p>\n' if made else ""
    yield "</header>\n"
    yield from _trouble(content)
    yield '<div class="columns">\n'
    yield from _contents(clusters)
    yield "<main>\n"
    for anchor, name, cluster in clusters:
        yield f'<section id="{anchor}" class="{name}">\n'
        yield f"<h2>{code(cluster.name)}: {counted(cluster.counts)} {_link(anchor, cluster.name)}</h2>\n"
        yield from _about(cluster)
        yield from changes_of(cluster, anchor, anchors)
        yield "</section>\n"
    if content.machines:
        yield f"<h2>Machines</h2>\n<p>{escape(' '.join(content.machines))}</p>\n<pre><span>{escape(content.roll)}"
        yield "</span></pre>\n"
    yield "</main>\n</div>\n"
    yield foot(SCRIPT)


class Anchors:
    """Names of places on a page, made of the names of what is there: links still lead there on the next page."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    def of(self, name: str, below: str = "") -> str:
        """An anchor for a thing of this name. It has no character that means anything in HTML, CSS or a URL."""
        plain = _NOT_PLAIN.sub(lambda sign: f"~{ord(sign[0]):x}", name)
        anchor = f"{below}/{plain}" if below else plain
        self._used[anchor] += 1
        return anchor if self._used[anchor] == 1 else f"{anchor}~~{self._used[anchor]}"


_Clusters = Iterable[tuple[str, str, ClusterEntry]]


def _failed_pools(clusters: _Clusters) -> Iterator[str]:
    """The number of failed pools by cluster, which the counts of the plan do not include."""
    failed = [(anchor, cluster, cluster.failed) for anchor, _, cluster in clusters if cluster.failed]
    if failed:
        links = ", ".join(f'<a href="#{anchor}">{code(each.name)}</a> ({number})' for anchor, each, number in failed)
        total = many(sum(number for _, _, number in failed), "pool")
        yield f'<p class="bad"><strong>{total} failed</strong>: {links}</p>\n'


def _contents(clusters: _Clusters) -> Iterator[str]:
    """Links to the clusters, and boxes that filter the page; what takes the script is shown by it."""
    yield '<nav aria-label="Clusters">\n<div class="tools" hidden>\n'
    yield '<label for="search">Search</label> <input type="search" id="search" autocomplete="off" spellcheck="false">\n'
    yield '<p><button type="button" id="fold">Fold all</button> '
    yield '<button type="button" id="unfold">Unfold all</button></p>\n<p id="found" role="status" class="soft"></p>\n'
    boxes = "".join(f"{_box(f'show-{action.value}')}{action.value}</label>" for action in _ACTIONS)
    yield f'</div>\n<p class="boxes">Show: {boxes}</p>\n'
    rows = []
    for anchor, name, cluster in clusters:
        box = f'<input type="checkbox" id="show-{name}" checked aria-label="Show {escape(cluster.name)}">'
        changes = ", ".join(f"{cluster.counts[action]} {action.value}" for action in _ACTIONS if cluster.counts[action])
        link = f'<a href="#{anchor}">{code(cluster.name)}</a>'
        rows.append(f'{box}{link} <span class="soft">{changes or "no changes"}</span>')
    yield f"{items(rows) if rows else ''}</nav>\n"


def _box(name: str) -> str:
    return f'<label><input type="checkbox" id="{name}" checked> '


def _link(anchor: str, name: str) -> str:
    return f'<a class="anchor" href="#{anchor}" aria-label="Link to {escape(name)}">#</a>'


def _trouble(content: Outline) -> Iterator[str]:
    refusals = [refusal for cluster in content.clusters for refusal in cluster.refusals]
    for title, texts in (("Refused", refusals), ("Failed", content.problems)):
        if texts:
            yield f'<section class="notice" aria-label="{title}">\n<h2>{title}</h2>\n'
            yield f"{items(map(code, texts))}</section>\n"


def _about(cluster: ClusterEntry) -> Iterator[str]:
    if cluster.servers:
        yield f"<p>Servers: {code(cluster.servers)}</p>\n"
    if cluster.sources:
        yield f"<p>Sources: {', '.join(map(code, cluster.sources))}</p>\n"


def changes_of(cluster: ClusterEntry, anchor: str, anchors: Anchors, heading: str = "h3") -> Iterator[str]:
    """What changes in a cluster, below an ``anchor``: failures, a row for pools that change alike, their objects."""
    failed = [code(note.text) for note in cluster.notes if note.label == "Failed"]
    if failed:
        yield f'<div class="notice">\n<{heading}>Failed</{heading}>\n{items(failed)}</div>\n'
    pools = [(anchors.of(next(iter(each.names), "others"), anchor), each) for each in cluster.pools]
    if pools:
        yield "<details open>\n<summary>What changes</summary>\n"
        yield "<table>\n<thead><tr><th>objects</th><th>pools</th><th>why</th><th>machines</th></tr></thead>\n<tbody>\n"
        yield from (_row(*each) for each in pools)
        yield "</tbody>\n</table>\n"
    if cluster.layout:
        yield f"<p>Files beside the objects to write: {code(cluster.layout)}</p>\n"
    others = [f"{note.label}: {code(note.text)}" for note in cluster.notes if note.label != "Failed"]
    if others:
        yield f"<details><summary>{many(len(others), 'note')}</summary>\n{items(others)}</details>\n"
    for name, each in pools:
        title = _pools(each)
        link = _link(name, f"{each.lead} {', '.join(each.names)}")
        yield f'<section id="{name}" class="{_actions(each)}">\n<{heading}>{title} {link}</{heading}>\n'
        yield from map(_change, each.changes())
        yield "</section>\n"
    yield "</details>\n" if pools else ""


def _actions(pools: PoolsEntry) -> str:
    """The class for these actions; its elements are hidden if none of the actions is shown."""
    return "-".join(action.value for action in _ACTIONS if action in pools.actions)


def _row(name: str, pools: PoolsEntry) -> str:
    what = "<br>".join(f"{number} to {action.value}" for action, number in pools.actions.items())
    why = "<br>".join(map(code, pools.reasons))
    link = f'<a href="#{name}">{_pools(pools)}</a>'
    cells = f'<td class="what">{what}</td><td>{link}</td><td>{why}</td><td>{pools.machines}</td>'
    return f'<tr class="{_actions(pools)}">{cells}</tr>\n'


def _pools(pools: PoolsEntry) -> str:
    more = f" and {pools.unnamed} more" if pools.unnamed else ""
    return f"{pools.lead} {', '.join(map(code, pools.names))}{more}".rstrip()


def _change(change: ChangeEntry) -> str:
    head = f"{SYMBOLS[change.action]} {code(change.title)}"
    if not change.diffs:
        return f'<p class="{change.action.value}">{head}: {code(change.reason)}</p>\n'
    inside = "".join(map(_diff, change.diffs))
    summary = f"<summary>{head}</summary>\n<p>{code(change.reason)}</p>\n"
    return f'<details class="{change.action.value}">{summary}{inside}</details>\n'


def _diff(diff: DiffEntry) -> str:
    if diff.instead:
        return f"<p>{code(diff.head)}: {diff.instead}</p>\n"
    return f"<p>{code(diff.head)}</p>\n<pre>{''.join(map(_line, diff.lines))}</pre>\n"


def _line(line: str) -> str:
    kind = _CLASSES.get(line[:1])
    return f'<span class="{kind}">{escape(line)}</span>' if kind else f"<span>{escape(line)}</span>"
