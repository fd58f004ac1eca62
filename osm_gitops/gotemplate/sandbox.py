"""The one Jinja2 environment: sandboxed, strict, bounded (design.md, "One engine").

Templates see Go values and this program's functions, nothing of Python: no attribute, no method, no call of anything
else. What could take unbounded time or memory counts against the budget of the rendering: no text, list or number that
an operator makes grows without end."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn

from jinja2 import Environment, Undefined, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import TemplateModule
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, TemplateReference
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, missing

from osm_gitops.gotemplate import access
from osm_gitops.gotemplate.bounds import TOKENS, budget, compared, new_bytes, text_bytes
from osm_gitops.gotemplate.faults import BoundExceeded, Refused, TemplateFault, similar
from osm_gitops.gotemplate.metering import meter
from osm_gitops.gotemplate.own_values import AbsentValue, absent_below
from osm_gitops.gotemplate.printing import to_text
from osm_gitops.gotemplate.tracing import Tracer
from osm_gitops.gotemplate.values import OwnMap, Pointer, Struct, go_type, pointed_to

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_LARGEST: Final = 1 << 63


def apply(symbol: str, left: Any, right: Any) -> Any:
    """``left symbol right`` for numbers, and ``+`` and ``*`` for texts and lists."""
    left, right = pointed_to(left), pointed_to(right)
    if _is_number(left) and _is_number(right):
        return _calculated(symbol, left, right)
    if symbol == "+" and any(isinstance(left, kind) and isinstance(right, kind) for kind in (str, list)):
        _check(len(left) + len(right), left)
        return _made(left + right)
    if symbol == "*" and isinstance(left, str | list) and _is_number(right):
        _check(len(left) * max(int(right), 0), left)
        return _made(left * right)
    raise TemplateFault(f"{symbol} does not work on values of the types {go_type(left)} and {go_type(right)}")


def join(*values: Any) -> str:
    """``~``: the printed values side by side."""
    texts = [to_text(each) for each in values]
    size = sum(map(len, texts))
    _check(size, "")
    return str(_made("".join(texts)))


def part(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """``value[start:stop:step]``."""
    if isinstance(value, Undefined):
        return value[start:stop:step]  # raises what it says about itself
    if not isinstance(value, str | list | tuple):
        raise TemplateFault(f"a value of the type {go_type(value)} has no parts that [:] could take")
    _check(len(value), value)
    return _made(value[start:stop:step])


def _check(length: int, like: Any) -> None:
    """Count a text or list of ``length`` before it is made: its size, and the time that copying takes."""
    spent = budget()
    spent.size(length)
    spent.step(length >> (12 if isinstance(like, str) else 8))


def _made(value: Any) -> Any:
    budget().make(new_bytes(value))
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _calculated(symbol: str, left: Any, right: Any) -> Any:
    if symbol == "**" and (abs(right) > 64 or abs(left) >= _LARGEST):
        raise BoundExceeded("the power would be a number of more than 64 bits")
    try:
        result = OPERATORS[symbol](left, right)
    except ZeroDivisionError:
        raise TemplateFault("division by zero") from None
    if isinstance(result, int) and not -_LARGEST <= result < _LARGEST:
        raise BoundExceeded("the result is a number of more than 64 bits")
    if isinstance(result, complex):
        raise TemplateFault("the root of a negative number")
    return result


_LOOP_PARTS = frozenset(
    (
        *("changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length"),
        *("nextitem", "previtem", "revindex", "revindex0"),
    )
)


class Root(Struct):
    """The whole data as one value: the initial ``.`` and ``$``. It contains addresses, so it is never printed."""

    go_type = "*resources.filesData"

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def field(self, name: str) -> Any:
        if name not in self.fields:
            raise TemplateFault(f"can't evaluate field {name}: there is none in the data{similar(name, self.fields)}")
        return self.fields[name]

    def field_names(self) -> NoReturn:
        raise Refused("the whole data cannot be printed or converted; use a field of it")

    def __getattr__(self, name: str) -> Any:
        if name == "__dataclass_fields__":  # what conversions ask a struct for
            self.field_names()
        raise AttributeError(name)


class Helper:
    """A function of ours that a template may call."""

    __slots__ = ("run",)

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)


class Values(dict[str, Any]):
    """What a template sees, by name."""

    __slots__ = ()

    def __missing__(self, _name: str) -> Any:
        return missing


class GoContext(Context):
    """Where a Go template looks names up: in its values alone, for its own variables are local to its code. It is made
    tens of thousands of times for a fleet, with what little of Jinja2's own such a template needs."""

    def __init__(self, environment: Environment, values: Values, name: str) -> None:
        self.parent = values
        self.vars = {}
        self.environment = environment
        self.eval_ctx = _EVALUATION
        self.exported_vars = set()
        self.name = name
        self.globals_keys = set()
        self.blocks = {}

    @property
    def resolve_or_missing(self) -> Callable[[str], Any]:
        return self.parent.__getitem__


class _Generator(CodeGenerator):
    """Jinja2's code generator without evaluating anything but literals while compiling.

    What prints a value gives a text already, so there is no ``str()`` around it. A text, as most values are, is printed
    without a call.
    """

    def _output_child_pre(self, _node: nodes.Expr, _frame: Frame, _finalize: Any) -> None:
        self.write("(_printed if (_printed := ")

    def _output_child_post(self, _node: nodes.Expr, _frame: Frame, finalize: Any) -> None:
        self.write(f").__class__ is str else {finalize.src}_printed))")

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if not isinstance(node, nodes.Const | nodes.TemplateData):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)


