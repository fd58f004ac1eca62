"""What is kept between MachineDeployments: results by the data that they depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.expressions import ALL_FIELDS
from osm_gitops.gotemplate.faults import TemplateFault
from osm_gitops.gotemplate.sandbox import Helper
from osm_gitops.gotemplate.values import Nil, Pointer, Struct

REMEMBERED: Final = 256  # results per template or file: a fleet has fewer kinds of pools, and memory is bounded
REMEMBERED_SIZE: Final = 8 << 20  # characters of their texts, of the same reason


@dataclass(slots=True)
class Memo:
    """Results of one template by the data that it reads; MachineDeployments that agree share a text."""

    key: Callable[[Mapping[str, Any]], Any]
    results: dict[Any, str] = field(default_factory=dict)
    size: int = 0

    def keep(self, key: Any, text: str) -> str:
        while self.results and (len(self.results) >= REMEMBERED or self.size + len(text) > REMEMBERED_SIZE):
            self.size -= len(self.results.pop(next(iter(self.results))))
        self.results[key] = text
        self.size += len(text)
        return text


def memo(reads: Iterable[str], root: Mapping[str, str]) -> Memo:
    """A memo for a template that reads these fields; ``*`` stands for all."""
    found = set(reads)
    names = sorted(root if ALL_FIELDS in found else found)
    return Memo(itemgetter(*names) if names else _no_key)


def _no_key(_frozen: Mapping[str, Any]) -> Any:
    return ()


def freeze(value: Any) -> Any:
    """A hashable stand-in that is equal for equal Go values of equal types."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Nil):
        return Nil  # a nil slice or map differs from an empty one
    if isinstance(value, int | float):
        return type(value), value
    if isinstance(value, Pointer):
        return None if value.elem is None else (freeze(value.elem),)
    if isinstance(value, dict):
        return tuple((key, freeze(each)) for key, each in value.items())
    if isinstance(value, list):
        return tuple(freeze(each) for each in value)
    if isinstance(value, Struct):
        return tuple(freeze(getattr(value, name)) for name in value.field_names())
    message = f"a value of type {type(value).__name__} cannot be template data"
    raise TypeError(message)


class _Frozen(dict[str, Any]):
    """Frozen values of the data's fields, made when they are first asked for."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self._data = data

    def __missing__(self, name: str) -> Any:
        value = self._data[name]
        kind = type(value)
        found = self[name] = value if kind is str or kind is bool else freeze(value)
        return found


class Machine:
    """One MachineDeployment's data, in the forms that are needed."""

    def __init__(self, engine: Engine, data: Mapping[str, Any]) -> None:
        self._engine = engine
        self._data = data
        self._values: dict[str, Any] | None = None
        self.frozen = _Frozen(data)
        self.snippet: Callable[..., str] = no_snippet

    def values(self) -> dict[str, Any]:
        if self._values is None:
            self._values = {**self._engine.variables(self._data), "template": Helper(self._named)}
        return self._values

    def _named(self, name: str, *dot: Any) -> str:
        return self.snippet(name, *dot)


def no_snippet(name: str, *_dot: Any) -> str:
    raise TemplateFault(f'template "{name}" is not defined')
