"""Go's package ``regexp``: RE2, never backtracking.

The only importer of ``re2``. Go and RE2 share syntax and meaning but for details, which are evened out here. Texts are
Go strings (see :mod:`osm_gitops.gocompat.text`): as in Go, a byte that is not UTF-8 matches as one U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.text import from_bytes, has_invalid, is_digit, is_letter, normalise, runes, to_bytes

IMPORTED_LATER = ("re2",)
"""What a process that may open no files must import before."""

_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
_MEMORY: Final = 8 << 20
"""For the program of one expression and what searching adds; RE2's own default. Go's limits are ten times as wide."""
_LONGEST_REMEMBERED: Final = 1_000
_LARGEST_REMEMBERED: Final = 10_000
_MOST_REMEMBERED: Final = 64
_DEEPEST: Final = 250
_DEEPEST_IN_GO: Final = 1_000
_PARENS: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?+(?:\\.|\[:\^?[a-z]++:\]|[^\]\\])*+\]?|\((?:\?)?|\)", re.DOTALL
)
_CAPTURE_NAME: Final = re.compile(rb"[0-9A-Za-z_]+")
_TOKEN: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\(?P<sign>[pP])(?:\{(?P<braced>[^}]{0,64})\}|(?P<letter>[^{]))|\\."
    r"|\{(?:[0-9]{0,8},)?[0-9]{9,}+[,}]",
    re.DOTALL,
)
_GROUPS: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|(?P<group>\((?!\?)|\(\?P?<(?P<name>[^>]*)>)",
    re.DOTALL,
)
_CATEGORIES: Final = {
    "closepunctuation": "Pe", "combiningmark": "M", "connectorpunctuation": "Pc", "control": "Cc", "cntrl": "Cc",
    "currencysymbol": "Sc", "dashpunctuation": "Pd", "decimalnumber": "Nd", "digit": "Nd", "enclosingmark": "Me",
    "finalpunctuation": "Pf", "format": "Cf", "initialpunctuation": "Pi", "letter": "L", "letternumber": "Nl",
    "lineseparator": "Zl", "lowercaseletter": "Ll", "mark": "M", "mathsymbol": "Sm", "modifierletter": "Lm",
    "modifiersymbol": "Sk", "nonspacingmark": "Mn", "number": "N", "openpunctuation": "Ps", "otherletter": "Lo",
    "othernumber": "No", "otherpunctuation": "Po", "othersymbol": "So", "paragraphseparator": "Zp",
    "privateuse": "Co", "punctuation": "P", "punct": "P", "separator": "Z", "spaceseparator": "Zs",
    "spacingmark": "Mc", "surrogate": "Cs", "symbol": "S", "titlecaseletter": "Lt", "uppercaseletter": "Lu",
}  # fmt: skip
"""Long names of Unicode's categories, which RE2 does not know."""

_UNKNOWN_TO_RE2: Final = frozenset({"c", "other", "cn", "unassigned", "lc", "casedletter", "ascii", "assigned"})

Span = tuple[int, int]


class RegexRefused(GoError):
    """Go accepts this expression, but it has another meaning in this RE2."""