def bounded_concat(parts: Iterable[str]) -> str:
    """What macros and blocks join their output with."""
    parts = list(parts)
    spent = budget()
    spent.size(sum(map(len, parts)))
    if len(parts) == 1:
        return parts[0]
    text = "".join(parts)
    spent.make(text_bytes(text))
    return text


class Sandbox(ImmutableSandboxedEnvironment):
    """``native`` environments render Jinja2 that people wrote: operators look behind pointers there."""

    code_generator_class = _Generator
    intercepted_binops = frozenset(OPERATORS)
    concat = staticmethod(bounded_concat)
    native = False
    tracer: Tracer | None = None

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if self.native and len(source) > TOKENS:
            self._check_size(source, name)
        tree = super()._parse(source, name, filename)
        for refused in tree.find_all(nodes.ScopedEvalContextModifier):
            raise TemplateSyntaxError("autoescape is not supported", refused.lineno, name)
        meter(tree, native=self.native)
        if self.tracer is not None:
            self.tracer.native(name or "", tree)
        tree.set_environment(self)
        return tree

    def _check_size(self, source: str, name: str | None) -> None:
        """Refuse a text of too many words and signs before they are all kept at once."""
        for count, _ in enumerate(self.lexer.tokeniter(source, name)):
            if count >= TOKENS:
                raise BoundExceeded(f"it has more than {TOKENS} words and signs in its tags; make it smaller")

    def is_safe_attribute(self, _obj: Any, _attr: str, _value: Any) -> bool:
        return False

    def is_safe_callable(self, obj: Any) -> bool:
        return isinstance(obj, Helper | Macro | LoopContext | BlockReference)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if type(obj) is Helper:
            if kwargs:
                kwargs.pop("_loop_vars", None)  # what Jinja2 hands to functions that ask for the context
                kwargs.pop("_block_vars", None)
            return obj.run(*args, **kwargs)
        if isinstance(obj, Undefined):
            return obj(*args, **kwargs)
        if not self.is_safe_callable(obj):
            raise SecurityError("only functions and macros can be called")
        spent = budget()
        spent.step(len(args) + len(kwargs) >> 3)
        with spent.level():
            return context.call(obj, *args, **kwargs)

    def call_binop(self, _context: Context, operator: str, left: Any, right: Any) -> Any:
        return apply(operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Root):
            return obj.field(attribute)
        if isinstance(obj, Struct) or (isinstance(obj, Pointer) and not isinstance(obj.elem, dict)):
            return access.field(obj, (attribute,))
        return self._part(obj, attribute)

    def _part(self, obj: Any, attribute: str) -> Any:
        plain = obj.elem if isinstance(obj, Pointer) else obj
        found: Any = missing
        if isinstance(plain, dict):
            found = plain.get(attribute, missing)
        elif attribute.startswith("_") or isinstance(plain, AbsentValue):
            found = missing
        elif isinstance(obj, TemplateModule):
            found = vars(obj).get(attribute, missing)
        elif isinstance(obj, TemplateReference):
            found = _block(obj, attribute)
        elif isinstance(obj, Namespace) or (isinstance(obj, LoopContext) and attribute in _LOOP_PARTS):
            found = _loop_part(obj, attribute)
        elif attribute in getattr(obj, "methods", ()):
            found = access.field(obj, (attribute,))
        return self._absent(obj, plain, attribute) if found is missing else found

    def _absent(self, obj: Any, plain: Any, name: Any) -> Undefined:
        if isinstance(plain, OwnMap | AbsentValue):
            return absent_below(plain, str(name))
        return self.undefined(obj=obj, name=name)

    def getitem(self, obj: Any, argument: Any) -> Any:
        plain = obj.elem if isinstance(obj, Pointer) else obj
        if not isinstance(argument, str | int):
            compared(argument)
        if isinstance(plain, dict) or (isinstance(plain, list | tuple | str) and isinstance(argument, int)):
            try:
                return plain[argument]
            except (LookupError, TypeError):
                return self._absent(obj, plain, _shown(argument))
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        return self.undefined(obj=obj, name=_shown(argument))


_EVALUATION: Final = nodes.EvalContext(Sandbox())
"""The same for all, as no template can change it."""


def _shown(key: Any) -> Any:
    """A key as a message may name it: Python prints a value that is shared in it every time."""
    return key if isinstance(key, str | int | float) else f"a {type(key).__name__}"


def _loop_part(obj: Any, attribute: str) -> Any:
    found: Any = getattr(obj, attribute, missing)
    if attribute not in ("cycle", "changed") or not isinstance(obj, LoopContext):
        return found

    def called(*values: Any) -> Any:
        compared(*values)
        return found(*values)

    return Helper(called)


def _block(reference: TemplateReference, name: str) -> Any:
    try:
        return reference[name]
    except KeyError:
        return missing


def refuse_undefined(value: Undefined) -> NoReturn:
    """Raise what an undefined value says about itself."""
    str(value)
    raise UndefinedError("a value is undefined")
