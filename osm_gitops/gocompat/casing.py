"""Words and their cases as ``huandu/xstrings`` 1.5.0 and ``Masterminds/goutils`` 1.1.1 see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal

from osm_gitops.gocompat.text import (
    REPLACEMENT,
    is_letter,
    is_lower,
    is_number,
    is_punct,
    is_space,
    is_title,
    is_upper,
    lower,
    normalise,
    runes,
    title_case,
    to_bytes,
    upper,
)

_Kind = Literal["invalid", "number", "upper", "letters", "connector", "punctuation", "other"]
_CLOSING: Final = frozenset({"connector", "punctuation"})
_RUNNING_ON: Final = frozenset({"letters", "number"})
_IDEOGRAPHS: Final = (("\u3400", "\u4d85"), ("\u4e00", "\u9fcc"), ("\U00020000", "\U0002b81d"))


def pascal_case(text: str) -> str:
    """``ToPascalCase`` (sprig's ``camelcase``): ``-``, ``_`` and space go, the letter after one is upper case.

    Connectors at the start stay, and so do all but the last of several in a row.
    """
    chars = runes(text)
    start = next((place for place, char in enumerate(chars) if not _is_connector(char)), len(chars))
    if start == len(chars):
        return chars + chars[-1:]
    result = [chars[:start]]
    current, in_capitals = upper(chars[start]), is_upper(chars[start])
    for char in chars[start + 1 :]:
        previous, current = current, char
        if not _is_connector(previous):
            result.append(previous)
            if in_capitals and is_upper(char):
                current = lower(char)
            else:
                in_capitals = False
        elif _is_connector(char):
            result.append(previous)
        else:
            in_capitals = is_upper(char)
            current = upper(char)
    return "".join([*result, current])


def separated_case(text: str, connector: str) -> str:
    """``ToSnakeCase`` and ``ToKebabCase``: words in lower case with ``connector`` between them."""
    return _Separator(normalise(text), connector).run() if text else ""


def uncapitalise(text: str) -> str:
    """``Uncapitalize``: the first letter of every word in lower case."""
    return "".join(lower(char) if starts else char for char, starts in _word_starts(runes(text)))


def swap_case(text: str) -> str:
    """``SwapCase``: a lower-case letter after white space gets title case."""
    result: list[str] = []
    after_space = True
    for char in runes(text):
        if is_upper(char) or is_title(char):
            result.append(lower(char))
        elif is_lower(char):
            result.append(title_case(char) if after_space else upper(char))
        else:
            result.append(char)
            after_space = is_space(char)
            continue
        after_space = False
    return "".join(result)


def initials(text: str) -> str:
    """``Initials``: the first byte of each word, each as a character."""
    return "".join(char for char, starts in _word_starts(to_bytes(text).decode("latin-1")) if starts)


def without_space(text: str) -> str:
    """``DeleteWhiteSpace``: goes by bytes, so text beyond ASCII is garbled where anything is deleted."""
    by_bytes = to_bytes(text).decode("latin-1")
    kept = "".join(char for char in by_bytes if not is_space(char))
    return text if len(kept) == len(by_bytes) else kept


def _word_starts(text: str) -> Iterator[tuple[str, bool]]:
    """Each character and whether a word begins with it."""
    after_space = True
    for char in text:
        space = is_space(char)
        yield char, after_space and not space
        after_space = space


class _Separator:
    """One run over a text, word by word."""

    def __init__(self, text: str, connector: str) -> None:
        self._text = text
        self._place = 0
        self._connector = connector
        self._result: list[str] = []

    def run(self) -> str:
        kind, word = self._next()
        while self._more():
            if kind != "connector":
                self._write(kind, word)
            before, last = kind, word
            kind, word = self._next()
            if before == "number":
                kind, word = self._run_on(kind, word)
                self._connect_before(kind, invalid_too=False)
            elif before == "connector":
                self._write(before, last)
            elif before != "punctuation":
                kind, word = self._after_letters(kind, word)
        self._write(kind, word)
        return "".join(self._result)

    def _after_letters(self, kind: _Kind, word: str) -> tuple[_Kind, str]:
        """A number belongs to the word before it, unless small letters follow: ``Bld4_floor``, ``http_2xx``."""
        if kind != "number":
            self._connect_before(kind)
            return kind, word
        if not self._more():
            return kind, word
        number = word
        kind, word = self._next()
        if kind != "letters":
            self._write("number", number)
            self._connect_before(kind)
            return kind, word
        self._result.append(self._connector)
        self._write("number", number)
        kind, word = self._run_on(kind, word)
        self._connect_before(kind, invalid_too=False)
        return kind, word

    def _run_on(self, kind: _Kind, word: str) -> tuple[_Kind, str]:
        while kind in _RUNNING_ON:
            self._write(kind, word)
            kind, word = self._next()
        return kind, word

    def _connect_before(self, kind: _Kind, *, invalid_too: bool = True) -> None:
        if kind not in _CLOSING and (invalid_too or kind != "invalid"):
            self._result.append(self._connector)

    def _write(self, kind: _Kind, word: str) -> None:
        if kind not in {"upper", "connector"}:
            self._result.append(word)
            return
        for char in runes(word):
            self._result.append(self._connector if _is_connector(char) else lower(char) if is_upper(char) else char)

    def _more(self) -> bool:
        return self._place < len(self._text)

    def _next(self) -> tuple[_Kind, str]:
        """The next word."""
        start = self._place
        kind, self._place = _word(self._text, start)
        return kind, self._text[start : self._place]


def _word(text: str, start: int) -> tuple[_Kind, int]:
    """Kind and end of the word at ``start``; invalid bytes belong to what is around them."""
    char, length = _decode(text, start, REPLACEMENT)
    place = start + length
    if char == REPLACEMENT:
        return "invalid", place
    if _is_connector(char):
        return "connector", _while(_is_connector, text, place, char)
    if is_punct(char):
        return "punctuation", _while(is_punct, text, place, char)
    if is_upper(char):
        return "upper", _capitals(text, place, char)
    if _is_alphabetic(char):
        return "letters", _while(_is_small, text, place, char)
    if is_number(char):
        return "number", _while(is_number, text, place, char)
    return "other", _while(_is_other, text, place, char)


def _capitals(text: str, start: int, before: str) -> int:
    """``Word`` or ``HTTP``; of ``HTTPServer`` the ``S`` belongs to the next word."""
    char, length = _decode(text, start, before)
    if not length:
        return start
    if not is_upper(char):
        if not _is_alphabetic(char):
            return start
        return _while(_is_small, text, start + length, char)
    place, last = start + length, length
    while place < len(text):
        char, length = _decode(text, place, char)
        if not is_upper(char):
            return place - last if _is_alphabetic(char) else place
        place, last = place + length, length
    return place


def _while(belongs: Callable[[str], bool], text: str, start: int, char: str) -> int:
    place = start
    while place < len(text):
        char, length = _decode(text, place, char)
        if not belongs(char):
            break
        place += length
    return place


def _decode(text: str, start: int, before: str) -> tuple[str, int]:
    """The next valid character and how far it reaches, invalid ones before it counted in; ``before`` at the end."""
    place = start
    while place < len(text):
        char = text[place]
        place += 1
        if char != REPLACEMENT and not "\ud800" <= char <= "\udfff":
            return char, place - start
    return before, place - start


def _is_connector(char: str) -> bool:
    return char in "-_" or is_space(char)


def _is_alphabetic(char: str) -> bool:
    """A letter, but no Chinese character of the common blocks."""
    return is_letter(char) and not any(low <= char <= high for low, high in _IDEOGRAPHS)


def _is_small(char: str) -> bool:
    return _is_alphabetic(char) and not is_upper(char)


def _is_other(char: str) -> bool:
    return not (_is_connector(char) or _is_alphabetic(char) or is_number(char) or is_punct(char))