class Pattern:
    """A compiled expression; make it with :func:`compile_pattern`."""

    __slots__ = ("_compiled", "_names", "_text")

    def __init__(self, text: str, compiled: Any) -> None:
        self._text = text
        self._compiled = compiled
        self._names = _named_groups(text)

    @property
    def groups(self) -> int:
        return int(self._compiled.groups)

    @property
    def size(self) -> int:
        """Instructions of the program; a search may take as many steps for every byte."""
        return int(self._compiled.programsize)

    def matches(self, text: str) -> bool:
        """``MatchString``."""
        return self._search(_Subject(text).data, 0) is not None

    def find(self, text: str) -> str:
        """``FindString``: the first match, or nothing."""
        subject = _Subject(text)
        return next((subject.cut(*spans[0]) for spans in self._spans(subject)), "")

    def find_all(self, text: str, limit: int) -> list[str]:
        """``FindAllString``: at most ``limit`` matches, all if it is negative."""
        return list(self.iterate(text, limit))

    def iterate(self, text: str, limit: int = -1) -> Iterator[str]:
        """The matches of :meth:`find_all` one by one."""
        subject = _Subject(text)
        return (subject.cut(*spans[0]) for spans in _limited(self._spans(subject), limit))

    def find_all_groups(self, text: str) -> Iterator[list[str | None]]:
        """``FindAllStringSubmatch``; a group without part in the match is ``None``."""
        subject = _Subject(text)
        for spans in self._spans(subject):
            yield [subject.cut(start, end) if start >= 0 else None for start, end in spans]

    def replace_all(self, text: str, template: str) -> Iterator[str]:
        """``ReplaceAllString``: the pieces of the result; ``$1``, ``${name}`` are groups."""
        pieces = self._template(template)
        subject = _Subject(text)

        def expand(spans: list[Span]) -> str:
            return "".join(piece if isinstance(piece, str) else _group(subject, spans, piece) for piece in pieces)

        return self._replaced(subject, expand)

    def replace_all_literal(self, text: str, replacement: str) -> Iterator[str]:
        """``ReplaceAllLiteralString``: the pieces of the result."""
        return self._replaced(_Subject(text), lambda _: replacement)

    def split(self, text: str, limit: int, found: Callable[[], None] = lambda: None) -> list[str]:
        """``Split``: at most ``limit`` parts, all if it is negative, none if it is 0; each match calls ``found``."""
        if limit == 0:
            return []
        if self._text and not text:
            return [""]
        subject = _Subject(text)
        parts: list[str] = []
        begin = end = 0
        for spans in _limited(self._spans(subject), limit):
            if limit > 0 and len(parts) == limit - 1:
                break
            found()
            end, after = spans[0]
            if after != 0:
                parts.append(subject.cut(begin, end))
            begin = after
        if end != len(subject.data):
            parts.append(subject.cut(begin, len(subject.data)))
        return parts

    def _spans(self, subject: _Subject) -> Iterator[list[Span]]:
        """Go's iteration: no empty match right after a match; one character on after an empty one."""
        position, last_end, data = 0, -1, subject.data
        groups = range(self._compiled.groups + 1)
        while position <= len(data):
            match = self._search(data, position)
            if match is None:
                return
            spans = [match.span(group) for group in groups]
            start, end = spans[0]
            if end > position or start != last_end:
                yield spans
            position = end if end > position else position + _width(data, position)
            last_end = end

    def _search(self, data: bytes, position: int) -> Any:
        """The next match that starts with a character; RE2 finds ``\\B`` inside of one, too."""
        match = self._compiled.search(data, position)
        while match is not None and _inside(data, match.start()):
            match = self._compiled.search(data, match.start() + 1)
        return match

    def _replaced(self, subject: _Subject, replacement: Callable[[list[Span]], str]) -> Iterator[str]:
        position = 0
        for spans in self._spans(subject):
            start, end = spans[0]
            yield subject.cut(position, start)
            yield replacement(spans)
            position = end
        yield subject.cut(position, len(subject.data))

    def _template(self, template: str) -> list[str | tuple[int, ...]]:
        """Literal texts and group numbers."""
        pieces: list[str | tuple[int, ...]] = []
        place = 0
        while (dollar := template.find("$", place)) >= 0:
            pieces.append(template[place:dollar])
            place = dollar + 1
            if template.startswith("$", place):
                pieces.append("$")
                place += 1
                continue
            name, end = _reference(template, place)
            pieces.append(self._groups(name) if name else "$")
            place = end
        return [*pieces, template[place:]]

    def _groups(self, name: str) -> tuple[int, ...]:
        """The groups that a name in a template may mean; none if there is no such group."""
        if name.isascii() and name.isdigit() and len(name) <= 9 and (name == "0" or name[0] != "0"):
            return (int(name),) if int(name) <= self._compiled.groups else ()
        return self._names.get(name, ())


_REMEMBERED: Final[dict[str, Pattern]] = {}


def compile_pattern(text: str) -> Pattern:
    """``regexp.Compile``. Raises :class:`GoError`: ``error parsing regexp: …``."""
    found = _REMEMBERED.get(text)
    if found is None:
        found = _compiled(text)
        if len(text) <= _LONGEST_REMEMBERED and found.size <= _LARGEST_REMEMBERED:
            if len(_REMEMBERED) >= _MOST_REMEMBERED:
                _REMEMBERED.clear()
            _REMEMBERED[text] = found
    return found


def _compiled(text: str) -> Pattern:
    _check_nesting(text)
    import re2  # noqa: PLC0415  (15 ms that a run without expressions saves)

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        compiled = re2.compile(to_bytes(_for_re2(text)), options)
    except re2.error as fault:
        reason = fault.args[0].decode("utf-8", "replace")
        failure = RegexRefused if "too large" in reason else GoError
        raise failure(f"error parsing regexp: {reason}") from fault
    for name in compiled.groupindex:
        if not _CAPTURE_NAME.fullmatch(name):
            raise GoError(f"error parsing regexp: invalid named capture: `(?P<{name.decode()}>`")
    return Pattern(text, compiled)


