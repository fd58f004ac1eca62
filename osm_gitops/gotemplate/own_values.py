"""A user's own template variables: ``Values`` and ``value("path", default)`` (design.md, "Overlays").

They are the same for all MachineDeployments of a cluster, so they are not a part of the keys of shared results,
and nothing that a template calls can change them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import Undefined
from jinja2.exceptions import UndefinedError

from osm_gitops.gotemplate.faults import TemplateFault
from osm_gitops.gotemplate.values import OwnMap, go_type

VALUES: Final = "Values"
VALUE: Final = "value"
_NO_DEFAULT: Final = object()


class ValueNotSet(UndefinedError):
    """A required value is not set."""


class AbsentValue(Undefined):
    """An unset value, or one below it: false in tests, a fault with its name elsewhere."""

    __slots__ = ("path",)

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__(f"the value {'.'.join(path)} is not set", exc=ValueNotSet)
        self.path = path

    __iter__ = __str__ = __len__ = __contains__ = Undefined._fail_with_undefined_error
    __eq__ = __ne__ = __hash__ = Undefined._fail_with_undefined_error


def absence(message: str) -> TemplateFault:
    """The fault for an unset value."""
    return TemplateFault(message, fix="Set it under `values` of an overlay, or give it a default in the profile")


def absent_below(owner: OwnMap | AbsentValue, key: str) -> AbsentValue:
    """The value that is not there."""
    return AbsentValue((*owner.path, key))


def own_values(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> OwnMap:
    """Values as templates see them; one that is ``None`` is not set."""
    given = {key: _own(each, (*path, key)) for key, each in values.items() if each is not None}
    return OwnMap(given, path)


def _own(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, Mapping):
        return own_values(value, path)
    if isinstance(value, list | tuple):
        return [_own(each, (*path, str(index))) for index, each in enumerate(value)]
    return value


Told = Callable[[str, Any, bool], None]
"""Called with each path that a template reads, its value, and whether it is set."""


def to_nobody(_path: str, _found: Any, _is_set: bool) -> None:
    """Nobody asked."""


def lookup(values: OwnMap, told: Told = to_nobody) -> Callable[..., Any]:
    """The function ``value``: the value at a dotted path, else the default. Raises TemplateFault without a default."""

    def value(path: Any, default: Any = _NO_DEFAULT) -> Any:
        if not isinstance(path, str) or not path:
            raise TemplateFault('value takes a path with dots between its keys, as in value("downloads.cni")')
        keys = path.split(".")
        found: Any = values
        for at, key in enumerate(keys):
            if not isinstance(found, dict):
                above = ".".join(keys[:at])
                what = f"the value {above} is a {go_type(found)}, so nothing can be at {path}"
                raise TemplateFault(what, fix=f"Make {above} a mapping under `values` of the overlay that sets it")
            if key not in found:
                if default is _NO_DEFAULT:
                    raise absence(f"the value {path} is not set")
                told(path, default, False)  # noqa: FBT003
                return default
            found = found[key]
        told(path, found, True)  # noqa: FBT003
        return found

    return value
