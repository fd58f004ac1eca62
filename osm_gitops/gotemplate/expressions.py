"""Go pipelines to Jinja2 expressions (osm-behaviour.md, "Template language").

The plain form is used where it is exactly right (``KubeVersion``, ``a == "b"``, ``x | indent(4)``), a helper of the
engine elsewhere (``x | field("a")``). A :class:`Schema` holds the Go types that are known before there are values."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from typing import TypeVar, get_type_hints

from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.faults import similar
from osm_gitops.gotemplate.jinja_text import quoted
from osm_gitops.gotemplate.lexer import NumberValue
from osm_gitops.gotemplate.nodes import (
    Bool,
    Chain,
    Command,
    Dot,
    Field,
    Identifier,
    Nil,
    Number,
    Operand,
    Pipe,
    String,
    Variable,
)
from osm_gitops.gotemplate.own_values import VALUES
from osm_gitops.gotemplate.values import GoList, GoMap, NamedString, Pointer, SizedInt, Struct

T = TypeVar("T")

_PYTHON_TYPES = {str: "string", bool: "bool", int: "int", float: "float64"}


@dataclass(frozen=True, slots=True)
class Schema:
    """Types of the root's fields and of the fields of structs; ``texts`` are the types of kind string."""

    root: Mapping[str, str]
    structs: Mapping[str, Mapping[str, str]]
    texts: frozenset[str]

    def field(self, owner: str, name: str) -> str:
        """Go's type of a field of a struct or of a pointer to one; empty if not known."""
        return self.structs.get(owner.removeprefix("*"), {}).get(name, "")

    def is_struct(self, owner: str) -> bool:
        """Whether the fields of values of this type are known; methods have no type here."""
        return owner.removeprefix("*") in self.structs

    def element(self, owner: str) -> str:
        """Go's type of the elements of a slice or map, or of a pointer to one; empty if not known."""
        plain = owner.removeprefix("*")
        for prefix in ("[]", "map[string]"):
            if plain.startswith(prefix):
                return plain.removeprefix(prefix)
        return ""


def schema(root: Mapping[str, str]) -> Schema:
    """All that the classes of values say about the types that the root's fields have."""
    texts = {each.go_type for each in _subclasses(NamedString)}
    return Schema(root, _structs(), frozenset({"string", *texts}))


@cache
def _structs() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for struct in _subclasses(Struct):
        if is_dataclass(struct):
            hints = get_type_hints(struct)
            types = {each.name: _go_type(hints[each.name]) for each in fields(struct) if each.name[0].isupper()}
            found[struct.go_type] = {name: type_name for name, type_name in types.items() if type_name}
    return found


@cache
def method_names() -> frozenset[str]:
    """Names of the methods that any value may have."""
    owners = (*_subclasses(Struct), *_subclasses(NamedString), *_subclasses(Pointer))
    return frozenset(name for owner in owners for name in getattr(owner, "methods", ()))


def _go_type(annotation: object) -> str:
    if not isinstance(annotation, type):
        return ""
    if annotation in _PYTHON_TYPES:
        return _PYTHON_TYPES[annotation]
    if issubclass(annotation, NamedString | SizedInt | Struct | GoMap | GoList) and not issubclass(annotation, Pointer):
        return annotation.go_type
    return ""


def _subclasses(base: type[T]) -> Iterator[type[T]]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)


# How tightly an expression holds together.
OR, AND, NOT, COMPARED, PIPED, ATOM = range(6)

ROOT = "root"  # the whole data as one value
ALL_FIELDS = "*"

_ASCII_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED = frozenset(
    (
        *("and", "as", "block", "call", "caller", "context", "do", "elif", "else", "endif", "extends"),
        *("false", "filter", "for", "from", "go_error", "if", "ignore", "import", "in", "include", "is"),
        *("kwargs", "loop", "macro", "missing", "namespace", "nil", "none", "not", "or", "range", "recursive"),
        *("refused", "root", "self", "set", "super", "template", "true", "varargs", "with", "without", "False"),
        *("None", "True"),
    )
)


@dataclass(frozen=True, slots=True)
class Expr:
    """A Jinja2 expression.

    ``type`` is Go's where it is known for certain; only pointers may then be nil. ``stable``: a name that always means
    the same value, so it may be repeated. ``constant``: the text of a string literal. ``present``: there is always
    something to print. ``negated``: the same comparison with the opposite operator.
    """

    code: str
    type: str = ""
    strength: int = ATOM
    stable: bool = False
    constant: str | None = None
    present: bool = False
    negated: str = ""

    def within(self, strength: int) -> str:
        """The code as a part of an expression that binds with ``strength``."""
        return self.code if self.strength >= strength else f"({self.code})"


