"""``osp convert`` keeps bytes: in every recorded case, for every recorded template, and for random ones (design.md,
"One engine")."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from osm_gitops.commands.osp.convert import convert_file
from osm_gitops.errors import InputError
from osm_gitops.gotemplate.assembly import compile_go_half, compile_jinja_half
from osm_gitops.gotemplate.conversion import convert_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFaults
from osm_gitops.render.data import ROOT_TYPES
from tests.conformance.template_data import base_data
from tests.conformance.test_cases import check_objects, profile_text, render_case
from tests.conformance.test_templates import GROUPS
from tests.conformance_data import cases, load_case
from tests.oracle_tests.comparison import Half
from tests.oracle_tests.test_assembly import random_half

_ENGINE = Engine(ROOT_TYPES)


@cache
def converted(text: str) -> str:
    """The converted file, each text once; converting it again changes nothing. Raises InputError."""
    done = convert_file(text, "osp.yaml", "kube-system")
    again = convert_file(done.text, "osp.yaml", "kube-system")
    assert (again.text, again.converted, again.already) == (done.text, (), done.converted)
    return done.text


@pytest.mark.parametrize("name", cases())
def test_a_converted_profile_renders_to_what_osm_wrote(name: str, tmp_path: Path) -> None:
    case = load_case(name)
    refused = "refused" in case["expected"]
    try:
        text = converted(profile_text(case))
    except InputError:
        assert refused
        return
    code, objects, said = render_case(case, tmp_path, text)
    if refused:
        assert (code, objects) == (1, [])
        return
    assert code == 0, said
    check_objects(case, objects)


@pytest.mark.parametrize("group", GROUPS)
def test_a_converted_template_prints_what_osm_printed(group: str) -> None:
    wrong = [line["name"] for line in GROUPS[group] if _rendered(line) not in _allowed(line)]
    assert not wrong


def _allowed(line: dict[str, Any]) -> tuple[str | None, ...]:
    return (line.get("output"), None) if line["class"] == "exotic" else (line.get("output"),)


def _rendered(line: dict[str, Any]) -> str | None:
    try:
        converted = convert_half(_ENGINE, {}, [("/t", line["template"])])
        (text,) = compile_jinja_half(_ENGINE, {}, [("/t", converted.files[0])]).render(base_data(line["name"]))
    except TemplateFaults:
        return None
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)


def test_random_halves_print_the_same_after_conversion() -> None:
    random = Random(0)
    outcomes = Counter(_outcome(random_half(random)) for _ in range(150))
    assert outcomes["other bytes"] == 0
    assert outcomes["the same"] > 80
    assert outcomes["refused"] < 10  # template text that depends on the data


def _outcome(half: Half) -> str:
    files = list(half.files.items())
    try:
        wanted = compile_go_half(_ENGINE, half.templates, files).render(half.data)
    except TemplateFaults:
        return "refused by OSM"
    converted = convert_half(_ENGINE, half.templates, files)
    pages = [(path, text) for (path, _), text in zip(files, converted.files, strict=True)]
    try:
        found = compile_jinja_half(_ENGINE, converted.templates, pages).render(half.data)
    except TemplateFaults:
        return "refused"
    return "the same" if found == wanted else "other bytes"
