"""Go templates to Jinja2 source text: statements (osm-behaviour.md, "Template language"; design.md, "One engine").

Each Go variable gets a unique name, so that Jinja2's scopes cannot differ from Go's. Definitions become macros whose
parameter is the dot.
"""

from __future__ import annotations

from collections import ChainMap, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from osm_gitops.gotemplate.calls import GoFunction
from osm_gitops.gotemplate.expressions import (
    PIPED,
    ROOT,
    Expr,
    Expressions,
    Names,
    Schema,
    Scope,
    stable,
)
from osm_gitops.gotemplate.jinja_text import Form, Piece, quoted, write
from osm_gitops.gotemplate.newlines import leaves_early, settle
from osm_gitops.gotemplate.nodes import (
    Action,
    Body,
    Break,
    Call,
    Chain,
    Comment,
    Continue,
    Dot,
    Field,
    Gap,
    Identifier,
    If,
    Include,
    Node,
    Pipe,
    Range,
    Text,
    Variable,
    With,
)


@dataclass(frozen=True, slots=True)
class Language:
    """What a Go template may use: functions, those refused by name, and the data's types."""

    functions: Mapping[str, GoFunction]
    refused: Mapping[str, str]
    schema: Schema


@dataclass(frozen=True, slots=True)
class Translation:
    """A Go template as Jinja2 source text.

    ``lines`` maps lines of ``text`` to lines of the Go source. ``reads`` are the data's fields that it may use, ``*``
    for all of them; ``includes`` the snippets.
    """

    text: str
    lines: Mapping[int, int]
    reads: frozenset[str]
    includes: frozenset[str]


def translate(
    main: str, bodies: Mapping[str, Body], language: Language, *, snippets: Collection[str] = ()
) -> Translation:
    """Translate the template ``main`` and the definitions of ``bodies`` that it needs.

    ``snippets`` are names that ``template("name")`` finds when the template runs.
    """
    detached: frozenset[str] = frozenset()  # definitions that are called with another dot than the data
    while True:
        emitter = _Emitter(bodies, language, frozenset(snippets), detached)
        result = emitter.run(main)
        if emitter.detached == detached:
            return result
        detached = emitter.all_detached()


