"""Compiles templates and runs them (design.md, "One engine"): one engine for Go templates and native Jinja2."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from types import CodeType, TracebackType
from typing import Any, cast

from jinja2 import DictLoader, Environment, StrictUndefined, Template, TemplateError, meta, nodes
from jinja2.environment import TemplateModule
from jinja2.exceptions import TemplateNotFound, TemplateSyntaxError, UndefinedError
from jinja2.runtime import Context

from osm_gitops.gocompat.fault import GoError
from osm_gitops.gotemplate.bounds import MEMBER_BYTES, Bounds, Spending, budget, text_bytes
from osm_gitops.gotemplate.compiled import Compiled, CompiledText, TextSource
from osm_gitops.gotemplate.emit import Language, Translation, translate
from osm_gitops.gotemplate.expressions import ALL_FIELDS, schema
from osm_gitops.gotemplate.faults import BoundExceeded, TemplateFault
from osm_gitops.gotemplate.functions import FUNCTIONS, REFUSED
from osm_gitops.gotemplate.nodes import Body
from osm_gitops.gotemplate.own_values import VALUE, VALUES, Told, ValueNotSet, absence, lookup, own_values, to_nobody
from osm_gitops.gotemplate.parser import parse
from osm_gitops.gotemplate.sandbox import GoContext, Helper, Root, Sandbox, Values
from osm_gitops.gotemplate.toolbox import filters, finalize, globals_, tests
from osm_gitops.gotemplate.tracing import Tracer

IMPORTED_LATER = ("jinja2.debug", "jinja2.ext")
"""What Jinja2 imports late, and a process that may open no files must have imported before."""

EXPECTED = (
    TemplateFault,
    TemplateError,
    GoError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What Python, Jinja2 and Go's functions raise for a template that is wrong."""

# A setting beyond could overflow the stack of the process. Python 3.12 and 3.13 have a limit of their own that nothing
# can raise: 1,500 calls from C before 3.12.3, 10,000 since. A level takes four or more.
_DEEPEST = 3_000 if not (3, 12) <= sys.version_info < (3, 14) else 2_000 if sys.version_info >= (3, 12, 3) else 300
_FRAMES_PER_LEVEL = 10
_SPARE_FRAMES = 5_000
_PARTS = 100
"""The parts of an output that are taken at once, before their length is looked at."""


class _CountedTemplate(Template):
    """A native template: including it counts as a level, so that no chain of includes is endless."""

    @classmethod
    def _from_namespace(cls, *args: Any) -> Template:
        template = super()._from_namespace(*args)
        run = template.root_render_func

        def counted(context: Any) -> Iterator[str]:
            with budget().level():
                yield from run(context)

        template.root_render_func = counted
        return template

    def _get_default_module(self, _context: Context | None = None) -> TemplateModule:
        """The module of an import, made once in each rendering: none sees what another changed in it or paid for it."""
        known = budget().modules
        found = known.get(self)
        if found is None:
            found = known[self] = self.make_module()
        return cast("TemplateModule", found)

    def make_module(self, *args: Any, **kwargs: Any) -> TemplateModule:
        """What an import names; the text that the template prints besides is held with it."""
        made = super().make_module(*args, **kwargs)
        names = len(vars(made)) + sum(len(each) for each in args if isinstance(each, Mapping))
        budget().make(MEMBER_BYTES * names + sum(map(text_bytes, made._body_stream)))
        return made


class _Snippets(DictLoader):
    """The templates of a half: what was compiled for its faults and reads is not compiled again to be included."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self.compiled: dict[str, Template] = {}

    def load(self, environment: Environment, name: str, seen: MutableMapping[str, Any] | None = None) -> Template:
        return self.compiled.get(name) or super().load(environment, name, seen)


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled template.

    ``reads`` are the data's fields that it may use, ``*`` for all; ``includes`` the snippets.
    ``places`` turns a line of the Jinja2 text into the name of a template and a line of it. ``go``: it was translated.
    """

    name: str
    template: Template
    places: Callable[[int], tuple[str, int]]
    reads: frozenset[str]
    includes: frozenset[str]
    engine: Engine
    go: bool = False

    def render(self, values: Values) -> str:
        """The template's output; ``values`` come from :meth:`Engine.variables`. Raises TemplateFault."""
        template = self.template
        environment = template.environment
        with Spending(self.engine.bounds):
            try:
                if self.go:
                    context: Context = GoContext(environment, values, self.name)
                else:
                    context = environment.context_class(environment, values, self.name, template.blocks)
                return self.engine.collect(template.root_render_func(context))
            except EXPECTED as error:
                raise self.fault(error) from error

    def fault(self, error: Exception) -> TemplateFault:
        name, line = _jinja_place(error.__traceback__)
        found = as_fault(error)
        if not found.template:
            origin, found.line = self.places(line) if name == self.name else (name or self.name, line)
            found.template = origin
        return found


