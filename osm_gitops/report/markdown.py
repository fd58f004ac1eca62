"""A plan as Markdown for GitHub: a step summary, or a comment on a pull request.

Texts from manifests are in code spans, in fences, or escaped in a summary: there GitHub makes no links, mentions and
references, and a text cannot end its span.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from osm_gitops.errors import Problem, some
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
    outline,
)
from osm_gitops.report.visible import many, visible

_NAMED_CLUSTERS = 20
_BACKTICKS = re.compile(r"`+")
_ADDRESS = re.compile(r"https?://[^\s<>]+")
# "… and 10000 more objects", the end of a section that is cut.
_ROOM_FOR_MORE = 80
# The share of the remaining room for each section, so that there is room for later ones.
_REFUSED, _FAILED, _TABLES, _NOTES, _DIFFS = 0.3, 0.3, 0.6, 0.3, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown(Detail):
    """Options of a report. ``max_length`` is in bytes of UTF-8, at least 2,000; ``whole_at`` is where
    the whole plan is, for a report that is cut."""

    max_length: int | None = None
    whole_at: str = ""


def format_markdown(plan: Plan, style: Markdown, problems: Iterable[Problem] = ()) -> Iterator[str]:
    """The plan, and problems of whole clusters, as pieces of Markdown. Pieces that do not fit are not computed."""
    content = outline(plan, style, problems)
    page = _Page(style)
    yield from page.text(f"## osm-gitops {style.command}\n\n{content.summary}\n\n")
    for section in _sections(content):
        yield from page.section(section)
    yield from page.end()


@dataclass(frozen=True, slots=True)
class _Section:
    """Blocks that are not split; ``size`` is their number, ``noun`` what each of them is."""

    blocks: Iterable[str]
    size: int
    noun: str
    share: float
    head: str = ""
    foot: str = "\n"

    def more(self, shown: int) -> str:
        return f"\n… and {many(self.size - shown, f'more {self.noun}')}\n"


class _Page:
    """Counts what is written, and leaves out what does not fit."""

    def __init__(self, style: Markdown) -> None:
        self._cut = False
        self._end = _pointer(style)
        self._left = None if style.max_length is None else style.max_length - _size(self._end)

    def text(self, text: str) -> Iterator[str]:
        """Text that is always shown."""
        if self._left is not None:
            self._left -= _size(text)
        yield text

    def section(self, section: _Section) -> Iterator[str]:
        """As many blocks as fit, and the number of the others; nothing if not even one fits."""
        frame = _size(section.head) + _size(section.foot) + _ROOM_FOR_MORE
        room = None if self._left is None else int(self._left * section.share) - frame
        shown = 0
        for block in section.blocks:
            if room is not None:
                room -= _size(block)
                if room < 0:
                    self._cut = True
                    break
            yield from self.text(block if shown else section.head + block)
            shown += 1
        if shown:
            yield from self.text(section.foot if shown == section.size else section.more(shown) + section.foot)

    def end(self) -> Iterator[str]:
        if self._cut:
            yield self._end


def _sections(content: Outline) -> Iterator[_Section]:
    refusals = [_code(refusal) for cluster in content.clusters for refusal in cluster.refusals]
    yield _list(refusals, "refusal", _REFUSED, "### Refused\n\n")
    notes = [(cluster.name, note) for cluster in content.clusters for note in cluster.notes]
    failed = [f"{_code(name)}: {_code(note.text)}" for name, note in notes if note.label == "Failed"]
    failed = [*map(_code, content.problems), *failed]
    yield _list(failed, "problem", _FAILED, "### Failed\n\n")
    rows = sum(len(cluster.pools) + 1 for cluster in content.clusters if cluster.has_content)
    rows += bool(rows) and not all(cluster.has_content for cluster in content.clusters)
    if rows:
        yield _Section(_tables(content.clusters), rows, "line", _TABLES)
    if content.machines:
        text = "\n".join(content.machines)
        yield _Section([f"{text}\n\n{_fenced([content.roll], 'sh')}"], 1, "note", _NOTES)
    others = [f"{note.label} in {_code(name)}: {_code(note.text)}" for name, note in notes if note.label != "Failed"]
    head = f"<details><summary>{many(len(others), 'note')}</summary>\n\n"
    yield _list(others, "note", _NOTES, head, "\n</details>\n\n")
    objects = sum(len(pools.pools.changes) for cluster in content.clusters for pools in cluster.pools)
    yield _Section(_diffs(content.clusters), objects, "object", _DIFFS, "### What changes inside\n\n", "")


def _list(lines: Sequence[str], noun: str, share: float, head: str, foot: str = "\n") -> _Section:
    return _Section((f"- {line}\n" for line in lines), len(lines), noun, share, head, foot)


def _tables(clusters: Iterable[ClusterEntry]) -> Iterator[str]:
    """For each cluster a heading with counts, and the rows of its pools."""
    unchanged = []
    for cluster in clusters:
        if not cluster.has_content:
            unchanged.append(_code(cluster.name))
            continue
        servers = f"\nServers: {_code(cluster.servers)}\n" if cluster.servers else ""
        layout = f"\nFiles beside the objects to write: {_code(cluster.layout)}\n" if cluster.layout else ""
        table = "\n| | pools | why | machines |\n|---|---|---|---|\n" if cluster.pools else ""
        yield f"\n### {_code(cluster.name)}: {counted(cluster.counts)}\n{servers}{layout}{table}"
        for pools in cluster.pools:
            yield _row(pools)
    if unchanged:
        yield f"\nNo changes: {some(unchanged, _NAMED_CLUSTERS)}\n"


def _row(pools: PoolsEntry) -> str:
    what = "<br>".join(f"{number} to {action.value}" for action, number in pools.actions.items())
    why = "<br>".join(map(_cell, pools.reasons))
    return f"| {what} | {_pools(pools, in_table=True)} | {why} | {pools.machines} |\n"


def _pools(pools: PoolsEntry, *, in_table: bool = False) -> str:
    names = ", ".join(_cell(name) if in_table else _code(name) for name in pools.names)
    more = f" and {pools.unnamed} more" if pools.unnamed else ""
    return f"{pools.lead} {names}{more}" if names else pools.lead


def _diffs(clusters: Iterable[ClusterEntry]) -> Iterator[str]:
    for cluster in clusters:
        for pools in cluster.pools:
            head = f"#### {_code(cluster.name)} · {_pools(pools)}\n\n"
            for change in pools.changes():
                yield head + _change(change)
                head = ""


def _change(change: ChangeEntry) -> str:
    if not change.diffs:
        return f"- {SYMBOLS[change.action]} {_code(change.title)}: {_code(change.reason)}\n\n"
    parts = "".join(map(_diff, change.diffs))
    summary = f"{SYMBOLS[change.action]} <code>{escape(change.title)}</code>"
    return f"<details><summary>{summary}</summary>\n\n{_code(change.reason)}\n\n{parts}</details>\n\n"


def _diff(diff: DiffEntry) -> str:
    if diff.instead:
        return f"{_code(diff.head)}: {diff.instead}\n\n"
    return f"{_code(diff.head)}\n\n{_fenced(diff.lines, 'diff')}\n"


def _fenced(lines: Sequence[str], language: str) -> str:
    """Lines in a fence that is longer than any run of backticks in them."""
    fence = "`" * max(3, _longest_run("\n".join(lines)) + 1)
    return f"{fence}{language}\n" + "".join(f"{line}\n" for line in lines) + f"{fence}\n"


def _code(text: str) -> str:
    """A code span: between backticks that the text does not have."""
    if not text:
        return ""
    fence = "`" * (_longest_run(text) + 1)
    # Markdown drops a blank at both ends; it separates backticks of the text from ours.
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell(text: str) -> str:
    """A code span in a table, where a pipe must be escaped even in code."""
    return _code(text).replace("|", r"\|")


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _pointer(style: Markdown) -> str:
    if style.max_length is None:
        return ""
    place = visible(style.whole_at)
    where = f"<{place}>" if _ADDRESS.fullmatch(place) else _code(place) or "what `osm-gitops plan` prints"
    return f"\n**This report is cut to {style.max_length} bytes.** The whole plan is in {where}.\n"


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