@dataclass(slots=True)
class Scope:
    """The dot and the variables that a piece of the template sees; ``present`` are names of no nil pointers."""

    dot: Expr
    variables: ChainMap[str, Expr]
    present: frozenset[str] = frozenset()

    def inner(self, dot: Expr | None = None) -> Scope:
        return Scope(dot or self.dot, self.variables.new_child(), self.present)

    def knowing(self, conditions: Sequence[Expr]) -> Scope:
        """The scope after a test: a true value is not a nil pointer."""
        found = {each.code for each in conditions if each.stable}
        return Scope(self.dot, self.variables.new_child(), self.present | found) if found else self.inner()


@dataclass(slots=True)
class Names:
    """Creates names that are not functions, fields or words of Jinja2. A name is reused only after its release."""

    taken: set[str]
    numbers: dict[str, int] = field(default_factory=dict)
    given: list[tuple[str, str, int]] = field(default_factory=list)

    def fresh(self, hint: str) -> str:
        name = hint if _ASCII_WORD.fullmatch(hint) else "value"
        before = number = self.numbers.get(name, 1)
        candidate = name if number == 1 else f"{name}{number}"
        while candidate in self.taken or candidate in _RESERVED:
            number += 1
            candidate = f"{name}{number}"
        self.numbers[name] = number
        self.taken.add(candidate)
        self.given.append((candidate, name, before))
        return candidate

    def mark(self) -> int:
        """The present, for :meth:`release`."""
        return len(self.given)

    def release(self, mark: int, kept: Collection[str]) -> None:
        """Take back the names that were given since ``mark``, but for ``kept``."""
        while len(self.given) > mark:
            candidate, name, before = self.given.pop()
            if candidate not in kept:
                self.taken.discard(candidate)
                self.numbers[name] = before


@dataclass
class Expressions:
    """Translates pipelines inside of one template; collects the root's fields that they read.

    ``declare`` is called for a declaration in parentheses; it returns the name that holds its value.
    """

    functions: Mapping[str, GoFunction]
    refused: Mapping[str, str]
    schema: Schema
    declare: Callable[[Pipe, Expr, Scope], Expr]
    reads: set[str] = field(default_factory=set)

    def pipe(self, pipe: Pipe, scope: Scope) -> Expr:
        """The value of a pipeline; its own declarations are left to the caller."""
        value: Expr | None = None
        for command in pipe.commands:
            value = self.command(command, value, scope)
        assert value is not None
        return value

    def command(self, command: Command, final: Expr | None, scope: Scope) -> Expr:
        first = command.first
        if isinstance(first, Identifier):
            return self.function(first.name, command.args, final, scope)
        if command.args or final is not None:
            return _error(f"{_shown(first)} is no function and takes no arguments")
        if isinstance(first, Nil):
            return _error("nil is not a command")
        return self.operand(first, scope)

    def operand(self, node: Operand, scope: Scope) -> Expr:
        """A value without the type of a parameter."""
        match node:
            case Dot():
                return self.whole(scope.dot)
            case Field(names):
                return self.field(scope.dot, names)
            case Variable(name, names):
                return self.variable(name, names, scope)
            case Identifier(name):
                return self.function(name, (), None, scope)
            case Chain(operand, names):
                return self.field(self.operand(operand, scope), names)
            case Pipe() if node.variables:
                return self.declare(node, self.pipe(node, scope), scope)
            case Pipe():
                return self.pipe(node, scope)
            case _:
                return self.constant(node, "any")

    def whole(self, value: Expr) -> Expr:
        """A value as such; of the root that means all its fields."""
        if value.type == ROOT:
            self.reads.add(ALL_FIELDS)
        return value

    def variable(self, name: str, names: tuple[str, ...], scope: Scope) -> Expr:
        value = scope.variables.get(name)
        if value is None:
            return _error(f"undefined variable: ${name}")
        return self.field(value, names) if names else self.whole(value)

    def field(self, value: Expr, names: tuple[str, ...]) -> Expr:
        for position, name in enumerate(names):
            if value.type == ROOT:
                value = self.root_field(name)
                continue
            known = self.schema.field(value.type, name)
            if not known and not self.schema.is_struct(value.type):
                rest = ", ".join(quoted(each) for each in names[position:])
                return Expr(f"{value.within(PIPED)} | field({rest})", strength=PIPED)
            value = Expr(f"{value.within(ATOM)}.{name}", known)
        return value

    def root_field(self, name: str) -> Expr:
        known = self.schema.root.get(name)
        if known is None:
            return _error(f"can't evaluate field {name}: there is none in the data{similar(name, self.schema.root)}")
        if name != VALUES:  # the same for all MachineDeployments
            self.reads.add(name)
        return Expr(name, known, stable=True)

    # functions

    def function(self, name: str, args: tuple[Operand, ...], final: Expr | None, scope: Scope) -> Expr:
        if name in ("and", "or"):
            return self.junction(name, args, final, scope)
        if name in self.refused:
            return Expr(f"refused({quoted(name)})")
        function = self.functions[name]
        values = [self.argument(each, _parameter(function, at), scope) for at, each in enumerate(args)]
        plain = _plain(name, values if final is None else [*values, final], self.schema)
        if plain is not None and (final is None or final.stable or not values):
            return plain
        inside = ", ".join(each.within(OR) for each in values)
        if name == "default" and values and values[0].constant:
            return _default(values if final is None else [*values, final])
        if final is not None:
            call = f"{name}({inside})" if values else name
            return Expr(f"{final.within(PIPED)} | {call}", function.returns, PIPED)
        if name == "not":  # an operator in Jinja2; its plain form has one argument
            return _error("wrong number of args for not: want 1")
        return Expr(f"{name}({inside})", function.returns)

    def junction(self, name: str, args: tuple[Operand, ...], final: Expr | None, scope: Scope) -> Expr:
        """``and``, ``or``: the deciding operand itself, as Jinja2 has it."""
        values = [self.argument(each, "any", scope) for each in args]
        if final is None and not values:
            return _error(f"wrong number of args for {name}: want at least 1 got 0")
        if final is not None and values and not final.stable:  # Go evaluates it first, though it comes last
            return Expr(f"{final.within(PIPED)} | go_{name}({_joined(name, values).code})", strength=PIPED)
        return _joined(name, values if final is None else [*values, final])

    def argument(self, node: Operand, parameter: str, scope: Scope) -> Expr:
        if isinstance(node, Bool | Number | String | Nil):
            return self.constant(node, parameter)
        return self.operand(node, scope)

    def constant(self, node: Operand, parameter: str) -> Expr:
        match node:
            case String(text):
                return Expr(quoted(text), "string", constant=text)
            case Bool(value):
                return Expr("true" if value else "false", "bool")
            case Number(number):
                return _number(number, parameter)
            case _:
                return Expr("nil")


