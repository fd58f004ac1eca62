"""What a template can call: the functions of Go templates, as Jinja2 filters and globals.

A filter gets its subject first (``x | indent(4)``), a global takes Go's order (``indent(4, x)``). Ours win where Jinja2
has a filter of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from typing import Any, NoReturn, cast

from jinja2 import Environment, Undefined, pass_environment
from jinja2.filters import FILTERS, make_attrgetter
from jinja2.runtime import LoopContext
from jinja2.tests import TESTS
from jinja2.utils import Namespace

from osm_gitops.gotemplate import access
from osm_gitops.gotemplate.bounds import (
    ITEM_BYTES,
    LIST_BYTES,
    MEMBER_BYTES,
    Budget,
    budget,
    compared,
    new_bytes,
    text_bytes,
    weigh,
)
from osm_gitops.gotemplate.calls import GoFunction, bind
from osm_gitops.gotemplate.compare import sorted_keys
from osm_gitops.gotemplate.faults import Refused, TemplateFault
from osm_gitops.gotemplate.metering import COMPARED, ITERATED, JOIN, KEY, PASSED, PLAIN, SLICE, STEP
from osm_gitops.gotemplate.printing import to_text
from osm_gitops.gotemplate.sandbox import Helper, Root, apply, join, part, refuse_undefined
from osm_gitops.gotemplate.tracing import MARKED
from osm_gitops.gotemplate.values import NO_VALUE, NoValue, Pointer, Struct, pointed_to

# Jinja2's own filters that are deterministic, bounded by their input, and no way out of the sandbox.
_KEPT_FILTERS = (
    *("abs", "capitalize", "count", "dictsort", "float", "groupby", "items", "length", "map"),
    *("reject", "rejectattr", "select", "selectattr", "sort", "sum", "truncate", "unique", "urlencode", "wordcount"),
)
# Filters that compare, sort or hash elements, or print them.
_TEXT_FILTERS = frozenset({"capitalize", "truncate", "wordcount"})
_SHALLOW = frozenset(
    (
        *("abs", "count", "float", "items", "length", "map"),
        *("reject", "rejectattr", "select", "selectattr", "sum"),
    )
)
_SORTING = frozenset({"dictsort", "groupby", "sort"})
# Tests that compare their subject with an argument, or print it.
_COMPARING_TESTS = (
    *("eq", "==", "equalto", "ne", "!=", "lt", "<", "lessthan", "gt", ">", "greaterthan", "ge", ">=", "le", "<="),
    *("in", "lower", "upper"),
)
# Functions that process a text in C; others process characters one by one.
_QUICK = frozenset(
    (
        *("adler32sum", "b64enc", "base", "cat", "clean", "coalesce", "contains", "default", "dict", "dir", "empty"),
        *("eq", "ext", "fail", "get", "hasKey", "hasPrefix", "hasSuffix", "indent", "index", "isAbs", "join", "len"),
        *("list", "lower", "ne", "nindent", "print", "println", "repeat", "replace", "set", "sha1sum", "sha256sum"),
        *("sha512sum", "split", "splitList", "splitn", "substr", "ternary", "toString", "trim", "trimPrefix"),
        *("trimSuffix", "trunc", "upper"),
    )
)
# Functions that look at every character more than once.
_SLOWEST = frozenset({"kebabcase", "snakecase"})
_QUICK_CHARS = 8  # binary logarithms of the characters that count as a step
_SLOW_CHARS = 4
_SLOWEST_CHARS = 2
_ITEMS = 2  # and of the elements
_ITERATED = 5  # and of those that a loop may run over, which takes a step for each one besides
# Functions that return an argument or a part of it, or that count the size of their result themselves.
_NOTHING_NEW = frozenset(
    (
        *("coalesce", "default", "deepCopy", "dig", "first", "get", "index", "last", "mustDeepCopy", "mustFirst"),
        *("mustLast", "ternary"),
    )
)
# Functions that hand a value on without looking into it.
_FOR_ROOT = frozenset(
    (
        *("all", "any", "append", "coalesce", "default", "dict", "empty", "get", "list"),
        *("not", "prepend", "push", "set", "ternary", "tuple"),
    )
)
_SCALARS = frozenset({"bool", "float64", "int", "int64"})
_SIZED = (list, dict, range)
_PLAIN_NUMBERS = frozenset({bool, int})
_PRINTABLE = (str, int, float, list, dict, Pointer, Struct, NoValue, type(None))
# Functions for absent values.
_FOR_ABSENT = frozenset({"default", "coalesce", "empty", "all", "any"})


def filters(functions: Mapping[str, GoFunction]) -> dict[str, Callable[..., Any]]:
    """All filters of the environment."""
    kept = {name: _charging(name, FILTERS[name]) for name in _KEPT_FILTERS} | {"sum": _sum}
    ours = {name: _filter(function) for name, function in functions.items()}
    return {**kept, "d": ours.get("default", _absent), "string": print_go, **ours, **_HELPERS, **_INTERNAL}


def tests() -> dict[str, Callable[..., Any]]:
    """The environment's tests that differ from Jinja2's own."""
    return {
        **{name: _comparing(cast("Callable[..., Any]", TESTS[name])) for name in _COMPARING_TESTS},
        "none": is_absent,
    }


def globals_(functions: Mapping[str, GoFunction], refused: Mapping[str, str]) -> dict[str, Any]:
    """All globals of the environment."""
    ours = {name: Helper(_global(function)) for name, function in functions.items()}
    refusals = {name: Helper(partial(_refuse, refused, name)) for name in refused}
    return {
        "namespace": Helper(_namespace),
        "range": Helper(_range),
        **refusals,
        **ours,
        "nil": NO_VALUE,
        "go_error": Helper(_error),
        "refused": Helper(partial(_refuse, refused)),
    }


def print_go(value: Any) -> str:
    """Print a value as Go does, absent ones too."""
    if type(value) is str:
        return value
    _charge((value,), absent=False)
    if isinstance(value, tuple | range):
        value = list(value)
    if not isinstance(value, _PRINTABLE):
        raise TemplateFault("a function or macro cannot be printed; call it")
    return to_text(value)


def finalize(value: Any) -> str:
    """Print a value of ``{{ … }}``; one that is absent is an error (design.md, "One engine")."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is Pointer and value.elem is not None:
        budget().step()
        value = value.elem
        return value if type(value) is str else to_text(value)
    if kind in _PLAIN_NUMBERS:
        budget().step()
        return to_text(value)
    if isinstance(value, Undefined):
        refuse_undefined(value)
    if is_absent(value):
        _absent()
    return print_go(value)


