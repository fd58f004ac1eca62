"""Diffs of texts that were made from secrets: whole lines give way to the mask, or all of them to a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from osm_gitops.model.desired import SecretTexts
from osm_gitops.report.diff import TextDiff
from osm_gitops.report.mask import MASK

CONTENTS_NOT_SHOWN: Final = "contents not shown: the file is made from secrets"
_NO_NEWLINE: Final = "\\"
_SIDES: Final = {"-": " (before)", "+": " (after)"}
_METADATA: Final = "metadata"  # digests and versions, which no template makes


@dataclass(frozen=True, slots=True)
class Secrecy:
    """What of a change may be shown: ``after`` of what is desired, ``before`` of what is there, ``None`` where nobody
    knows what that was made from. ``hidden``: no content of files that are made from secrets, nor of unknown ones."""

    after: SecretTexts
    before: SecretTexts | None
    hidden: bool = False

    def masked(self, diff: TextDiff) -> TextDiff:
        """The diff without what was made from secrets."""
        if diff.name == _METADATA or not (self.hidden or self.after or self.before):
            return diff
        if self._hides(diff):
            return replace(diff, lines=(), added=0, removed=0, instead=CONTENTS_NOT_SHOWN)
        lines = list(self._lines(diff))
        # That a line became another one shows by a word, as the mask of both is the same.
        if all(any(line.startswith(side) and _is_mask(line[1:]) for line in lines) for side in _SIDES):
            lines = [line + _SIDES.get(line[:1], "") if _is_mask(line[1:]) else line for line in lines]
        return replace(diff, lines=tuple(lines))

    def _hides(self, diff: TextDiff) -> bool:
        if not self.hidden:
            return False
        unknown = self.before is None and diff.state == "gone"
        return unknown or self.after.reads(diff.name) or (self.before is not None and self.before.reads(diff.name))

    def _lines(self, diff: TextDiff) -> Iterator[str]:
        lines, at = diff.lines, 0
        while at < len(lines):
            removed = _run(lines, at, "-")
            added = _run(lines, at + len(removed), "+")
            if removed or added:
                yield from self._replaced(diff.name, removed, added)
                at += len(removed) + len(added)
            else:
                is_head = lines[at][:1] in {"@", _NO_NEWLINE}
                yield lines[at] if is_head else self._line(lines[at], secret=self._secret_after(diff.name, lines[at]))
                at += 1

    def _replaced(self, name: str, removed: Sequence[str], added: Sequence[str]) -> Iterator[str]:
        """A block of removed lines, and the added ones in their place."""
        secret = [self._secret_after(name, line) for line in added]
        pairs = [at < len(added) and not secret[at] for at in range(len(removed))]
        for line, has_counterpart in zip(removed, pairs, strict=True):
            yield self._line(line, secret=self._secret_before(name, line, has_counterpart=has_counterpart))
        for line, is_secret in zip(added, secret, strict=True):
            yield self._line(line, secret=is_secret)

    def _secret_after(self, name: str, line: str) -> bool:
        unusual = name not in self.after.known and self.after.touches(name)
        return self.after.hides(line[1:]) or unusual

    def _secret_before(self, name: str, line: str, *, has_counterpart: bool) -> bool:
        """A line that is there now. What it was made from is known of a revision, and guessed of a target: of a text
        that is made from secrets a line is public where a public one takes its place."""
        if self.after.hides(line[1:]):
            return True
        if self.before is not None:
            unusual = name not in self.before.known and self.before.touches(name)
            return self.before.hides(line[1:]) or unusual
        return self.hidden or (self.after.touches(name) and not has_counterpart)

    def _line(self, line: str, *, secret: bool) -> str:
        if line.startswith(_NO_NEWLINE):
            return line
        return line[:1] + masked_line(line[1:]) if secret else line


def _is_mask(line: str) -> bool:
    return line.strip() == MASK


def masked_line(line: str) -> str:
    """The mask in the place of a line, as far indented as the line is."""
    return line[: len(line) - len(line.lstrip())] + MASK


def masked_texts(text: str, secret: SecretTexts) -> str:
    """A text with the mask in the place of every line that was made from secrets."""
    if not secret:
        return text
    return "\n".join(masked_line(line) if secret.hides(line) else line for line in text.split("\n"))


def _run(lines: Sequence[str], start: int, mark: str) -> Sequence[str]:
    """The lines from ``start`` on that bear a mark, with what is said of the last one's end."""
    end = start
    while end < len(lines) and (lines[end].startswith(mark) or (end > start and lines[end].startswith(_NO_NEWLINE))):
        end += 1
    return lines[start:end]
