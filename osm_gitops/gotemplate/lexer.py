"""Go template text to tokens (osm-behaviour.md, "Template language").

White space is a token of its own: it separates operands, and ``.a .b`` differs
from ``.a.b``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from osm_gitops.gotemplate.bounds import TOKENS
from osm_gitops.gotemplate.faults import BoundExceeded, TemplateFault

_BLANK = " \t\r\n"
_KEYWORDS = frozenset(["block", "break", "continue", "define", "else", "end", "if", "nil", "range", "template", "with"])
_LITERALS = {"true": True, "false": True}
_AFTER_WORD = frozenset(" \t\r\n.,|:)(")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*(?:\.[0-7_]*)?"
    r"|0[bB][01_]*(?:\.[01_]*)?"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)
_QUOTED = re.compile(r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"')
_CHAR = re.compile(r"'[^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*+'")
_SPACES = re.compile(r"[ \t\r\n]+")


class Kind(Enum):
    """What a token is; the value is how a message calls it."""

    TEXT = "text"
    GAP = "trimmed white space"
    COMMENT = "comment"
    OPEN = "{{"
    CLOSE = "}}"
    SPACE = "space"
    KEYWORD = "keyword"
    IDENTIFIER = "function"
    FIELD = "field"
    VARIABLE = "variable"
    DOT = "."
    BOOL = "boolean"
    NUMBER = "number"
    CHAR = "character constant"
    STRING = "string"
    PIPE = "|"
    DECLARE = ":="
    ASSIGN = "="
    LEFT_PAREN = "("
    RIGHT_PAREN = ")"
    OTHER = "character"
    END = "end of the template"


class Token(NamedTuple):
    kind: Kind
    value: str
    line: int


def tokenize(text: str, first_line: int = 1) -> list[Token]:
    """All tokens of a template, the last one of kind END.

    Raises TemplateFault with a line, BoundExceeded for too many.
    """
    tokens: list[Token] = []
    for token in _Lexer(text, first_line).run():
        if len(tokens) >= TOKENS:
            raise BoundExceeded(f"it has more than {TOKENS} words and signs in its actions; make it smaller")
        tokens.append(token)
    return tokens


class _Lexer:
    """A cursor over the text; every method leaves ``position`` behind what it read."""

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self.position = 0
        self._counted = 0
        self._line = first_line

    def line(self, position: int) -> int:
        """The line of ``position``, which never moves backwards by more than a token."""
        if position >= self._counted:
            self._line += self.text.count("\n", self._counted, position)
        else:
            self._line -= self.text.count("\n", position, self._counted)
        self._counted = position
        return self._line

    def fault(self, message: str, position: int) -> TemplateFault:
        return TemplateFault(message, line=self.line(position))

    def run(self) -> Iterator[Token]:
        trimmed = False
        while True:
            start = self.position
            opening = self.text.find("{{", start)
            end = len(self.text) if opening < 0 else opening
            yield from self._literal(start, end, trim_left=trimmed)
            if opening < 0:
                yield Token(Kind.END, "", self.line(len(self.text)))
                return
            self.position = opening + 2 + (2 if self._trims(opening) else 0)
            if self.text.startswith("/*", self.position):
                token, trimmed = self._comment()
                yield token
                continue
            yield Token(Kind.OPEN, "{{", self.line(opening))
            trimmed = False
            for token in self._action():
                yield token
                if token.kind is Kind.CLOSE:
                    trimmed = token.value == " -}}"

    def _trims(self, opening: int) -> bool:
        """Whether ``{{`` at ``opening`` carries a trim marker: a minus followed by a blank."""
        return self.text.startswith("-", opening + 2) and self.text[opening + 3 : opening + 4] in tuple(_BLANK)

    def _literal(self, start: int, end: int, *, trim_left: bool) -> Iterator[Token]:
        """The text between two actions, and as gaps what trim markers take from it."""
        text = self.text[start:end]
        first, last = 0, len(text)
        if trim_left:
            first = last - len(text.lstrip(_BLANK))
        if end < len(self.text) and self._trims(end):
            last = max(len(text.rstrip(_BLANK)), first)
        for kind, begin, stop in ((Kind.GAP, 0, first), (Kind.TEXT, first, last), (Kind.GAP, last, len(text))):
            if begin < stop:
                yield Token(kind, text[begin:stop], self.line(start + begin))

    def _closing(self) -> str:
        """The closing delimiter at the cursor: ``}}``, with a trim marker `` -}}``, or nothing."""
        text, position = self.text, self.position
        if text.startswith("}}", position):
            return "}}"
        if text[position : position + 1] in tuple(_BLANK) and text.startswith("-}}", position + 1):
            return " -}}"
        return ""

    def _comment(self) -> tuple[Token, bool]:
        start = self.position
        end = self.text.find("*/", start + 2)
        if end < 0:
            raise self.fault("unclosed comment", start)
        self.position = end + 2
        closing = self._closing()
        if not closing:
            raise self.fault("a comment must end directly before the closing }}", start)
        token = Token(Kind.COMMENT, self.text[start + 2 : end], self.line(start))
        self.position += len(closing)
        return token, closing == " -}}"

    def _action(self) -> Iterator[Token]:
        depth = 0
        while True:
            closing = self._closing()
            if closing:
                if depth:
                    raise self.fault("unclosed left paren", self.position)
                yield Token(Kind.CLOSE, closing, self.line(self.position))
                self.position += len(closing)
                return
            token = self._inside()
            if token.kind is Kind.LEFT_PAREN:
                depth += 1
            elif token.kind is Kind.RIGHT_PAREN:
                depth -= 1
                if depth < 0:
                    raise self.fault("unexpected right paren", self.position)
            yield token

    def _inside(self) -> Token:  # one alternative per first character, as the grammar has them
        text, start = self.text, self.position
        if start >= len(text):
            raise self.fault("unclosed action", start)
        char = text[start]
        if char in _BLANK:
            return self._spaces()
        if char == '"':
            return self._matched(Kind.STRING, _QUOTED, "unterminated quoted string")
        if char == "'":
            return self._matched(Kind.CHAR, _CHAR, "unterminated character constant")
        if char == "`":
            return self._raw()
        if char == "$":
            return self._word(Kind.VARIABLE)
        if char == "." and text[start + 1 : start + 2] not in tuple("0123456789"):
            return self._word(Kind.FIELD)
        if char in "+-.0123456789" and char.isascii():
            return self._number()
        if _is_alphanumeric(char):
            return self._word(Kind.IDENTIFIER)
        return self._punctuation(char)

    def _take(self, kind: Kind, end: int) -> Token:
        token = Token(kind, self.text[self.position : end], self.line(self.position))
        self.position = end
        return token

    def _spaces(self) -> Token:
        match = _SPACES.match(self.text, self.position)
        end = match.end() if match else self.position + 1
        if self.text.startswith("-}}", end):
            end -= 1  # the last blank belongs to the trim marker
        return self._take(Kind.SPACE, end)

    def _matched(self, kind: Kind, pattern: re.Pattern[str], message: str) -> Token:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise self.fault(message, self.position)
        return self._take(kind, match.end())

    def _raw(self) -> Token:
        end = self.text.find("`", self.position + 1)
        if end < 0:
            raise self.fault("unterminated raw quoted string", self.position)
        return self._take(Kind.STRING, end + 1)

    def _word(self, kind: Kind) -> Token:
        end = self.position if kind is Kind.IDENTIFIER else self.position + 1
        while end < len(self.text) and _is_alphanumeric(self.text[end]):
            end += 1
        if end < len(self.text) and self.text[end] not in _AFTER_WORD and not self.text.startswith("}}", end):
            raise self.fault(f"bad character {self.text[end]!r} after {self.text[self.position : end]}", end)
        token = self._take(kind, end)
        if kind is Kind.FIELD and token.value == ".":
            return token._replace(kind=Kind.DOT)
        if kind is Kind.IDENTIFIER and token.value in _KEYWORDS:
            return token._replace(kind=Kind.KEYWORD)
        if kind is Kind.IDENTIFIER and token.value in _LITERALS:
            return token._replace(kind=Kind.BOOL)
        return token

    def _number(self) -> Token:
        start = self.position
        end = self._scan_number(start)
        if self.text[end : end + 1] in ("+", "-"):
            end = self._scan_number(end)  # 1+2i
            if self.text[end - 1] != "i":
                raise self.fault(f"bad number syntax: {self.text[start:end]}", start)
        return self._take(Kind.NUMBER, end)

    def _scan_number(self, start: int) -> int:
        match = _NUMBER.match(self.text, start)
        end = match.end() if match else start
        if end < len(self.text) and _is_alphanumeric(self.text[end]):
            raise self.fault(f"bad number syntax: {self.text[start : end + 1]}", start)
        return end

    def _punctuation(self, char: str) -> Token:
        if char == ":":
            if not self.text.startswith(":=", self.position):
                raise self.fault("expected :=", self.position)
            return self._take(Kind.DECLARE, self.position + 2)
        kind = {"=": Kind.ASSIGN, "|": Kind.PIPE, "(": Kind.LEFT_PAREN, ")": Kind.RIGHT_PAREN}.get(char, Kind.OTHER)
        if kind is Kind.OTHER and not "!" <= char <= "~":
            raise self.fault(f"unrecognized character in action: {char!r}", self.position)
        return self._take(kind, self.position + 1)


def _is_alphanumeric(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()