@dataclass
class _Emitter:
    bodies: Mapping[str, Body]
    language: Language
    snippets: frozenset[str]
    known_detached: frozenset[str]
    detached: set[str] = field(default_factory=set)
    includes: set[str] = field(default_factory=set)
    macros: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        language = self.language
        self.detached |= self.known_detached
        self.names = Names({*language.functions, *language.refused, *language.schema.root, "each", "pairs", "field"})
        self.expressions = Expressions(language.functions, language.refused, language.schema, self.declare)
        self.pieces: list[Piece] = []
        self.waiting: deque[str] = deque()
        self.named_macros: set[str] = set()
        self.calls_with_root: dict[str, list[str]] = {}
        self.inside = ""  # the definition at hand
        self.assigned: frozenset[str] = frozenset()  # variables of the body at hand that `=` sets
        self.shared: frozenset[str] = frozenset()  # those that it sets inside of a loop

    def run(self, main: str) -> Translation:
        root = Expr("root", ROOT, stable=True)
        self.body(settle(self.bodies[main]), self.scope(root, self.bodies[main]))
        body, self.pieces = self.pieces, []
        while self.waiting:
            self.definition(self.waiting.popleft(), root)
        written = write([*self.pieces, *body])
        return Translation(written.text, written.lines, frozenset(self.expressions.reads), frozenset(self.includes))

    def scope(self, dot: Expr, body: Body) -> Scope:
        assigned = [(pipe, in_loop) for pipe, in_loop in pipes(body) if pipe.assign]
        self.shared = frozenset(name for pipe, in_loop in assigned if in_loop for name in pipe.variables)
        self.assigned = frozenset(name for pipe, _ in assigned for name in pipe.variables)
        return Scope(dot, ChainMap({"": dot}))

    def all_detached(self) -> frozenset[str]:
        """Definitions that get another dot, and those that they hand their own dot to."""
        found, waiting = set(self.detached), list(self.detached)
        while waiting:
            for name in self.calls_with_root.pop(waiting.pop(), ()):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return frozenset(found)

    def definition(self, name: str, root: Expr) -> None:
        body = self.bodies[name]
        self.inside = name
        attached = name not in self.known_detached
        parameter = "" if attached else self.names.fresh("dot")
        dot = root if attached else Expr(parameter, stable=True)
        self.block(f"macro {self.macros[name]}({parameter})")
        self.gap("\n")
        self.body(settle(body), self.scope(dot, body))
        self.block("endmacro")
        self.gap("\n")

    # pieces

    def text(self, text: str) -> None:
        self.pieces.append(Piece(Form.TEXT, text))

    def gap(self, blanks: str) -> None:
        self.pieces.append(Piece(Form.GAP, blanks.replace("\r", "")))

    def block(self, code: str, line: int = 0) -> None:
        if self.pieces and self.pieces[-1].form is Form.BLOCK and self.pieces[-1].value.startswith("set "):
            self.gap("\n")
        self.pieces.append(Piece(Form.BLOCK, code, line))

    def print(self, code: str, line: int) -> None:
        self.pieces.append(Piece(Form.PRINT, code, line))

    # statements

    def body(self, body: Body, scope: Scope) -> None:
        for node in body:
            self.node(node, scope)

    def node(self, node: Node, scope: Scope) -> None:
        match node:
            case Text():
                self.text(node.text)
            case Gap():
                self.gap(node.text)
            case Comment():
                text = node.text.strip().replace("\r", "").replace("#}", "# }")
                self.pieces.append(Piece(Form.COMMENT, text))
            case Action():
                self.action(node, scope)
            case If():
                self.condition(node, scope)
            case With():
                self.with_(node, scope)
            case Range():
                self.range(node, scope)
            case Call():
                self.call(node, scope)
            case Include():
                self.include(node)
            case Break() | Continue():
                self.block("break" if isinstance(node, Break) else "continue")

    def action(self, node: Action, scope: Scope) -> None:
        value = self.value(node.pipe, scope)
        if node.pipe.variables:
            self.declare(node.pipe, value, scope)
        elif value.constant is not None:
            self.text(value.constant)
        else:
            self.print(self.printed(value, scope), node.line)

    def printed(self, value: Expr, scope: Scope) -> str:
        never_absent = value.present or (value.type not in {"", ROOT} and not value.type.startswith("*"))
        if never_absent or (value.stable and value.code in scope.present):
            return value.code
        return f"{value.within(PIPED)} | go_text"

    def condition(self, node: If, scope: Scope, keyword: str = "if") -> None:
        inner = scope.inner()
        value = self.value(node.pipe, inner)
        if node.pipe.variables:
            value = self.declare(node.pipe, value, inner)
        self.block(f"{keyword} {value.code}", node.line)
        self.body(node.body, inner.knowing(self.tested(node.pipe, value, inner)))
        match node.orelse:
            case (If() as chained,) if not _declares(chained.pipe):
                self.condition(chained, inner.inner(), "elif")
                return
            case ():
                pass
            case orelse:
                self.block("else")
                self.body(orelse, inner.inner())
        self.block("endif")

    def tested(self, pipe: Pipe, value: Expr, scope: Scope) -> list[Expr]:
        """What is known to be true inside of an ``if``: its value, or the operands of its ``and``."""
        found = [value]
        if len(pipe.commands) == 1 and pipe.commands[0].first == Identifier("and"):
            found += [
                self.expressions.operand(each, scope) for each in pipe.commands[0].args if isinstance(each, Field)
            ]
        return found

    def with_(self, node: With, scope: Scope) -> None:
        inner = scope.inner()
        value = self.value(node.pipe, inner)
        if node.pipe.variables:
            value = self.declare(node.pipe, value, inner)
        if not value.stable:
            value = self.named("value", value, node.line)
        self.block(f"if {value.code}", node.line)
        body = inner.knowing([value])
        body.dot = value
        self.body(node.body, body)
        if node.orelse:
            self.block("else")
            self.body(node.orelse, inner.inner())
        self.block("endif")

    def range(self, node: Range, scope: Scope) -> None:
        inner = scope.inner()
        value = self.value(node.pipe, inner)
        if node.pipe.variables and (node.orelse or node.pipe.assign):
            value = self.declare(node.pipe, value, inner)
        source = self.iterated(value, len(node.pipe.variables))
        guarded = bool(node.orelse) and leaves_early(node.body)
        if guarded:  # Jinja2 takes `else` after a loop that was left early in its first round
            source = self.named("values", Expr(source), node.line).code
            self.block(f"if {source}")
            self.gap("\n")
        body = inner.inner()
        outside = self.names.mark()
        targets = self.targets(node.pipe, value)
        body.dot = targets[-1]
        self.block(f"for {', '.join(each.code for each in targets)} in {source}", node.line)
        if node.pipe.assign:
            self.assign(node.pipe, targets, body)
        else:
            for variable, target in zip(node.pipe.variables, targets, strict=False):
                self.bind(variable, target, body)
        self.body(node.body, body)
        self.names.release(outside, kept=self.named_macros)  # Jinja2 ends them with the loop
        self.end_of_loop(node, inner, guarded=guarded)

    def end_of_loop(self, node: Range, scope: Scope, *, guarded: bool) -> None:
        if guarded:
            self.block("endfor")
            self.gap("\n")
        if node.orelse:
            self.block("else")
            self.body(node.orelse, scope.inner())
        self.block("endif" if guarded else "endfor")

    def targets(self, pipe: Pipe, value: Expr) -> list[Expr]:
        """The loop's own names: for the key or index where the source names two, and for the element."""
        names = [self.names.fresh(hint) for hint in pipe.variables or ("item",)]
        element = self.language.schema.element(value.type)
        key = ["string" if "map[" in value.type else "int"]
        types = [element] if len(names) == 1 else [*key, element]
        return [Expr(name, type_name, stable=True) for name, type_name in zip(names, types, strict=True)]

    def iterated(self, value: Expr, count: int) -> str:
        if count == 2:
            return f"{value.within(PIPED)} | pairs"
        if value.type.startswith("[]"):
            return value.within(PIPED)
        return f"{value.within(PIPED)} | each"

    def call(self, node: Call, scope: Scope) -> None:
        name = node.name
        if name not in self.snippets and name not in self.bodies:
            self.print(f"go_error({quoted(f'template {quoted(name)} is not defined')})", node.line)
            return
        literal = name in self.snippets and name not in self.bodies
        value = None if node.pipe is None or (literal and is_plain_dot(node.pipe)) else self.value(node.pipe, scope)
        if node.pipe is not None and value is not None and node.pipe.variables:
            value = self.declare(node.pipe, value, scope)
        if name not in self.snippets:
            self.print(self.macro_call(name, value), node.line)
            return
        self.includes.add(name)
        printed = f"template({quoted(name)}{f', {value.code}' if literal and value else ''})"
        # A snippet replaces a definition of its name, unless it prints nothing but white space.
        own = "" if literal else f" if {printed} | trim else {self.macro_call(name, value)}"
        self.print(f"{printed}{own}", node.line)

    def include(self, node: Include) -> None:
        self.includes.add(node.name)
        if node.moved:
            self.block(f"include {quoted(node.name)}", node.line)
        else:
            self.print(f"template({quoted(node.name)})", node.line)

    def macro_call(self, name: str, value: Expr | None) -> str:
        if name not in self.macros:
            self.macros[name] = self.names.fresh(name)
            self.named_macros.add(self.macros[name])
            self.waiting.append(name)
        if value is None or value.type != ROOT:
            self.detached.add(name)
        else:
            self.calls_with_root.setdefault(self.inside, []).append(name)
        if name not in self.known_detached:
            return f"{self.macros[name]}()"
        return f"{self.macros[name]}({'nil' if value is None else value.code})"

    # variables

    def value(self, pipe: Pipe, scope: Scope) -> Expr:
        return self.expressions.pipe(pipe, scope)

    def declare(self, pipe: Pipe, value: Expr, scope: Scope) -> Expr:
        """Declare or assign the variables of a pipeline; the value under a name that may be repeated.

        A declaration in parentheses is made before its statement.
        """
        if pipe.assign:
            named = value if value.stable else self.named("value", value, pipe.line)
            self.assign(pipe, [named] * len(pipe.variables), scope)
            return named
        named = value
        for variable in pipe.variables:
            named = self.bind(variable, value, scope, pipe.line)
        return named

    def named(self, hint: str, value: Expr, line: int = 0) -> Expr:
        name = self.names.fresh(hint)
        self.block(f"set {name} = {value.code}", line)
        return stable(name, value)

    def bind(self, variable: str, value: Expr, scope: Scope, line: int = 0) -> Expr:
        """Make a variable; a name that stays the same for those that are never assigned again."""
        hint = variable or "value"
        if variable in self.shared:
            name = self.names.fresh(hint)
            self.block(f"set {name} = namespace(value={value.code})", line)
            bound = Expr(f"{name}.value")
        elif variable in self.assigned:
            bound = Expr(self.named(hint, value, line).code)
        elif value.stable:
            bound = value
        else:
            bound = self.named(hint, value, line)
        scope.variables[variable] = bound
        return bound

    def assign(self, pipe: Pipe, values: Iterable[Expr], scope: Scope) -> None:
        for variable, value in zip(pipe.variables, values, strict=True):
            known = scope.variables.get(variable)
            if known is None:
                self.print(f"go_error({quoted(f'undefined variable: ${variable}')})", pipe.line)
            else:
                self.block(f"set {known.code} = {value.code}", pipe.line)


