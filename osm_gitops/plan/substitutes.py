"""Other values for secrets: what they are replaced by to find out which lines were made from them.

A substitute follows from the value and the name of the variant alone, so the same value is replaced alike wherever it
is found, in every run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import shake_256
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final

# More characters at the end of a longer substitute: base64 takes them in fours.
_MORE: Final = 4
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?")
_PEM_MARK: Final = re.compile(r"\s*-----(?:BEGIN|END) [A-Z0-9 ]+-----\s*")
_OTHER_LETTERS: Final = "àçéîõüß"
_PUNCTUATION: Final = "!#%+,.:=@^_~"
# What strconv.ParseBool takes: the only other value that is a truth value too.
_TRUTH_VALUES: Final = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("t", "f"), ("T", "F"), ("1", "0"))
_OPPOSITES: Final = {one: other for pair in _TRUTH_VALUES for one, other in (pair, pair[::-1])}


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to replace values.

    Every character gives way to another one. ``longer``: the substitute has another length, and letters, digits and
    punctuation give way to characters of any kind; else all but letters and digits stays, so that formats do.
    ``keeps_truth``: true gives way to false, for secrets that are read as a truth value.
    """

    salt: str
    longer: bool = False
    keeps_truth: bool = False

    def substitute(self, value: str) -> str:
        """Another value in the place of ``value``; an empty one stays."""
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
            return line  # brackets and rules between the lines of a text
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
        """A digit for a letter, a letter for all else: in hexadecimal, neither digit of it is the same."""
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
    """Of the alphabet, another character: with two other digits in hexadecimal where there is such a one."""
    others = [each for each in alphabet if each != char]
    distant = [each for each in others if ord(each) >> 4 != ord(char) >> 4 and (ord(each) ^ ord(char)) & 15]
    near = [each for each in others if (ord(each) ^ ord(char)) & 15]
    chosen = distant or near or others
    return chosen[byte % len(chosen)]


VARIANTS: Final = (Variant("first"), Variant("second"), Variant("third", longer=True))
"""What is made of a secret differs from what is made of at least one of these."""
