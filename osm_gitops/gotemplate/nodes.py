"""What a Go template is made of, as its parser understands it (osm-behaviour.md, "Template language")."""

from __future__ import annotations

from dataclasses import dataclass

from osm_gitops.gotemplate.lexer import NumberValue


@dataclass(frozen=True, slots=True)
class Dot:
    """``.``"""


@dataclass(frozen=True, slots=True)
class Nil:
    """``nil``"""


@dataclass(frozen=True, slots=True)
class Bool:
    value: bool


@dataclass(frozen=True, slots=True)
class Number:
    value: NumberValue


@dataclass(frozen=True, slots=True)
class String:
    value: str


@dataclass(frozen=True, slots=True)
class Field:
    """``.A.B``"""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """``$x``, ``$x.A.B``; ``name`` without the dollar sign, empty for ``$``."""

    name: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identifier:
    """The name of a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Chain:
    """``(…).A.B``"""

    operand: Pipe | Identifier
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A first word and its arguments."""

    first: Operand
    args: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pipe:
    """``$a, $b := command | command``; ``assign`` where it says ``=``."""

    line: int
    variables: tuple[str, ...]
    assign: bool
    commands: tuple[Command, ...]


Operand = Dot | Nil | Bool | Number | String | Field | Variable | Identifier | Chain | Pipe


@dataclass(frozen=True, slots=True)
class Text:
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """White space of the source that is not printed, but kept as the layout of the translation."""

    text: str


@dataclass(frozen=True, slots=True)
class Comment:
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    line: int
    pipe: Pipe


@dataclass(frozen=True, slots=True)
class If:
    line: int
    pipe: Pipe
    body: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class With:
    line: int
    pipe: Pipe
    body: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class Range:
    line: int
    pipe: Pipe
    body: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class Call:
    """``{{ template "name" pipe }}``"""

    line: int
    name: str
    pipe: Pipe | None


@dataclass(frozen=True, slots=True)
class Include:
    """A call of a template whose text is known to end in a line end, or to be empty.

    OSM prints a line end and the text without its last one; ``moved`` where it may print the text with it instead,
    because the line end before is printed already.
    """

    line: int
    name: str
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Break:
    line: int


@dataclass(frozen=True, slots=True)
class Continue:
    line: int


Node = Text | Gap | Comment | Action | If | With | Range | Call | Include | Break | Continue
Body = tuple[Node, ...]
Control = If | With | Range


def is_blank(body: Body) -> bool:
    """Whether a template would print nothing but white space; such a one replaces no other."""
    return all(isinstance(node, Comment | Gap) or (isinstance(node, Text) and not node.text.strip()) for node in body)
