"""How much a template may use (design §5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from osm_gitops.templates.faults import BoundExceeded


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits per MachineDeployment and file; every one can be raised by a setting."""

    output_bytes: int = 1 << 20
    loop_steps: int = 1_000_000
    depth: int = 1_000


class Budget:
    """What one rendering has used so far."""

    __slots__ = ("bounds", "depth", "steps")

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.steps = 0
        self.depth = 0

    def step(self, count: int = 1) -> None:
        """Count loop steps; call before the work is done."""
        self.steps += count
        if self.steps > self.bounds.loop_steps:
            raise BoundExceeded(
                f"it takes more than {self.bounds.loop_steps} loop steps; "
                "make the loop shorter, or raise --max-loop-steps"
            )

    @contextmanager
    def level(self) -> Iterator[None]:
        """Count a template that is called inside of another."""
        self.step()
        self.depth += 1
        if self.depth > self.bounds.depth:
            raise BoundExceeded(f"templates call each other more than {self.bounds.depth} levels deep")
        try:
            yield
        finally:
            self.depth -= 1

    def size(self, count: int) -> None:
        """Refuse a text or list of ``count`` bytes or elements; call before it is made."""
        if count > self.bounds.output_bytes:
            raise BoundExceeded(
                f"it would make a value of more than {self.bounds.output_bytes} bytes; "
                "make it smaller, or raise --max-output-bytes"
            )


_CURRENT: ContextVar[Budget] = ContextVar("budget")


def budget() -> Budget:
    """The budget of the rendering under way; outside of one, a fresh default budget."""
    return _CURRENT.get(None) or Budget(Bounds())


@contextmanager
def spending(allowed: Bounds) -> Iterator[Budget]:
    """Make a fresh budget current for the rendering inside the ``with`` block."""
    fresh = Budget(allowed)
    token = _CURRENT.set(fresh)
    try:
        yield fresh
    finally:
        _CURRENT.reset(token)
