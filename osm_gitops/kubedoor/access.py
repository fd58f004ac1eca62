"""Which cluster somebody named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Access:
    """A kubeconfig (a path) and a context in it; an empty one is kubectl's own choice."""

    kubeconfig: str = ""
    context: str = ""

    @property
    def is_named(self) -> bool:
        return bool(self.kubeconfig or self.context)


UNNAMED: Final = Access()
