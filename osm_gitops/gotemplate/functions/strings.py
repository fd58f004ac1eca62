"""Sprig's strings and regular expressions (osm-behaviour.md, "Template functions").

A bad pattern is false for ``regexMatch`` and an error for the other functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from osm_gitops.gocompat import casing
from osm_gitops.gocompat import text as go_text
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import quote as go_quote
from osm_gitops.gocompat.regex import Pattern, RegexRefused, compile_pattern, quote_meta
from osm_gitops.gocompat.text import (
    REPLACEMENT,
    byte_len,
    byte_slice,
    from_bytes,
    has_invalid,
    normalise,
    runes,
    to_bytes,
)
from osm_gitops.gotemplate.bounds import budget, text_bytes
from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.compare import sorted_texts
from osm_gitops.gotemplate.faults import Refused
from osm_gitops.gotemplate.printing import sprint, to_string
from osm_gitops.gotemplate.values import NilStringList, StringList, StringMap, Unordered, kind, members

_INVALID_BYTES: Final = frozenset(map(chr, range(0xDC80, 0xDD00)))


def trim_all(cut: str, text: str) -> str:
    """``trimAll cut text``: characters of ``cut`` off both ends."""
    unwanted = {*runes(cut)}
    if REPLACEMENT in unwanted:
        unwanted |= _INVALID_BYTES
    chars = normalise(text)
    start, end = 0, len(chars)
    while start < end and chars[start] in unwanted:
        start += 1
    while start < end and chars[end - 1] in unwanted:
        end -= 1
    return chars[start:end]


def trim_prefix(prefix: str, text: str) -> str:
    return str(_by_bytes(lambda inner, outer: outer.removeprefix(inner), prefix, text))


def trim_suffix(suffix: str, text: str) -> str:
    return str(_by_bytes(lambda inner, outer: outer.removesuffix(inner), suffix, text))


def contains(part: str, text: str) -> bool:
    return bool(_by_bytes(lambda inner, outer: inner in outer, part, text))


def has_prefix(prefix: str, text: str) -> bool:
    return bool(_by_bytes(lambda inner, outer: outer.startswith(inner), prefix, text))


def has_suffix(suffix: str, text: str) -> bool:
    return bool(_by_bytes(lambda inner, outer: outer.endswith(inner), suffix, text))


def replace(old: str, new: str, text: str) -> str:
    """``replace old new text``: everywhere; an empty ``old`` is found around every character."""
    if old == "":
        chars = normalise(text)
        budget().size(byte_len(text) + (len(chars) + 1) * byte_len(new))
        return normalise(chars.replace("", new))
    count = _by_bytes(lambda inner, outer: outer.count(inner), old, text)
    budget().size(byte_len(text) + count * (byte_len(new) - byte_len(old)))
    return str(_by_bytes(lambda before, after, whole: whole.replace(before, after), old, new, text))


def repeat(count: int, text: str) -> str:
    if count < 0:
        raise GoError("strings: negative Repeat count")
    budget().size(count * byte_len(text))
    return normalise(text * count)


def indent(spaces: int, text: str) -> str:
    """``indent spaces text``: every line, empty ones too."""
    if spaces < 0:
        raise GoError("strings: negative Repeat count")
    budget().size(byte_len(text) + spaces * (text.count("\n") + 1))
    padding = " " * spaces
    return padding + text.replace("\n", f"\n{padding}")


def nindent(spaces: int, text: str) -> str:
    return "\n" + indent(spaces, text)


def substring(start: int, end: int, text: str) -> str:
    """``substr start end text`` by bytes. Raises GoError where the bounds do not fit, as Go panics."""
    size = byte_len(text)
    first, last = (0, end) if start < 0 else (start, size if end < 0 or end > size else end)
    if not 0 <= first <= last <= size:
        raise GoError(f"slice bounds out of range [{first}:{last}] with length {size}")
    return byte_slice(text, first, last)


def trunc(count: int, text: str) -> str:
    """``trunc count text``: the first bytes, or the last for a negative count."""
    size = byte_len(text)
    if count < 0:
        return byte_slice(text, size + count, size) if size + count > 0 else text
    return byte_slice(text, 0, count) if size > count else text


def abbrev(width: int, text: str) -> str:
    return text if width < 4 else _abbreviated(text, 0, width)


def abbrev_both(left: int, right: int, text: str) -> str:
    """``abbrevboth left width text``: ``...`` at the start too where ``left`` is beyond 4."""
    if right < 4 or (left > 0 and right < 7):
        return text
    return _abbreviated(text, left, right)


def wrap(width: int, text: str) -> str:
    """``wrap width text``: at spaces; longer words are not split."""
    return _wrapped(text, width, "\n", long_words=False)


def wrap_with(width: int, separator: str, text: str) -> str:
    """``wrapWith width separator text``: at blanks; longer words are cut, by bytes."""
    return _wrapped(text, width, separator or "\n", long_words=True)


def quote(*values: Any) -> str:
    """Each value but nil as a Go string literal, joined by blanks."""
    return " ".join(go_quote(to_string(value)) for value in values if value is not None)


def squote(*values: Any) -> str:
    """Each value but nil between single quotes, nothing escaped."""
    return " ".join(f"'{sprint((value,))}'" for value in values if value is not None)


def cat(*values: Any) -> str:
    return _joined(" ", [sprint((value,)) for value in values if value is not None])


def plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def to_strings(value: Any) -> StringList:
    """``toStrings``: a list's elements but nil as text; anything else is a list of one."""
    if isinstance(value, StringList):
        return value
    if kind(value) == "slice":
        return StringList(to_string(item) for item in value if item is not None)
    return StringList() if value is None else StringList([to_string(value)])


