"""Shorthands for tests that render: text and data in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import pytest

from osm_gitops.gotemplate.assembly import compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.bounds import Bounds
from osm_gitops.gotemplate.compiled import texts_to_compile
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFault, TemplateFaults
from osm_gitops.gotemplate.values import IP, BoolMap, Int32, IPList, NamedString, Pointer, StringMap, nil
from tests.gotemplate.language import ROOT as SMALL_ROOT

ROOT = {name: type_name for name, type_name in SMALL_ROOT.items() if name != "System"}


class Provider(NamedString):
    __slots__ = ()
    go_type = "model.Provider"


DATA: Mapping[str, Any] = {
    "Name": "pool",
    "Provider": Provider("aws"),
    "Proxy": Pointer("http://proxy:3128", "string"),
    "External": True,
    "Pods": nil("int32"),
    "Addresses": IPList((IP("10.0.0.1"), IP("fd00::1"))),
    "Gates": BoolMap({"B": True, "A": False}),
    "Reserved": Pointer(StringMap({"cpu": "1"}), "map[string]string"),
}

ENGINE = Engine(ROOT)
SMALL = Engine(ROOT, Bounds(output_bytes=1000, loop_steps=1000, depth=50))


def pods(count: int) -> Pointer:
    return Pointer(Int32(count), "int32")


def go(text: str, engine: Engine = ENGINE, **data: Any) -> str:
    """Render one file of a Go profile."""
    return go_files({}, {"/t": text}, engine, **data)["/t"]


def go_files(
    templates: Mapping[str, str], files: Mapping[str, str], engine: Engine = ENGINE, **data: Any
) -> dict[str, str]:
    return dict(zip(files, _rendered(engine, templates, list(files.items()), data, jinja=False), strict=True))


def jinja(text: str, templates: Mapping[str, str] | None = None, engine: Engine = ENGINE, **data: Any) -> str:
    """Render one file of a native Jinja2 profile."""
    return _rendered(engine, templates or {}, [("/t", text)], data, jinja=True)[0]


def _rendered(
    engine: Engine,
    templates: Mapping[str, str],
    files: Sequence[tuple[str, str]],
    data: Mapping[str, Any],
    *,
    jinja: bool,
) -> tuple[str, ...]:
    """The texts of the files. An engine that loads what was compiled before has to give the same, faults too."""
    compile_half = compile_jinja_half if jinja else compile_go_half

    def outcome(engine: Engine) -> tuple[str, ...] | TemplateFaults:
        try:
            return compile_half(engine, templates, files).render({**DATA, **data})
        except TemplateFaults as faults:
            return faults

    later = saved(engine, templates, files, jinja=jinja)
    known, found = outcome(later), outcome(engine)
    assert _told(known) == _told(found)
    if isinstance(found, TemplateFaults):
        raise found
    return found


def saved(engine: Engine, templates: Mapping[str, str], files: Sequence[tuple[str, str]], *, jinja: bool) -> Engine:
    """An engine as this one, which has everything that can be compiled of these texts from an earlier run."""
    compiled = {}
    for source in texts_to_compile(templates, files, jinja=jinja):
        with suppress(TemplateFault):
            compiled[source] = engine.compile_text(source).saved()
    later = copy(engine)
    later.texts, later.compiled = {}, compiled
    return later


def _told(found: tuple[str, ...] | TemplateFaults) -> Any:
    if isinstance(found, TemplateFaults):
        return [(type(each), each.message, each.template, each.line) for each in found.faults]
    return found


def go_fault(text: str, engine: Engine = ENGINE) -> TemplateFault:
    with pytest.raises(TemplateFaults) as caught:
        go(text, engine)
    return caught.value.faults[0]


def jinja_fault(text: str, templates: Mapping[str, str] | None = None, engine: Engine = ENGINE) -> TemplateFault:
    with pytest.raises(TemplateFaults) as caught:
        jinja(text, templates, engine)
    return caught.value.faults[0]
