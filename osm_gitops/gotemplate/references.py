"""Which templates a text of native Jinja2 includes, imports or extends, found by Jinja2 itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment, meta, nodes

from osm_gitops.gotemplate.engine import EXPECTED, Engine, as_fault


@dataclass(frozen=True, slots=True)
class Reference:
    """A template that a text names in its line ``line`` (1-based); ``name`` is empty where it is computed."""

    name: str
    line: int


# Parts are shared by halves and profiles.
@lru_cache(maxsize=512)
def references(name: str, text: str) -> tuple[Reference, ...]:
    """The references of a text, in the order of their lines. Raises TemplateFault where it cannot be parsed."""
    return tuple(_references(parsed(name, text)))


def parsed(name: str, text: str) -> nodes.Template:
    """A text of native Jinja2 as its parser understands it. Raises TemplateFault where it cannot be parsed."""
    try:
        return _environment().parse(text, name, name)
    except EXPECTED as error:
        fault = as_fault(error)
        fault.template = fault.template or name
        raise fault from error


def _references(tree: nodes.Template) -> Iterator[Reference]:
    found = tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))
    for node in sorted(found, key=lambda each: each.lineno):
        for referenced in meta.find_referenced_templates(nodes.Template([node], lineno=node.lineno)):
            yield Reference(referenced or "", node.lineno)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Engine({}).native({})
