"""Which cluster somebody named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ContextRef:
    """A kubeconfig (a path) and a context in it; an empty one is kubectl's own choice."""

    kubeconfig: str = ""
    context: str = ""

    @property
    def is_named(self) -> bool:
        return bool(self.kubeconfig or self.context)

    def over(self, other: ContextRef) -> ContextRef:
        """What is named here, and of ``other`` what is not: flags over a fleet file."""
        return ContextRef(self.kubeconfig or other.kubeconfig, self.context or other.context)


UNNAMED: Final = ContextRef()
