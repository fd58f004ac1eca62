"""A half of Go templates as native Jinja2 that people go on with (design.md, "One engine").

One pass replaces OSM's two passes. A template whose text is known to end in a line end becomes one that can be
included. One that prints template text of its own, always the same, becomes a macro in the files that name it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from jinja2 import nodes as jinja

from osm_gitops.gotemplate.assembly import is_odd, parse_result
from osm_gitops.gotemplate.emit import Translation, is_plain_dot
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFault, TemplateFaults
from osm_gitops.gotemplate.inspection import failing_calls
from osm_gitops.gotemplate.jinja_text import quoted
from osm_gitops.gotemplate.newlines import line_ended
from osm_gitops.gotemplate.nodes import Body, Call, If, Include, Node, Range, With, is_blank

T = TypeVar("T")

_ODD_NAME: Final = "OSM cannot put this name of a template between quotes, so every file fails; rename it"
_MAY_RUN_AGAIN: Final = (
    "it may print template text, which OSM executes in a second pass; Jinja2 has one pass, and rendering stops "
    "where that happens. Let the files that use it print the text themselves"
)
_MACRO: Final = (
    "it prints template text, which OSM executes in a second pass; the files that use it now have that as a macro, "
    "so this template can go"
)


@dataclass(frozen=True, slots=True)
class ConvertedHalf:
    """The Jinja2 texts: ``templates`` by name, ``files`` in the order given.

    ``remarks`` say what to look at by hand; their ``template`` is a template's name or a file's path.
    """

    templates: Mapping[str, str]
    files: tuple[str, ...]
    remarks: tuple[TemplateFault, ...]


def convert_half(engine: Engine, templates: Mapping[str, str], files: Sequence[tuple[str, str]]) -> ConvertedHalf:
    """Convert a half of Go templates: ``templates`` by name, ``files`` as path and text.

    Raises TemplateFaults with everything for which OSM would refuse the half whatever the data.
    """
    work = _Conversion(engine)
    parsed = {name: work.attempt(name, engine.parse, name, text) for name, text in templates.items()}
    pages = [work.attempt(path, engine.parse, path, text) for path, text in files]
    work.stop()
    for name, bodies in parsed.items():
        work.attempt(name, work.template, name, bodies or {})
    work.stop()
    named = zip(files, pages, strict=True)
    texts = [work.attempt(path, work.file, path, bodies or {}) for (path, _), bodies in named]
    work.stop()
    return ConvertedHalf(work.templates, tuple(text or "" for text in texts), tuple(work.remarks))


@dataclass(slots=True)
class _Conversion:
    """``results`` are the texts of templates that print template text; ``included`` those that can be included."""

    engine: Engine
    templates: dict[str, str] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    included: set[str] = field(default_factory=set)
    remarks: list[TemplateFault] = field(default_factory=list)
    faults: list[TemplateFault] = field(default_factory=list)

    def attempt(self, name: str, run: Callable[..., T], *arguments: object) -> T | None:
        """What ``run`` returns; a fault is kept for :meth:`stop`."""
        try:
            return run(*arguments)
        except TemplateFault as fault:
            fault.template = name
            self.faults.append(fault)
            return None

    def stop(self) -> None:
        if self.faults:
            raise TemplateFaults(self.faults)

    def template(self, name: str, bodies: Mapping[str, Body]) -> None:
        if is_odd(name):
            raise TemplateFault(_ODD_NAME)
        translation = self.engine.translate(name, bodies)
        constants = self.engine.environment.parse(translation.text).find_all(jinja.Const)
        if any(isinstance(each.value, str) and "{{" in each.value for each in constants):
            self.second_pass(name, translation)
        elif (ended := line_ended(bodies[name])) is not None:
            self.included.add(name)
            translation = self.engine.translate(name, {**bodies, name: ended})
        self.look_at(name, translation)
        self.templates[name] = translation.text

    def second_pass(self, name: str, translation: Translation) -> None:
        """Keep the text of a template that prints template text, if it is always the same."""
        if translation.reads:
            self.remarks.append(TemplateFault(_MAY_RUN_AGAIN, name))
            return
        result = self.engine.compile(translation, name).render(self.engine.variables({}))
        if "{{" in result:
            parse_result(self.engine, name, name, result)  # OSM fails in each file if it is not a template
            self.results[name] = result
            self.remarks.append(TemplateFault(_MACRO, name))

    def file(self, path: str, bodies: Mapping[str, Body]) -> str:
        bodies = dict(bodies)
        for name, result in self.results.items():
            for defined, body in parse_result(self.engine, path, name, result).items():
                if defined not in bodies or not is_blank(body):
                    bodies[defined] = body
        snippets = self.templates.keys() - self.results.keys()
        included = (self.included & snippets) - bodies.keys()
        bodies = {name: _with_includes(body, included) for name, body in bodies.items()}
        translation = self.engine.translate(path, bodies, snippets)
        self.look_at(path, translation)
        if path not in snippets:
            return translation.text
        # A template of the file's own name takes the place of the file, unless it prints nothing.
        named, mark = f"template({quoted(path)})", "+" if translation.text.startswith("\n") else ""
        return f"{{% if {named} | trim %}}{{{{ {named} }}}}{{% else {mark}%}}{translation.text}{{% endif %}}"

    def look_at(self, name: str, translation: Translation) -> None:
        """Remark what fails where it is reached."""
        tree = self.engine.environment.parse(translation.text)
        for call, _, message in failing_calls(self.engine, tree):
            self.remarks.append(TemplateFault(message, name, translation.lines.get(call.lineno, 0)))


def _with_includes(body: Body, included: Collection[str]) -> Body:
    """The body with includes in place of calls of such templates; a dot is nothing to them."""
    return tuple(_with_include(node, included) for node in body)


def _with_include(node: Node, included: Collection[str]) -> Node:
    match node:
        case If() | With() | Range():
            return replace(node, body=_with_includes(node.body, included), orelse=_with_includes(node.orelse, included))
        case Call(line, name, pipe) if name in included and (pipe is None or is_plain_dot(pipe)):
            return Include(line, name)
    return node
