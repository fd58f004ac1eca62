"""What ``encoding/json`` says about a text that is no JSON."""

from __future__ import annotations

import re
from typing import Final

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.numbers import quote
from osm_gitops.gocompat.text import to_bytes

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = {"t": "true", "f": "false", "n": "null"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")
_NO_BLANK: Final = ("in string escape", "in \\u", "after decimal", "in exponent", "in numeric", "in literal")
_VALUE: Final = "looking for beginning of value"
_KEY: Final = "looking for beginning of object key string"


class NestedTooDeep(GoError):
    """More levels of arrays and objects than the caller can follow."""


def check(text: str, max_depth: int) -> None:
    """Raise GoError with Go's text at the first character that does not belong, NestedTooDeep beyond ``max_depth``."""
    _Checker(text, max_depth).run()


class _Checker:
    """A place in the text, and the brackets that are open there."""

    __slots__ = ("at", "max_depth", "open", "text")

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.max_depth = max_depth
        self.at = 0
        self.open: list[str] = []

    def run(self) -> None:
        self.value(self.next())
        while self.open:
            if self.open[-1] == "[":
                self.behind_element()
            else:
                self.behind_member()
        if self.next():
            raise self.invalid("after top-level value")

    def next(self) -> str:
        """The next character that is no blank; empty at the end."""
        blanks = _BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at
        return self.text[self.at : self.at + 1]

    def behind_element(self) -> None:
        char = self.next()
        if char == "]":
            self.close()
        elif char == ",":
            self.at += 1
            self.value(self.next())
        else:
            raise self.invalid("after array element")

    def behind_member(self) -> None:
        char = self.next()
        if char == "}":
            self.close()
        elif char == ",":
            self.at += 1
            self.member(self.next())
        else:
            raise self.invalid("after object key:value pair")

    def member(self, char: str) -> None:
        if char != '"':
            raise self.invalid(_KEY)
        self.string()
        if self.next() != ":":
            raise self.invalid("after object key")
        self.at += 1
        self.value(self.next())

    def value(self, char: str) -> None:
        """A whole scalar, or the begin of an array or object with its first value."""
        if char == '"':
            self.string()
        elif char == "-" or char in _DIGITS:
            self.number()
        elif char in _WORDS:
            self.word(_WORDS[char])
        elif char and char in "[{":
            self.collection(char)
        else:
            raise self.invalid(_VALUE)

    def collection(self, opening: str) -> None:
        self.open.append(opening)
        if len(self.open) > self.max_depth:
            raise NestedTooDeep(f"arrays and objects nested more than {self.max_depth} deep")
        self.at += 1
        char = self.next()
        if char == ("]" if opening == "[" else "}"):
            self.close()
        elif opening == "[":
            self.value(char)
        else:
            self.member(char)

    def close(self) -> None:
        self.open.pop()
        self.at += 1

    def string(self) -> None:
        match = _STRING.match(self.text, self.at)
        assert match
        self.at = match.end()
        char = self.text[self.at : self.at + 1]
        if char == "\\":
            self.escape()
        if char != '"':
            raise self.invalid("in string literal")
        self.at += 1

    def escape(self) -> None:
        """Point at what is wrong with the escape that begins here."""
        self.at += 1
        if self.text[self.at : self.at + 1] != "u":
            raise self.invalid("in string escape code")
        self.at += 1
        while self.text[self.at : self.at + 1] in _HEX:
            self.at += 1
        raise self.invalid("in \\u hexadecimal character escape")

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if not match:
            self.at += 1
            raise self.invalid("in numeric literal")
        self.at = match.end()
        char = self.text[self.at : self.at + 1]
        spelled = match[0]
        if char == "." and "." not in spelled and "e" not in spelled.lower():
            self.at += 1
            raise self.invalid("after decimal point in numeric literal")
        if char and char in "eE" and "e" not in spelled.lower():
            self.at += 1
            if self.text[self.at : self.at + 1] in {"+", "-"}:
                self.at += 1
            raise self.invalid("in exponent of numeric literal")

    def word(self, word: str) -> None:
        for expected in word:
            if self.text[self.at : self.at + 1] != expected:
                raise self.invalid(f"in literal {word} (expecting {_quoted(expected)})")
            self.at += 1

    def invalid(self, where: str) -> GoError:
        char = self.text[self.at : self.at + 1]
        if not char and not where.startswith(_NO_BLANK):
            return GoError("unexpected end of JSON input")
        char = char or " "  # Go tries a blank at the end, and complains of it where none may be
        first_byte = chr(to_bytes(char)[0])
        return GoError(f"invalid character {_quoted(first_byte)} {where}")


def _quoted(char: str) -> str:
    if char == "'":
        return r"'\''"
    return "'\"'" if char == '"' else f"'{quote(char)[1:-1]}'"
