"""What a template refers to and what would fail in it where it is reached, whatever the data: found without running it.

Flaws are looked for in Jinja2 alone: in Go templates by their translation, which has the same lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from typing import Final, TypeVar

from jinja2 import Environment, meta, nodes

from osm_gitops.gotemplate import nodes as go
from osm_gitops.gotemplate.emit import pipes
from osm_gitops.gotemplate.engine import EXPECTED, Engine, as_fault
from osm_gitops.gotemplate.expressions import Schema, method_names
from osm_gitops.gotemplate.faults import TemplateFault, similar
from osm_gitops.gotemplate.own_values import VALUE, VALUES

N = TypeVar("N", bound=nodes.Node)

_GUARDS: Final = frozenset(("default", "d"))
_REFERENCES: Final = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


class Flaw(Enum):
    """What kind of thing is wrong."""

    FAILS = "fails"
    REFUSED = "refused"
    UNDEFINED = "undefined"
    FIELD = "field"
    FILTER = "filter"
    MISSING = "missing"
    UNUSED = "unused"


@dataclass(frozen=True, slots=True)
class Flawed:
    """A flaw in a line (1-based, 0 where none is known) of a template: a file's path or a key of ``templates``."""

    flaw: Flaw
    template: str
    line: int
    message: str


def inspect_half(
    engine: Engine, templates: Mapping[str, str], files: Sequence[tuple[str, str]], *, native: bool
) -> Iterator[Flawed]:
    """All flaws of one half that compiles. A template that does not parse is passed over: compiling it says so."""
    if native:
        yield from _natives(engine, templates, files)
    else:
        for name, text in (*templates.items(), *files):
            try:
                yield from _go(engine, name, text, templates)
            except TemplateFault:
                continue
    yield from _unused(templates, files)


def failing_calls(engine: Engine, tree: nodes.Template) -> Iterator[tuple[nodes.Call, Flaw, str]]:
    """Calls of a translation that stop it where they are reached, each with a sentence."""
    for call in tree.find_all(nodes.Call):
        match call:
            case nodes.Call(node=nodes.Name(name="refused"), args=[nodes.Const(value=str(function))]):
                why = engine.language.refused[function]
                yield call, Flaw.REFUSED, f"it calls {function}, which is refused: {why}"
            case nodes.Call(node=nodes.Name(name="go_error"), args=[nodes.Const(value=str(error))]):
                yield call, Flaw.FAILS, f"where this is reached, rendering fails: {error}"


def _go(engine: Engine, name: str, text: str, templates: Mapping[str, str]) -> Iterator[Flawed]:
    translation = engine.translate(name, engine.parse(name, text), () if name in templates else tuple(templates))
    tree = engine.environment.parse(translation.text)
    for call, flaw, message in failing_calls(engine, tree):
        if "can't evaluate field" in message:
            flaw = Flaw.FIELD  # noqa: PLW2901
        elif message.endswith("is not defined"):
            flaw = Flaw.MISSING  # noqa: PLW2901
        yield Flawed(flaw, name, translation.lines.get(call.lineno, 0), message)
    ours = sorted(translation.lines)
    # For each of these lines the furthest line of the source that is in the translation up to it.
    furthest = list(accumulate((translation.lines[line] for line in ours), max, initial=0))
    for attribute, message in _unknown_fields(engine.language.schema, tree.find_all(nodes.Getattr)):
        yield Flawed(Flaw.FIELD, name, furthest[bisect_right(ours, attribute.lineno)], message)


