"""Follow all paths through a script, each with its own state.

If a condition is known, one branch is followed, else both, with separate states, so that values that belong together
stay together. Loops with an unknown number of rounds are followed once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from osm_gitops.shell.builtins import BUILTINS, Call, unwrapped
from osm_gitops.shell.state import (
    DEEPEST,
    Command,
    Function,
    Host,
    Place,
    State,
    Unfollowed,
    Written,
    clean,
    fields,
    is_known,
    unknown,
)
from osm_gitops.shell.syntax import Node, broken_line, is_deeper, line_of, parse, text_of
from osm_gitops.shell.words import Words, condition, matches

_MOST_STATES: Final = 24
_MOST_STEPS: Final = 8_000  # the longest default profile takes nine hundred
_MOST_ROUNDS: Final = 64
_MOST_WORK: Final = 20_000_000  # characters and entries that are produced, copied or compared; some seconds
_PARSING: Final = 8  # the work to parse one character
_LARGEST: Final = 1 << 20
_MOST_WORDS: Final = 8192
_LONGEST_COMMAND: Final = 1 << 20
_MOST_NESTED: Final = 100  # nested nodes; scripts of the default profiles reach 15
_DEEPEST_RUN: Final = 250
_FRAMES: Final = 6_000  # Python's recursion limit for that
_TOO_MUCH: Final = "there is too much to follow"
_QUIET: Final = frozenset({"comment", "heredoc_redirect", "file_redirect", "herestring_redirect", "\n", ";", "&", ";;"})


class _TooMuch(Exception):
    """A script needs too much work, or is nested too deeply."""

    def __init__(self, why: str = _TOO_MUCH) -> None:
        super().__init__(why)
        self.why = why


class Follower:
    """Follows scripts on one host. The results are in ``commands``, ``written`` and ``unfollowed``, each once, in
    order; ``reached`` are the paths of files that were executed or sourced."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.commands: dict[Command, None] = {}
        self.written: dict[Written, None] = {}
        self.unfollowed: dict[Unfollowed, None] = {}
        self.reached: set[str] = set()
        self.words = Words(self._substitute, self.spend)
        self._trees: dict[str, Node] = {}
        self._locals: dict[int, frozenset[str]] = {}
        self._steps = 0
        self._work = 0
        self._depth = 0
        self._spot = ("", 0)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))

    def script(self, path: str, arguments: Sequence[str] = (), state: State | None = None) -> list[State]:
        """Follow the file ``path`` of the host."""
        self.reached.add(path)
        given = state or State()
        began = replace(given, arguments=tuple(arguments), functions={}, flow="")
        ended = self.top(self.host.files[path], Place(path), began)
        return [replace(given, status=each.status, out=each.out) for each in ended]

    def top(self, text: str, place: Place, state: State) -> list[State]:
        """Follow a text as an entry point, within the limits."""
        self._depth, self._spot = 0, place.spot(1)
        try:
            return self.text(text, place, state)
        except _TooMuch as much:
            self.unfollowed.setdefault(Unfollowed(much.why, *self._spot))
            return [state.ended(ok=None)]

    def spend(self, work: int) -> None:
        """Count work: characters and entries before they are produced, copied or compared."""
        self._work += work
        if self._work > _MOST_WORK:
            raise _TooMuch

    def tree(self, text: str) -> Node:
        """Parse a text, once."""
        root = self._trees.get(text)
        if root is None:
            if len(text) > _LARGEST:
                raise _TooMuch(f"a script is larger than {_LARGEST >> 20} MiB")
            self.spend(_PARSING * len(text))
            root = parse(text)
            if is_deeper(root, _MOST_NESTED):
                raise _TooMuch("a script is nested too deeply to follow")
            self._trees[text] = root
        return root

    def text(self, text: str, place: Place, state: State) -> list[State]:
        """Follow a text at ``place``."""
        root = self.tree(text)
        broken = broken_line(root)
        if broken:
            self.give_up("this is not valid shell", place, broken)
        return self.run(root, state, place)

    def give_up(self, why: str, place: Place, line: int) -> None:
        """Record a place that cannot be followed."""
        self.unfollowed.setdefault(Unfollowed(why, *place.spot(line)))

    # --- statements ---

    def run(self, node: Node, state: State, place: Place) -> list[State]:
        """Follow one node; return the possible states after it."""
        if state.flow or node.type in _QUIET or not node.is_named:
            return [state]
        self._spot = place.spot(line_of(node))
        self._steps += 1
        if self._steps > _MOST_STEPS or self._depth > _DEEPEST_RUN:
            raise _TooMuch
        self.spend(1 + state.size + (node.end_byte - node.start_byte >> 4))
        if place.depth > DEEPEST:
            self.give_up(_TOO_MUCH, place, line_of(node))
            return [state.ended(ok=None)]
        self._depth += 1
        statement = getattr(self, f"_{node.type}", None)
        followed: list[State] = (
            statement(node, state, place) if statement is not None else self._sequence(node.children, [state], place)
        )
        self._depth -= 1
        return followed

    def _sequence(self, nodes: Iterable[Node], states: list[State], place: Place) -> list[State]:
        """Follow statements one after the other. Only the status of the last one counts."""
        for node in nodes:
            if all(state.flow for state in states):
                break
            before = [state if state.flow else state.ended(ok=None) for state in states]
            passed = node.type in _QUIET or not node.is_named
            states = (
                states
                if passed
                else self._fewer([each for state in before for each in self.run(node, state, place)], node, place)
            )
        return states

    def _fewer(self, states: list[State], node: Node, place: Place) -> list[State]:
        """The distinct states; if there are too many, one state in which what differs is unknown."""
        if len(states) < 2:
            return states
        self.spend(sum(state.size for state in states))
        distinct = list({state.key: state for state in states}.values())
        if len(distinct) <= _MOST_STATES:
            return distinct
        self.give_up("there are too many paths through this script, so some are merged", place, line_of(node))
        first, *others = distinct
        same = {
            name: value if all(each.variables.get(name) == value for each in others) else unknown(f"${name}")
            for name, value in first.variables.items()
        }
        return [replace(first, variables=same, status=None, flow="")]

    def _function_definition(self, node: Node, state: State, place: Place) -> list[State]:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return [state]
        return [replace(state, functions={**state.functions, text_of(name): Function(body, place)}, status=True)]

    def _list(self, node: Node, state: State, place: Place) -> list[State]:
        left, operator, right = node.children[0], node.children[1].type, node.children[-1]
        states = []
        for each in self.run(left, state, place):
            skipped = each.status is not None and each.status is not (operator == "&&")
            if not skipped or each.flow:
                states += self.run(right, each, place)
            if (skipped or each.status is None) and not each.flow:
                states.append(each.ended(ok=operator == "||"))
        return self._fewer(states, node, place)

    def _negated_command(self, node: Node, state: State, place: Place) -> list[State]:
        states = self._sequence(node.children, [state], place)
        return [each.ended(ok=None if each.status is None else not each.status) for each in states]

    def _if_statement(self, node: Node, state: State, place: Place) -> list[State]:
        return self._branch(_clauses(node), state, place)

    def _branch(self, clauses: _Clauses, state: State, place: Place) -> list[State]:
        states: list[State] = []
        for tested in self._sequence(clauses.tests, [state], place):
            if tested.flow or tested.status is not False:
                states += self._sequence(clauses.then, [tested.ended(ok=True)], place)
            if not tested.flow and tested.status is not True:
                states += self._otherwise(clauses.rest, tested.ended(ok=True), place)
        return self._fewer(states, clauses.tests[0], place) if clauses.tests else [state]

    def _otherwise(self, rest: Sequence[Node], state: State, place: Place) -> list[State]:
        if not rest:
            return [state]
        first, *others = rest
        if first.type == "else_clause":
            return self._sequence(first.children, [state], place)
        clauses = _clauses(first)
        return self._branch(_Clauses(clauses.tests, clauses.then, others), state, place)

    def _case_statement(self, node: Node, state: State, place: Place) -> list[State]:
        value = node.child_by_field_name("value")
        word = self.words.one(value, state, place) if value is not None else ""
        states: list[State] = []
        certain = False
        for item in node.children:
            if item.type != "case_item" or certain:
                continue
            patterns = [self.words.one(each, state, place) for each in item.children_by_field_name("value")]
            body = item.children[item.children.index(_closing(item)) + 1 :]
            known = is_known(word) and all(map(is_known, patterns))
            self.spend(sum(len(word) + len(pattern) for pattern in patterns))
            certain = "*" in patterns or (known and any(matches(word, pattern) for pattern in patterns))
            if certain or not known:
                states += self._sequence(body, [state.ended(ok=True)], place)
        return self._fewer(states if certain else [*states, state.ended(ok=True)], node, place)

    # --- loops ---

    def _for_statement(self, node: Node, state: State, place: Place) -> list[State]:
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if variable is None or body is None:
            return [state]
        values = [
            each for child in node.children_by_field_name("value") for each in self.words.many(child, state, place)
        ]
        listed = any(child.type == "in" for child in node.children)
        states = [state.ended(ok=True)]
        for value in (values if listed else state.arguments)[:_MOST_ROUNDS]:
            entered = [each if each.flow else each.set(text_of(variable), value) for each in states]
            states = [_continued(each) for each in self._sequence([body], entered, place)]
            states = self._fewer(states, node, place)
        return [_left_loop(each) for each in states]

    def _c_style_for_statement(self, node: Node, state: State, place: Place) -> list[State]:
        body = node.child_by_field_name("body")
        head = text_of(node).partition("))")[0]
        names = re.findall(r"(?<!\w)([A-Za-z_]\w*)\s*+=(?!=)", head)
        self.spend(len(names) * (len(names) + state.size))
        for name in names:
            state = state.set(name, unknown(f"${name}"))
        return self._some_rounds([], body, state, place) if body is not None else [state]

    def _while_statement(self, node: Node, state: State, place: Place) -> list[State]:
        body = node.child_by_field_name("body")
        tests = [child for child in node.children if child.is_named and child != body]
        if body is None or not tests:
            return [state]
        names = _read_names(tests)
        if names and state.given is not None and is_known(state.given):
            return self._lines(names, body, state, place)
        return self._some_rounds(tests, body, state, place)

    def _lines(self, names: list[str], body: Node, state: State, place: Place) -> list[State]:
        """``while read -r a b`` with known input."""
        states = [state.ended(ok=True)]
        self.spend(len(state.given or "") + _MOST_ROUNDS * len(names) * (len(names) + state.size))
        for line in (state.given or "").splitlines()[:_MOST_ROUNDS]:
            entered = [each if each.flow else assigned(each, names, line) for each in states]
            states = [_continued(each) for each in self._sequence([body], entered, place)]
        return [_left_loop(each) for each in self._fewer(states, body, place)]

    def _some_rounds(self, tests: list[Node], body: Node, state: State, place: Place) -> list[State]:
        """A loop with an unknown number of rounds: follow its condition and body once."""
        states = self._sequence(tests, [state], place)
        entered = [each if each.flow else each.ended(ok=None) for each in states]
        rounds = [_continued(each) for each in self._sequence([body], entered, place)]
        before = {name for each in states for name in each.variables}
        after = [_left_loop(_widened(each, states, before)) for each in rounds]
        return self._fewer([*(each.ended(ok=None) for each in states), *after], body, place)

    # --- grouping ---

    def _subshell(self, node: Node, state: State, place: Place) -> list[State]:
        states = self._sequence(node.children, [state], place)
        return [replace(state, status=each.status, out=each.out) for each in states]

    def _pipeline(self, node: Node, state: State, place: Place) -> list[State]:
        stages = [child for child in node.children if child.is_named]
        given = state.given
        for stage in stages[:-1]:
            given = self._printed(stage, replace(state, given=given, out="", captured=True), place)
        states = self.run(stages[-1], replace(state, given=given, status=None), place)
        return [replace(state, status=each.status, out=each.out) for each in states]

    def _printed(self, node: Node, state: State, place: Place) -> str:
        """The output of a node, which is known if all paths through it print the same."""
        texts = {each.out for each in self.run(node, state, place)}
        return texts.pop() if len(texts) == 1 else unknown(text_of(node))

    def _substitute(self, node: Node, state: State, place: Place) -> str:
        inner = replace(state, out="", captured=True, given=None)
        texts = {each.out for each in self._sequence(node.children, [inner], place) if each.flow != "exit"}
        return texts.pop() if len(texts) == 1 else unknown(text_of(node))

    def _redirected_statement(self, node: Node, state: State, place: Place) -> list[State]:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child.type in _QUIET]
        given, targets, rest = state.given, [], None
        for each in redirects:
            if each.type == "heredoc_redirect":
                given, rest = self._heredoc(each, state, place), _piped(each) or rest
                targets += [child for child in each.children if child.type == "file_redirect"]
            elif each.type == "herestring_redirect":
                given = self.words.one(each.children[-1], state, place) + "\n"
            elif each.type == "file_redirect":
                targets.append(each)
                given = self._from_file(each, state, place) if _operator(each) == "<" else given
        return self._redirected(body, rest, replace(state, given=given), targets, place)

    def _redirected(
        self, body: Node | None, rest: Node | None, state: State, targets: list[Node], place: Place
    ) -> list[State]:
        files = [each for each in targets if _operator(each) in {">", ">>", "&>", ">|"} and not _descriptor(each)]
        if body is None:
            return [state]
        if rest is not None:
            given = self._printed(body, replace(state, out="", captured=True), place)
            return self._sequence(rest.children, [replace(state, given=given)], place)
        if files:
            return self._into(files, body, state, place)
        states = self.run(body, state, place)
        elsewhere = any(_operator(each) == ">&" and not _descriptor(each) for each in targets)
        return [replace(each, out=state.out) for each in states] if elsewhere else states

    def _into(self, files: list[Node], body: Node, state: State, place: Place) -> list[State]:
        """A command with output to files."""
        ended = []
        for each in self.run(body, replace(state, out="", captured=True), place):
            for target in files:
                path = self.words.one(target.children[-1], each, place)
                self.write(path, each.out, place, line_of(body))
            ended.append(replace(each, out=state.out, captured=state.captured))
        return ended

    def write(self, target: str, text: str, place: Place, line: int) -> None:
        """Record a text that is written into a file."""
        if target != "/dev/null" and text:
            self.written.setdefault(Written(target, text, *place.spot(line)))

    def _heredoc(self, node: Node, state: State, place: Place) -> str:
        start = next((text_of(child) for child in node.children if child.type == "heredoc_start"), "")
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if body is None:
            return ""
        text = clean(text_of(body)) if set("'\"\\") & set(start) else self.words.one(body, state, place)
        dashed = any(child.type == "<<-" for child in node.children)
        return "\n".join(line.lstrip("\t") for line in text.split("\n")) if dashed else text

    def _from_file(self, node: Node, state: State, place: Place) -> str | None:
        path = self.words.one(node.children[-1], state, place)
        return clean(self.host.files[path]) if path in self.host.files else None

    # --- commands ---

    def _test_command(self, node: Node, state: State, place: Place) -> list[State]:
        return [state.ended(ok=condition(node, lambda each: self.words.one(each, state, place)))]

    def _variable_assignments(self, node: Node, state: State, place: Place) -> list[State]:
        return self._sequence(node.children, [state], place)

    def _variable_assignment(self, node: Node, state: State, place: Place) -> list[State]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return [state]
        adds = any(child.type == "+=" for child in node.children)
        named = text_of(name)
        if value is not None and value.type == "array":
            elements = [
                each for child in value.children if child.is_named for each in self.words.many(child, state, place)
            ]
            before = state.arrays.get(named, ()) if adds else ()
            found = (
                (*before, *elements) if len(before) + len(elements) <= _MOST_WORDS else (unknown(f"${{{named}[@]}}"),)
            )
            return [replace(state, arrays={**state.arrays, named: found}, status=True)]
        text = self.words.one(value, state, place) if value is not None else ""
        if name.type == "subscript":
            return [state.ended(ok=True)]
        return [state.set(named, state.variables.get(named, "") + text if adds else text).ended(ok=True)]

    def _declaration_command(self, node: Node, state: State, place: Place) -> list[State]:
        states = [each.ended(ok=True) for each in self._sequence(node.children, [state], place)]
        words = [text_of(child) for child in node.children]
        if words[0] != "export" and not any(re.fullmatch(r"-[a-z]*x[a-z]*", word) for word in words):
            return states
        names = [word.partition("=")[0] for word in words[1:] if not word.startswith("-")]
        return [each.export(names) for each in states]

    def _unset_command(self, node: Node, state: State, _place: Place) -> list[State]:
        gone = {text_of(child) for child in node.children if child.is_named}
        left = {name: value for name, value in state.variables.items() if name not in gone}
        return [replace(state, variables=left, status=True)]

    def _word(self, _node: Node, state: State, _place: Place) -> list[State]:
        return [state]

    _variable_name = _number = _concatenation = _string = _raw_string = _word

    def _command(self, node: Node, state: State, place: Place) -> list[State]:
        words: list[str] = []
        inner = state
        for child in node.children:
            if child.type == "variable_assignment":
                inner = self._variable_assignment(child, inner, place)[0]
            elif child.type == "herestring_redirect":
                inner = replace(inner, given=self.words.one(child.children[-1], inner, place) + "\n")
            elif child.type == "command_name":
                words += self.words.many(child.children[0], state, place)
            elif child.is_named and child.type != "file_redirect":
                words += self.words.many(child, state, place)
            if len(words) > _MOST_WORDS:
                break
        length = sum(map(len, words))
        self.spend(length)
        if len(words) > _MOST_WORDS or length > _LONGEST_COMMAND:
            self.give_up("a command has too many or too long words", place, line_of(node))
            return [state.ended(ok=None)]
        if not words:
            return [replace(inner, given=state.given).ended(ok=None)]
        # Assignments before a command are only for that command.
        own = {text_of(child.children[0]) for child in node.children if child.type == "variable_assignment"}
        states = self.call(Call(tuple(words), inner.export(own) if own else inner, place, line_of(node)))
        if not own:
            return states
        return [replace(_with_former(each, state, own), exported=state.exported, given=state.given) for each in states]

    def call(self, call: Call) -> list[State]:
        """Follow a command whose words are expanded."""
        name = call.words[0]
        inner = unwrapped(call)
        if inner is not None:
            return self.call(inner) if inner.words else [call.state.ended(ok=None)]
        function = call.state.functions.get(name)
        if function is not None:
            return self._called(function, call)
        builtin = BUILTINS.get(name)
        if builtin is not None:
            return builtin(self, call)
        if name in self.host.files:
            deeper = replace(call.place, depth=call.place.depth + 1)
            if deeper.depth > DEEPEST:
                self.give_up("scripts call each other too deeply", call.place, call.line)
                return [call.state.ended(ok=None)]
            self.reached.add(name)
            began = replace(call.state.for_command(), arguments=call.words[1:])
            states = self.text(self.host.files[name], Place(name, deeper.depth), began)
            ended = [replace(call.state, status=None, out=each.out) for each in states]
            return self._fewer(ended, self.tree(self.host.files[name]), Place(name))
        return self.external(call)

    def _called(self, function: Function, call: Call) -> list[State]:
        called_from = call.place.spot(call.line)
        place = replace(function.place, depth=call.place.depth + 1, called_from=called_from)
        before = call.state
        ended = []
        for each in self.run(function.body, replace(before, arguments=call.words[1:]), place):
            flow = "" if each.flow == "return" else each.flow
            ended.append(replace(each, arguments=before.arguments, flow=flow, given=before.given))
        names = self._locals.get(function.body.id)
        if names is None:
            names = self._locals[function.body.id] = _local_names(function.body)
        return self._fewer([_with_former(each, before, names) for each in ended], function.body, place)

    def external(self, call: Call) -> list[State]:
        """A command outside of the shell: it is recorded, and its output is unknown."""
        self.commands.setdefault(Command(call.words, *call.place.spot(call.line), call.state.given))
        answer = self.host.answers.get(call.words)
        output = unknown(f"$({' '.join(call.words)})") if answer is None else answer
        printed = call.state.printed(output)
        return [printed if answer is not None else printed.ended(ok=None)]


