"""Where yaml.v3's scanner and its error texts differ from libyaml's, of which both are descendants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

from osm_gitops.gocompat.fault import GoError

_OWN_WORDS: Final = frozenset(
    {
        "found unexpected ':'",
        "did not find expected whitespace or line break",
        "did not find expected tag URI",
        "found unknown escape character",
        "did not find expected <document start>",
    }
)
_READ_AT_ONCE: Final = 500
_STALE_KEY: Final = "could not find expected ':'"


MAX_DEPTH: Final = 100
_SUSPICIOUS: Final = re.compile("[?!]")


class UnsupportedYaml(GoError):
    """Go gives up too, but its words are not known here; or Go reads what is refused here (exotic syntax, bounds)."""


def check_brackets(text: str) -> None:
    """Raise :class:`UnsupportedYaml` for what Go's scanner reads in its own way inside of ``[]`` and ``{}``.

    A question mark ends a plain text there, and a comma is a part of a tag.
    """
    if not _SUSPICIOUS.search(text) or ("[" not in text and "{" not in text):
        return
    try:
        for token, depth in _tokens(text):
            if depth and _is_odd(token, text):
                line = token.start_mark.line + 1
                raise UnsupportedYaml(
                    f"no YAML text: `?` or a tag between brackets in line {line}; put the text into quotes"
                )
    except yaml.YAMLError:
        return


def _tokens(text: str) -> Iterator[tuple[yaml.Token, int]]:
    """All tokens, each with the number of brackets around it; deep nesting would take libyaml hours."""
    depth = 0
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        if isinstance(token, (yaml.FlowSequenceStartToken, yaml.FlowMappingStartToken)):
            depth += 1
            if depth > MAX_DEPTH:
                raise UnsupportedYaml(f"yaml: nested more than {MAX_DEPTH} deep")
        elif isinstance(token, (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)):
            depth -= 1
        yield token, depth


def _is_odd(token: yaml.Token, text: str) -> bool:
    start, end = token.start_mark.index, token.end_mark.index
    if isinstance(token, yaml.ScalarToken):
        return token.plain and "?" in token.value
    if isinstance(token, yaml.KeyToken):
        return text[start : start + 1] == "?" and not text[start + 1 : start + 2].isspace()
    return isinstance(token, yaml.TagToken) and not text[end : end + 1].isspace()


def go_message(error: yaml.YAMLError, text: str) -> str:
    """The text of Go's error for the same document; empty where it is not known."""
    if isinstance(error, yaml.reader.ReaderError) and len(text.encode()) <= _READ_AT_ONCE:
        return f"yaml: {error.reason}"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem in _OWN_WORDS or "%YAML" in text:
        return ""
    in_scanner = isinstance(error, yaml.scanner.ScannerError)
    if error.problem == _STALE_KEY:
        rest = text[error.problem_mark.index :] if error.problem_mark else ""
    else:
        rest = "" if in_scanner else text
    if "?" in text or not scans(rest):
        return ""  # Go scans a little further than libyaml does, and may fail on what comes there
    marks = (mark.line for mark in (error.context_mark, error.problem_mark) if mark and mark.line)
    line = next(marks, 0)
    place = f"line {line + in_scanner}: " if line else ""
    return f"yaml: {place}{error.problem}"


def sentence(error: yaml.YAMLError) -> str:
    """What is wrong with the text, in one line."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error).splitlines()[0]
    place = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
    return f"{error.problem}{place}"


def scans(text: str) -> bool:
    """Whether the whole text consists of tokens."""
    try:
        for _ in _tokens(text):
            pass
    except (yaml.YAMLError, UnsupportedYaml):
        return False
    return True
