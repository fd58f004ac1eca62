"""Sprig's regular expressions (osm-behaviour.md, "Template functions"): a bad pattern is false for ``regexMatch``, an
error for the others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.regex import Pattern, RegexRefused, compile_pattern, quote_meta
from osm_gitops.gocompat.text import byte_len, normalise
from osm_gitops.gotemplate.bounds import budget
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.functions.signature import GoFunction
from osm_gitops.gotemplate.values import NilStringList, StringList

_COMPILING: Final = 20
"""Steps to compile a short expression; they count for one that is known already, too."""
_WORK_PER_STEP: Final = 1 << 10
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
    compiled = _compiled(pattern, text)
    found = _counted(compiled.iterate(text, limit), compiled, text)
    return StringList(found) if found else NilStringList()


def replace_all(pattern: str, text: str, template: str) -> str:
    compiled = _compiled(pattern, text)
    budget().step(len(template) >> 3)
    return _assembled(compiled.replace_all(text, template), compiled, text)


def replace_all_literal(pattern: str, text: str, replacement: str) -> str:
    compiled = _compiled(pattern, text)
    return _assembled(compiled.replace_all_literal(text, replacement), compiled, text)


def split(pattern: str, text: str, limit: int) -> StringList:
    """``regexSplit pattern text limit``: a nil list for limit 0."""
    if limit == 0:
        _compiled(pattern, text)
        return NilStringList()
    compiled = _compiled(pattern, text)
    return StringList(compiled.split(text, limit, partial(_count, compiled, text)))


def _compiled(pattern: str, text: str) -> Pattern:
    """``pattern`` for a search in ``text``, whose work is counted against the loop steps."""
    spent = budget()
    spent.step(_COMPILING + (len(pattern) >> 1))
    try:
        compiled = compile_pattern(pattern)
    except RegexRefused as fault:
        raise Refused(f"{fault}; write the expression in another way") from fault
    spent.step((compiled.size >> 2) + compiled.size * len(text) // _WORK_PER_STEP)
    return compiled


def _count(compiled: Pattern, text: str) -> None:
    """Count one match in ``text`` against the loop steps: finding it may take a look at all of the text."""
    budget().step(1 + (compiled.groups >> 2) + compiled.size * len(text) // _WORK_PER_STEP)


def _counted(found: Iterable[str], compiled: Pattern, text: str) -> list[str]:
    result: list[str] = []
    for part in found:
        _count(compiled, text)
        result.append(part)
    return result


def _assembled(pieces: Iterable[str], compiled: Pattern, text: str) -> str:
    """The pieces in one text, refused as soon as they grow too large."""
    spent, size = budget(), 0
    result: list[str] = []
    for piece in pieces:
        _count(compiled, text)
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