def is_absent(value: Any) -> bool:
    """Whether there is nothing to print: nil, no value, a nil pointer."""
    return value is None or value is NO_VALUE or (isinstance(value, Pointer) and value.elem is None)


def _absent(*_args: Any) -> NoReturn:
    raise TemplateFault("there is no value to print; give one with `| default(…)`, or test it with `{% if … %}`")


def _charge(args: tuple[Any, ...], *, absent: bool, chars: int = _QUICK_CHARS) -> Budget:
    """Count a call against the budget, long values more; undefined values are for few functions only."""
    cost = 1 + (len(args) >> _ITEMS)
    for each in args:
        if isinstance(each, str):
            cost += len(each) >> chars
        elif isinstance(each, _SIZED):
            cost += len(each) >> _ITEMS
        elif isinstance(each, tuple):
            cost += weigh(each) >> 1
        elif isinstance(each, Undefined) and not absent:
            refuse_undefined(each)
    spent = budget()
    spent.step(cost)
    return spent


def _global(function: GoFunction) -> Callable[..., Any]:
    run, absent, whole = bind(function), function.name in _FOR_ABSENT, function.name in _FOR_ROOT
    chars = _QUICK_CHARS if function.name in _QUICK else _SLOW_CHARS
    if function.name in _SLOWEST:
        chars = _SLOWEST_CHARS
    counted = function.returns not in _SCALARS and function.name not in _NOTHING_NEW

    def called(*args: Any) -> Any:
        spent = _charge(args, absent=absent, chars=chars)
        if not whole and Root in [type(each) for each in args]:
            raise Refused(f"the function {function.name} is refused for the whole data; give it a field")
        if absent:
            args = tuple([NO_VALUE if isinstance(each, Undefined) else each for each in args])
        result = run(args)
        if counted:
            if type(result) is str:
                spent.make(text_bytes(result))
            elif not any(result is each for each in args):
                spent.make(new_bytes(result))
        return result

    return called


def _filter(function: GoFunction) -> Callable[..., Any]:
    called = _global(function)

    def piped(subject: Any, *args: Any) -> Any:
        return called(*args, subject)

    return piped


