"""What would fail in a template where it is reached, whatever the data: found without running it.

Both languages are looked at as Jinja2: Go templates in their translation, which has the same lines.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Final

from jinja2 import meta, nodes

from osm_gitops.gotemplate.emit import Translation
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFault
from osm_gitops.gotemplate.hints import similar
from osm_gitops.gotemplate.statics import Schema, method_names

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
        yield Flawed(_kind(flaw, message), name, translation.lines.get(call.lineno, 0), message)
    source_line = _source_lines(translation)
    for attribute, message in _unknown_fields(engine.language.schema, tree):
        yield Flawed(Flaw.FIELD, name, source_line(attribute.lineno), message)


def _kind(flaw: Flaw, message: str) -> Flaw:
    if "can't evaluate field" in message:
        return Flaw.FIELD
    return Flaw.MISSING if message.endswith("is not defined") else flaw


def _source_lines(translation: Translation) -> Callable[[int], int]:
    """The furthest line of the source that is in the translation up to a line of it."""
    ours = sorted(translation.lines)
    furthest = list(accumulate((translation.lines[line] for line in ours), max, initial=0))
    return lambda line: furthest[bisect_right(ours, line)]


@dataclass(slots=True)
class _Native:
    """One template of native Jinja2; ``lent`` are names that whoever includes it may have set."""

    engine: Engine
    tree: nodes.Template
    templates: Collection[str]
    lent: Collection[str] = ()

    def flaws(self) -> Iterator[tuple[Flaw, int, str]]:
        for attribute, message in _unknown_fields(self.engine.language.schema, self.tree):
            yield Flaw.FIELD, attribute.lineno, message
        yield from self.undefined()
        yield from self.unknown()
        for reference in self.tree.find_all(_REFERENCES):
            yield from self.missing(reference)

    def undefined(self) -> Iterator[tuple[Flaw, int, str]]:
        known = {*self.engine.environment.globals, *self.engine.root, "root", "template", *self.lent}
        names = meta.find_undeclared_variables(self.tree) - known - set(_tested(self.tree))
        for name in self.tree.find_all(nodes.Name):
            if name.ctx == "load" and name.name in names:
                yield Flaw.UNDEFINED, name.lineno, f"{name.name} is not defined{similar(name.name, known)}"

    def unknown(self) -> Iterator[tuple[Flaw, int, str]]:
        environment = self.engine.environment
        for used in self.tree.find_all(nodes.Filter):
            if used.name not in environment.filters:
                yield Flaw.FILTER, used.lineno, _unknown("filter", used.name, environment.filters)
        for test in self.tree.find_all(nodes.Test):
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
    trees: list[tuple[str, bool, nodes.Template]] = []
    environment = engine.native({})
    for shared, texts in ((True, templates.items()), (False, files)):
        for name, text in texts:
            try:
                trees += [(name, shared, engine.read_native(environment, name, text))] if "{" in text else []
            except TemplateFault:
                continue
    lent = {name for _, _, tree in trees for name in _assigned(tree)}
    for name, shared, tree in trees:
        for flaw, line, message in _Native(engine, tree, templates, lent if shared else ()).flaws():
            yield Flawed(flaw, name, line, message)


def _assigned(tree: nodes.Template) -> Iterator[str]:
    """Every name that the template sets: one that it includes sees them."""
    yield from (each.name for each in tree.find_all(nodes.Name) if each.ctx in {"store", "param"})
    yield from (each.target for each in tree.find_all(nodes.Import))
    yield from (each.name for each in tree.find_all(nodes.Macro))
    for node in tree.find_all(nodes.FromImport):
        yield from (each if isinstance(each, str) else each[1] for each in node.names)


def _tested(tree: nodes.Template) -> Iterator[str]:
    """Names whose absence the template reckons with: ``x is defined``, ``x | default(…)``."""
    for test in tree.find_all(nodes.Test):
        if test.name in {"defined", "undefined"} and isinstance(test.node, nodes.Name):
            yield test.node.name
    for used in tree.find_all(nodes.Filter):
        if used.name in _GUARDS and isinstance(used.node, nodes.Name):
            yield used.node.name


def _unknown(what: str, name: str, known: Collection[str]) -> str:
    return f"there is no {what} {name}{similar(name, [each for each in known if not each.startswith('_')])}"


def _unknown_fields(schema: Schema, tree: nodes.Template) -> Iterator[tuple[nodes.Getattr, str]]:
    """Fields of the data's records that are none, as far as types are known."""
    for attribute in tree.find_all(nodes.Getattr):
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
    """Templates whose name stands in quotes in no other text of the half."""
    for name in templates:
        others = (*(text for other, text in templates.items() if other != name), *(text for _, text in files))
        if not any(f"{quote}{name}{quote}" in text for text in others for quote in "\"'`"):
            yield Flawed(Flaw.UNUSED, name, 0, f'no file uses the template "{name}"')
