"""Conditions in brackets: true, false, or not known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from osm_gitops.shell.syntax import Node
from osm_gitops.shell.unknown import is_known, known_length
from osm_gitops.shell.words import matches

_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")

Expand = Callable[[Node], str]

_NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": int.__eq__,
    "-ne": int.__ne__,
    "-lt": int.__lt__,
    "-le": int.__le__,
    "-gt": int.__gt__,
    "-ge": int.__ge__,
}


def condition(node: Node, expand: Expand) -> bool | None:
    """What ``[ … ]`` or ``[[ … ]]`` gives."""
    parts = [child for child in node.children if child.is_named]
    return _expression(parts[0], expand) if len(parts) == 1 else None


def _expression(node: Node, expand: Expand) -> bool | None:
    match node.type:
        case "unary_expression":
            return _unary(node, expand)
        case "binary_expression":
            return _binary(node, expand)
        case "parenthesized_expression":
            parts = [child for child in node.children if child.is_named]
            return _expression(parts[0], expand) if len(parts) == 1 else None
        case _:
            return _is_set(expand(node))


def _is_set(text: str) -> bool | None:
    """Whether a text is not empty."""
    if known_length(text):
        return True
    return False if is_known(text) else None


def _unary(node: Node, expand: Expand) -> bool | None:
    operator, operand = node.children[0], node.children[-1]
    name = (operator.text or b"").decode()
    if name == "!":
        found = _expression(operand, expand)
        return None if found is None else not found
    if name in {"-n", "-z"}:
        found = _is_set(expand(operand))
        return found if found is None or name == "-n" else not found
    return None  # what files there are is not known


def _binary(node: Node, expand: Expand) -> bool | None:
    left, operator, right = node.children[0], (node.children[1].text or b"").decode(), node.children[-1]
    if operator in {"&&", "-a", "||", "-o"}:
        both = _expression(left, expand), _expression(right, expand)
        decisive = operator in {"||", "-o"}
        return decisive if decisive in both else (None if None in both else not decisive)
    texts = expand(left), expand(right)
    if not all(map(is_known, texts)):
        return None
    if operator in {"=", "=="}:
        return matches(*texts) if _is_pattern(right) else texts[0] == texts[1]
    if operator == "!=":
        return not (matches(*texts) if _is_pattern(right) else texts[0] == texts[1])
    if operator in _NUMBERS and all(_NUMBER.fullmatch(text.strip()) for text in texts):
        return _NUMBERS[operator](int(texts[0]), int(texts[1]))
    return None


def _is_pattern(node: Node) -> bool:
    return node.type in {"extglob_pattern", "regex"}
