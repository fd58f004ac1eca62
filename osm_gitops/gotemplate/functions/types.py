"""Sprig's questions about Go types (osm-behaviour.md, "Template functions")."""

from __future__ import annotations

from typing import Any, Final

from osm_gitops.gotemplate.functions.signature import GoFunction
from osm_gitops.gotemplate.values import go_type, kind


def type_is(target: str, value: Any) -> bool:
    return go_type(value) == target


def type_is_like(target: str, value: Any) -> bool:
    """As ``typeIs``, or a pointer to that type."""
    return go_type(value) in {target, f"*{target}"}


def kind_is(target: str, value: Any) -> bool:
    return kind(value) == target


FUNCTIONS: Final = (
    GoFunction("typeOf", "any", go_type, returns="string"),
    GoFunction("typeIs", "string any", type_is, returns="bool"),
    GoFunction("typeIsLike", "string any", type_is_like, returns="bool"),
    GoFunction("kindOf", "any", kind, returns="string"),
    GoFunction("kindIs", "string any", kind_is, returns="bool"),
)
