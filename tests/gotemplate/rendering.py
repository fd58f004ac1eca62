"""Shorthands for tests that render: text and data in, text out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from osm_gitops.gotemplate.assembly import compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.bounds import Bounds
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
    half = compile_go_half(engine, templates, list(files.items()))
    return dict(zip(files, half.render({**DATA, **data}), strict=True))


def jinja(text: str, templates: Mapping[str, str] | None = None, engine: Engine = ENGINE, **data: Any) -> str:
    """Render one file of a native Jinja2 profile."""
    half = compile_jinja_half(engine, templates or {}, [("/t", text)])
    return half.render({**DATA, **data})[0]


def go_fault(text: str, engine: Engine = ENGINE) -> TemplateFault:
    with pytest.raises(TemplateFaults) as caught:
        go(text, engine)
    return caught.value.faults[0]


def jinja_fault(text: str, templates: Mapping[str, str] | None = None, engine: Engine = ENGINE) -> TemplateFault:
    with pytest.raises(TemplateFaults) as caught:
        jinja(text, templates, engine)
    return caught.value.faults[0]
