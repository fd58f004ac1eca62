"""Expand words of bash: quotes, variables, parameters with operators, command substitutions; and evaluate conditions,
which are true, false, or not known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import lru_cache
from typing import Final

from osm_gitops.shell.state import (
    LONGEST,
    Place,
    State,
    bounded,
    clean,
    fields,
    is_known,
    joined,
    known_length,
    too_long,
    unknown,
)
from osm_gitops.shell.syntax import Node, inside, text_of

Substitute = Callable[[Node, State, Place], str]
"""Returns the output of the commands of a node."""

_QUOTED_ESCAPE: Final = re.compile(r"\\([$`\"\\]|\n)")
_ESCAPE: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_ANSI: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "e": "\x1b", "0": "\0"}
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_BRACES: Final = 64
_LONGEST_CUT: Final = 1000  # of a text that is compared with a pattern at every position
_COMPILING: Final = 50  # comparisons of characters that cost as much as compiling one character of a pattern
_LONGEST_INDEX: Final = 9
_NUMBER: Final = re.compile(r"[0-9]+")
_ASSIGNING: Final = frozenset({":-", "-", ":=", "="})


class Words:
    """Expands nodes of words."""

    def __init__(self, substitute: Substitute, spend: Callable[[int], None]) -> None:
        """``spend`` is called with the number of characters that are produced or compared."""
        self._substitute = substitute
        self._spend = spend

    def many(self, node: Node, state: State, place: Place) -> list[str]:
        """The words of an argument: none for an empty list, several for ``"$@"`` or unquoted blanks."""
        whole = _list_of(node)
        if whole is not None:
            listed = _listed(whole, state)
            self._spend(len(listed))
            return [*listed]
        if node.type in {"simple_expansion", "expansion", "command_substitution"}:
            return fields(self.one(node, state, place))
        text = self.one(node, state, place)
        return _braces(text) if node.type in {"word", "concatenation", "brace_expression"} else [text]

    def one(self, node: Node, state: State, place: Place) -> str:
        """The text of a word, without splitting; an unknown one if it is too long."""
        text = bounded(self._one(node, state, place))
        self._spend(len(text))
        return text

    def _one(self, node: Node, state: State, place: Place) -> str:
        match node.type:
            case "raw_string":
                return clean(text_of(node)[1:-1])
            case "ansi_c_string":
                return clean(re.sub(r"\\(.)", lambda found: _ANSI.get(found[1], found[0]), text_of(node)[2:-1]))
            case "string" | "translated_string" | "heredoc_body":
                return joined(self._quoted(node, state, place))
            case "concatenation":
                return joined(self._joined(node, state, place))
            case "simple_expansion":
                return self._simple(node, state)
            case "expansion":
                return self._expansion(node, state, place)
            case "command_substitution":
                return self._substitute(node, state, place).rstrip("\n")
            case "arithmetic_expansion" | "process_substitution":
                return unknown(text_of(node))
            case "command_name":
                return joined(self.one(child, state, place) for child in node.children)
            case _:
                return _ESCAPE.sub(lambda found: found[1].replace("\n", ""), clean(text_of(node)))

    def _quoted(self, node: Node, state: State, place: Place) -> Iterator[str]:
        for part in inside(node):
            if isinstance(part, str):
                yield _QUOTED_ESCAPE.sub(lambda found: found[1].replace("\n", ""), clean(part))
            elif part.type in {"string_content", "heredoc_content"}:
                yield _QUOTED_ESCAPE.sub(lambda found: found[1].replace("\n", ""), clean(text_of(part)))
            elif part.type not in {'"', '$"', "$"} or part.child_count:
                # The parser includes blanks before an expansion.
                text = text_of(part)
                yield text[: len(text) - len(text.lstrip())]
                yield self.one(part, state, place)
            elif part.type == "$":
                yield text_of(part)

    def _joined(self, node: Node, state: State, place: Place) -> Iterator[str]:
        for part in inside(node):
            yield clean(part) if isinstance(part, str) else self.one(part, state, place)

    def _simple(self, node: Node, state: State) -> str:
        name = text_of(node).strip().removeprefix("$")
        return _parameter(name, state, f"${name}")

    def _expansion(self, node: Node, state: State, place: Place) -> str:
        shown = text_of(node).strip()
        parts = [child for child in node.children if child.type not in {"${", "}"}]
        if not parts:
            return unknown(shown)
        first, rest = parts[0], parts[1:]
        if first.type in {"!", "#"}:
            return self._prefixed(first.type, rest, state, shown)
        name = text_of(first)
        if first.type == "subscript":
            return _element(name, state, shown)
        if not rest:
            return _parameter(name, state, shown)
        operator, operands = rest[0].type, rest[1:]
        value = _known_parameter(name, state)
        if operator in _ASSIGNING or operator in {":+", "+", ":?", "?"}:
            chosen = _choice(operator, value)
            if chosen is None:
                return unknown(shown)
            return value or "" if chosen else joined(self.one(each, state, place) for each in operands)
        if value is None or not is_known(value):
            return unknown(shown)
        operand = "".join(map(text_of, rest[1:]))
        self._spend(len(value) + _COMPILING * len(operand))
        if operator in {"%", "%%", "#", "##"} and _is_glob(operand):
            if len(value) > _LONGEST_CUT:
                return unknown(shown)
            self._spend(len(value) * len(value))
        return _edited(operator, value, operand, shown)

    def _prefixed(self, prefix: str, rest: list[Node], state: State, shown: str) -> str:
        if len(rest) != 1 or rest[0].type not in {"variable_name", "special_variable_name"}:
            return unknown(shown)
        value = _known_parameter(text_of(rest[0]), state)
        if value is None or not is_known(value):
            return unknown(shown)
        return str(len(value)) if prefix == "#" else _parameter(value, state, shown)


def _list_of(node: Node) -> str | None:
    """The name of a list: ``@`` for ``"$@"``, and ``x`` for ``"${x[@]}"``."""
    text = text_of(node).strip().strip('"')
    if text in {"$@", "$*", "${@}", "${*}"}:
        return "@"
    match = re.fullmatch(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\[[@*]\]\}", text)
    return match[1] if match else None


def _listed(name: str, state: State) -> tuple[str, ...]:
    if name == "@":
        return state.arguments
    found = state.arrays.get(name)
    if found is not None:
        return found
    return (state.variables[name],) if name in state.variables else (unknown(f"${{{name}[@]}}"),)


def _known_parameter(name: str, state: State) -> str | None:
    """A parameter's value; ``None`` if it is not set."""
    if _NUMBER.fullmatch(name) and name != "0":
        if len(name) > _LONGEST_INDEX:
            return None
        index = int(name) - 1
        return state.arguments[index] if index < len(state.arguments) else None
    if name == "#":
        return str(len(state.arguments))
    if name in {"@", "*"}:
        return joined(f"{' ' if index else ''}{each}" for index, each in enumerate(state.arguments))
    if name in state.arrays:
        return next(iter(state.arrays[name]), None)
    return state.variables.get(name)


