"""A plan as one HTML page that needs nothing else: no script, no file, no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from osm_gitops.errors import Problem
from osm_gitops.model.plan import Plan
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
td, li { overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .6rem; overflow-x: auto; }
pre span { display: block; white-space: pre; min-height: 1.45em; }
.new { background: var(--new); }
.old { background: var(--old); }
.at { color: var(--at); }
.bad { border-left: 4px solid #cf222e; padding-left: 1rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; }
"""
_HEAD = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>osm-gitops plan</title>
<style>
{_STYLE}</style>
</head>
<body>
<h1>osm-gitops plan</h1>
"""
_CLASSES = {"+": "new", "-": "old", "@": "at"}


def format_html(plan: Plan, detail: Detail, problems: Iterable[Problem] = ()) -> Iterator[str]:
    """The plan, and problems of whole clusters, as pieces of one page; no secret in it."""
    told = outline(plan, detail, problems)
    yield _HEAD
    yield f"<p><strong>{escape(told.summary)}</strong></p>\n"
    yield from _trouble(told)
    for cluster in told.clusters:
        if cluster.says_something:
            yield from _cluster(cluster)
    if told.machines:
        yield f"<h2>Machines</h2>\n<p>{escape(' '.join(told.machines))}</p>\n<pre>{escape(told.roll)}</pre>\n"
    yield "</body>\n</html>\n"


def _trouble(told: Outline) -> Iterator[str]:
    refusals = [refusal for cluster in told.clusters for refusal in cluster.refusals]
    for title, texts in (("Refused", refusals), ("Failed", told.problems)):
        if texts:
            yield f'<div class="bad">\n<h2>{title}</h2>\n{_list(map(_code, texts))}</div>\n'


def _cluster(cluster: ClusterEntry) -> Iterator[str]:
    yield f"<h2>{_code(cluster.name)}: {counted(cluster.plan.count())}</h2>\n"
    if cluster.servers:
        yield f"<p>Servers: {_code(cluster.servers)}</p>\n"
    failed = [_code(note.text) for note in cluster.notes if note.label == "Failed"]
    if failed:
        yield f'<div class="bad">\n<h3>Failed</h3>\n{_list(failed)}</div>\n'
    if cluster.pools:
        yield "<table>\n<tr><th></th><th>pools</th><th>why</th><th>machines</th></tr>\n"
        yield from map(_row, cluster.pools)
        yield "</table>\n"
    if cluster.layout:
        yield f"<p>Files beside the objects to write: {_code(cluster.layout)}</p>\n"
    others = [f"{note.label}: {_code(note.text)}" for note in cluster.notes if note.label != "Failed"]
    if others:
        yield f"<details><summary>{many(len(others), 'note')}</summary>\n{_list(others)}</details>\n"
    for pools in cluster.pools:
        yield f"<h3>{_pools(pools)}</h3>\n"
        yield from map(_change, pools.changes())


def _row(pools: PoolsEntry) -> str:
    what = "<br>".join(f"{number} to {action.value}" for action, number in pools.actions.items())
    why = "<br>".join(map(_code, pools.reasons))
    return f"<tr><td>{what}</td><td>{_pools(pools)}</td><td>{why}</td><td>{pools.machines}</td></tr>\n"


def _pools(pools: PoolsEntry) -> str:
    more = f" and {pools.unnamed} more" if pools.unnamed else ""
    return f"{pools.lead} {', '.join(map(_code, pools.names))}{more}".rstrip()


def _change(change: ChangeEntry) -> str:
    head = f"{SYMBOLS[change.action]} {_code(change.title)}"
    if not change.diffs:
        return f"<p>{head}: {_code(change.reason)}</p>\n"
    inside = "".join(map(_diff, change.diffs))
    return f"<details><summary>{head}</summary>\n<p>{_code(change.reason)}</p>\n{inside}</details>\n"


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
