"""Parse bash with tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

__all__ = ["Node", "broken_line", "inside", "is_deeper", "line_of", "parse", "text_of"]


# The parser makes the $1 of a/$1 a separate word, but not the ${1} of a/${1}, which means the same.
_POSITION: Final = re.compile(r"(?<![\\$])\$([0-9])")


def parse(text: str) -> Node:
    """The tree of a script. Invalid parts are nodes ``ERROR``."""
    braced = _POSITION.sub(r"${\1}", text)
    return _parser().parse(braced.encode(errors="surrogateescape")).root_node


def text_of(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode(errors="surrogateescape")


def line_of(node: Node) -> int:
    """The first line of a node, from 1."""
    return node.start_point.row + 1


def inside(node: Node) -> Iterator[Node | str]:
    """The parts of a node in order: its children, and the texts between them."""
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
    """The first line that cannot be parsed, or 0."""
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            return line_of(node)
        waiting += reversed([child for child in node.children if child.has_error])
    return 0


def is_deeper(root: Node, limit: int) -> bool:
    """Whether nodes are nested more than ``limit`` deep. A node with few descendants is not looked into."""
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > limit:
            return True
        if depth + node.descendant_count - 1 > limit:
            waiting += ((child, depth + 1) for child in node.children)
    return False


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))