@dataclass
class Engine:
    """``root`` names the data's fields with Go's types; compiled templates are shared by all MachineDeployments.

    ``values`` are a user's own, JSON as overlays give it, the same for everything that this engine renders; ``told``
    hears which of them templates ask for with ``value``. With a ``tracer`` all output bears its marks, which tell
    where a line came from. ``texts`` are the Go templates and files that were parsed, by class, name, text and the
    names of templates that they may print: custom profiles differ from each other in few of them. ``compiled`` are
    texts that an engine with the same bounds has compiled before, without a tracer.
    """

    root: Mapping[str, str]
    bounds: Bounds = field(default_factory=Bounds)
    values: Mapping[str, Any] = field(default_factory=dict)
    told: Told = to_nobody
    tracer: Tracer | None = None
    texts: dict[tuple[type, str, str, tuple[str, ...]], Any] = field(default_factory=dict, repr=False)
    compiled: Compiled = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.language = Language(FUNCTIONS, REFUSED, schema({**self.root, VALUES: ""}))
        self.names = frozenset({*FUNCTIONS, *REFUSED, "and", "or"})
        self.own = own_values(self.values)
        self.environment = _environment()
        self.environment.globals |= {VALUES: self.own, VALUE: Helper(lookup(self.own, self.told))}
        self.bounds = replace(self.bounds, depth=min(self.bounds.depth, _DEEPEST))
        needed = self.bounds.depth * _FRAMES_PER_LEVEL + _SPARE_FRAMES
        sys.setrecursionlimit(max(sys.getrecursionlimit(), needed))

    def variables(self, data: Mapping[str, Any]) -> Values:
        """What the templates of one MachineDeployment see."""
        fields = {**data, VALUES: self.own}
        values = Values(self.environment.globals)
        values.update(fields)
        values["root"] = Root(fields)
        return values

    def parse(self, name: str, text: str, first_line: int = 1) -> dict[str, Body]:
        """Parse a Go template; raises TemplateFault."""
        return parse(name, text, self.names, first_line)

    def parse_traced(self, name: str, text: str) -> dict[str, Body]:
        """As :meth:`parse`, with marks where there is a tracer."""
        bodies = self.parse(name, text)
        tracer = self.tracer
        return bodies if tracer is None else {each: tracer.go(name, body) for each, body in bodies.items()}

    def translate(self, main: str, bodies: Mapping[str, Body], snippets: Collection[str] = ()) -> Translation:
        """A Go template as Jinja2 source text."""
        return translate(main, bodies, self.language, snippets=snippets)

    def compile(
        self,
        translation: Translation,
        name: str,
        places: Callable[[int], tuple[str, int]] | None = None,
    ) -> Program:
        """Compile a translated template; ``places`` turns its lines into a template's name and line."""
        return self.program(name, self._compile_go(translation, name), places)

    def program(
        self, name: str, compiled: CompiledText, places: Callable[[int], tuple[str, int]] | None = None
    ) -> Program:
        """A compiled Go template, ready to run."""

        def place(line: int) -> tuple[str, int]:
            source = compiled.lines.get(line, 0)
            return places(source) if places else (name, source)

        template = self.load(self.environment, compiled.code)
        return Program(name, template, place, compiled.reads, compiled.includes, self, go=True)

    def known(self, source: TextSource) -> CompiledText | None:
        """The text, if it was compiled before."""
        saved = self.compiled.get(source)
        return None if saved is None else CompiledText.load(saved)

    def compile_text(self, source: TextSource) -> CompiledText:
        """Compile a text without running anything of it; raises TemplateFault."""
        self.check_length(source.text)
        if source.jinja:
            return self._compile_native(self.native({}), source.name, source.text)
        bodies = self.parse(source.name, source.text)
        translation = self.translate(source.name, bodies, source.snippets)
        return self._compile_go(translation, source.name, tuple(bodies))

    def _compile_go(self, translation: Translation, name: str, defines: tuple[str, ...] = ()) -> CompiledText:
        code = self.code(self.environment, translation.text, name)
        return CompiledText(code, translation.lines, translation.reads, translation.includes, defines)

    def native(self, templates: Mapping[str, str]) -> Sandbox:
        """An environment for native Jinja2 in which ``templates`` can be included and imported."""
        environment = self.environment.overlay(loader=_Snippets(dict(templates)))
        assert isinstance(environment, Sandbox)
        environment.native = True
        environment.tracer = self.tracer
        environment.template_class = _CountedTemplate
        return environment

    def compile_native(self, environment: Sandbox, name: str, text: str) -> Program:
        """Compile native Jinja2; its includes are all templates when a name is computed."""
        compiled = self.known(TextSource(name, text, (), jinja=True)) or self._compile_native(environment, name, text)
        template = self.load(environment, compiled.code)
        return Program(name, template, lambda line: (name, line), compiled.reads, compiled.includes, self)

    def _compile_native(self, environment: Sandbox, name: str, text: str) -> CompiledText:
        tree = self.read_native(environment, name, text)
        code = self.code(environment, tree, name)
        referenced = list(meta.find_referenced_templates(tree))
        names = meta.find_undeclared_variables(tree)
        includes = {ALL_FIELDS} if None in referenced else {each for each in referenced if each}
        if "template" in names:
            includes.add(ALL_FIELDS)
        found = frozenset({ALL_FIELDS} if "root" in names else names & set(self.root))
        return CompiledText(code, {}, found, frozenset(includes))

    def keep(self, environment: Sandbox, programs: Iterable[Program]) -> None:
        """Include these, which are named as the environment's templates are, as they were compiled."""
        assert isinstance(environment.loader, _Snippets)
        environment.loader.compiled.update({program.name: program.template for program in programs})

    def read_native(self, environment: Sandbox, name: str, text: str) -> nodes.Template:
        """The syntax tree of a native Jinja2 template. Raises TemplateFault."""
        with _faults_of(name):
            return environment.parse(text, name, name)

    def code(self, environment: Sandbox, source: str | nodes.Template, name: str) -> CodeType:
        """Python's code for Jinja2. Raises TemplateFault."""
        with _faults_of(name):
            return environment.compile(source, name, name)

    def load(self, environment: Sandbox, code: CodeType) -> Template:
        """The template that was compiled into ``code``."""
        return environment.template_class.from_code(environment, code, environment.globals)

    def collect(self, parts: Iterator[str]) -> str:
        """Join output, stopping as soon as it is too long."""
        limit, length = self.bounds.output_bytes, 0
        collected = more = list(islice(parts, _PARTS))
        while len(more) == _PARTS:
            length += sum(map(len, more))
            if length > limit:
                break
            more = list(islice(parts, _PARTS))
            collected += more
        text = "".join(collected)
        self.check_length(text)
        return text

    def check_length(self, text: str) -> None:
        """Refuse a text of too many bytes; raises BoundExceeded."""
        limit = self.bounds.output_bytes
        if len(text) > limit // 4 and len(text.encode("utf-8", "surrogatepass")) > limit:
            raise BoundExceeded(
                f"its output is longer than {limit} bytes; make it shorter, or raise --max-output-bytes"
            )


