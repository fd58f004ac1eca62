"""One half of a profile, bootstrap or provisioning: templates, then files (osm-behaviour.md, "Two renderings" and
"Consequences of two renderings").

Go profiles are rendered twice. The result of a template is text without ``{{`` for all usual profiles, and is then put
where a file names the template. If any result holds ``{{``, every file is parsed again together with all results, as
OSM does it for all. MachineDeployments that agree in the data that a template reads share its result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from types import NoneType
from typing import Any, Final, Protocol, TypeVar

from osm_gitops.gotemplate.compiled import JINJA, CompiledText, TextSource
from osm_gitops.gotemplate.engine import Engine, Program
from osm_gitops.gotemplate.expressions import ALL_FIELDS
from osm_gitops.gotemplate.faults import TemplateFault, TemplateFaults
from osm_gitops.gotemplate.nodes import Body, is_blank
from osm_gitops.gotemplate.sandbox import Helper, Sandbox, Values
from osm_gitops.gotemplate.values import Nil, Pointer, StringMap, Struct

REMEMBERED: Final = 256  # results per template or file: a fleet has fewer kinds of pools, and memory is bounded
REMEMBERED_SIZE: Final = 8 << 20  # characters of their texts, of the same reason
_TRIAL: Final = 64  # results in a row of which none was known: it is no use to remember more of them
_PAUSE: Final = 256  # results that are not remembered then, before the next trial
_MOST_TEXTS: Final = 2_000  # templates and files of an engine that profiles may share


Result = TypeVar("Result", str, "_Snippet")


@dataclass(slots=True)
class Memo:
    """Results of one template by the data that it reads; MachineDeployments that agree share a text, or a fault: a
    template that reaches a bound takes the most time of all.

    Some templates read what no two MachineDeployments have in common, such as a token. To remember their results takes
    as long as to render a small template, so the memo pauses when nothing that it has is asked for.
    """

    key: Callable[[Mapping[str, Any]], Any]
    results: dict[Any, Any] = field(default_factory=dict)
    size: int = 0
    useless: int = 0
    pause: int = 0

    def result(self, data: Mapping[str, Any], render: Callable[[], Result], parts: Sequence[_Snippet] = ()) -> Result:
        """The known result for this data and these parts, or what ``render`` returns; raises TemplateFault."""
        if self.pause:
            self.pause -= 1
            return render()
        key = (self.key(data), *parts) if parts else self.key(data)
        found: Result | TemplateFault | None = self.results.get(key)
        if found is None:
            found = self._keep(key, render)
        else:
            self.useless = 0
        if isinstance(found, TemplateFault):
            raise found.with_traceback(None)
        return found

    def _keep(self, key: Any, render: Callable[[], Result]) -> Result | TemplateFault:
        try:
            found: Result | TemplateFault = render()
        except TemplateFault as fault:
            found = fault.with_traceback(None)
        size = _size(found)
        if len(self.results) >= REMEMBERED or self.size + size > REMEMBERED_SIZE:
            # All of them: to look for the oldest in a dict takes longer each time that one was taken out.
            self.results.clear()
            self.size = 0
        self.results[key] = found
        self.size += size
        self.useless += 1
        if self.useless == _TRIAL:
            self.useless, self.pause = 0, _PAUSE
        return found


def _size(result: str | _Snippet | TemplateFault) -> int:
    return len(result.message) if isinstance(result, TemplateFault) else len(result)


def memo(reads: Iterable[str], root: Mapping[str, str]) -> Memo:
    """A memo for a template that reads these fields; ``*`` means all."""
    found = set(reads)
    names = sorted(root if ALL_FIELDS in found else found)
    return Memo(itemgetter(*names) if names else lambda _: ())


def freeze(value: Any) -> Any:
    """A hashable value that is equal for equal Go values of equal types."""
    kind = value.__class__
    if kind is Pointer:
        elem = value.elem
        return None if elem is None else (_freezing(elem.__class__)(elem),)
    return value if kind is str else _freezing(kind)(value)


@lru_cache(maxsize=256)
def _freezing(kind: type) -> Callable[[Any], Any]:
    """How values of a class are frozen."""
    if issubclass(kind, str | NoneType):
        return lambda value: value
    if issubclass(kind, Nil):
        return lambda _: Nil  # a nil slice or map differs from an empty one
    if issubclass(kind, int | float):
        return lambda value: (kind, value)
    if issubclass(kind, Pointer):
        return lambda value: None if value.elem is None else (freeze(value.elem),)
    if issubclass(kind, StringMap):
        return lambda value: tuple(value.items())
    if issubclass(kind, dict):
        return lambda value: tuple([(key, freeze(each)) for key, each in value.items()])
    if issubclass(kind, list):
        return lambda value: tuple([freeze(each) for each in value])
    if issubclass(kind, Struct):
        return lambda value: tuple([freeze(getattr(value, name)) for name in value.field_names()])
    message = f"a value of type {kind.__name__} cannot be template data"
    raise TypeError(message)


class _Frozen(dict[str, Any]):
    """Frozen values of the data's fields, created on first use; some may be ``known``."""

    def __init__(self, data: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        super().__init__(known)
        self._data = data

    def __missing__(self, name: str) -> Any:
        value = self._data[name]
        kind = type(value)
        found = self[name] = value if kind is str or kind is bool else freeze(value)
        return found


NOTHING_KNOWN: Final[Mapping[str, Any]] = {}


class Machine:
    """One MachineDeployment's data, in the forms that are needed, for both halves of its profile. ``known`` are frozen
    values of fields, such as those that all MachineDeployments of a cluster share."""

    def __init__(self, engine: Engine, data: Mapping[str, Any], known: Mapping[str, Any] = NOTHING_KNOWN) -> None:
        self._engine = engine
        self.data = data
        self._values: Values | None = None
        self.frozen = _Frozen(data, known)
        self.template = _TemplateFunction()

    def values(self) -> Values:
        if self._values is None:
            self._values = self._engine.variables(self.data)
            self._values["template"] = Helper(self.template)
        return self._values


def _undefined(name: str) -> str:
    raise TemplateFault(f'template "{name}" is not defined')


class _TemplateFunction:
    """``template("name")``: what prints a template of the half at hand. It does not hold its machine, as the data of
    tens of thousands would wait for Python's search for cycles then, which would take a sixth of the time."""

    __slots__ = ("printed",)

    def __init__(self) -> None:
        self.printed: Callable[[str], str] = _undefined

    def __call__(self, name: str, *_dot: Any) -> str:
        return self.printed(name)


_BLANK = " \t\r\n"
_QUOTED_ACTION = re.compile(r"[\"`][^\"`\n]*\{\{")
_TEMPLATE_TEXT = (
    'template("{name}") has {{{{ in its text, which OSM would execute; '
    '{{% include "{name}" %}} prints such text as it is'
)
_ORIGIN = 10_000_000  # lines of a combined template: its number of the source times this, plus the line


Page = TypeVar("Page", "_GoText", "_GoTemplate")


def compile_go_half(engine: Engine, templates: Mapping[str, str], files: Sequence[tuple[str, str]]) -> CompiledHalf:
    """A half of Go templates: ``templates`` by name, ``files`` as path and text. Raises TemplateFaults."""
    faults: list[TemplateFault] = []
    snippets = tuple(_parsed(engine, _GoTemplate, name, text, (), faults) for name, text in sorted(templates.items()))
    odd = any(is_odd(name) for name in templates)
    pages = []
    for path, text in files:
        page = _parsed(engine, _GoText, path, text, tuple(templates), faults)
        page.combined = odd or path in templates or any(name in templates for name in page.defines)
        pages.append(page)
    if faults:
        raise TemplateFaults(faults)
    return GoHalf(engine, snippets, tuple(pages), any(page.combined for page in pages))


def is_odd(name: str) -> bool:
    """Names with a special meaning inside of the quotes that OSM puts around them."""
    return any(char in name for char in '"\\\n')


def _parsed(
    engine: Engine, kind: type[Page], name: str, text: str, snippets: tuple[str, ...], faults: list[TemplateFault]
) -> Page:
    """The template or file, the same one for all profiles that have it among ``snippets`` of these names."""
    known: Page | None = engine.texts.get((kind, name, text, snippets))
    if known is not None:
        return known
    page = kind(engine, name, text, snippets)
    try:
        engine.check_length(text)
        if page.has_actions:
            page.saved = engine.known(TextSource(name, text, snippets))
            page.defines = page.saved.defines if page.saved else tuple(page.bodies())
        while len(engine.texts) >= _MOST_TEXTS:
            del engine.texts[next(iter(engine.texts))]
        engine.texts[kind, name, text, snippets] = page
    except TemplateFault as fault:
        fault.template = name
        faults.append(fault)
    return page


class _Snippet:
    """The result of a template, what ``{{ template "x" }}`` prints of it, and whether it is a template again. Results
    of files are known by these objects, so that long texts need not be hashed for each machine."""

    __slots__ = ("has_actions", "printed", "result")

    def __init__(self, result: str) -> None:
        self.result = result
        self.printed = _printed(result)
        self.has_actions = "{{" in result

    def __len__(self) -> int:
        return len(self.result)


@dataclass(slots=True)
class _GoText:
    """A Go template or file; translated and compiled when it is first rendered, unless it was ``saved`` by an earlier
    run. ``defines`` are the names of the templates in it."""

    engine: Engine
    name: str
    text: str
    snippets: tuple[str, ...]
    saved: CompiledText | None = None
    defines: tuple[str, ...] = ()
    parsed: dict[str, Body] | None = None
    combined: bool = False
    program: Program | None = None
    memo: Memo | None = None
    has_actions: bool = field(init=False)

    def __post_init__(self) -> None:
        self.has_actions = "{{" in self.text

    def bodies(self) -> dict[str, Body]:
        """Its definitions. Raises TemplateFault."""
        if self.parsed is None:
            self.parsed = self.engine.parse_traced(self.name, self.text)
        return self.parsed

    def compiled(self) -> tuple[Program, Memo]:
        program, known = self.program, self.memo
        if program is None:
            program = self.program = self._compile()
        if known is None:
            known = self.memo = memo(program.reads, self.engine.root)
        return program, known

    def _compile(self) -> Program:
        if self.saved is not None:
            return self.engine.program(self.name, self.saved)
        return self.engine.compile(self.engine.translate(self.name, self.bodies(), self.snippets), self.name)

    def render(self, machine: Machine, snippets: Mapping[str, _Snippet]) -> str:
        """The output of a text with actions for one MachineDeployment; ``snippets`` are the results of templates."""
        program, known = self.compiled()
        parts = [snippets[name] for name in program.includes] if program.includes else ()
        return known.result(machine.frozen, lambda: program.render(machine.values()), parts)


@dataclass(slots=True)
class _GoTemplate(_GoText):
    """One that files print. Without actions its result is ``literal``, the same for all."""

    literal: _Snippet | None = field(init=False)

    def __post_init__(self) -> None:
        _GoText.__post_init__(self)
        self.literal = None if self.has_actions else _Snippet(self.text)

    def snippet(self, machine: Machine) -> _Snippet:
        """The result of one with actions for one MachineDeployment."""
        program, known = self.compiled()
        return known.result(machine.frozen, lambda: _Snippet(program.render(machine.values())))


class CompiledHalf(Protocol):
    """Files that can be rendered for many MachineDeployments."""

    def render(self, data: Mapping[str, Any] | Machine) -> tuple[str, ...]:
        """The files' texts, in order; ``data`` has every field of the root. Raises TemplateFaults with all faults."""

    def reads(self) -> frozenset[str]:
        """The data's fields that any file may use, ``*`` for all. Raises TemplateFaults."""

    def reads_by_file(self) -> tuple[frozenset[str], ...]:
        """The data's fields that each file may use, in order. Raises TemplateFaults."""


def forget_results(engine: Engine) -> None:
    """Forget what was rendered from the Go templates and files of an engine, but not how to render them."""
    for page in engine.texts.values():
        page.memo = None


@dataclass(slots=True)
class GoHalf:
    """Two passes: what templates result in is known only with the data.

    ``combinations`` are the files parsed together with results, by those results; ``combined`` says that there are some
    for any results.
    """

    engine: Engine
    templates: tuple[_GoTemplate, ...]
    files: tuple[_GoText, ...]
    combined: bool
    combinations: dict[tuple[str, ...], tuple[_GoText, ...]] = field(default_factory=dict)
    _literals: dict[str, _Snippet] = field(init=False)
    _acting: tuple[_GoTemplate, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._literals = {each.name: each.literal for each in self.templates if each.literal is not None}
        self._acting = tuple(each for each in self.templates if each.has_actions)

    def render(self, data: Mapping[str, Any] | Machine) -> tuple[str, ...]:
        machine = data if isinstance(data, Machine) else Machine(self.engine, data)
        snippets, files, texts = self._literals.copy(), self.files, []
        everything = False
        faults: list[TemplateFault] = []
        for template in self._acting:
            try:
                found = snippets[template.name] = template.snippet(machine)
            except TemplateFault as fault:
                faults.append(fault)
            else:
                everything = everything or found.has_actions
        _raise(faults)
        machine.template.printed = lambda name: snippets[name].printed
        if everything or self.combined:
            results = tuple(snippets[template.name].result for template in self.templates)
            files = self._combined(results, everything=everything)
        for file in files:
            try:
                texts.append(file.render(machine, snippets) if file.has_actions else file.text)
            except TemplateFault as fault:
                faults.append(fault)
        _raise(faults)
        return tuple(texts)

    def reads(self) -> frozenset[str]:
        pages = [each for each in (*self.templates, *self.files) if each.has_actions]
        if self.combined or any(map(_prints_actions, pages)):
            return frozenset({ALL_FIELDS})
        programs = _all(lambda each: each.compiled()[0], pages)
        return frozenset[str]().union(*(program.reads for program in programs))

    def reads_by_file(self) -> tuple[frozenset[str], ...]:
        pages = [each for each in (*self.templates, *self.files) if each.has_actions]
        if self.combined or any(map(_prints_actions, pages)):
            return (frozenset({ALL_FIELDS}),) * len(self.files)
        parts = {each.name: each.compiled()[0] for each in self.templates if each.has_actions}
        return tuple(_reads(each.compiled()[0], parts) if each.has_actions else frozenset() for each in self.files)

    def _combined(self, results: tuple[str, ...], *, everything: bool) -> tuple[_GoText, ...]:
        """The files, those that need it parsed together with the results of all templates."""
        known = self.combinations.get(results)
        if known is None:
            known = _all(lambda each: self._combine(each, results) if everything or each.combined else each, self.files)
            # What is compiled from a text is much larger than the text.
            while self.combinations and (
                len(self.combinations) >= REMEMBERED
                or sum(len(text) for each in (*self.combinations, results) for text in each) > REMEMBERED_SIZE >> 3
            ):
                del self.combinations[next(iter(self.combinations))]
            self.combinations[results] = known
        return known

    def _combine(self, file: _GoText, results: tuple[str, ...]) -> _GoText:
        names = (file.name, *(each.name for each in self.templates))
        bodies = dict(file.bodies()) if file.has_actions else self.engine.parse(file.name, file.text)
        for number, result in enumerate(results, start=1):
            try:
                parsed = parse_result(self.engine, file.name, names[number], result, number * _ORIGIN - 1)
            except TemplateFault as fault:
                fault.template, fault.line = _origin(names, fault.line)
                raise
            for name, body in parsed.items():
                if name not in bodies or not is_blank(body):
                    bodies[name] = body
        return _Combined(self.engine, file.name, "{{", (), parsed=bodies, names=names)


def _prints_actions(page: _GoText) -> bool:
    """Whether its output may be template text, so that only the second pass knows what is read."""
    return _QUOTED_ACTION.search(page.text) is not None


def parse_result(engine: Engine, file: str, name: str, result: str, first_line: int = 1) -> dict[str, Body]:
    """The definition that OSM makes of a template's output for its second pass; raises TemplateFault."""
    return engine.parse(file, f'\n{{{{- define "{name}" }}}}\n{result}\n{{{{- end }}}}', first_line)


@dataclass(slots=True)
class _Combined(_GoText):
    """A file together with the results of all templates; ``names`` are where its lines come from."""

    names: tuple[str, ...] = ()

    def _compile(self) -> Program:
        translation = self.engine.translate(self.name, self.bodies())
        return self.engine.compile(translation, self.name, lambda line: _origin(self.names, line))


def _origin(names: tuple[str, ...], line: int) -> tuple[str, int]:
    number = (line + 1) // _ORIGIN
    return names[number], max(line - number * _ORIGIN, 1) if number else line


def _printed(result: str) -> str:
    """What ``{{ template "x" }}`` prints: OSM puts a line end before a result and trims it behind."""
    text = result.rstrip(_BLANK)
    return f"\n{text}" if text else ""


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _all(render: Callable[[Any], Any], items: Iterable[Any]) -> tuple[Any, ...]:
    """Apply to all items; raises TemplateFaults with every fault."""
    done = []
    faults: list[TemplateFault] = []
    for item in items:
        try:
            done.append(render(item))
        except TemplateFault as fault:
            faults.append(fault)
    _raise(faults)
    return tuple(done)


def _raise(faults: Sequence[TemplateFault]) -> None:
    """Raise TemplateFaults with all of them, if any; one that several files have is reported once."""
    different: dict[tuple[str, str, int], TemplateFault] = {}
    for fault in faults:
        different.setdefault((fault.message, fault.template, fault.line), fault)
    if different:
        raise TemplateFaults(different.values())


def compile_jinja_half(engine: Engine, templates: Mapping[str, str], files: Sequence[tuple[str, str]]) -> CompiledHalf:
    """A half of native Jinja2: one pass, ``templates`` can be included and imported. Raises TemplateFaults."""
    environment = engine.native(templates)
    programs = _all(lambda each: _compiled(engine, environment, *each), [*templates.items(), *files])
    parts = {program.name: program for program in programs[: len(templates)] if isinstance(program, Program)}
    engine.keep(environment, parts.values())
    pages: list[tuple[Program, Memo] | str] = []
    read: list[frozenset[str]] = []
    for program in programs[len(templates) :]:
        if isinstance(program, Program):
            fields = _reads(program, parts)
            read.append(fields)
            pages.append((program, memo(fields, engine.root)))
        else:
            read.append(frozenset())
            pages.append(program)
    return JinjaHalf(engine, environment, tuple(pages), tuple(read))


def _compiled(engine: Engine, environment: Sandbox, name: str, text: str) -> Program | str:
    """A template of native Jinja2, or its text where it holds nothing of Jinja2's, as most files do."""
    if JINJA.search(text):
        return engine.compile_native(environment, name, text)
    try:
        engine.check_length(text)
    except TemplateFault as fault:
        fault.template = name
        raise
    return text


def _reads(program: Program, parts: Mapping[str, Program]) -> frozenset[str]:
    """The data's fields that a file and all that it includes may use."""
    reads = set(program.reads)
    waiting, seen = list(program.includes), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name == ALL_FIELDS:
            waiting.extend(parts)
        elif name in parts:
            reads |= parts[name].reads
            waiting.extend(parts[name].includes)
    return frozenset(reads)


@dataclass(slots=True)
class JinjaHalf:
    """One pass; a text is shared by what its file and all that it includes read."""

    engine: Engine
    environment: Sandbox
    files: tuple[tuple[Program, Memo] | str, ...]
    read: tuple[frozenset[str], ...]

    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*self.read)

    def reads_by_file(self) -> tuple[frozenset[str], ...]:
        return self.read

    def render(self, data: Mapping[str, Any] | Machine) -> tuple[str, ...]:
        machine = data if isinstance(data, Machine) else Machine(self.engine, data)
        machine.template.printed = lambda name: self._printed(name, machine)
        try:
            return _all(lambda page: self._render(page, machine), self.files)
        finally:
            machine.template.printed = _undefined

    def _render(self, page: tuple[Program, Memo] | str, machine: Machine) -> str:
        if isinstance(page, str):
            return page
        program, known = page

        def text() -> str:
            text = program.render(machine.values())
            if not _is_encodable(text):
                raise TemplateFault("it prints half of a surrogate pair, which is no character", program.name)
            return text

        return known.result(machine.frozen, text)

    def _printed(self, name: str, machine: Machine) -> str:
        """``template("x")`` in Jinja2: the template x as a Go template's ``template`` would print it."""
        template = self.environment.get_template(name)
        context = template.new_context(machine.values(), shared=True)
        text = _printed(self.engine.collect(template.root_render_func(context)))
        if "{{" in text:
            raise TemplateFault(_TEMPLATE_TEXT.format(name=name))
        return text