@dataclass(slots=True)
class _Clauses:
    """The parts of an ``if``: the tests, the statements if they hold, and the other clauses."""

    tests: list[Node] = field(default_factory=list)
    then: list[Node] = field(default_factory=list)
    rest: list[Node] = field(default_factory=list)


def _clauses(node: Node) -> _Clauses:
    found = _Clauses()
    part = found.tests
    for child in node.children:
        if child.type == "then":
            part = found.then
        elif child.type in {"elif_clause", "else_clause"}:
            found.rest.append(child)
        elif child.is_named:
            part.append(child)
    return found


def assigned(state: State, names: Sequence[str], line: str) -> State:
    """The state after ``read`` has put the fields of a line into these variables."""
    parts = fields(line)
    for index, name in enumerate(names):
        last = index == len(names) - 1
        value = " ".join(parts[index:]) if last else next(iter(parts[index : index + 1]), "")
        state = state.set(name, value)
    return state


def _closing(item: Node) -> Node:
    return next(child for child in item.children if child.type == ")")


def _read_names(tests: Sequence[Node]) -> list[str]:
    """The variables of ``read -r a b``, if that is the whole condition."""
    if len(tests) != 1 or tests[0].type != "command":
        return []
    words = [text_of(child) for child in tests[0].children if child.type != "variable_assignment"]
    if not words or words[0] != "read":
        return []
    return [word for word in words[1:] if not word.startswith("-")] or ["REPLY"]


