"""What YAML makes of text that OSM inserts into a Container Linux Config (osm-behaviour.md, "Ignition user-data").

OSM writes an intermediate YAML document, unescaped, and has it parsed again. These functions give the string that the
parser reads back, without writing the document.
"""

from __future__ import annotations

import re
from typing import Final

_BREAKS: Final = "\n\r\x85\u2028\u2029"
_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_REFUSED_CHARACTER: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_PLAIN_ASCII: Final = bytes((0x09, 0x0A, *range(0x20, 0x7F)))
_MAPPING: Final = re.compile(r":(?:[ \t]|$)")
_COMMENT: Final = re.compile(r"[ \t]#")
_ONLY_COMMENT: Final = re.compile(f"[ \t]*(?:#[^{_BREAKS}]*)?")
_INDICATOR: Final = re.compile(r"[\[\]{},@`%*&!|>\t]|[-?:](?:[ \t]|$)")
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})

_DOUBLE_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SINGLE_QUOTED: Final = re.compile("'((?:[^']|'')*)'")
_FOLD: Final = re.compile(f"[ \t]*((?:(?:\r\n|[{_BREAKS}])[ \t]*)+)")
_DOCUMENT_MARKER: Final = re.compile(f"(?:^|(?<=[{_BREAKS}]))(?:---|\\.\\.\\.)(?=[ \t{_BREAKS}])")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.?))")
_ESCAPES: Final = {
    **dict(zip(" \"'\\", " \"'\\", strict=True)),
    **dict(zip("0abtnvfreN_LP", "\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True)),
}


class TextFault(ValueError):
    """Text that breaks OSM's intermediate document; the message says why, as part of a sentence."""


def literal_block(text: str, base: int) -> str:
    """``text`` read back from a literal block that OSM indented by ``base`` blanks.

    A common indentation is lost, trailing empty lines become one line break. Raises TextFault for text whose
    indentation or characters break the block.
    """
    plain = check_characters(text)
    if plain and text and text[0] not in " \t\n":
        return text.rstrip("\n") + "\n"
    lines = _lines(" " * base + _indent_after_newlines(text, base) + "\n")
    indent = _block_indent(lines)
    kept: list[str] = []
    length = 0
    for number, (line, line_break) in enumerate(lines):
        blanks = len(line) - len(line.lstrip(" "))
        content = line[indent:]
        if not content and blanks == len(line):
            kept.append(line_break)
        elif blanks >= indent:
            kept.append(content + line_break)
            length = len(kept)
        else:
            _check_rest(lines[number:])
            break
    return "".join(kept[:length])


def plain_scalar(text: str) -> str | None:
    """``text`` as a YAML value: ``None`` is a YAML null.

    A comment is cut off and quotes are removed. Raises TextFault for what is no plain or quoted string on one line.
    """
    plain = check_characters(text)
    value = text.strip(" ").rstrip(" \t\r\n")
    if "\n" in value if plain else _BREAK.search(value):
        raise TextFault("holds a line break")
    if value.startswith(('"', "'")):
        return _quoted(value)
    if _INDICATOR.match(value):
        raise TextFault("begins with a character that means something else in YAML")
    if value.startswith("#"):
        return None
    comment = _COMMENT.search(value) if "#" in value else None
    value = value[: comment.start()].rstrip(" \t") if comment else value
    if ":" in value and _MAPPING.search(value):
        raise TextFault("holds a colon before a blank or at its end, which makes it a mapping in YAML")
    return None if value in _NULLS else value


def single_quoted(text: str) -> str:
    """``text`` read back from between the single quotes that OSM puts around it."""
    if check_characters(text) and "'" not in text and "\n" not in text:
        return text
    match = _SINGLE_QUOTED.match(f"'{text}'")
    if match is None or not _ONLY_COMMENT.fullmatch(f"'{text}'", match.end()):
        raise TextFault("holds a single quote")
    if _DOCUMENT_MARKER.search(match[1]):
        raise TextFault("holds a line that begins with a YAML document marker")
    return _FOLD.sub(_fold, match[1].replace("''", "'"))


def check_characters(text: str) -> bool:
    """Raise TextFault for characters that YAML refuses; whether only ``\\n`` breaks lines."""
    if text.isascii():
        unusual = text.encode().translate(None, _PLAIN_ASCII)
        if not unusual:
            return True
        if not unusual.strip(b"\r"):
            return False
    found = _REFUSED_CHARACTER.search(text)
    if found:
        raise TextFault(f"holds the character U+{ord(found[0]):04X}, which YAML does not allow")
    return not any(character in text for character in _BREAKS[1:])


def _lines(text: str) -> list[tuple[str, str]]:
    """Lines with their breaks as YAML hands them on."""
    lines = []
    start = 0
    for match in _BREAK.finditer(text):
        lines.append((text[start : match.start()], _normal(match[0])))
        start = match.end()
    if start < len(text):
        lines.append((text[start:], ""))
    return lines


def _normal(line_break: str) -> str:
    return line_break if line_break in ("\u2028", "\u2029") else "\n"


def _indent_after_newlines(text: str, base: int) -> str:
    # OSM indents after line feeds only, whatever else breaks a line.
    return text.replace("\n", "\n" + " " * base)


def _block_indent(lines: list[tuple[str, str]]) -> int:
    """The most blanks of the leading blank lines and of the first line with text."""
    most = 0
    for line, _ in lines:
        text = line.lstrip(" ")
        most = max(most, len(line) - len(text))
        if text.startswith("\t"):
            raise TextFault("begins with a tab")
        if text:
            break
    return most


def _check_rest(lines: list[tuple[str, str]]) -> None:
    """Raise TextFault unless only comments follow the end of a block: other text is invalid YAML there."""
    for line, _ in lines:
        text = line.lstrip(" ")
        if text and not text.startswith("#"):
            raise TextFault("has a line that is indented less than its first line of text")


def _quoted(value: str) -> str:
    match = (_DOUBLE_QUOTED if value[0] == '"' else _SINGLE_QUOTED).match(value)
    if match is None:
        raise TextFault("begins with a quote that is not closed")
    if not _ONLY_COMMENT.fullmatch(value, match.end()):
        raise TextFault("has text after its closing quote")
    if value[0] == "'":
        return match[1].replace("''", "'")
    return _ESCAPE.sub(_unescape, match[1])


def _unescape(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise TextFault("holds an escape of a character that does not exist")
        return chr(code)
    if match[4] not in _ESCAPES:
        raise TextFault("holds an escape that YAML does not know")
    return _ESCAPES[match[4]]


def _fold(match: re.Match[str]) -> str:
    """One line break becomes a blank, further ones stay."""
    first, *others = (_normal(line_break) for line_break in _BREAK.findall(match[1]))
    if first != "\n":
        return first + "".join(others)
    return "".join(others) or " "