def _charging(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """A filter of Jinja2's own, with a list for what it would compute later, and for values behind pointers;
    ``wraps`` keeps its marks. What it may do with an element counts for every one of them."""
    first = int(getattr(run, "jinja_pass_arg", None) is not None)  # behind the context or the environment

    @wraps(run)
    def charged(*args: Any, **kwargs: Any) -> Any:
        context, subject, others = (
            args[:first],
            pointed_to(args[first]),
            [pointed_to(each) for each in args[first + 1 :]],
        )
        _weigh_call(name, subject, (*others, *kwargs.values()))
        result = run(*context, subject, *others, **kwargs)
        if isinstance(result, Iterator):
            result = list(result)
        if result is subject:
            return result
        spent = budget()
        if isinstance(result, list | str):
            spent.size(len(result))
        spent.make(new_bytes(result) + (len(result) * LIST_BYTES if name in _PAIRING else 0))
        return result

    return charged


_PAIRING = frozenset({"dictsort", "groupby", "items"})


def _weigh_call(name: str, subject: Any, others: tuple[Any, ...]) -> None:
    if isinstance(subject, Iterator | LoopContext):
        raise TemplateFault(f"{name} does not work on a loop")
    if name in _TEXT_FILTERS and isinstance(subject, list | dict | tuple):
        raise TemplateFault(f"{name} works on a text")
    if name == "urlencode":
        _check_parameters(subject)
    count = len(subject) if isinstance(subject, list | dict | tuple | range) else 1
    weight = count if name in _SHALLOW else max(weigh(subject), count)
    if name in _SORTING:
        weight *= count.bit_length()
    each = sum(len(other) >> 2 if isinstance(other, str) else weigh(other) for other in others)
    budget().step(1 + (weight >> 1) + count * each)


def _check_parameters(subject: Any) -> None:
    """Print values that are not text as Go does, and shared values only once."""
    if isinstance(subject, dict):
        subject = tuple(subject.items())
    if isinstance(subject, list | tuple):
        for pair in subject:
            if isinstance(pair, list | tuple) and any(isinstance(each, list | dict | tuple) for each in pair):
                raise TemplateFault("urlencode takes texts and numbers as values")


def _comparing(run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def compares(*args: Any) -> Any:
        compared(*args)
        return run(*args)

    return compares


@pass_environment
def _sum(environment: Environment, items: Any, attribute: Any = None, start: Any = 0) -> Any:
    """``sum`` of numbers or lists, with the bounds of ``+``."""
    found = pointed_to(items)
    _weigh_call("sum", found, (attribute,))
    if attribute is not None:
        found = map(make_attrgetter(environment, attribute), found)
    for each in found:
        start = apply("+", start, each)
    return start


def _namespace(*args: Any, **kwargs: Any) -> Namespace:
    compared(*args)
    made = Namespace(*args, **kwargs)
    spent = budget()
    spent.step(1 + sum(len(each) >> _ITEMS for each in args if isinstance(each, list | dict | tuple)))
    spent.make(_NAMESPACE_BYTES + MEMBER_BYTES * sum(map(len, [kwargs, *args])))
    return made


_NAMESPACE_BYTES = 400


def _field(value: Any, *names: str) -> Any:
    for name in names:
        value = value.field(name) if isinstance(value, Root) else access.field(value, (name,))
    return value


def _each(value: Any) -> Any:
    _refuse_root(value)
    return _counted(access.iterate1(value), ITEM_BYTES)


def _pairs(value: Any) -> Any:
    _refuse_root(value)
    return _counted(access.iterate2(value), LIST_BYTES)


def _counted(found: Any, item: int) -> Any:
    """What a loop runs over, which is a new list at most, with its elements of ``item`` bytes."""
    if isinstance(found, list):
        count = len(found)
        spent = budget()
        spent.step(count >> _ITERATED)
        spent.make(LIST_BYTES + item * count)
    return found


def _refuse_root(value: Any) -> None:
    if isinstance(value, Root):
        raise TemplateFault("range can't iterate over the whole data")


def _go_and(final: Any, value: Any) -> Any:
    return final if value else value


def _go_or(final: Any, value: Any) -> Any:
    return value or final


def _iterated(value: Any) -> Any:
    """What a loop of a native template runs over: behind pointers, maps by their sorted keys as in Go."""
    value = pointed_to(value)
    if isinstance(value, list | dict | tuple | range):
        budget().step(len(value) >> _ITERATED)
    return sorted_keys(value) if isinstance(value, dict) else value


def _step(steps: int, made: int) -> None:
    spent = budget()
    spent.step(steps)
    if made:
        spent.make(made)


def _passed(value: Any) -> Any:
    """What the condition of a loop says about an element, which counts as a step whatever it says."""
    budget().step()
    return value


def _compared(value: Any) -> Any:
    value = pointed_to(value)
    kind = type(value)
    if kind is not int and kind is not bool and value is not None:
        compared(value)
    return value


def _key(value: Any) -> Any:
    if not isinstance(value, str | int):
        compared(value)
    return value


def _marked(value: Any, mark: str) -> Any:
    """What a traced template prints, with its mark; nothing to print stays what it is."""
    if isinstance(value, Undefined) or is_absent(value):
        return value
    text = print_go(value)
    return mark + text if text.strip() else text


def _range(*bounds: int) -> range:
    found = range(*bounds)
    spent = budget()
    spent.step()
    spent.size(len(found))
    return found


def _error(message: str) -> NoReturn:
    raise TemplateFault(message)


def _refuse(reasons: Mapping[str, str], name: str, *_args: Any) -> NoReturn:
    raise Refused(f"the function {name} is refused: {reasons[name]}")


_HELPERS: Mapping[str, Callable[..., Any]] = {
    "go_text": print_go,
    "go_and": _go_and,
    "go_or": _go_or,
    "field": _field,
    "each": _each,
    "pairs": _pairs,
}
_INTERNAL: Mapping[str, Callable[..., Any]] = {
    STEP: _step,
    JOIN: join,
    SLICE: part,
    KEY: _key,
    COMPARED: _compared,
    PLAIN: pointed_to,
    ITERATED: _iterated,
    PASSED: _passed,
    MARKED: _marked,
}
