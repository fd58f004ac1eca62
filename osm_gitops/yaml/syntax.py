"""Messages for invalid YAML, without text of the document, which may contain secrets."""

from __future__ import annotations

import codecs
import re
from typing import Final

import yaml
from yaml.error import MarkedYAMLError

from osm_gitops.errors import Code, Problem, input_error

_NOT_ALLOWED: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
TEMPLATE_HINT: Final = "YAML reads {{ … }} as a mapping: put the text in quotes or in a block (|)"
_QUOTE: Final = "Put the text in quotes or in a block (|)"
_INDENT: Final = "Check the indentation, the quotes and the brackets of this line and the one before"

_FAULT_BEGAN_EARLIER: Final = frozenset(
    {"could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator"}
)
_EXPLAINED: Final[dict[str, tuple[str, str]]] = {
    "mapping values are not allowed in this context": ("a plain text contains a colon and a space", _QUOTE),
    "did not find expected key": ("the text is not a valid part of the mapping around it", _INDENT),
    "did not find expected '-' indicator": ("the text is not a valid part of the list around it", _INDENT),
    "could not find expected ':'": ("a key has no colon after it", _INDENT),
    "found a tab character that violates indentation": ("a tab indents this line", "Indent with spaces"),
    "found a tab character where an indentation space is expected": ("a tab indents this line", "Indent with spaces"),
    "found a tab character where an intendation space is expected": ("a tab indents this line", "Indent with spaces"),
    "found unexpected end of stream": ("a quoted text is never closed", "Add the closing quote"),
    "found unexpected document indicator": ("a quoted text is never closed", "Add the closing quote"),
    "found unknown escape character": (
        "a backslash in double quotes starts an escape that YAML does not have",
        "Write two backslashes, or use single quotes",
    ),
    "block sequence entries are not allowed in this context": ("a list is not allowed here", _INDENT),
    "did not find expected ',' or ']'": ("a list in square brackets is not closed, or lacks a comma", _INDENT),
    "did not find expected ',' or '}'": ("a mapping in braces is not closed, or lacks a comma", _INDENT),
    "did not find expected node content": ("a value is missing", _INDENT),
    "did not find expected <document start>": ("the document ends here, but text goes on", _INDENT),
    "found undefined tag handle": ("a tag's prefix is not declared", "Remove the tag"),
}


def decode_text(text: str | bytes, name: str) -> str:
    """``text`` as characters without a byte order mark. Raises InputError for text that is not UTF-8."""
    if isinstance(text, bytes):
        if text.startswith(_UTF16):
            raise input_error(Code.TEXT_ENCODING, "the file is UTF-16", where=name, fix="Save it as UTF-8")
        text = text.decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    text = text.removeprefix("\ufeff")
    surrogate = re.search("[\ud800-\udfff]", text)
    if surrogate:
        line = text.count("\n", 0, surrogate.start()) + 1
        raise input_error(
            Code.TEXT_ENCODING, "the text is not UTF-8", where=f"{name}:{line}", fix="Save the file as UTF-8"
        )
    return text


def syntax_problem(error: yaml.YAMLError, text: str, name: str) -> Problem:
    """The problem for an error of libyaml in ``text``."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return _no_characters(text, name)
    begun = error.context_mark if error.problem in _FAULT_BEGAN_EARLIER else None
    mark = begun or error.problem_mark
    line = line_text(text, mark.line)
    what, fix = _EXPLAINED.get(error.problem or "", (f"this is not YAML ({error.problem})", _INDENT))
    if error.problem == "found character that cannot start any token":
        what, fix = _bad_start(text[mark.index : mark.index + 1])
    if "{{" in line and "{{" not in what:
        fix = TEMPLATE_HINT
    return Problem(Code.YAML_SYNTAX, what, where=f"{name}:{mark.line + 1}", fix=fix)


def _no_characters(text: str, name: str) -> Problem:
    found = _NOT_ALLOWED.search(text)
    if not found:
        return Problem(Code.YAML_SYNTAX, "this is not YAML", where=name)
    line = text.count("\n", 0, found.start()) + 1
    return Problem(
        Code.TEXT_ENCODING,
        f"the character U+{ord(found[0]):04X} is not allowed in YAML",
        where=f"{name}:{line}",
        fix='Remove it, or write it as an escape in double quotes ("\\x00")',
    )


def _bad_start(char: str) -> tuple[str, str]:
    if char == "\t":
        return "a tab indents this line", "Indent with spaces"
    return f"a plain text cannot start with {char}" if char else "the text ends too early", _QUOTE


def line_text(text: str, number: int) -> str:
    """The line with this number, counted from 0."""
    lines = text.split("\n", number + 1)
    return lines[number] if number < len(lines) else ""
