"""Sprig's regular expressions (contract §6.5): a bad pattern is false for ``regexMatch``, an error for the others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from osm_gitops.golang.fault import GoError
from osm_gitops.golang.regex import Pattern, RegexRefused, compile_pattern, quote_meta
from osm_gitops.golang.text import byte_len, normalise
from osm_gitops.templates.bounds import budget
from osm_gitops.templates.faults import Refused
from osm_gitops.templates.functions.signature import GoFunction
from osm_gitops.templates.values import NilStringList, StringList

_BYTES_PER_STEP: Final = 1 << 16
"""A match in this much of a text counts as one more loop step."""
_WORK_PER_STEP: Final = 1 << 13
"""Bytes of the text times instructions of the expression that count as a loop step: the most that RE2 has to do."""


def match(pattern: str, text: str) -> bool:
    """``regexMatch``: false for a bad pattern, too."""
    try:
        return must_match(pattern, text)
    except GoError:
        return False


def must_match(pattern: str, text: str) -> bool:
    return _compiled(pattern, text).matches(text)


def find(pattern: str, text: str) -> str:
    return _compiled(pattern, text).find(text)


def find_all(pattern: str, text: str, limit: int) -> StringList:
    """``regexFindAll pattern text limit``: all for a negative limit; a nil list without any match."""
    found = _counted(_compiled(pattern, text).iterate(text, limit), text)
    return StringList(found) if found else NilStringList()


def replace_all(pattern: str, text: str, template: str) -> str:
    return _assembled(_compiled(pattern, text).replace_all(text, template), text)


def replace_all_literal(pattern: str, text: str, replacement: str) -> str:
    return _assembled(_compiled(pattern, text).replace_all_literal(text, replacement), text)


def split(pattern: str, text: str, limit: int) -> StringList:
    """``regexSplit pattern text limit``: a nil list for limit 0."""
    if limit == 0:
        _compiled(pattern, text)
        return NilStringList()
    return StringList(_compiled(pattern, text).split(text, limit, partial(_count, text)))


def _compiled(pattern: str, text: str) -> Pattern:
    """``pattern`` for a search in ``text``, whose work is counted against the loop steps."""
    try:
        compiled = compile_pattern(pattern)
    except RegexRefused as fault:
        raise Refused(f"{fault}; write the expression in another way") from fault
    budget().step(compiled.size * len(text) // _WORK_PER_STEP)
    return compiled


def _count(text: str) -> None:
    """Count one match in ``text`` against the loop steps, so that no expression takes for ever."""
    budget().step(1 + len(text) // _BYTES_PER_STEP)


def _counted(found: Iterable[str], text: str) -> list[str]:
    result: list[str] = []
    for part in found:
        _count(text)
        result.append(part)
    return result


def _assembled(pieces: Iterable[str], text: str) -> str:
    """The pieces in one text, refused as soon as they grow too large."""
    spent, size = budget(), 0
    result: list[str] = []
    for piece in pieces:
        _count(text)
        size += byte_len(piece)
        spent.size(size)
        result.append(piece)
    return normalise("".join(result))


FUNCTIONS: Final = (
    GoFunction("regexMatch", "string string", match, returns="bool"),
    GoFunction("mustRegexMatch", "string string", must_match, returns="bool"),
    GoFunction("regexFind", "string string", find, returns="string"),
    GoFunction("mustRegexFind", "string string", find, returns="string"),
    GoFunction("regexFindAll", "string string int", find_all),
    GoFunction("mustRegexFindAll", "string string int", find_all),
    GoFunction("regexReplaceAll", "string string string", replace_all, returns="string"),
    GoFunction("mustRegexReplaceAll", "string string string", replace_all, returns="string"),
    GoFunction("regexReplaceAllLiteral", "string string string", replace_all_literal, returns="string"),
    GoFunction("mustRegexReplaceAllLiteral", "string string string", replace_all_literal, returns="string"),
    GoFunction("regexSplit", "string string int", split),
    GoFunction("mustRegexSplit", "string string int", split),
    GoFunction("regexQuoteMeta", "string", quote_meta, returns="string"),
)
