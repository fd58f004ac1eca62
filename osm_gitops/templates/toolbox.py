"""What a template can call: the functions of Go templates, as Jinja2 filters and globals.

A filter gets its subject first (``x | indent(4)``), a global takes Go's order
(``indent(4, x)``). Ours win where Jinja2 has a filter of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, wraps
from typing import Any, NoReturn

from jinja2 import Undefined
from jinja2.filters import FILTERS
from jinja2.utils import Namespace

from osm_gitops.templates import access
from osm_gitops.templates.bounds import budget
from osm_gitops.templates.calls import bind
from osm_gitops.templates.faults import Refused, TemplateFault
from osm_gitops.templates.functions.signature import GoFunction
from osm_gitops.templates.operators import join, plain
from osm_gitops.templates.order import sorted_keys
from osm_gitops.templates.printing import to_text
from osm_gitops.templates.sandbox import Helper, Root, refuse_undefined
from osm_gitops.templates.tracing import MARKED
from osm_gitops.templates.values import NO_VALUE, NoValue, Pointer, Struct

# Jinja2's own filters that are deterministic, bounded by their input, and no way out of the sandbox.
_KEPT_FILTERS = (
    *("abs", "capitalize", "count", "dictsort", "float", "groupby", "items", "length", "map"),
    *("reject", "rejectattr", "select", "selectattr", "sort", "sum", "truncate", "unique", "urlencode", "wordcount"),
)
# Functions that hand a value on without looking into it.
_FOR_ROOT = frozenset(
    (
        *("all", "any", "append", "coalesce", "default", "dict", "empty", "get", "list"),
        *("not", "prepend", "push", "set", "ternary", "tuple"),
    )
)
_PRINTABLE = (str, int, float, list, dict, Pointer, Struct, NoValue, type(None))
# Functions whose purpose is to cope with what is absent.
_FOR_ABSENT = frozenset({"default", "coalesce", "empty", "all", "any"})


def filters(functions: Mapping[str, GoFunction]) -> dict[str, Callable[..., Any]]:
    """All filters of the environment."""
    kept = {name: _charging(FILTERS[name]) for name in _KEPT_FILTERS}
    ours = {name: _filter(function) for name, function in functions.items()}
    return {**kept, "d": ours.get("default", _absent), "string": print_go, **ours, **_HELPERS, **_INTERNAL}


def globals_(functions: Mapping[str, GoFunction], refused: Mapping[str, str]) -> dict[str, Any]:
    """All globals of the environment."""
    ours = {name: Helper(_global(function)) for name, function in functions.items()}
    refusals = {name: Helper(partial(_refuse, refused, name)) for name in refused}
    return {
        "namespace": Helper(Namespace),
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
    """Print a value of ``{{ … }}``; one that is absent is an error (design §5)."""
    if type(value) is str:
        return value
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


def _charge(args: tuple[Any, ...], *, absent: bool) -> None:
    """Count a call against the budget, long values more; undefined values are for few functions only."""
    cost = 1
    for each in args:
        if isinstance(each, str):
            cost += len(each) >> 8
        elif isinstance(each, list | dict | tuple | range):
            cost += len(each) >> 3
        elif isinstance(each, Undefined) and not absent:
            refuse_undefined(each)
    budget().step(cost)


def _defined(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(NO_VALUE if isinstance(each, Undefined) else each for each in args)


def _global(function: GoFunction) -> Callable[..., Any]:
    run, absent, whole = bind(function), function.name in _FOR_ABSENT, function.name in _FOR_ROOT

    def called(*args: Any) -> Any:
        _charge(args, absent=absent)
        if not whole and any(type(each) is Root for each in args):
            raise Refused(f"the function {function.name} is refused for the whole data; give it a field")
        return run(_defined(args) if absent else args)

    return called


def _filter(function: GoFunction) -> Callable[..., Any]:
    called = _global(function)

    def piped(subject: Any, *args: Any) -> Any:
        return called(*args, subject)

    return piped


def _charging(run: Callable[..., Any]) -> Callable[..., Any]:
    """A filter of Jinja2's own, with a list for what it would compute later, and for values behind pointers;
    ``wraps`` keeps its marks."""

    @wraps(run)
    def charged(*args: Any, **kwargs: Any) -> Any:
        _charge(args, absent=True)
        result = run(*map(plain, args), **kwargs)
        if isinstance(result, Iterator):
            result = list(result)
        if isinstance(result, list | str):
            budget().size(len(result))
        return result

    return charged


def _field(value: Any, *names: str) -> Any:
    for name in names:
        value = value.field(name) if isinstance(value, Root) else access.field(value, (name,))
    return value


def _each(value: Any) -> Any:
    _refuse_root(value)
    return access.iterate1(value)


def _pairs(value: Any) -> Any:
    _refuse_root(value)
    return access.iterate2(value)


def _refuse_root(value: Any) -> None:
    if isinstance(value, Root):
        raise TemplateFault("range can't iterate over the whole data")


def _go_and(final: Any, value: Any) -> Any:
    return final if value else value


def _go_or(final: Any, value: Any) -> Any:
    return value or final


def _iterated(value: Any) -> Any:
    """What a loop of a native template runs over: behind pointers, maps by their sorted keys as in Go."""
    value = plain(value)
    return sorted_keys(value) if isinstance(value, dict) else value


def _step(_value: Any) -> None:
    budget().step()


def _marked(value: Any, mark: str) -> Any:
    """What a traced template prints, with its mark; nothing to print stays what it is."""
    if isinstance(value, Undefined) or is_absent(value):
        return value
    text = print_go(value)
    return mark + text if text.strip() else text


def _range(*bounds: int) -> range:
    found = range(*bounds)
    budget().size(len(found))
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
    "_step": _step,
    "_join": join,
    "_plain": plain,
    "_iterated": _iterated,
    MARKED: _marked,
}
