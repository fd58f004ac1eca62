"""Go's calls of template functions: signatures, and the rules for arguments and results (osm-behaviour.md, "Template
language")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import is_
from typing import Any, Final

from osm_gitops.gocompat.fault import GoError, Stopped
from osm_gitops.gotemplate.faults import BoundExceeded, StoppedItself, TemplateFault
from osm_gitops.gotemplate.values import (
    NO_VALUE,
    Int64,
    NilDict,
    NilList,
    NilStringList,
    OwnMap,
    Pointer,
    StringList,
    Unordered,
    UnorderedStrings,
    go_type,
)


@dataclass(frozen=True, slots=True)
class GoFunction:
    """A function as a template sees it.

    ``params`` are Go's parameter types, separated by blanks, in Go's order (the subject last): ``string int int64
    float64 bool any`` (interface {}), ``any[]`` ([]interface {}), ``string[]``, ``map`` (map[string]interface {}); a
    final ``…`` on the last one makes it variadic (``any…``). ``call`` takes the arguments in that order, already
    checked and converted: a pointer that had to be dereferenced is, a missing value is ``None``. ``mutates`` marks
    functions that change an argument (``set``), whose calls must stay in Go's order of evaluation. ``returns`` is Go's
    result type where it is always the same and never absent (``string``, ``bool``, ``int``, ``int64``, ``float64``),
    else empty.
    """

    name: str
    params: str
    call: Callable[..., Any]
    returns: str = ""
    mutates: bool = False

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(part.removesuffix("…") for part in self.params.split())

    @property
    def variadic(self) -> bool:
        return self.params.endswith("…")


# Python classes that fit a parameter, and what nil becomes there; other classes never fit.
_FITTING: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "int": (int,),
    "int64": (Int64,),
    "float64": (float,),
    "bool": (bool,),
    "map": (dict, NilDict, OwnMap),
    "any[]": (list, NilList, Unordered),
    "string[]": (StringList, NilStringList, UnorderedStrings),
}
_MOST_KINDS: Final = 64
_MOST_ARGS: Final = 8
_NILS: Final[dict[str, Callable[[], Any]]] = {"map": NilDict, "any[]": NilList, "string[]": NilStringList}
_GO_NAMES: Final = {"map": "map[string]interface {}", "any[]": "[]interface {}", "string[]": "[]string"}


def call(function: GoFunction, args: Sequence[Any]) -> Any:
    """Call ``function`` as a template would; no value where it returns nil.

    Raises TemplateFault for arguments that do not fit and for an error of the function itself, BoundExceeded and
    Refused as they come.
    """
    return bind(function)(args)


@lru_cache(maxsize=1024)
def bind(function: GoFunction) -> Callable[[Sequence[Any]], Any]:
    """The call of ``function`` with everything prepared that does not depend on the arguments."""
    name, types, variadic, run = function.name, function.types, function.variadic, function.call
    fixed = len(types) - 1 if variadic else len(types)
    plain: set[tuple[type, ...]] = set()  # types of arguments that are handed on as they are, whatever their values

    def bound(args: Sequence[Any]) -> Any:
        kinds = tuple(map(type, args))
        if kinds not in plain:
            count = len(args)
            if count != fixed and (not variadic or count < fixed):
                at_least = "at least " if variadic else ""
                raise TemplateFault(f"wrong number of args for {name}: want {at_least}{fixed} got {count}")
            fitted = [_fit(arg, types[min(fixed, position)], name) for position, arg in enumerate(args)]
            if len(plain) < _MOST_KINDS and count < _MOST_ARGS and all(map(is_, fitted, args)):
                plain.add(kinds)
            args = fitted
        try:
            result = run(*args)
        except Stopped as stop:
            raise StoppedItself(str(stop).rstrip(".")) from stop
        except GoError as error:
            raise TemplateFault(f"error calling {name}: {error}") from error
        except RecursionError:
            raise BoundExceeded(f"{name} is given a value that is nested too deeply; make it flatter") from None
        return NO_VALUE if result is None else result

    return bound


def _fit(value: Any, wanted: str, name: str) -> Any:
    """``value`` as an argument for a parameter of type ``wanted``."""
    if wanted == "any":
        return None if value is NO_VALUE else value
    fitting = _FITTING[wanted]
    if type(value) in fitting:
        return value
    shown = _GO_NAMES.get(wanted, wanted)
    if value is NO_VALUE:
        if wanted in _NILS:
            return _NILS[wanted]()
        raise TemplateFault(f"invalid value for {name}; expected {shown}, but there is no value")
    if isinstance(value, Pointer) and value.elem_type == shown:
        if value.elem is None:
            raise TemplateFault(
                f"dereference of nil pointer of type {shown} as an argument of {name}; test it first with `if`"
            )
        return value.elem
    actual = "interface {}" if value is None else go_type(value)
    hint = " (use `toString`)" if wanted == "string" and isinstance(value, str) else ""
    raise TemplateFault(f"wrong type for value given to {name}; expected {shown}; got {actual}{hint}")
