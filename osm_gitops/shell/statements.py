"""List the simple commands of one statement of a script, in a known state.

Branches are listed one after the other, and what they assign differently is unknown behind them. Calls of functions are
replaced by the commands of the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from osm_gitops.shell.builtins import Call, unwrapped
from osm_gitops.shell.state import Place, State, clean, is_known, unknown
from osm_gitops.shell.syntax import Node, is_deeper, line_of, parse, text_of
from osm_gitops.shell.words import Words, condition

MOST_COMMANDS: Final = 3_000
MOST_WORK: Final = 3_000_000  # characters that are produced or compared
MOST_NESTED: Final = 60  # nested nodes; scripts of the default profiles reach 15
_MOST_CALLS: Final = 6  # nested calls of functions and shells
_MOST_ROUNDS: Final = 16
_NOWHERE: Final = Place("")
_REDIRECTS: Final = frozenset({"heredoc_redirect", "file_redirect", "herestring_redirect"})
_SHELLS: Final = frozenset({"bash", "sh", "dash"})
# What these commands print matters only in a pipeline or a file.
_SPEAKING: Final = frozenset({"echo", "printf", "sleep", "return", "exit", "true", "false", ":", "break", "continue"})
_WRITING: Final = frozenset({">", ">>", "&>", "&>>", ">|"})

Pairs = tuple[tuple[str, str], ...]
Arrays = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A command behind its wrappers, such as sudo and timeout. ``name`` is the program's without its folder. What is
    only printed for people is not among the words.

    Parts of ``words`` that are not known are marked (:mod:`osm_gitops.shell.state`). ``line`` is where it is written,
    ``called`` the line of the outermost call of the function that it is in, or the same. ``tests`` are the texts of the
    conditions under which it runs; ``tolerated``: the script goes on if it fails. ``given`` is its standard input, if
    known; ``writes`` are the files that get its output; ``feeds`` the names of the next commands of its pipeline;
    ``captured``: its output becomes a word. ``folder`` is the working folder, or an unknown text.
    """

    name: str
    words: tuple[str, ...]
    line: int
    called: int
    tests: tuple[str, ...] = ()
    tolerated: bool = False
    given: str | None = None
    writes: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    captured: bool = False
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """The commands of a statement, each with the function that it is in; lines count from the statement, or from the
    definition of the function. Then what the statement changes."""

    found: tuple[tuple[SimpleCommand, str], ...]
    variables: Pairs
    unset: frozenset[str]
    arrays: Arrays
    arguments: tuple[str, ...]
    functions: tuple[tuple[str, str, int], ...]
    work: int
    complete: bool


@lru_cache(maxsize=4096)
def listed_statement(
    text: str,
    variables: Pairs,
    arrays: Arrays,
    arguments: tuple[str, ...],
    functions: Pairs,
) -> Listed:
    """The commands of one statement in a state."""
    lister = _Lister(state=State(variables=dict(variables), arrays=dict(arrays), arguments=arguments))
    for name, definition in functions:
        lister.define(name, definition)
    complete = True
    try:
        lister.run(parse(text), _Context())
    except _TooMuch:
        complete = False
    state = lister.state
    return Listed(
        tuple(lister.found),
        tuple(state.variables.items()),
        frozenset(name for name, _ in variables if name not in state.variables),
        tuple(state.arrays.items()),
        state.arguments,
        tuple(lister.defined),
        lister.work,
        complete,
    )


class _TooMuch(Exception):
    """The script is too large."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What is around a command. ``lines`` is the line before the text, in ``function`` or the statement."""

    tests: tuple[str, ...] = ()
    tolerated: bool = False
    given: str | None = None
    writes: tuple[str, ...] = ()
    captured: bool = False
    piped: bool = False
    called: int = 0
    lines: int = 0
    depth: int = 0
    function: str = ""

    def under(self, *tests: Node, tolerated: bool = False) -> _Context:
        """The context of what runs only if the tests say so."""
        texts = (" ".join(text_of(each).split()) for each in tests)
        return replace(self, tests=(*self.tests, *texts), tolerated=tolerated)


