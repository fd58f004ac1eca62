"""Tokens of a Go template to nodes; parse errors are exactly where Go has them (osm-behaviour.md, "Template
language")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NoReturn

from osm_gitops.gotemplate.faults import BoundExceeded, TemplateFault, unknown_function
from osm_gitops.gotemplate.lexer import Kind, Token, parse_char, parse_number, parse_string, tokenize
from osm_gitops.gotemplate.nodes import (
    Action,
    Body,
    Bool,
    Break,
    Call,
    Chain,
    Command,
    Comment,
    Continue,
    Dot,
    Field,
    Gap,
    Identifier,
    If,
    Nil,
    Node,
    Number,
    Operand,
    Pipe,
    Range,
    String,
    Text,
    Variable,
    With,
    is_blank,
)

_CONTROLS: dict[str, type[If | With | Range]] = {"if": If, "with": With, "range": Range}
_NESTING = 150  # more than Python's compiler takes of blocks or parentheses
_CHAIN = 1_000  # links of one `else if` chain
_STAGES = 150  # commands of one pipeline, each of which is a parenthesis to Python's compiler


def parse(name: str, text: str, functions: Collection[str], first_line: int = 1) -> dict[str, Body]:
    """Parse a template: its own body under ``name``, and those that it defines.

    ``functions`` are the names that a template may call; lines count from ``first_line``. Raises :class:`TemplateFault`
    with ``name`` and the line.
    """
    try:
        return _Parser(name, tokenize(text, first_line), functions).parse()
    except TemplateFault as fault:
        fault.template = name
        raise


@dataclass
class _Scope:
    """What a template or definition knows while it is parsed: Go keeps variables per definition."""

    variables: list[str] = field(default_factory=lambda: [""])
    known: Counter[str] = field(default_factory=lambda: Counter([""]))
    loops: int = 0

    def declare(self, name: str) -> None:
        self.variables.append(name)
        self.known[name] += 1

    def forget(self, mark: int) -> None:
        """Forget what was declared since there were ``mark`` variables."""
        self.known.subtract(self.variables[mark:])
        del self.variables[mark:]


class _Parser:
    def __init__(self, name: str, tokens: list[Token], functions: Collection[str]) -> None:
        self.name = name
        self.tokens = tokens
        self.functions = functions
        self.position = 0
        self.scope = _Scope()
        self.nesting = 0
        self.bodies: dict[str, Body] = {}

    # the token stream

    def peek(self) -> Token:
        return self.tokens[self.position]

    def next(self) -> Token:
        token = self.tokens[self.position]
        if token.kind is not Kind.END:
            self.position += 1
        return token

    def skip_space(self) -> Token:
        """The next token that is not white space, without consuming it."""
        while self.peek().kind is Kind.SPACE:
            self.position += 1
        return self.peek()

    def next_non_space(self) -> Token:
        self.skip_space()
        return self.next()

    def expect_close(self, context: str) -> None:
        token = self.next_non_space()
        if token.kind is not Kind.CLOSE:
            self.unexpected(token, context)

    def fail(self, message: str, line: int = 0) -> NoReturn:
        raise TemplateFault(message, line=line or self.peek().line)

    def unexpected(self, token: Token, context: str) -> NoReturn:
        if token.kind is Kind.END:
            self.fail(f"unexpected end of the template in {context}", token.line)
        self.fail(f"unexpected {token.value[:20]!r} in {context}", token.line)

    def descend(self) -> None:
        self.nesting += 1
        if self.nesting > _NESTING:
            raise BoundExceeded(f"it is nested more than {_NESTING} levels deep", line=self.peek().line)

    # templates

    def parse(self) -> dict[str, Body]:
        body: list[Node] = []
        while self.peek().kind is not Kind.END:
            if self.at_definition():
                self.definition()
                continue
            node = self.text_or_action()
            if isinstance(node, Token):
                self.fail(f"unexpected {{{{{node.value}}}}}", node.line)
            body.append(node)
        self.add(self.name, tuple(body))
        return self.bodies

    def at_definition(self) -> bool:
        if self.peek().kind is not Kind.OPEN:
            return False
        start = self.position
        self.next()
        if self.skip_space() == (Kind.KEYWORD, "define", self.peek().line):
            self.next()
            return True
        self.position = start
        return False

    def definition(self) -> None:
        context = "a define clause"
        name = self.template_name(context)
        self.expect_close(context)
        outer, self.scope = self.scope, _Scope()
        body, end = self.node_list()
        if end.value != "end":
            self.fail("unexpected {{else}} in a define clause", end.line)
        self.scope = outer
        self.add(name, body)

    def add(self, name: str, body: Body) -> None:
        """Keep a body; a blank one never replaces or clashes with another of its name."""
        known = self.bodies.get(name)
        if known is None or is_blank(known):
            self.bodies[name] = body
        elif not is_blank(body):
            self.fail(f"there are two definitions of template {name!r}")

    def template_name(self, context: str) -> str:
        token = self.next_non_space()
        if token.kind is not Kind.STRING:
            self.unexpected(token, context)
        return self.literal(token)

    def literal(self, token: Token) -> str:
        try:
            return parse_string(token.value)
        except TemplateFault as fault:
            self.fail(fault.message, token.line)

    # nodes

    def node_list(self) -> tuple[Body, Token]:
        """Nodes up to an ``end`` or ``else``, which is returned too (its action is read except for ``else if``)."""
        nodes: list[Node] = []
        while self.skip_space().kind is not Kind.END:
            node = self.text_or_action()
            if isinstance(node, Token):
                return tuple(nodes), node
            nodes.append(node)
        return self.fail("an {{end}} is missing")

    def text_or_action(self) -> Node | Token:
        token = self.next_non_space()
        if token.kind is Kind.TEXT:
            return Text(token.line, token.value)
        if token.kind is Kind.GAP:
            return Gap(token.value)
        if token.kind is Kind.COMMENT:
            return Comment(token.line, token.value)
        if token.kind is Kind.OPEN:
            return self.action(token.line)
        return self.unexpected(token, "a template")

    def action(self, line: int) -> Node | Token:
        token = self.skip_space()
        if token.kind is not Kind.KEYWORD or token.value in ("nil", "define"):
            return Action(line, self.pipeline("a command", Kind.CLOSE))
        self.next()
        if token.value in _CONTROLS:
            return self.control(token.value, line)
        if token.value == "end":
            self.expect_close("{{end}}")
            return token
        if token.value == "else":
            following = self.skip_space()
            if not (following.kind is Kind.KEYWORD and following.value in ("if", "with")):
                self.expect_close("{{else}}")
            return token
        if token.value in ("break", "continue"):
            return self.jump(token)
        if token.value == "template":
            return self.template_call(line)
        return self.block(line)

    def control(self, kind: str, line: int) -> Node:
        self.descend()
        mark = len(self.scope.variables)
        links: list[tuple[int, Pipe, Body]] = []
        while True:
            pipe, body, end = self.branch(kind)
            links.append((line, pipe, body))
            if not self.at_next_link(kind, end):
                break
            line = end.line
            if len(links) > _CHAIN:
                raise BoundExceeded(f"a chain of more than {_CHAIN} {{{{else {kind}}}}}", line=line)
        orelse = self.otherwise() if end.value == "else" else ()
        self.scope.forget(mark)
        self.nesting -= 1
        while len(links) > 1:
            orelse = (_CONTROLS[kind](*links.pop(), orelse),)
        return _CONTROLS[kind](*links[0], orelse)

    def branch(self, kind: str) -> tuple[Pipe, Body, Token]:
        pipe = self.pipeline(kind, Kind.CLOSE)
        self.scope.loops += kind == "range"
        body, end = self.node_list()
        self.scope.loops -= kind == "range"
        return pipe, body, end

    def at_next_link(self, kind: str, end: Token) -> bool:
        """Take the keyword of ``else if`` in an ``if``, or of ``else with`` in a ``with``."""
        following = self.peek()
        if end.value != "else" or kind == "range" or (following.kind, following.value) != (Kind.KEYWORD, kind):
            return False
        self.next()
        return True

    def otherwise(self) -> Body:
        orelse, end = self.node_list()
        if end.value != "end":
            self.fail("expected {{end}}; found {{else}}", end.line)
        return orelse

    def jump(self, token: Token) -> Node:
        if not self.scope.loops:
            self.fail(f"{{{{{token.value}}}}} outside of {{{{range}}}}", token.line)
        self.expect_close(f"{{{{{token.value}}}}}")
        return Break(token.line) if token.value == "break" else Continue(token.line)

    def template_call(self, line: int) -> Node:
        context = "a template clause"
        name = self.template_name(context)
        if self.skip_space().kind is Kind.CLOSE:
            self.next()
            return Call(line, name, None)
        return Call(line, name, self.pipeline(context, Kind.CLOSE))

    def block(self, line: int) -> Node:
        context = "a block clause"
        name = self.template_name(context)
        pipe = self.pipeline(context, Kind.CLOSE)
        self.descend()
        outer, self.scope = self.scope, _Scope()
        body, end = self.node_list()
        if end.value != "end":
            self.fail("unexpected {{else}} in a block clause", end.line)
        self.scope = outer
        self.nesting -= 1
        self.add(name, body)
        return Call(line, name, pipe)

    # pipelines

    def pipeline(self, context: str, end: Kind) -> Pipe:
        line = self.skip_space().line
        variables, assign = self.declarations(context)
        commands: list[Command] = []
        while self.skip_space().kind is not end:
            commands.append(self.command(context))
            if len(commands) > _STAGES:
                raise BoundExceeded(f"a pipeline of more than {_STAGES} commands", line=line)
        self.next()
        if not commands:
            self.fail(f"the value for {context} is missing", line)
        for number, command in enumerate(commands[1:], start=2):
            if isinstance(command.first, Bool | Dot | Nil | Number | String):
                self.fail(f"stage {number} of the pipeline is not a function", line)
        return Pipe(line, variables, assign, tuple(commands))

    def declarations(self, context: str) -> tuple[tuple[str, ...], bool]:
        names: list[str] = []
        while (token := self.skip_space()).kind is Kind.VARIABLE:
            start = self.position
            self.next()
            following = self.skip_space()
            comma = following.kind is Kind.OTHER and following.value == ","
            if not comma and following.kind not in (Kind.DECLARE, Kind.ASSIGN):
                self.position = start
                return tuple(names), False
            self.next()
            names.append(token.value[1:])
            self.scope.declare(token.value[1:])
            if not comma:
                return tuple(names), following.kind is Kind.ASSIGN
            if context != "range" or len(names) > 1:
                self.fail(f"too many declarations in {context}", token.line)
            if self.skip_space().kind not in (Kind.VARIABLE, Kind.CLOSE, Kind.RIGHT_PAREN):
                self.fail("range can only initialize variables", token.line)
        return tuple(names), False

    def command(self, context: str) -> Command:
        operands: list[Operand] = []
        first = self.peek()
        while True:
            operand = self.operand()
            if operand is not None:
                operands.append(operand)
            elif not operands and self.peek().kind not in (Kind.SPACE, Kind.CLOSE, Kind.RIGHT_PAREN):
                self.unexpected(self.peek(), context)
            token = self.peek()
            if token.kind is Kind.SPACE:
                self.next()
                continue
            if token.kind is Kind.PIPE:
                self.next()
            elif token.kind not in (Kind.CLOSE, Kind.RIGHT_PAREN):
                self.unexpected(token, "an operand")
            break
        if not operands:
            self.fail("empty command", first.line)
        return Command(operands[0], tuple(operands[1:]))

    def operand(self) -> Operand | None:
        self.skip_space()
        start = self.peek()
        term = self.term()
        if term is None or self.peek().kind is not Kind.FIELD:
            return term
        names: list[str] = []
        while self.peek().kind is Kind.FIELD:
            names.append(self.next().value[1:])
        match term:
            case Field(known):
                return Field((*known, *names))
            case Variable(name, known):
                return Variable(name, (*known, *names))
            case Pipe() | Identifier():
                return Chain(term, tuple(names))
        return self.fail(f"unexpected . after {start.value}", start.line)

    def term(self) -> Operand | None:
        """One word, or nothing (and nothing taken) where none begins."""
        token = self.peek()
        match token.kind:
            case Kind.IDENTIFIER:
                if token.value not in self.functions:
                    self.fail(unknown_function(token.value, self.functions), token.line)
                found: Operand = Identifier(token.value)
            case Kind.VARIABLE:
                if not self.scope.known[token.value[1:]]:
                    self.fail(f"undefined variable {token.value}", token.line)
                found = Variable(token.value[1:], ())
            case Kind.DOT:
                found = Dot()
            case Kind.FIELD:
                found = Field((token.value[1:],))
            case Kind.BOOL:
                found = Bool(token.value == "true")
            case Kind.STRING:
                found = String(self.literal(token))
            case Kind.NUMBER | Kind.CHAR:
                found = self.number(token)
            case Kind.KEYWORD if token.value == "nil":
                found = Nil()
            case Kind.LEFT_PAREN:
                self.descend()
                self.next()
                found = self.pipeline("a parenthesized pipeline", Kind.RIGHT_PAREN)
                self.nesting -= 1
                return found
            case _:
                return None
        self.next()
        return found

    def number(self, token: Token) -> Number:
        try:
            return Number(parse_char(token.value) if token.kind is Kind.CHAR else parse_number(token.value))
        except TemplateFault as fault:
            fault.line = token.line
            raise