@dataclass(slots=True)
class _Native:
    """One template of native Jinja2, and all of its nodes; ``lent`` are names that an including template may set."""

    engine: Engine
    tree: nodes.Template
    every: Sequence[nodes.Node]
    templates: Collection[str]
    lent: Collection[str] = ()

    def flaws(self) -> Iterator[tuple[Flaw, int, str]]:
        for attribute, message in _unknown_fields(self.engine.language.schema, _of(self.every, nodes.Getattr)):
            yield Flaw.FIELD, attribute.lineno, message
        yield from self.undefined()
        yield from self.unknown()
        for reference in self.every:
            if isinstance(reference, _REFERENCES):
                yield from self.missing(reference)

    def undefined(self) -> Iterator[tuple[Flaw, int, str]]:
        known = {*self.engine.environment.globals, *self.engine.root, "root", "template", *self.lent}
        names = meta.find_undeclared_variables(self.tree) - known - set(_tested(self.every))
        for name in _of(self.every, nodes.Name):
            if name.ctx == "load" and name.name in names:
                yield Flaw.UNDEFINED, name.lineno, f"{name.name} is not defined{similar(name.name, known)}"

    def unknown(self) -> Iterator[tuple[Flaw, int, str]]:
        environment = self.engine.environment
        for used in _of(self.every, nodes.Filter):
            if used.name not in environment.filters:
                yield Flaw.FILTER, used.lineno, _unknown("filter", used.name, environment.filters)
        for test in _of(self.every, nodes.Test):
            if test.name not in environment.tests:
                yield Flaw.FILTER, test.lineno, _unknown("test", test.name, environment.tests)

    def missing(self, reference: nodes.Node) -> Iterator[tuple[Flaw, int, str]]:
        if getattr(reference, "ignore_missing", False):
            return
        for name in meta.find_referenced_templates(nodes.Template([reference], lineno=reference.lineno)):
            if name is not None and name not in self.templates:
                message = f'there is no template "{name}" in this half of the profile{similar(name, self.templates)}'
                yield Flaw.MISSING, reference.lineno, message


def _natives(engine: Engine, templates: Mapping[str, str], files: Sequence[tuple[str, str]]) -> Iterator[Flawed]:
    found: list[tuple[str, bool, nodes.Template, Sequence[nodes.Node]]] = []
    environment = engine.native({})
    for shared, texts in ((True, templates.items()), (False, files)):
        for name, text in texts:
            try:
                tree = engine.read_native(environment, name, text) if "{" in text else None
            except TemplateFault:
                continue
            if tree is not None:
                found.append((name, shared, tree, tuple(tree.find_all(nodes.Node))))
    lent = {name for _, _, _, every in found for name in _assigned(every)}
    for name, shared, tree, every in found:
        for flaw, line, message in _Native(engine, tree, every, templates, lent if shared else ()).flaws():
            yield Flawed(flaw, name, line, message)


def _of(every: Iterable[nodes.Node], kind: type[N]) -> Iterator[N]:
    return (each for each in every if isinstance(each, kind))


def _assigned(every: Sequence[nodes.Node]) -> Iterator[str]:
    """Every name that a template with these nodes sets: one that it includes sees them."""
    yield from (each.name for each in _of(every, nodes.Name) if each.ctx in {"store", "param"})
    yield from (each.target for each in _of(every, nodes.Import))
    yield from (each.name for each in _of(every, nodes.Macro))
    for node in _of(every, nodes.FromImport):
        yield from (each if isinstance(each, str) else each[1] for each in node.names)


def _tested(every: Sequence[nodes.Node]) -> Iterator[str]:
    """Names whose absence a template with these nodes handles: ``x is defined``, ``x | default(…)``."""
    for test in _of(every, nodes.Test):
        if test.name in {"defined", "undefined"} and isinstance(test.node, nodes.Name):
            yield test.node.name
    for used in _of(every, nodes.Filter):
        if used.name in _GUARDS and isinstance(used.node, nodes.Name):
            yield used.node.name


def _unknown(what: str, name: str, known: Collection[str]) -> str:
    return f"there is no {what} {name}{similar(name, [each for each in known if not each.startswith('_')])}"


def _unknown_fields(schema: Schema, attributes: Iterable[nodes.Getattr]) -> Iterator[tuple[nodes.Getattr, str]]:
    """Fields of the data's records that are none, as far as types are known."""
    for attribute in attributes:
        owner = _type(schema, attribute.node)
        name = attribute.attr
        if owner and schema.is_struct(owner) and not schema.field(owner, name) and name not in method_names():
            known = schema.structs[owner.removeprefix("*")]
            where = _dotted(attribute.node)
            yield attribute, f"{where} has no field {name}{similar(name, known)}"


def _type(schema: Schema, node: nodes.Expr) -> str:
    if isinstance(node, nodes.Name):
        return schema.root.get(node.name, "") if node.ctx == "load" else ""
    return schema.field(_type(schema, node.node), node.attr) if isinstance(node, nodes.Getattr) else ""


def _dotted(node: nodes.Expr) -> str:
    if isinstance(node, nodes.Getattr):
        return f"{_dotted(node.node)}.{node.attr}"
    return node.name if isinstance(node, nodes.Name) else "this"


def _unused(templates: Mapping[str, str], files: Sequence[tuple[str, str]]) -> Iterator[Flawed]:
    """Templates whose name is not in quotes in any other text of the half."""
    for name in templates:
        others = (*(text for other, text in templates.items() if other != name), *(text for _, text in files))
        if not any(f"{quote}{name}{quote}" in text for text in others for quote in "\"'`"):
            yield Flawed(Flaw.UNUSED, name, 0, f'no file uses the template "{name}"')


