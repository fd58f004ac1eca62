"""Which of a user's own values a text reads, found without running it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from jinja2 import nodes as jinja

from osm_gitops.gotemplate import nodes as go
from osm_gitops.gotemplate.emit import pipes
from osm_gitops.gotemplate.engine import EXPECTED, Engine
from osm_gitops.gotemplate.own_values import VALUE, VALUES
from osm_gitops.gotemplate.references import parsed

ValuePath = tuple[str, ...]
"""The keys that lead to a value; the empty path stands for all of them."""

_HINTS: Final = (VALUES, VALUE)


@lru_cache(maxsize=4096)
def value_uses(text: str, *, native: bool) -> frozenset[ValuePath]:
    """Paths of values that a text may read: with each of them all that is below it.

    Of a path that is computed the part before is told. A text that does not parse may read all: its fault is told
    where it is compiled, and nothing else need be said.
    """
    if not any(hint in text for hint in _HINTS):
        return frozenset()
    try:
        return frozenset(_native(text) if native else _go(text))
    except EXPECTED:
        return frozenset(((),))


def is_used(path: ValuePath, uses: Iterable[ValuePath]) -> bool:
    """Whether what stands at ``path`` is among what ``uses`` read."""
    return any(path[: len(use)] == use or use[: len(path)] == path for use in uses)


def _native(text: str) -> Iterator[ValuePath]:
    tree = parsed("text", text)
    inside: set[int] = set()  # names that stand for a longer path, told already
    for node in tree.find_all((jinja.Getattr, jinja.Getitem)):
        found = _chain(node)
        if found is not None:
            path, root = found
            if id(root) not in inside:  # the outermost comes first
                inside.add(id(root))
                yield path
    for call in tree.find_all(jinja.Call):
        if isinstance(call.node, jinja.Name) and call.node.name == VALUE:
            inside.add(id(call.node))
            yield from map(_dotted, (*call.args[:1], *(each.value for each in call.kwargs if each.key == "path")))
    names = [name for name in tree.find_all(jinja.Name) if id(name) not in inside]
    own = {name.name for name in names if name.ctx != "load"}  # a variable of that name, not the function
    if any(name.name in {VALUES, VALUE} - own for name in names):
        yield ()


def _chain(node: jinja.Node) -> tuple[ValuePath, jinja.Node] | None:
    """``Values.a["b"]`` and ``root.Values.a["b"]`` as a path, up to a key that is computed."""
    keys: list[str | None] = []
    while isinstance(node, jinja.Getattr | jinja.Getitem):
        keys.append(node.attr if isinstance(node, jinja.Getattr) else _constant(node.arg))
        node = node.node
    if not isinstance(node, jinja.Name):
        return None
    keys.reverse()
    if node.name == "root" and keys[:1] == [VALUES]:
        keys = keys[1:]
    elif node.name != VALUES:
        return None
    known: list[str] = []
    for key in keys:
        if key is None:
            break
        known.append(key)
    return tuple(known), node


def _constant(node: jinja.Node) -> str | None:
    return node.value if isinstance(node, jinja.Const) and isinstance(node.value, str) else None


def _dotted(node: jinja.Node) -> ValuePath:
    """The path that a call of ``value`` names; of ``"a.b." ~ c`` what is certain."""
    whole = _constant(node)
    if whole is not None:
        return tuple(whole.split("."))
    start = _start(node)
    return tuple(start.split(".")[:-1])


def _start(node: jinja.Node) -> str:
    """The constant text that an expression begins with."""
    if isinstance(node, jinja.Filter) and node.name == "_join" and node.node is not None:  # how the sandbox has ``~``
        node = node.node
    elif isinstance(node, jinja.Add):
        return _start(node.left)
    return _constant(node) or ""


def _go(text: str) -> Iterator[ValuePath]:
    for body in Engine({}).parse("text", text).values():
        for pipe, _ in pipes(body):
            for command in pipe.commands:
                yield from _command(command)


def _command(command: go.Command) -> Iterator[ValuePath]:
    first, args = command.first, command.args
    if first == go.Identifier("index") and args and _path(args[0]) is not None:
        keys = [each.value if isinstance(each, go.String) else None for each in args[1:]]
        certain = keys[: keys.index(None)] if None in keys else keys
        yield (*(_path(args[0]) or ()), *(key for key in certain if key is not None))
        return
    for operand in (first, *args):
        path = _path(operand)
        if path is not None:
            yield path


def _path(operand: go.Operand) -> ValuePath | None:
    """``.Values.a`` and ``$.Values.a``, whatever the dot or the variable is."""
    names: tuple[str, ...] = ()
    if isinstance(operand, go.Field | go.Variable | go.Chain):
        names = operand.names
    return names[1:] if names[:1] == (VALUES,) else None
