"""A plan as text for people; the text may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from osm_gitops.model.plan import Plan
from osm_gitops.report.outline import SYMBOLS, ChangeEntry, ClusterEntry, Detail, outline

_COLOURS = {"+": "32", "-": "31", "~": "33", "±": "35", "@": "36"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style(Detail):
    """Options of a report."""

    color: bool = False


def format_plan(plan: Plan, style: Style) -> str:
    """The plan as text, without secrets, with a newline at the end."""
    content = outline(plan, style)
    lines = [line for cluster in content.clusters if cluster.has_content for line in _cluster(cluster, style)]
    lines.append(content.summary)
    if content.machines:
        lines += ["", *content.machines, f"  {content.roll}"]
    for cluster in content.clusters:
        lines += [paint(f"Refused: {refusal}", "-", style) for refusal in cluster.refusals]
    return "\n".join(lines) + "\n"


def _cluster(cluster: ClusterEntry, style: Style) -> Iterator[str]:
    yield cluster.title
    if cluster.servers:
        yield f"  Servers: {cluster.servers}"
    for pools in cluster.pools:
        yield ""
        more = f" and {pools.unnamed} more" if pools.unnamed else ""
        yield f"  {' '.join((pools.lead, ', '.join(pools.names)))}{more}".rstrip()
        for change in pools.changes():
            yield from _change(change, style)
    if cluster.layout:
        yield ""
        yield f"  Files beside the objects to write: {cluster.layout}"
    for note in cluster.notes:
        yield f"  {note.label}: {note.text}"
    yield ""


def _change(change: ChangeEntry, style: Style) -> Iterator[str]:
    symbol = SYMBOLS[change.action]
    yield paint(f"  {symbol} {change.title}: {change.reason}", symbol, style)
    for diff in change.diffs:
        yield f"      {diff.head}{f': {diff.instead}' if diff.instead else ''}"
        for line in diff.lines:
            yield paint(f"        {line}", line[:1], style)


def paint(line: str, kind: str, style: Style) -> str:
    """The line in the colour of a ``kind``, which is the first character of a diff line, or the symbol of an action."""
    colour = _COLOURS.get(kind)
    return f"\x1b[{colour}m{line}\x1b[0m" if style.color and colour else line
