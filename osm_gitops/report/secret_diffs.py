"""Diffs of texts that were made from secrets: whole lines are masked, or the whole content is hidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from osm_gitops.model.desired import SecretTexts
from osm_gitops.model.plan import TextDiff
from osm_gitops.report.mask import MASK

CONTENTS_NOT_SHOWN: Final = "contents not shown: the file is made from secrets"
_NO_NEWLINE: Final = "\\"
_SIDES: Final = {"-": " (before)", "+": " (after)"}
_METADATA: Final = "metadata"  # digests and versions, which do not come from templates


@dataclass(frozen=True, slots=True)
class Secrecy:
    """What may be shown of a change: ``after`` is for the desired state, ``before`` for the current one, or ``None`` if
    its origin is not known. ``hidden``: show no content of files that are made from secrets, nor of unknown ones."""

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
        # A word shows that a line changed, because both lines have the same mask.
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
        """A block of removed lines, and the added lines that replace them."""
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
        """Whether a current line is secret. For a revision its origin is known. For a target it is guessed: in a text
        that is made from secrets a line is public if a public line replaces it."""
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
    """The mask with the indentation of a line."""
    return line[: len(line) - len(line.lstrip())] + MASK


def masked_texts(text: str, secret: SecretTexts) -> str:
    """A text in which every line that was made from secrets is masked."""
    if not secret:
        return text
    return "\n".join(masked_line(line) if secret.hides(line) else line for line in text.split("\n"))


def _run(lines: Sequence[str], start: int, mark: str) -> Sequence[str]:
    """The lines from ``start`` with a mark, and the remark on a missing newline after them."""
    end = start
    while end < len(lines) and (lines[end].startswith(mark) or (end > start and lines[end].startswith(_NO_NEWLINE))):
        end += 1
    return lines[start:end]