def parsed(name: str, text: str) -> nodes.Template:
    """A text of native Jinja2 as its parser understands it. Raises TemplateFault where it cannot be parsed."""
    try:
        return _environment().parse(text, name, name)
    except EXPECTED as error:
        fault = as_fault(error)
        fault.template = fault.template or name
        raise fault from error


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Engine({}).native({})


ValuePath = tuple[str, ...]
"""The keys that lead to a value; the empty path means all values."""

_VALUE_NAMES: Final = (VALUES, VALUE)


@lru_cache(maxsize=4096)
def value_uses(text: str, *, native: bool) -> frozenset[ValuePath]:
    """Paths of values that a text may read: with each of them all that is below it.

    Of a path that is computed the part before is told. A text that does not parse may read all: its fault is told
    where it is compiled, and nothing else need be said.
    """
    if not any(hint in text for hint in _VALUE_NAMES):
        return frozenset()
    try:
        return frozenset(_native_paths(text) if native else _go_paths(text))
    except EXPECTED:
        return frozenset(((),))


def _native_paths(text: str) -> Iterator[ValuePath]:
    tree = parsed("text", text)
    inside: set[int] = set()  # names of a longer path, already yielded
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        found = _chain_path(node)
        if found is not None:
            path, root = found
            if id(root) not in inside:  # the outermost comes first
                inside.add(id(root))
                yield path
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == VALUE:
            inside.add(id(call.node))
            yield from map(_value_path, (*call.args[:1], *(each.value for each in call.kwargs if each.key == "path")))
    names = [name for name in tree.find_all(nodes.Name) if id(name) not in inside]
    own = {name.name for name in names if name.ctx != "load"}  # a variable of that name, not the function
    if any(name.name in {VALUES, VALUE} - own for name in names):
        yield ()


def _chain_path(node: nodes.Node) -> tuple[ValuePath, nodes.Node] | None:
    """``Values.a["b"]`` and ``root.Values.a["b"]`` as a path, up to a key that is computed."""
    keys: list[str | None] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        keys.append(node.attr if isinstance(node, nodes.Getattr) else _constant(node.arg))
        node = node.node
    if not isinstance(node, nodes.Name):
        return None
    keys.reverse()
    if node.name == "root" and keys[:1] == [VALUES]:
        keys = keys[1:]
    elif node.name != VALUES:
        return None
    known: list[str] = []
    for key in keys:
        if key is None:
            break
        known.append(key)
    return tuple(known), node


def _constant(node: nodes.Node) -> str | None:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def _value_path(node: nodes.Node) -> ValuePath:
    """The path that a call of ``value`` names; of ``"a.b." ~ c`` what is certain."""
    whole = _constant(node)
    if whole is not None:
        return tuple(whole.split("."))
    start = _constant_start(node)
    return tuple(start.split(".")[:-1])


def _constant_start(node: nodes.Node) -> str:
    """The constant text that an expression begins with."""
    if isinstance(node, nodes.Filter) and node.name == "_join" and node.node is not None:  # how the sandbox has ``~``
        node = node.node
    elif isinstance(node, nodes.Add):
        return _constant_start(node.left)
    return _constant(node) or ""


def _go_paths(text: str) -> Iterator[ValuePath]:
    for body in Engine({}).parse("text", text).values():
        for pipe, _ in pipes(body):
            for command in pipe.commands:
                yield from _command_paths(command)


def _command_paths(command: go.Command) -> Iterator[ValuePath]:
    first, args = command.first, command.args
    if first == go.Identifier("index") and args and _operand_path(args[0]) is not None:
        keys = [each.value if isinstance(each, go.String) else None for each in args[1:]]
        certain = keys[: keys.index(None)] if None in keys else keys
        yield (*(_operand_path(args[0]) or ()), *(key for key in certain if key is not None))
        return
    for operand in (first, *args):
        path = _operand_path(operand)
        if path is not None:
            yield path


def _operand_path(operand: go.Operand) -> ValuePath | None:
    """``.Values.a`` and ``$.Values.a``, whatever the dot or the variable is."""
    names: tuple[str, ...] = ()
    if isinstance(operand, go.Field | go.Variable | go.Chain):
        names = operand.names
    return names[1:] if names[:1] == (VALUES,) else None
