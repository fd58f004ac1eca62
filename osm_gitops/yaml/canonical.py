"""A fast reader of the form in which :mod:`osm_gitops.yaml.emit` writes.

Target folders and rendered bodies have that form, and a run in which everything changes reads each of them. The reader
takes a part of YAML in which every line means one thing, and leaves all else to the reader of all YAML
(:mod:`osm_gitops.yaml.kubernetes`), which reads the same value.
"""

from __future__ import annotations

import re
from functools import lru_cache
from sys import intern
from typing import Any, Final, NoReturn

from osm_gitops.gocompat.yaml3 import resolve
from osm_gitops.yaml.emit import LONGEST_KEY, PLAIN, has_control, is_one_word

Json = Any

_DEEPEST: Final = 100
_LONG: Final = 100
_MEMBER: Final = re.compile(
    rf'(?:({PLAIN.pattern})|"([^"\\\t\n]*+)"):(?:\ (?:(?![^\n]{{{_LONG}}})({PLAIN.pattern})(?=\n)|([^\n]++)))?\n'
)
"""A key, and its value in the same line: a plain one that is not long, or any other."""
_INTEGER: Final = re.compile("0|-?[1-9][0-9]{0,17}")
_QUOTED: Final = re.compile(r'"([^"\\\t]*+(?:\\(?:["\\ntr]|x[0-7][0-9a-f])[^"\\\t]*+)*+)"')
_ESCAPE: Final = re.compile(r"\\(x..|.)")
_UNESCAPED: Final = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}
_BLOCK: Final = re.compile(r"\|(2?)([+-]?)")
_CONTENT: Final = re.compile("^[^#]", re.MULTILINE)
_MOST_SHARED: Final = 4 << 20  # characters
_LONGEST_WORD: Final = 5
"""No longer text that starts with a letter means anything but itself."""


class _OtherForm(Exception):
    """The text is not in the canonical form."""


class SharedEntries:
    """Entries of lists by their text, for readers of many texts that have most entries in common. Nobody may change
    them. They are forgotten when they take too much memory."""

    __slots__ = ("_found", "_size")

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Json] = {}
        self._size = 0

    def get(self, margin: int, text: str) -> Json:
        """The entry with this text in column ``margin``, or ``None``."""
        return self._found.get((margin, text))

    def keep(self, margin: int, text: str, entry: Json) -> None:
        self._size += len(text)
        if self._size > _MOST_SHARED:
            self._found.clear()
            self._size = len(text)
        self._found[margin, text] = entry


def read_canonical(text: str, shared: SharedEntries | None = None) -> tuple[dict[str, Json], int] | None:
    """The mapping that is the only document of ``text``, and the index at which it begins; ``None`` where the text has
    another form, be it YAML or not. Comments are known before the mapping only. With ``shared``, entries of lists that
    an earlier text had are not read again."""
    content = _CONTENT.search(text) if text.endswith("\n") and _is_printable(text) else None
    if content is None:
        return None
    start = content.start()
    try:
        value, end = _mapping(text, _MEMBER.match(text, start), 0, shared)
    except _OtherForm:
        return None
    # An entry of a list ``items`` is a document of its own.
    if end != len(text) or isinstance(value.get("items"), list):
        return None
    return value, start


def _is_printable(text: str) -> bool:
    if text.isascii():
        return not has_control(text)
    return text.replace("\n", "").replace("\t", "").isprintable()


def _mapping(
    text: str, member: re.Match[str] | None, margin: int, shared: SharedEntries | None
) -> tuple[dict[str, Json], int]:
    """The mapping whose first key ``member`` matches, in column ``margin``, and the index of the line after it."""
    if margin > _DEEPEST:
        _refuse()
    pad = " " * margin
    result: dict[str, Json] = {}
    while True:
        if member is None:
            raise _OtherForm
        key, quoted, plain, rest = member.groups()
        key = _key(key) if quoted is None else quoted
        if key in result or len(key) > LONGEST_KEY:
            _refuse()
        at = member.end()
        if plain is not None:
            result[key] = plain if len(plain) > _LONGEST_WORD else resolve(plain, old=True)[1]
        elif rest is None:
            if text.startswith(pad + "- ", at):
                result[key], at = _sequence(text, at + margin, margin, shared)
            elif text.startswith(pad + "  ", at):
                result[key], at = _mapping(text, _MEMBER.match(text, at + margin + 2), margin + 2, shared)
            else:
                _refuse()
        elif rest[0] == "|":
            result[key], at = _literal(text, at, rest, margin + 2)
        else:
            result[key] = _scalar(rest)
        if not text.startswith(pad, at) or at == len(text):
            return result, at
        member = _MEMBER.match(text, at + margin)