def is_plain_dot(pipe: Pipe) -> bool:
    """Whether a pipeline is ``.`` or a variable: it cannot fail, so a template that ignores it need not get it."""
    first, *others = pipe.commands
    plain = isinstance(first.first, Dot) or (isinstance(first.first, Variable) and not first.first.names)
    return plain and not (others or first.args or pipe.variables)


def pipes(body: Body, *, in_loop: bool = False) -> Iterator[tuple[Pipe, bool]]:
    """Each pipeline of a body, including those in parentheses, and whether it is inside of a loop."""
    for node in body:
        match node:
            case Action(pipe=Pipe() as pipe) | Call(pipe=Pipe() as pipe):
                yield from _inner_pipes(pipe, in_loop=in_loop)
            case If() | With() | Range():
                looping = in_loop or isinstance(node, Range)
                yield from _inner_pipes(node.pipe, in_loop=looping)
                yield from pipes(node.body, in_loop=looping)
                yield from pipes(node.orelse, in_loop=in_loop)


def _inner_pipes(pipe: Pipe, *, in_loop: bool) -> Iterator[tuple[Pipe, bool]]:
    yield pipe, in_loop
    for command in pipe.commands:
        for operand in (command.first, *command.args):
            inner = operand.operand if isinstance(operand, Chain) else operand
            if isinstance(inner, Pipe):
                yield from _inner_pipes(inner, in_loop=in_loop)


def _declares(pipe: Pipe) -> bool:
    return any(each.variables for each, _ in _inner_pipes(pipe, in_loop=False))