@dataclass(slots=True)
class _Lister:
    """Lists a statement. ``defined`` are the functions that it defines: name, definition and line."""

    state: State
    found: list[tuple[SimpleCommand, str]] = field(default_factory=list)
    defined: list[tuple[str, str, int]] = field(default_factory=list)
    work: int = 0
    _functions: dict[str, tuple[Node, str, int]] = field(default_factory=dict)
    _locals: list[set[str]] = field(default_factory=list)
    _contexts: list[_Context] = field(default_factory=list)
    _words: Words = field(init=False)

    def __post_init__(self) -> None:
        self._words = Words(self._substitute, self._spend)

    def define(self, name: str, definition: str) -> None:
        """Define a function of the script before this statement."""
        for node in parse(definition).children:
            body = node.child_by_field_name("body")
            if node.type == "function_definition" and body is not None:
                self._functions[name] = (body, name, 0)

    def _spend(self, work: int) -> None:
        self.work += work + 1
        if self.work > MOST_WORK or len(self.found) > MOST_COMMANDS:
            raise _TooMuch

    def run(self, node: Node, context: _Context) -> None:
        """List a statement."""
        if node.is_named and node.type != "comment":
            self._spend(1)
            statement = getattr(self, f"_{node.type}", None)
            if statement is not None:
                statement(node, context)
            else:
                self._all(node.children, context)

    def _all(self, nodes: Iterable[Node], context: _Context) -> None:
        for node in nodes:
            self.run(node, context)

    def _branches(self, branches: Iterable[tuple[Iterable[Node], _Context]], holds: bool | None = None) -> None:
        """List branches of which at most one runs; ``holds``: whether it is the first one. All are listed."""
        before = self.state
        after = []
        for nodes, context in branches:
            self.state = before
            self._all(nodes, context)
            after.append(self.state)
        self.state = after[0] if holds else _merged([before, *(after if holds is None else after[1:])])

    def _substitute(self, node: Node, _state: State, _place: Place) -> str:
        context = replace(self._contexts[-1], captured=True, writes=(), given=None)
        before = self.state
        self._all(node.children, context)
        self.state = before
        return unknown(text_of(node))

    # --- statements; the others have only children ---

    def _list(self, node: Node, context: _Context) -> None:
        left, operator, right = node.children[0], node.children[1].type, node.children[-1]
        tolerated = context.tolerated or operator == "||"
        self.run(left, context if tolerated == context.tolerated else replace(context, tolerated=tolerated))
        self._branches([([right], context.under(left, tolerated=context.tolerated))])

    def _if_statement(self, node: Node, context: _Context) -> None:
        tests: list[Node] = []
        then: list[Node] = []
        branches: list[tuple[Iterable[Node], _Context]] = []
        found = tests
        for child in node.children:
            if child.type == "then":
                self._all(tests, replace(context, tolerated=True))
                found = then
            elif child.type == "elif_clause":
                inner = [each for each in child.children if each.is_named]
                tests = [*tests, *inner[:1]]
                self._all(inner[:1], replace(context, tolerated=True))
                branches.append((inner[1:], context.under(*tests)))
            elif child.type == "else_clause":
                branches.append((child.children, context.under(*tests)))
            elif child.is_named:
                found.append(child)
        first = [each for each in tests if each.start_byte < (then[0].start_byte if then else node.end_byte)]
        self._branches([(then, context.under(*first)), *branches], self._holds(first))

    def _holds(self, tests: Sequence[Node]) -> bool | None:
        """The result of ``[ … ]``, if it is known and the only test."""
        if len(tests) != 1 or tests[0].type != "test_command":
            return None
        # Its commands are listed already.
        words = Words(lambda node, _state, _place: unknown(text_of(node)), self._spend)
        return condition(tests[0], lambda node: words.one(node, self.state, _NOWHERE))

    def _case_statement(self, node: Node, context: _Context) -> None:
        items = [child for child in node.children if child.type == "case_item"]
        value = node.child_by_field_name("value")
        if value is not None:
            self._expand(value, context)
        tests = [] if value is None else [value]
        self._branches(
            (
                [each for each in item.children if each not in item.children_by_field_name("value")],
                context.under(*tests, *item.children_by_field_name("value")),
            )
            for item in items
        )

    def _for_statement(self, node: Node, context: _Context) -> None:
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if variable is None or body is None:
            return
        nodes = node.children_by_field_name("value")
        listed = any(child.type == "in" for child in node.children)
        values = [each for value in nodes for each in self._expand(value, context)] if listed else ["$@"]
        before = self.state
        for value in values[:_MOST_ROUNDS] if listed else [unknown(f"${text_of(variable)}")]:
            self.state = self.state.set(text_of(variable), value)
            self.run(body, context)
        self.state = _merged([before, self.state])

    def _while_statement(self, node: Node, context: _Context) -> None:
        body = node.child_by_field_name("body")
        tests = [child for child in node.children if child.is_named and child != body]
        before = self.state
        self._all(tests, context)
        if body is not None:
            self.run(body, context.under(*tests))
        self.state = _merged([before, self.state])

    def _function_definition(self, node: Node, context: _Context) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._functions[text_of(name)] = (body, context.function, context.lines)
            if not context.function:
                self.defined.append((text_of(name), text_of(node), line_of(node) + context.lines))

    def _subshell(self, node: Node, context: _Context) -> None:
        before = self.state
        self._all(node.children, context)
        self.state = before

    def _pipeline(self, node: Node, context: _Context) -> None:
        self._piped([child for child in node.children if child.is_named], context)

    def _piped(self, stages: Sequence[Node], context: _Context) -> None:
        """List the stages of a pipeline; each is told the names of the later ones."""
        before, starts = self.state, []
        given = context.given
        for number, stage in enumerate(stages):
            last = number == len(stages) - 1
            starts.append(len(self.found))
            self.run(stage, replace(context, given=given, writes=context.writes if last else (), piped=True))
            self.state = before
            given = _output([each for each, _ in self.found[starts[-1] :]])
        names: tuple[str, ...] = ()
        for start, end in reversed(list(zip(starts, [*starts[1:], len(self.found)], strict=True))):
            stage_names = tuple(each.name for each, _ in self.found[start:end])
            if names:
                fed = [(replace(each, feeds=(*each.feeds, *names)), name) for each, name in self.found[start:end]]
                self.found[start:end] = fed
            names = (*stage_names, *names)

    def _redirected_statement(self, node: Node, context: _Context) -> None:
        body = node.child_by_field_name("body")
        given, writes, rest = context.given, context.writes, list[Node]()
        for each in (child for child in node.children if child.type in _REDIRECTS):
            targets = [each] if each.type == "file_redirect" else []
            if each.type == "heredoc_redirect":
                given = self._heredoc(each, context)
                targets = [child for child in each.children if child.type == "file_redirect"]
                rest += [child for child in each.children if child.type == "pipeline"]
            elif each.type == "herestring_redirect":
                given = " ".join(self._expand(each.children[-1], context)) + "\n"
            for target in targets:
                writes = (*writes, *self._target(target, context))
        changed = given is not context.given or writes is not context.writes
        inner = replace(context, given=given, writes=writes) if changed else context
        after = [child for each in rest for child in each.children if child.is_named]
        if body is None:
            if writes:
                self._add((":",), node, inner)
        elif after:
            self._piped([body, *after], inner)
        else:
            self.run(body, inner)

    def _heredoc(self, node: Node, context: _Context) -> str:
        start = next((text_of(child) for child in node.children if child.type == "heredoc_start"), "")
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if body is None:
            return ""
        quoted = bool(set("'\"\\") & set(start))
        return clean(text_of(body)) if quoted else " ".join(self._expand(body, context))

    def _target(self, node: Node, context: _Context) -> tuple[str, ...]:
        """The file that gets the output."""
        operator = next((child.type for child in node.children if not child.is_named), "")
        descriptor = next((text_of(child) for child in node.children if child.type == "file_descriptor"), "1")
        words = self._expand(node.children[-1], context)
        if operator not in _WRITING or descriptor != "1" or words[:1] == ["/dev/null"]:
            return ()
        return tuple(words[:1])

    def _test_command(self, node: Node, context: _Context) -> None:
        for child in node.children:
            if child.is_named:
                self._substitutions(child, context)

    def _substitutions(self, node: Node, context: _Context) -> None:
        if node.type == "command_substitution":
            self._expand(node, context)
        else:
            for child in node.children:
                self._substitutions(child, context)

    def _variable_assignment(self, node: Node, context: _Context) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return
        named = text_of(name)
        if value is not None and value.type == "array":
            words = [each for child in value.children if child.is_named for each in self._expand(child, context)]
            if any(child.type == "+=" for child in node.children):
                words = [*self.state.arrays.get(named, (unknown(f"${{{named}[@]}}"),)), *words]
            self.state = replace(self.state, arrays={**self.state.arrays, named: tuple(words)})
            return
        text = self._one(value, context) if value is not None else ""
        if any(child.type == "+=" for child in node.children):
            text = self.state.variables.get(named, unknown(f"${named}")) + text
        self.state = self.state.set(named, text)

    def _declaration_command(self, node: Node, context: _Context) -> None:
        local = text_of(node.children[0]) in {"local", "declare", "typeset"}
        for child in node.children[1:]:
            name = child.child_by_field_name("name") if child.type == "variable_assignment" else child
            if local and self._locals and name is not None:
                self._locals[-1].add(text_of(name))
            if child.type == "variable_assignment":
                self._variable_assignment(child, context)

    def _unset_command(self, node: Node, _context: _Context) -> None:
        names = {text_of(child) for child in node.children if child.is_named}
        left = {name: value for name, value in self.state.variables.items() if name not in names}
        self.state = replace(self.state, variables=left)

    def _command(self, node: Node, context: _Context) -> None:
        name = node.child_by_field_name("name")
        if (
            name is not None
            and text_of(name) in _SPEAKING
            and not (context.writes or context.piped or context.captured)
        ):
            text = text_of(node)
            if "$(" not in text and "`" not in text and ">" not in text and " -v " not in text:
                self._add((text_of(name), unknown("what it prints")), node, context)
                return
        words: list[str] = []
        before, own = self.state, False
        for child in node.children:
            if child.type == "variable_assignment":
                own = True
                self._variable_assignment(child, context)
            elif child.type == "herestring_redirect":
                context = replace(context, given=" ".join(self._expand(child.children[-1], context)) + "\n")
            elif child.type == "file_redirect":
                context = replace(context, writes=(*context.writes, *self._target(child, context)))
            elif child.type == "command_name":
                words += self._expand(child.children[0], context)
            elif child.is_named:
                if child.type == "process_substitution":
                    self._all(child.children, replace(context, captured=True, writes=(), given=None))
                words += self._expand(child, context)
        if words:
            self._call(tuple(words), node, context)
        if own and words:
            self.state = replace(before, variables={**before.variables})

    # --- words and calls ---

    def _expand(self, node: Node, context: _Context) -> list[str]:
        plain = _plain(node)
        if plain is not None:
            return [plain]
        self._contexts.append(context)
        if node.type == "heredoc_body":
            words = [self._words.one(node, self.state, _NOWHERE)]
        else:
            words = self._words.many(node, self.state, _NOWHERE)
        self._contexts.pop()
        self._spend(sum(map(len, words)))
        return words

    def _one(self, node: Node, context: _Context) -> str:
        plain = _plain(node)
        if plain is not None:
            return plain
        self._contexts.append(context)
        text = self._words.one(node, self.state, _NOWHERE)
        self._contexts.pop()
        return text

    @staticmethod
    def _deeper(node: Node, context: _Context) -> _Context:
        """The context of what a command calls."""
        called = context.called or line_of(node) + context.lines
        return replace(context, depth=context.depth + 1, called=called)

    def _add(self, words: tuple[str, ...], node: Node, context: _Context) -> None:
        line = line_of(node) + context.lines
        folder = self.state.variables.get("PWD", unknown("$PWD"))
        command = SimpleCommand(
            words[0].rpartition("/")[2],
            words,
            line,
            context.called,
            context.tests,
            context.tolerated,
            context.given,
            context.writes,
            captured=context.captured,
            folder=folder,
        )
        self.found.append((command, context.function))

    def _call(self, words: tuple[str, ...], node: Node, context: _Context) -> None:
        call = Call(words, self.state, _NOWHERE, 1)
        while (inner := unwrapped(call)) is not None and inner.words:
            call = inner
        words = call.words
        called = self._functions.get(words[0])
        if called is not None and context.depth < _MOST_CALLS:
            body, function, lines = called
            before = self.state
            deeper = replace(self._deeper(node, context), function=function, lines=lines)
            self.state = replace(before, arguments=words[1:])
            self._locals.append(set())
            self.run(body, deeper)
            kept = {name: value for name, value in self.state.variables.items() if name not in self._locals[-1]}
            kept |= {name: value for name, value in before.variables.items() if name in self._locals[-1]}
            self._locals.pop()
            self.state = replace(self.state, variables=kept, arguments=before.arguments)
            return
        if words[0] == "cd":
            folder = words[1] if len(words) == 2 and words[1].startswith("/") else unknown("$PWD")
            self.state = self.state.set("PWD", folder)
        elif words[0] == "set" and "--" in words:
            self.state = replace(self.state, arguments=words[words.index("--") + 1 :])
        elif words[0] == "shift":
            self.state = replace(self.state, arguments=self.state.arguments[1:])
        elif words[0] == "read":
            for name in words[1:]:
                if not name.startswith("-"):
                    self.state = self.state.set(name, unknown(f"${name}"))
        self._add(words, node, context)
        given = _script(words, self.state.arguments)
        if given is not None and is_known(given[0]) and context.depth < _MOST_CALLS:
            before = self.state
            root = parse(given[0])
            if not is_deeper(root, MOST_NESTED):
                self.state = replace(before, arguments=given[1])
                lines = line_of(node) + context.lines - 1
                deeper = self._deeper(node, context)
                self.run(root, replace(deeper, lines=lines, called=context.called, given=None))
            self.state = before