def _parameter(name: str, state: State, shown: str) -> str:
    """A parameter's value; unknown if it is not set, because it may come from the environment."""
    value = _known_parameter(name, state)
    return unknown(shown) if value is None else value


def _element(subscript: str, state: State, shown: str) -> str:
    match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)\[([0-9]+)\]", subscript)
    if match is None or match[1] not in state.arrays or len(match[2]) > _LONGEST_INDEX:
        return unknown(shown)
    elements, index = state.arrays[match[1]], int(match[2])
    return elements[index] if index < len(elements) else ""


def _choice(operator: str, value: str | None) -> bool | None:
    """Whether ``${x:-y}`` and similar give the value of ``x``; ``None`` if not known."""
    if value is None:
        return operator in {":?", "?", ":+", "+"}
    found = _is_set(value) if operator.startswith(":") else True
    if found is None or operator not in {":+", "+"}:
        return found
    return not found


def _edited(operator: str, value: str, operand: str, shown: str) -> str:
    """``${x%pattern}`` and similar, for a known value."""
    if "$" in operand or "`" in operand:
        return unknown(shown)
    match operator:
        case "%" | "%%" if not _is_glob(operand):
            return value.removesuffix(operand)
        case "#" | "##" if not _is_glob(operand):
            return value.removeprefix(operand)
        case "%" | "%%":
            cuts = range(len(value), -1, -1) if operator == "%" else range(len(value) + 1)
            return next((value[:cut] for cut in cuts if matches(value[cut:], operand)), value)
        case "#" | "##":
            cuts = range(len(value) + 1) if operator == "#" else range(len(value), -1, -1)
            return next((value[cut:] for cut in cuts if matches(value[:cut], operand)), value)
        case "^^" | ",,":
            return value.upper() if operator == "^^" else value.lower()
        case "/" | "//":
            old, _, new = operand.partition("/")
            plain = not set("*?[\\") & set(old)
            return replaced(value, old, new, -1 if operator == "//" else 1) if plain and old else unknown(shown)
        case _:
            return unknown(shown)


def _is_glob(operand: str) -> bool:
    return not set("*?[\\").isdisjoint(operand)


def replaced(text: str, old: str, new: str, most: int) -> str:
    """``text.replace(old, new, most)``, or an unknown text if the result is too long."""
    times = text.count(old) if most < 0 else most
    return text.replace(old, new, most) if len(text) + times * len(new) <= 2 * LONGEST else too_long()


def matches(text: str, pattern: str) -> bool:
    """Whether a text matches a pattern of the shell."""
    return _pattern(pattern).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _braces(text: str) -> list[str]:
    """Expand braces: ``a{b,c}`` is two words."""
    words = [text]
    while len(words) < _MOST_BRACES:
        opened = [word for word in words if _BRACES.search(word)]
        if not opened:
            return words
        words = [each for word in words for each in _opened(word)]
    return [text]


def _opened(word: str) -> list[str]:
    match = _BRACES.search(word)
    if match is None:
        return [word]
    return [f"{word[: match.start()]}{part}{word[match.end() :]}" for part in match[1].split(",")]


_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")

Expand = Callable[[Node], str]

_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": int.__eq__,
    "-ne": int.__ne__,
    "-lt": int.__lt__,
    "-le": int.__le__,
    "-gt": int.__gt__,
    "-ge": int.__ge__,
}


def condition(node: Node, expand: Expand) -> bool | None:
    """The result of ``[ … ]`` or ``[[ … ]]``."""
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
    return None  # the files of the machine are not known


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
    if operator in _COMPARISONS and all(_INTEGER.fullmatch(text.strip()) for text in texts):
        return _COMPARISONS[operator](int(texts[0]), int(texts[1]))
    return None


def _is_pattern(node: Node) -> bool:
    return node.type in {"extglob_pattern", "regex"}