def _continued(state: State) -> State:
    return replace(state, flow="") if state.flow == "continue" else state


def _left_loop(state: State) -> State:
    return replace(state, flow="") if state.flow == "break" else state


def _widened(state: State, before: list[State], names: set[str]) -> State:
    """What a round changes is not known after an unknown number of rounds."""
    changed = {
        name: unknown(f"${name}")
        for name in names
        if any(each.variables.get(name) != state.variables.get(name) for each in before)
    }
    return replace(state, variables={**state.variables, **changed}, status=None)


def _with_former(state: State, before: State, names: Collection[str]) -> State:
    """The state with the values of these variables from ``before``."""
    kept = {name: value for name, value in state.variables.items() if name not in names}
    kept |= {name: value for name, value in before.variables.items() if name in names}
    return replace(state, variables=kept)


def _local_names(body: Node) -> frozenset[str]:
    """The local variables of a function."""
    return frozenset(
        text_of(name)
        for declared in _declarations(body)
        for child in declared.children
        for name in [child.child_by_field_name("name") if child.type == "variable_assignment" else child]
        if name is not None and name.type == "variable_name"
    )


def _declarations(node: Node) -> Iterable[Node]:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type == "declaration_command" and each.children[0].type == "local":
            yield each
        waiting += each.children


def _operator(node: Node) -> str:
    return next((child.type for child in node.children if not child.is_named), "")


def _descriptor(node: Node) -> bool:
    """Whether a redirection is of another stream than standard output."""
    return any(child.type == "file_descriptor" and text_of(child) != "1" for child in node.children)


def _piped(node: Node) -> Node | None:
    return next((child for child in node.children if child.type == "pipeline"), None)
