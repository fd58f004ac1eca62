"""``metav1.Duration``, which prints in a form that no kubelet reads (osm-behaviour.md, "Printing")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from osm_gitops.gotemplate.values import Duration as TimeDuration
from osm_gitops.gotemplate.values import Pointer, Struct


@dataclass(frozen=True)
class MetaDuration(Struct):
    """Its methods are those of the ``time.Duration`` inside, but for ``String``."""

    go_type = "v1.Duration"
    methods = frozenset({"String"}) | (TimeDuration.methods - {"String"})
    Duration: TimeDuration

    def String(self) -> str:
        return f"&Duration{{Duration:{self.Duration.String()},}}"

    def __getattr__(self, name: str) -> Any:
        """The methods of the embedded ``time.Duration``."""
        if name in TimeDuration.methods:
            return getattr(self.Duration, name)
        raise AttributeError(name)


class DurationPointer(Pointer):
    """``*metav1.Duration``: ``String`` works on nil too."""

    __slots__ = ()
    methods = frozenset({"String"})

    def __init__(self, nanoseconds: int | None) -> None:
        super().__init__(None if nanoseconds is None else MetaDuration(TimeDuration(nanoseconds)), MetaDuration.go_type)

    def String(self) -> str:
        return "nil" if self.elem is None else str(self.elem.String())