def _plain(node: Node) -> str | None:
    """The text of a word in which nothing is expanded; most words are so."""
    match node.type:
        case "word" | "number":
            text = text_of(node)
            return None if "\\" in text or "{" in text else text
        case "raw_string":
            return text_of(node)[1:-1]
        case "string" if node.child_count == 3 and node.children[1].type == "string_content":
            text = text_of(node)[1:-1]
            return None if "\\" in text else text
        case _:
            return None


def _script(words: Sequence[str], arguments: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """The text that a command gives to a shell, and its arguments: of ``bash -c TEXT NAME ARGUMENT…``, or ``eval``."""
    name = words[0].rpartition("/")[2]
    if name == "eval":
        return " ".join(words[1:]), arguments
    if name not in _SHELLS:
        return None
    for number, word in enumerate(words[1:], 2):
        if not word.startswith("-"):
            return None
        if word.endswith("c") and not word.startswith("--"):
            return (words[number], tuple(words[number + 2 :])) if number < len(words) else None
    return None


def _output(commands: Sequence[SimpleCommand]) -> str | None:
    """The output of ``echo``, ``printf`` of one text, and ``cat`` of known input."""
    if len(commands) != 1:
        return None
    words = commands[0].words
    match words[0]:
        case "echo":
            return " ".join(word for word in words[1:] if word not in {"-e", "-n"}) + "\n"
        case "cat" if len(words) == 1:
            return commands[0].given
        case "printf" if len(words) == 2:
            return words[1]
        case _:
            return None


def _merged(states: Sequence[State]) -> State:
    """The state behind branches: what they do not agree on is unknown."""
    first, *others = states
    if all(each is first for each in others):
        return first
    names = dict.fromkeys(name for state in states for name in state.variables)
    variables = {name: _same([state.variables.get(name) for state in states]) or unknown(f"${name}") for name in names}
    listed = dict.fromkeys(name for state in states for name in state.arrays)
    arrays = {
        name: first.arrays[name]
        if all(state.arrays.get(name) == first.arrays.get(name) for state in states) and name in first.arrays
        else (unknown(f"${{{name}[@]}}"),)
        for name in listed
    }
    return replace(first, variables=variables, arrays=arrays)


def _same(values: Sequence[str | None]) -> str | None:
    return values[0] if all(each == values[0] for each in values) else None
