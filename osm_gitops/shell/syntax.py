"""Bash as a tree of nodes, by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

__all__ = ["Node", "broken_line", "inside", "line_of", "nesting", "parse", "text_of"]


# The parser takes the $1 of a/$1 for a word of its own; it reads a/${1}, which means the same, as it is.
_POSITION: Final = re.compile(r"(?<![\\$])\$([0-9])")


def parse(text: str) -> Node:
    """The tree of a script. What is no shell is in it as nodes ``ERROR``."""
    told = _POSITION.sub(r"${\1}", text)
    return _parser().parse(told.encode(errors="surrogateescape")).root_node


def text_of(node: Node) -> str:
    """What a node was parsed from."""
    return (node.text or b"").decode(errors="surrogateescape")


def line_of(node: Node) -> int:
    """The line in which it begins, from 1 on."""
    return node.start_point.row + 1


def inside(node: Node) -> Iterator[Node | str]:
    """What a node consists of, in order: its children, and the texts between them that are no node."""
    data, start = node.text or b"", node.start_byte
    at = 0
    for child in node.children:
        if child.start_byte - start > at:
            yield data[at : child.start_byte - start].decode(errors="surrogateescape")
        yield child
        at = max(at, child.end_byte - start)
    if len(data) > at:
        yield data[at:].decode(errors="surrogateescape")


def broken_line(root: Node) -> int:
    """The first line that could not be parsed; 0 where there is none."""
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            return line_of(node)
        waiting += reversed([child for child in node.children if child.has_error])
    return 0


def nesting(root: Node) -> int:
    """How deep nodes stand in each other."""
    cursor = root.walk()
    depth = deepest = 1
    while True:
        if cursor.goto_first_child():
            depth += 1
            deepest = max(deepest, depth)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return deepest
            depth -= 1


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))