@contextmanager
def _faults_of(name: str) -> Iterator[None]:
    """Raise what is expected to go wrong with a template as a TemplateFault that names it."""
    try:
        yield
    except EXPECTED as error:
        found = as_fault(error)
        found.template = found.template or name
        raise found from error


def _environment() -> Sandbox:
    environment = Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        undefined=StrictUndefined,
        finalize=finalize,
        optimized=False,
        cache_size=-1,
        extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"],
    )
    environment.filters = filters(FUNCTIONS)
    environment.globals = globals_(FUNCTIONS, REFUSED)
    environment.tests |= tests()
    return environment


def as_fault(error: BaseException) -> TemplateFault:
    """Any expected error as a fault, without values of the data where Python put some in."""
    match error:
        case TemplateFault():
            return error
        case TemplateSyntaxError():
            return TemplateFault(_sentence(error.message), error.name or "", error.lineno)
        case TemplateNotFound():
            return TemplateFault(f"there is no template {error.name!r} in this profile")
        case ValueNotSet():
            return absence(error.message or "a value is not set")
        case UndefinedError():
            # Python's names of classes tell a reader of the template nothing.
            said = re.sub(r"'(?:builtins|osm_gitops)[\w.]* object'", "the value", _sentence(error.message))
            return TemplateFault(f"{said}; give it a value with `| default(…)`")
        case RecursionError() | MemoryError() | SyntaxError():
            where = "for the template compiler" if isinstance(error, SyntaxError) else "or needs too much memory"
            return BoundExceeded(f"it is nested too deeply {where}; make it simpler")
        case TemplateError() | GoError():
            return TemplateFault(_sentence(str(error)))
        case TypeError():
            return TemplateFault(f"an operation does not fit its values: {error}")
    return TemplateFault(f"an operation fails on its values ({type(error).__name__})")


def _sentence(message: str | None) -> str:
    return (message or "the template is not valid").rstrip(".")


def _jinja_place(traceback: TracebackType | None) -> tuple[str, int]:
    """The innermost template in a traceback, and its line."""
    found = ("", 0)
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, Template):
            found = (template.name or "", template.get_corresponding_lineno(traceback.tb_lineno))
        traceback = traceback.tb_next
    return found
