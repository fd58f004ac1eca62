"""A plan as one HTML page without scripts, other files and network.

The style sheet filters it: it hides the content of boxes that are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.model.plan import Action, Plan
from osm_gitops.report.outline import (
    SYMBOLS,
    ChangeEntry,
    ClusterEntry,
    Detail,
    DiffEntry,
    Outline,
    PoolsEntry,
    counted,
    many,
    outline,
)
from osm_gitops.report.visible import visible

_STYLE = """\
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --new: #2da44e33; --old: #cf222e33; --at: #0969da; }
@media (prefers-color-scheme: dark) { :root { --at: #58a6ff; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
code { overflow-wrap: anywhere; }
td.what { white-space: nowrap; }
nav ul { list-style: none; padding: 0; }
label { margin-right: 1rem; }
pre { background: var(--soft); padding: .6rem; overflow-x: auto; }
pre span { display: block; white-space: pre; min-height: 1.45em; }
.new { background: var(--new); }
.old { background: var(--old); }
.at { color: var(--at); }
.bad { border-left: 4px solid #cf222e; padding-left: 1rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; }
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
_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<h1>{title}</h1>
"""
_CLASSES = {"+": "new", "-": "old", "@": "at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Detail):
    """Options of a page. ``version`` is that of the program, ``made`` is when the plan was made."""

    version: str = ""
    made: str = ""


def format_html(plan: Plan, page: Page, problems: Iterable[Problem] = ()) -> Iterator[str]:
    """The plan, and problems of whole clusters, as pieces of one page, without secrets."""
    content = outline(plan, page, problems)
    clusters = [(f"cluster-{at}", each) for at, each in enumerate(content.clusters, start=1) if each.has_content]
    filters = _FILTERS + "".join(_hidden([f"show-{name}"], name) for name, _ in clusters)
    yield _HEAD.format(title=f"osm-gitops {page.command}", style=_STYLE + filters)
    yield f"<p><strong>{escape(content.summary)}</strong></p>\n"
    yield from _failed_pools(clusters)
    made = [part for part in (f"osm-gitops {page.version}" if page.version else "", page.made) if part]
    yield f"<p>Made by {escape(', '.join(made))}</p>\n" if made else ""
    yield from _trouble(content)
    yield from _contents(clusters)
    for name, cluster in clusters:
        yield f'<section id="{name}" class="{name}">\n'
        yield from _cluster(name, cluster)
        yield "</section>\n"
    if content.machines:
        yield f"<h2>Machines</h2>\n<p>{escape(' '.join(content.machines))}</p>\n<pre>{escape(content.roll)}</pre>\n"
    yield "</body>\n</html>\n"


def _failed_pools(clusters: Iterable[tuple[str, ClusterEntry]]) -> Iterator[str]:
    """The number of failed pools by cluster, which the counts of the plan do not include."""
    failed = [(name, cluster, len(cluster.plan.failed)) for name, cluster in clusters if cluster.plan.failed]
    if failed:
        links = ", ".join(f'<a href="#{name}">{_code(cluster.name)}</a> ({number})' for name, cluster, number in failed)
        total = many(sum(number for _, _, number in failed), "pool")
        yield f'<p class="bad"><strong>{total} failed</strong>: {links}</p>\n'


def _contents(clusters: Iterable[tuple[str, ClusterEntry]]) -> Iterator[str]:
    """Links to the clusters, and boxes that filter the page."""
    boxes = "".join(f"{_box(f'show-{action.value}')}{action.value}</label>" for action in _ACTIONS)
    yield f"<nav>\n<p>Show: {boxes}</p>\n"
    items = [
        f'{_box(f"show-{name}")}</label><a href="#{name}">{_code(cluster.name)}</a>: {counted(cluster.plan.count())}'
        for name, cluster in clusters
    ]
    yield f"{_list(items) if items else ''}</nav>\n"


def _box(name: str) -> str:
    return f'<label><input type="checkbox" id="{name}" checked> '


def _trouble(content: Outline) -> Iterator[str]:
    refusals = [refusal for cluster in content.clusters for refusal in cluster.refusals]
    for title, texts in (("Refused", refusals), ("Failed", content.problems)):
        if texts:
            yield f'<div class="bad">\n<h2>{title}</h2>\n{_list(map(_code, texts))}</div>\n'


def _cluster(name: str, cluster: ClusterEntry) -> Iterator[str]:
    yield f"<h2>{_code(cluster.name)}: {counted(cluster.plan.count())}</h2>\n"
    if cluster.servers:
        yield f"<p>Servers: {_code(cluster.servers)}</p>\n"
    if cluster.plan.sources:
        yield f"<p>Sources: {', '.join(_code(visible(source)) for source in cluster.plan.sources)}</p>\n"
    failed = [_code(note.text) for note in cluster.notes if note.label == "Failed"]
    if failed:
        yield f'<div class="bad">\n<h3>Failed</h3>\n{_list(failed)}</div>\n'
    if cluster.pools:
        yield "<table>\n<tr><th></th><th>pools</th><th>why</th><th>machines</th></tr>\n"
        for at, pools in enumerate(cluster.pools, start=1):
            yield _row(f"{name}-{at}", pools)
        yield "</table>\n"
    if cluster.layout:
        yield f"<p>Files beside the objects to write: {_code(cluster.layout)}</p>\n"
    others = [f"{note.label}: {_code(note.text)}" for note in cluster.notes if note.label != "Failed"]
    if others:
        yield f"<details><summary>{many(len(others), 'note')}</summary>\n{_list(others)}</details>\n"
    for at, pools in enumerate(cluster.pools, start=1):
        yield f'<section id="{name}-{at}" class="{_actions(pools)}">\n<h3>{_pools(pools)}</h3>\n'
        yield from map(_change, pools.changes())
        yield "</section>\n"


def _actions(pools: PoolsEntry) -> str:
    """The class for these actions; its elements are hidden if none of the actions is shown."""
    return "-".join(action.value for action in _ACTIONS if action in pools.actions)


def _row(name: str, pools: PoolsEntry) -> str:
    what = "<br>".join(f"{number} to {action.value}" for action, number in pools.actions.items())
    why = "<br>".join(map(_code, pools.reasons))
    link = f'<a href="#{name}">{_pools(pools)}</a>'
    cells = f'<td class="what">{what}</td><td>{link}</td><td>{why}</td><td>{pools.machines}</td>'
    return f'<tr class="{_actions(pools)}">{cells}</tr>\n'


def _pools(pools: PoolsEntry) -> str:
    more = f" and {pools.unnamed} more" if pools.unnamed else ""
    return f"{pools.lead} {', '.join(map(_code, pools.names))}{more}".rstrip()


def _change(change: ChangeEntry) -> str:
    head = f"{SYMBOLS[change.action]} {_code(change.title)}"
    if not change.diffs:
        return f'<p class="{change.action.value}">{head}: {_code(change.reason)}</p>\n'
    inside = "".join(map(_diff, change.diffs))
    summary = f"<summary>{head}</summary>\n<p>{_code(change.reason)}</p>\n"
    return f'<details class="{change.action.value}">{summary}{inside}</details>\n'


def _diff(diff: DiffEntry) -> str:
    if diff.instead:
        return f"<p>{_code(diff.head)}: {diff.instead}</p>\n"
    return f"<p>{_code(diff.head)}</p>\n<pre>{''.join(map(_line, diff.lines))}</pre>\n"


def _line(line: str) -> str:
    kind = _CLASSES.get(line[:1])
    return f'<span class="{kind}">{escape(line)}</span>' if kind else f"<span>{escape(line)}</span>"


def _list(items: Iterable[str]) -> str:
    lines = "\n".join(f"<li>{item}</li>" for item in items)
    return f"<ul>\n{lines}\n</ul>\n"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
