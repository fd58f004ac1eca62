"""Other values for secrets, and what differs with them.

A substitute depends only on the value and the name of the variant, so equal values get equal substitutes in each run.
Comparing lines takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import shake_256
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final

from osm_gitops.model.desired import SecretTexts

Texts = Mapping[str, str]
"""Texts by their names in reports."""


def secret_lines(text: str, others: Iterable[str]) -> frozenset[str]:
    """The lines of ``text``, stripped, that differ with other secrets.

    Texts with the same number of lines are compared line by line. Otherwise all lines between the equal ones at start
    and end count as made from secrets.
    """
    lines = text.split("\n")
    return frozenset(lines[at].strip() for other in others for at in differing(lines, other.split("\n")))


def differing(ours: Sequence[str], others: Sequence[str]) -> Iterable[int]:
    """The entries of ``ours`` that differ from ``others``."""
    if len(ours) == len(others):
        return [at for at, entry in enumerate(ours) if entry != others[at]]
    start, end = alike_at_ends(ours, others)
    return range(start, len(ours) - end)


def alike_at_ends(ours: Sequence[str], others: Sequence[str]) -> tuple[int, int]:
    """The numbers of equal entries at the start and at the end of two sequences."""
    shorter = min(len(ours), len(others))
    start = 0
    while start < shorter and ours[start] == others[start]:
        start += 1
    end = 0
    while end < shorter - start and ours[-1 - end] == others[-1 - end]:
        end += 1
    return start, end


def secret_texts(texts: Texts, others: Sequence[Texts], wholly: Iterable[str] = ()) -> SecretTexts:
    """The parts of ``texts`` that were made from secrets; ``others`` are rendered with other secrets.

    ``wholly`` are names of completely secret texts.
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


# Characters appended to longer substitutes: a multiple of four, for base64.
_MORE: Final = 4
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?")
_PEM_MARK: Final = re.compile(r"\s*-----(?:BEGIN|END) [A-Z0-9 ]+-----\s*")
_OTHER_LETTERS: Final = "àçéîõüß"
_PUNCTUATION: Final = "!#%+,.:=@^_~"
# Values of strconv.ParseBool, each with the opposite.
_TRUTH_VALUES: Final = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("t", "f"), ("T", "F"), ("1", "0"))
_OPPOSITES: Final = {one: other for pair in _TRUTH_VALUES for one, other in (pair, pair[::-1])}


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to replace values.

    Each letter and digit is replaced by another, other characters are kept, so that formats stay valid. ``longer``: the
    substitute has another length, and any characters. ``keeps_truth``: true is replaced by false, for secrets that are
    parsed as booleans.
    """

    salt: str
    longer: bool = False
    keeps_truth: bool = False

    def substitute(self, value: str) -> str:
        """The substitute of ``value``; an empty text is kept."""
        if not value.strip():
            return value
        if self.keeps_truth and value in _OPPOSITES:
            return _OPPOSITES[value]
        scheme = _SCHEME.match(value)
        if scheme:
            address = replace(self, longer=False).substitute(value[scheme.end() :])
            return scheme[0] + (self._more(value, ascii_lowercase) if self.longer else "") + address
        noise = shake_256(f"{self.salt}\0{value}".encode(errors="surrogateescape")).digest(2 * len(value))
        lines, start = [], 0
        for line in value.split("\n"):
            lines.append(self._line(line, noise[2 * start :], alone="\n" not in value))
            start += len(line) + 1
        return "\n".join(lines)

    def _line(self, line: str, noise: bytes, *, alone: bool) -> str:
        if _PEM_MARK.fullmatch(line):
            return line
        spoken = any(map(str.isalnum, line))
        if not spoken and not alone:
            return line  # lines with only brackets or rules
        kept = len(line)
        if self.longer and _BASE64.fullmatch(line):
            kept = len(line.rstrip("="))
        other = self._any_other if self.longer else _other_of_kind if spoken else _other_mark
        replaced = "".join(other(char, noise[2 * at]) for at, char in enumerate(line[:kept]))
        if not self.longer:
            return replaced
        return replaced + self._more(line, digits[1:] if line.isdecimal() else ascii_letters + digits) + line[kept:]

    def _more(self, text: str, alphabet: str) -> str:
        noise = shake_256(f"{self.salt}\0more\0{text}".encode(errors="surrogateescape")).digest(_MORE)
        return "".join(alphabet[byte % len(alphabet)] for byte in noise)

    def _any_other(self, char: str, byte: int) -> str:
        """A digit for a letter, a letter for others: both hexadecimal digits of the code differ."""
        if char.isspace():
            return char
        return _choice(ascii_lowercase if char.isdecimal() or not char.isalnum() else digits[1:], char, byte)


def _other_of_kind(char: str, byte: int) -> str:
    for kind in (ascii_lowercase, ascii_uppercase, digits[1:]):
        if char in kind or (char == "0" and kind == digits[1:]):
            return _choice(kind, char, byte)
    return _choice(_OTHER_LETTERS, char, byte) if char.isalnum() else char


def _other_mark(char: str, byte: int) -> str:
    return char if char.isspace() else _choice(_PUNCTUATION, char, byte)


def _choice(alphabet: str, char: str, byte: int) -> str:
    """Another character of the alphabet, if possible with two other hexadecimal digits of its code."""
    others = [each for each in alphabet if each != char]
    distant = [each for each in others if ord(each) >> 4 != ord(char) >> 4 and (ord(each) ^ ord(char)) & 15]
    near = [each for each in others if (ord(each) ^ ord(char)) & 15]
    chosen = distant or near or others
    return chosen[byte % len(chosen)]


VARIANTS: Final = (Variant("first"), Variant("second"), Variant("third", longer=True))
"""Output from a secret differs for at least one of these variants."""
