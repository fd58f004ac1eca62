"""Texts of which parts are unknown.

An unknown part stands in a text between two characters for private use, as the shell wrote it: so texts are joined,
cut and compared as texts, and what is unknown stays visible to the end.
"""

from __future__ import annotations

import re
from typing import Final

_OPEN: Final = "\ue000"
_CLOSE: Final = "\ue001"
_PART: Final = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_MARKS: Final = str.maketrans("", "", _OPEN + _CLOSE)


def clean(text: str) -> str:
    """A text from outside, which may not bring marks."""
    return text.translate(_MARKS)


def unknown(shown: str) -> str:
    """A part that is not known, to be shown like this."""
    return f"{_OPEN}{shown.translate(_MARKS)}{_CLOSE}"


def is_known(text: str) -> bool:
    """Whether all of it is known."""
    return _OPEN not in text


def shown(text: str) -> str:
    """The text for people, with unknown parts as the shell wrote them."""
    return _PART.sub(r"\1", text)


def unknown_parts(text: str) -> tuple[str, ...]:
    """What is unknown in it."""
    return tuple(dict.fromkeys(_PART.findall(text)))


def known_length(text: str) -> int:
    """How much of it is certain to be there."""
    return len(_PART.sub("", text))


def fields(text: str) -> list[str]:
    """The text split at blanks as the shell splits words; an unknown part is one piece."""
    pieces: list[str] = []
    current = ""
    for index, part in enumerate(re.split(f"({_OPEN}[^{_CLOSE}]*{_CLOSE})", text)):
        if index % 2:
            current += part
            continue
        words = part.split()
        if part[:1].isspace() and current:
            pieces.append(current)
            current = ""
        for number, word in enumerate(words):
            if number:
                pieces.append(current)
                current = ""
            current += word
        if part[-1:].isspace() and current:
            pieces.append(current)
            current = ""
    return [*pieces, current] if current else pieces