def _sequence(text: str, at: int, margin: int, shared: SharedEntries | None) -> tuple[list[Json], int]:
    """The list whose first dash is at ``at``, in column ``margin``, and the index of the line after it."""
    if margin > _DEEPEST:
        _refuse()
    dash = " " * margin + "- "
    result: list[Json] = []
    while True:
        if shared is None:
            entry, at = _entry(text, at + 2, margin + 2, shared)
        else:
            entry, at = _shared_entry(text, at + 2, margin + 2, shared)
        result.append(entry)
        if not text.startswith(dash, at):
            return result, at
        at += margin


def _entry(text: str, at: int, margin: int, shared: SharedEntries | None) -> tuple[Json, int]:
    """The entry of a list at ``at``, in column ``margin``, and the index of the line after it."""
    member = _MEMBER.match(text, at)
    if member is not None:
        return _mapping(text, member, margin, shared)
    if text.startswith("- ", at):
        return _sequence(text, at, margin, shared)
    end = text.index("\n", at)
    rest = text[at:end]
    return _literal(text, end + 1, rest, margin) if rest[:1] == "|" else (_scalar(rest), end + 1)


def _shared_entry(text: str, at: int, margin: int, shared: SharedEntries) -> tuple[Json, int]:
    """As :func:`_entry`, of which ``shared`` may know the result."""
    first = text.index("\n", at) + 1
    more = _lines(margin).match(text, first)
    if more is None:
        return _entry(text, at, margin, shared)
    end = more.end()
    whole = text[at:end]
    entry = shared.get(margin, whole)
    if entry is not None:
        return entry, end
    entry, after = _entry(text, at, margin, shared)
    if after == end:
        shared.keep(margin, whole, entry)
    return entry, after


def _literal(text: str, at: int, header: str, margin: int) -> tuple[str, int]:
    """The literal block whose lines begin at ``at``, and the index of the line after it."""
    block, lines = _BLOCK.fullmatch(header), _lines(margin).match(text, at)
    if block is None or lines is None:
        raise _OtherForm
    indicated, chomping = block.groups()
    body = lines[0]
    if not indicated and body[margin : margin + 1] in {"", " ", "\t", "\n"}:
        _refuse()  # the indentation is that of the first line
    body = f"\n{body}".replace("\n" + " " * margin, "\n")[1:]
    stripped = body.rstrip("\n")
    if not stripped:
        _refuse()
    return stripped if chomping == "-" else body if chomping else stripped + "\n", lines.end()


@lru_cache(maxsize=256)
def _lines(margin: int) -> re.Pattern[str]:
    """Lines at ``margin`` or beyond, with empty ones between and after them."""
    return re.compile(rf"(?:\ {{{margin}}}[^\n]*+\n|\n)++")


def _scalar(text: str) -> Json:
    if text[:1] == '"':
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            raise _OtherForm
        inner: str = quoted[1]
        return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner
    if is_one_word(text) or PLAIN.fullmatch(text):
        return text if len(text) > _LONGEST_WORD else resolve(text, old=True)[1]
    if text == "{}":
        return {}
    if text == "[]":
        return []
    return int(text) if _INTEGER.fullmatch(text) else _refuse()


@lru_cache(maxsize=1024)
def _key(text: str) -> str:
    key = resolve(text, old=True)[1]
    return intern(key) if isinstance(key, str) else _refuse()


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if code[0] == "x" else _UNESCAPED[code]


def _refuse() -> NoReturn:
    raise _OtherForm
