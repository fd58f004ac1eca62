"""Comparing what was rendered with what is rendered from other secrets: a line that differs was made from one.

Linear in the length of the texts, so that no text is too long for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from osm_gitops.model.desired import SecretTexts

Texts = Mapping[str, str]
"""Texts by the names that reports have for them."""


def secret_lines(text: str, others: Iterable[str]) -> frozenset[str]:
    """The lines of ``text``, without the white space around them, that are others where secrets are others.

    Of texts with equally many lines each line is compared with its counterpart; else all between the lines that are
    alike at both ends is made from secrets.
    """
    lines = text.split("\n")
    return frozenset(lines[at].strip() for other in others for at in differing(lines, other.split("\n")))


def differing(ours: Sequence[str], others: Sequence[str]) -> Iterable[int]:
    """Which entries of ``ours`` differ from ``others``."""
    if len(ours) == len(others):
        return [at for at, entry in enumerate(ours) if entry != others[at]]
    start, end = alike_at_ends(ours, others)
    return range(start, len(ours) - end)


def alike_at_ends(ours: Sequence[str], others: Sequence[str]) -> tuple[int, int]:
    """How many entries of two sequences are equal at their beginning, and how many others at their end."""
    shorter = min(len(ours), len(others))
    start = 0
    while start < shorter and ours[start] == others[start]:
        start += 1
    end = 0
    while end < shorter - start and ours[-1 - end] == others[-1 - end]:
        end += 1
    return start, end


def secret_texts(texts: Texts, others: Sequence[Texts], wholly: Iterable[str] = ()) -> SecretTexts:
    """What of ``texts`` was made from secrets; ``others`` are the same, made from other secrets.

    ``wholly`` are names of texts that are secret from the first line to the last.
    """
    lines: set[str] = set()
    touched: set[str] = set()
    secret = frozenset(wholly)
    for name, text in texts.items():
        differ = [other.get(name, "") for other in others if other.get(name) != text]
        if name in secret:
            lines.update(map(str.strip, text.split("\n")))
        elif differ:
            lines |= secret_lines(text, differ)
        if differ or name in secret:
            touched.add(name)
    return SecretTexts(lines=frozenset(lines), texts=frozenset(touched), known=frozenset(texts))
