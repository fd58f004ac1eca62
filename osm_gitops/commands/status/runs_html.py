"""``status --runs --output html``: the results of all shards as one page, which loads and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from typing import Final

from osm_gitops.commands.status.runs import HEADS, CommandRuns, ShardState, errors, failed_clusters, row, summary
from osm_gitops.report.html_parts import STYLE, code, foot, head, items
from osm_gitops.report.visible import visible

_CLASSES: Final = {
    ShardState.OK: "good",
    ShardState.FAILED: "bad",
    ShardState.BEHIND: "warn",
    ShardState.MISSING: "bad",
}
_NUMBERS: Final = HEADS.index("CLUSTERS")
"""The first of the columns that are numbers."""


def runs_html(namespace: str, runs: Sequence[CommandRuns], now: datetime) -> Iterator[str]:
    """The page in pieces. Texts of results were masked by their runs."""
    yield head(f"osm-gitops runs in {namespace}", STYLE)
    yield f"<header>\n<h1>Runs in namespace {escape(namespace)}</h1>\n"
    yield f'<p class="soft">{now:%Y-%m-%d %H:%M} UTC</p>\n</header>\n<main>\n'
    if not runs:
        yield "<p>No results: runs leave them with <code>--result-in</code>.</p>\n"
    for each in runs:
        yield from _command(each, now)
    yield "</main>\n"
    yield foot()


def _command(runs: CommandRuns, now: datetime) -> Iterator[str]:
    name = escape(runs.command)
    yield f'<section aria-labelledby="{name}">\n<h2 id="{name}">{name}</h2>\n'
    yield f'<p class="{"good" if runs.good else "bad"}">{escape(summary(runs))}</p>\n'
    yield f'<div class="scroll" role="region" aria-label="Shards of {name}" tabindex="0">\n<table>\n<thead><tr>'
    for at, title in enumerate(HEADS):
        yield f'<th scope="col"{_aligned(at)}>{title.capitalize()}</th>'
    yield "</tr></thead>\n<tbody>\n"
    for shard in runs.shards:
        cells = (
            f'<td class="{_CLASSES[shard.state]}">{text}</td>' if at == 1 else f"<td{_aligned(at)}>{escape(text)}</td>"
            for at, text in enumerate(row(shard, now))
        )
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"
    for title, texts in (("Errors", errors(runs)), ("Failed clusters", failed_clusters(runs))):
        if texts:
            yield f"<h3>{title}</h3>\n{items(code(visible(text)) for text in texts)}"
    yield "</section>\n"


def _aligned(column: int) -> str:
    return ' class="number"' if column >= _NUMBERS else ""