def join(separator: str, value: Any) -> str:
    return _joined(separator, to_strings(value))


def sort_alpha(value: Any) -> StringList:
    """``sortAlpha``: by bytes; a list of strings is itself sorted, as in Go; other values become a list."""
    if isinstance(value, Unordered):
        return StringList(sorted_texts([to_string(item) for item in members(value) if item is not None]))
    if kind(value) != "slice":
        return StringList([to_string(value)])
    texts = to_strings(value)
    texts[:] = sorted_texts(list(texts))
    return texts


def split_list(separator: str, text: str) -> StringList:
    return StringList(_split(text, separator, -1))


def split(separator: str, text: str) -> StringMap:
    """``split separator text``: parts under ``_0``, ``_1`` …"""
    return _numbered(_split(text, separator, -1))


def splitn(separator: str, count: int, text: str) -> StringMap:
    return _numbered(_split(text, separator, count))


def _by_bytes(run: Callable[..., Any], *texts: str) -> Any:
    """``run`` over the texts, or over their bytes if one of them is not UTF-8."""
    _count_search(*texts[:2])
    if all(map(str.isascii, texts)) or not any(map(has_invalid, texts)):
        return run(*texts)
    result = run(*map(to_bytes, texts))
    if isinstance(result, list):
        return list(map(from_bytes, result))
    return from_bytes(result) if isinstance(result, bytes) else result


def _count_search(part: str, text: str) -> None:
    """Count a search. Python looks at every character once for each one of ``part`` where a text is short."""
    size = len(text)
    rounds = min(len(part), 2_500 if size < 2_500 else 100 if size < 30_000 else 8)
    budget().step(size * rounds >> 13)


def _joined(separator: str, texts: list[str]) -> str:
    budget().size(sum(map(byte_len, texts)) + byte_len(separator) * max(len(texts) - 1, 0))
    return normalise(separator.join(texts))


def _split(text: str, separator: str, count: int) -> list[str]:
    """``strings.SplitN``: an empty separator splits after every character."""
    if count == 0:
        return []
    if separator:
        parts = _by_bytes(lambda inner, outer: outer.split(inner, count - 1 if count > 0 else -1), separator, text)
        budget().step(len(parts))
        return list(parts)
    chars = normalise(text)
    budget().step(len(chars))
    if 0 < count < len(chars):
        return [*chars[: count - 1], chars[count - 1 :]]
    return list(chars)


def _numbered(parts: list[str]) -> StringMap:
    budget().make(sum(map(text_bytes, parts)))
    return StringMap((f"_{number}", part) for number, part in enumerate(parts))


def _abbreviated(text: str, offset: int, width: int) -> str:
    """``goutils.AbbreviateFull``; an empty text if Go's function fails, since sprig drops its error."""
    size = byte_len(text)
    if size == 0 or width < 4:
        return ""
    if size <= width:
        return text
    start = min(offset, size)
    if size - start < width - 3:
        start = size - (width - 3)
    if start <= 4:
        return byte_slice(text, 0, width - 3) + "..."
    if width < 7:
        return ""
    if start + width - 3 < size:
        return "..." + _abbreviated(byte_slice(text, start, size), 0, width - 3)
    return "..." + byte_slice(text, size - (width - 3), size)


def _wrapped(text: str, width: int, separator: str, *, long_words: bool) -> str:
    """``goutils.WrapCustom``; blanks at the start of a line are dropped."""
    data, line_end, width = to_bytes(text), to_bytes(separator), max(width, 1)
    lines: list[bytes] = []
    place, spent, size = 0, budget(), len(data)
    while len(data) - place > width:
        if data[place] == 0x20:
            place += 1
            continue
        end, after = _line_end(data, place, width, long_words=long_words)
        lines.append(data[place:end])
        if end == len(data):
            place = end
            break
        lines.append(line_end)
        place = after
        size += len(line_end)
        spent.size(size)
    return from_bytes(b"".join([*lines, data[place:]]))


def _line_end(data: bytes, start: int, width: int, *, long_words: bool) -> tuple[int, int]:
    """Where the line that begins at ``start`` ends, and where the next one begins."""
    blank = data.rfind(b" ", start, start + width + 1)
    if blank < 0 and long_words:
        return start + width, start + width
    if blank < 0:
        blank = data.find(b" ", start + width)
    return (blank, blank + 1) if blank >= 0 else (len(data), len(data))


