"""Counts put into a template before it is compiled: what its own code does counts, not only what it calls.

Every body that can run more than once, of a loop, macro, block or included template, begins with a step that counts
the size of that body. Operators that Jinja2 compiles to Python's own get a filter that counts what they work on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jinja2 import nodes

from osm_gitops.gotemplate.bounds import ITEM_BYTES, LIST_BYTES, MEMBER_BYTES
from osm_gitops.gotemplate.faults import BoundExceeded

STEP: Final = "_step"
COMPARED: Final = "_compared"
PLAIN: Final = "_plain"
JOIN: Final = "_join"
SLICE: Final = "_slice"
KEY: Final = "_key"
ITERATED: Final = "_iterated"
PASSED: Final = "_passed"

_PER_STEP: Final = 3
"""Binary logarithm of the syntax nodes that count as a step."""
_BODIES: Final[Mapping[type, frozenset[str]]] = {
    nodes.For: frozenset({"body"}),
    nodes.Macro: frozenset({"body", "defaults"}),
    nodes.CallBlock: frozenset({"body", "defaults"}),
    nodes.Block: frozenset({"body"}),
    nodes.Template: frozenset({"body"}),
}
_SHORT: Final = 1_000
_HANDED_OVER: Final = 200_000
_MEMBERSHIP: Final = frozenset({"in", "notin"})


def meter(tree: nodes.Template, *, native: bool) -> None:
    """Put the counts into a tree. ``native``: people wrote it, so operators look behind pointers.

    Raises BoundExceeded for what takes too much to compile.
    """
    found = _Meter(native)
    found.visit(tree)
    # Jinja2 writes all variables into the code for each one of these.
    if found.handovers * len(found.variables) > _HANDED_OVER:
        raise BoundExceeded(
            f"it has {len(found.variables)} variables and {found.handovers} includes and imports that see them all; "
            "make it smaller, or write `without context`"
        )


class _Meter:
    def __init__(self, native: bool) -> None:
        self.native = native
        self.variables: set[str] = set()
        self.handovers = 0

    def visit(self, node: nodes.Node) -> tuple[int, int]:
        """Nodes, and bytes of literals, that one run of what is around ``node`` takes for it."""
        match node:
            case nodes.Name(ctx="store" | "param", name=str(variable)):
                self.variables.add(variable)
            case nodes.Import(target=str(variable)):
                self.variables.add(variable)
        if getattr(node, "with_context", False) or getattr(node, "scoped", False):
            self.handovers += 1
        outside, outside_made = 1, _literal_bytes(node)
        inside, inside_made = 0, 0
        own = _BODIES.get(type(node), frozenset())
        for name in node.fields:
            value = getattr(node, name, None)
            children = value if isinstance(value, list) else [value]
            count = made = 0
            for child in children:
                if isinstance(child, nodes.Node):
                    nodes_below, made_below = self.visit(child)
                    count += nodes_below
                    made += made_below
            if isinstance(value, list):
                value[:] = map(self.replaced, value)
            elif isinstance(value, nodes.Node):
                setattr(node, name, self.replaced(value))
            if name in own:
                inside += count
                inside_made += made
            else:
                outside += count
                outside_made += made
        if isinstance(node, nodes.For):
            self.loop(node)
        if own and (self.native or not isinstance(node, nodes.Template)):
            body: list[nodes.Node] = node.body  # type: ignore[attr-defined]
            counted = _filtered(nodes.Const(1 + (inside >> _PER_STEP)), STEP, nodes.Const(inside_made))
            body.insert(0, nodes.ExprStmt(counted, lineno=node.lineno))
        return outside, outside_made

    def loop(self, node: nodes.For) -> None:
        if self.native:
            node.iter = _filtered(node.iter, ITERATED)
        if node.test is not None:
            node.test = _filtered(node.test, PASSED)

    def replaced(self, node: Any) -> Any:
        match node:
            case nodes.Concat():
                first, *others = node.nodes
                return _filtered(first, JOIN, *others)
            case nodes.Getitem(node=nodes.Expr() as whole, arg=nodes.Slice() as part):
                bounds = [each or nodes.Const(None) for each in (part.start, part.stop, part.step)]
                return _filtered(whole, SLICE, *bounds)
            case nodes.Compare():
                self.comparison(node)
            case nodes.Pair() if not _is_short(node.key):
                node.key = _filtered(node.key, KEY)
        return node

    def comparison(self, node: nodes.Compare) -> None:
        """A comparison with a short literal takes no time, whatever the other side is."""
        holders: list[nodes.Compare | nodes.Operand] = [node, *node.ops]
        others = [each for each in holders if not _is_short(each.expr)]
        weighed = len(others) > 1 or any(each.op in _MEMBERSHIP for each in node.ops)
        for each in others:
            if weighed or self.native:
                each.expr = _filtered(each.expr, COMPARED if weighed else PLAIN)


def _literal_bytes(node: nodes.Node) -> int:
    match node:
        case nodes.List() | nodes.Tuple():
            return LIST_BYTES + ITEM_BYTES * len(node.items)
        case nodes.Dict():
            return LIST_BYTES + MEMBER_BYTES * len(node.items)
    return 0


def _is_short(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Const) and not (isinstance(node.value, str) and len(node.value) > _SHORT)


def _filtered(node: nodes.Node, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)