def _default(values: Sequence[Expr]) -> Expr:
    """``default`` with a text that is not empty: what it gives is never absent."""
    text, *subject = values
    if len(subject) == 1:
        return Expr(f"{subject[0].within(PIPED)} | default({text.code})", "", PIPED, present=True)
    return Expr(f"default({', '.join(each.within(OR) for each in values)})")


def _number(number: NumberValue, parameter: str) -> Expr:
    """A number constant takes the type of its parameter."""
    if parameter == "float64":
        return _signed(repr(number.real), "float64")
    if parameter in ("int", "int64"):
        if number.int64 is None:
            return _error(f"expected an integer; found {number.real!r}")
        plain = _signed(str(number.int64), "int")
        return plain if parameter == "int" else Expr(f"int64({plain.code})", "int64")
    if number.floating:
        return _signed(repr(number.real), "float64")
    if number.int64 is None:
        return _error(f"the integer {number.integer} is too large")
    return _signed(str(number.int64), "int")


def _signed(code: str, type_name: str) -> Expr:
    return Expr(code, type_name, NOT if code.startswith("-") else ATOM)


def _parameter(function: GoFunction, position: int) -> str:
    types = function.types
    if not types:
        return "any"
    return types[min(position, len(types) - 1)]


def _error(message: str) -> Expr:
    """An expression that stops the template when it is reached, as Go's error would."""
    return Expr(f"go_error({quoted(message)})")


def _shown(node: Operand) -> str:
    match node:
        case Field(names):
            return "." + ".".join(names)
        case Variable(name, names):
            return ".".join((f"${name}", *names))
        case String(text):
            return quoted(text)
        case Number(number):
            return str(number.integer if number.integer is not None else number.real)
        case Bool(value):
            return str(value).lower()
        case Dot():
            return "."
        case Nil():
            return "nil"
        case _:
            return "an expression in parentheses"


def _plain(name: str, values: Sequence[Expr], schema: Schema) -> Expr | None:
    """``not``, ``eq`` and ``ne`` as operators of Jinja2, where types tell that both are the same."""
    if name == "not" and len(values) == 1:
        if values[0].negated:
            return Expr(values[0].negated, "bool", COMPARED, negated=values[0].code)
        return Expr(f"not {values[0].within(NOT)}", "bool", NOT)
    if name in ("eq", "ne") and len(values) == 2:
        left, right = (_kind(each.type, schema) for each in values)
        if left and left == right:
            sides = [each.within(PIPED) for each in values]
            equal, unequal = " == ".join(sides), " != ".join(sides)
            if name == "eq":
                return Expr(equal, "bool", COMPARED, negated=unequal)
            return Expr(unequal, "bool", COMPARED, negated=equal)
    return None


def _joined(name: str, values: Sequence[Expr]) -> Expr:
    """Operands of ``and`` or ``or`` in a row."""
    if len(values) == 1:
        return values[0]
    strength = AND if name == "and" else OR
    types = {each.type for each in values}
    code = f" {name} ".join(each.within(strength + 1) for each in values)
    return Expr(code, types.pop() if len(types) == 1 else "", strength)


def _kind(type_name: str, schema: Schema) -> str:
    if type_name in schema.texts:
        return "string"
    return type_name if type_name in ("bool", "int") else ""


def stable(name: str, like: Expr) -> Expr:
    """A local name for the value of ``like``."""
    return replace(Expr(name, stable=True), type=like.type)