_COMPILING: Final = 20
"""Steps to compile a short expression; they count for one that is known already, too."""
_WORK_PER_STEP: Final = 1 << 10
"""Bytes of the text times instructions of the expression that count as a loop step: the most that RE2 has to do."""


def regex_match(pattern: str, text: str) -> bool:
    """``regexMatch``: false for a bad pattern, too."""
    try:
        return regex_must_match(pattern, text)
    except GoError:
        return False


def regex_must_match(pattern: str, text: str) -> bool:
    return _compiled(pattern, text).matches(text)


def regex_find(pattern: str, text: str) -> str:
    return _compiled(pattern, text).find(text)


def regex_find_all(pattern: str, text: str, limit: int) -> StringList:
    """``regexFindAll pattern text limit``: all for a negative limit; a nil list without any match."""
    compiled = _compiled(pattern, text)
    found = _counted(compiled.iterate(text, limit), compiled, text)
    return StringList(found) if found else NilStringList()


def regex_replace_all(pattern: str, text: str, template: str) -> str:
    compiled = _compiled(pattern, text)
    budget().step(len(template) >> 3)
    return _assembled(compiled.replace_all(text, template), compiled, text)


def regex_replace_all_literal(pattern: str, text: str, replacement: str) -> str:
    compiled = _compiled(pattern, text)
    return _assembled(compiled.replace_all_literal(text, replacement), compiled, text)


def regex_split(pattern: str, text: str, limit: int) -> StringList:
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
    GoFunction("trim", "string", go_text.trim_space, returns="string"),
    GoFunction("trimAll", "string string", trim_all, returns="string"),
    GoFunction("trimall", "string string", trim_all, returns="string"),
    GoFunction("trimPrefix", "string string", trim_prefix, returns="string"),
    GoFunction("trimSuffix", "string string", trim_suffix, returns="string"),
    GoFunction("upper", "string", go_text.upper, returns="string"),
    GoFunction("lower", "string", go_text.lower, returns="string"),
    GoFunction("title", "string", go_text.title, returns="string"),
    GoFunction("untitle", "string", casing.uncapitalise, returns="string"),
    GoFunction("swapcase", "string", casing.swap_case, returns="string"),
    GoFunction("nospace", "string", casing.without_space, returns="string"),
    GoFunction("initials", "string", casing.initials, returns="string"),
    GoFunction("snakecase", "string", lambda text: casing.separated_case(text, "_"), returns="string"),
    GoFunction("kebabcase", "string", lambda text: casing.separated_case(text, "-"), returns="string"),
    GoFunction("camelcase", "string", casing.pascal_case, returns="string"),
    GoFunction("repeat", "int string", repeat, returns="string"),
    GoFunction("substr", "int int string", substring, returns="string"),
    GoFunction("trunc", "int string", trunc, returns="string"),
    GoFunction("abbrev", "int string", abbrev, returns="string"),
    GoFunction("abbrevboth", "int int string", abbrev_both, returns="string"),
    GoFunction("contains", "string string", contains, returns="bool"),
    GoFunction("hasPrefix", "string string", has_prefix, returns="bool"),
    GoFunction("hasSuffix", "string string", has_suffix, returns="bool"),
    GoFunction("quote", "any…", quote, returns="string"),
    GoFunction("squote", "any…", squote, returns="string"),
    GoFunction("cat", "any…", cat, returns="string"),
    GoFunction("indent", "int string", indent, returns="string"),
    GoFunction("nindent", "int string", nindent, returns="string"),
    GoFunction("replace", "string string string", replace, returns="string"),
    GoFunction("plural", "string string int", plural, returns="string"),
    GoFunction("wrap", "int string", wrap, returns="string"),
    GoFunction("wrapWith", "int string string", wrap_with, returns="string"),
    GoFunction("toString", "any", to_string, returns="string"),
    GoFunction("toStrings", "any", to_strings),
    GoFunction("join", "string any", join, returns="string"),
    GoFunction("sortAlpha", "any", sort_alpha, mutates=True),
    GoFunction("splitList", "string string", split_list),
    GoFunction("split", "string string", split),
    GoFunction("splitn", "string int string", splitn),
    GoFunction("regexMatch", "string string", regex_match, returns="bool"),
    GoFunction("mustRegexMatch", "string string", regex_must_match, returns="bool"),
    GoFunction("regexFind", "string string", regex_find, returns="string"),
    GoFunction("mustRegexFind", "string string", regex_find, returns="string"),
    GoFunction("regexFindAll", "string string int", regex_find_all),
    GoFunction("mustRegexFindAll", "string string int", regex_find_all),
    GoFunction("regexReplaceAll", "string string string", regex_replace_all, returns="string"),
    GoFunction("mustRegexReplaceAll", "string string string", regex_replace_all, returns="string"),
    GoFunction("regexReplaceAllLiteral", "string string string", regex_replace_all_literal, returns="string"),
    GoFunction("mustRegexReplaceAllLiteral", "string string string", regex_replace_all_literal, returns="string"),
    GoFunction("regexSplit", "string string int", regex_split),
    GoFunction("mustRegexSplit", "string string int", regex_split),
    GoFunction("regexQuoteMeta", "string", quote_meta, returns="string"),
)