def _check_nesting(text: str) -> None:
    """Refuse what is nested too deeply before RE2 reads it. Go's limit counts more than groups, and is 1,000."""
    if text.count("(") <= _DEEPEST:
        return
    depth = captures = deepest = most_captures = 0
    open_groups: list[bool] = []
    for match in _PARENS.finditer(text):
        part = match[0]
        if part == ")" and open_groups:
            captures -= open_groups.pop()
        elif part.startswith("("):
            open_groups.append(part == "(")
            captures += part == "("
        depth = len(open_groups)
        deepest, most_captures = max(deepest, depth), max(most_captures, captures)
    if most_captures > _DEEPEST_IN_GO:
        raise GoError(f"error parsing regexp: expression nests too deeply: `{text}`")
    if deepest > _DEEPEST:
        raise RegexRefused(f"the regular expression nests more than {_DEEPEST} groups")


def quote_meta(text: str) -> str:
    """``regexp.QuoteMeta``."""
    return _META.sub(r"\\\g<0>", text)


def _for_re2(text: str) -> str:
    """``text`` with Go's names of character classes as RE2 knows them.

    Raises :class:`GoError` for what Go alone refuses (``\\C``, huge repeat counts).
    """
    return _TOKEN.sub(_token_for_re2, text) if "\\" in text or "{" in text else text


def _token_for_re2(match: re.Match[str]) -> str:
    part = match[0]
    if part == r"\C":
        raise GoError(r"error parsing regexp: invalid escape sequence: `\C`")
    if part.startswith("{"):
        raise RegexRefused(f"error parsing regexp: invalid repeat count: `{part}`")
    if match["sign"] is None:
        return part
    given = match["letter"] or match["braced"]
    inverse = "^" if given.startswith("^") else ""
    name = re.sub("[ _-]", "", given.removeprefix("^")).lower()
    if name in _UNKNOWN_TO_RE2:
        raise RegexRefused(f"the character class {part} of a regular expression is not supported here")
    return f"\\{match['sign']}{{{inverse}{_CATEGORIES.get(name) or name.capitalize()}}}"


class _Subject:
    """A text as RE2 gets it, in which each invalid byte has become U+FFFD."""

    __slots__ = ("_original", "_places", "data")

    def __init__(self, text: str) -> None:
        self._original = b""
        self._places: list[int] = []
        if text.isascii() or not has_invalid(text):
            self.data = text.encode()
            return
        joined = normalise(text)
        self._original = to_bytes(joined)
        self.data = runes(joined).encode()
        place = 0
        for char, seen in zip(joined, runes(joined), strict=True):
            width = len(to_bytes(char))
            self._places.extend([place] * len(seen.encode()))
            place += width
        self._places.append(place)

    def cut(self, start: int, end: int) -> str:
        """The text between two places in ``data``."""
        if self._original:
            return from_bytes(self._original[self._places[start] : self._places[end]])
        return self.data[start:end].decode()


def _limited(spans: Iterator[list[Span]], limit: int) -> Iterator[list[Span]]:
    return spans if limit < 0 else islice(spans, limit)


def _group(subject: _Subject, spans: list[Span], groups: tuple[int, ...]) -> str:
    """The first of the groups that has a part in the match."""
    return next((subject.cut(*spans[group]) for group in groups if spans[group][0] >= 0), "")


def _named_groups(text: str) -> dict[str, tuple[int, ...]]:
    """The groups of each name; Go lets several have the same."""
    named: dict[str, tuple[int, ...]] = {}
    groups = (match["name"] for match in _GROUPS.finditer(text) if match["group"])
    for number, name in enumerate(groups, 1):
        if name is not None:
            named[name] = (*named.get(name, ()), number)
    return named


def _inside(data: bytes, position: int) -> bool:
    """Whether a character began before ``position`` and goes on there."""
    return position < len(data) and data[position] & 0xC0 == 0x80


def _width(data: bytes, position: int) -> int:
    """The bytes of the character there; 1 at the end."""
    first = data[position] if position < len(data) else 0
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _reference(text: str, place: int) -> tuple[str, int]:
    """The longest name from ``place`` (behind a ``$``) on, and where the text goes on; no name if malformed."""
    braced = text.startswith("{", place)
    start = end = place + braced
    while end < len(text) and (text[end] == "_" or is_letter(text[end]) or is_digit(text[end])):
        end += 1
    if end == start or (braced and not text.startswith("}", end)):
        return "", place
    return text[start:end], end + braced
