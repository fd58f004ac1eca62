"""Every line of templates.jsonl: what OSM printed, or a refusal where OSM refused (conformance/README.md)."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest

from osm_gitops.gotemplate.assembly import compile_go_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFaults
from osm_gitops.render.data import ROOT_TYPES
from tests.conformance.template_data import base_data
from tests.conformance_data import template_lines

_BY_GROUP = itemgetter("group")
GROUPS = {name: list(lines) for name, lines in groupby(sorted(template_lines(), key=_BY_GROUP), _BY_GROUP)}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(ROOT_TYPES)


def test_there_are_templates_to_compare() -> None:
    assert sum(map(len, GROUPS.values())) > 2_000


@pytest.mark.parametrize("group", GROUPS)
def test_templates_print_what_osm_printed(engine: Engine, group: str) -> None:
    wrong = [found for line in GROUPS[group] if (found := _difference(engine, line))]
    assert not wrong, f"{len(wrong)} of {len(GROUPS[group])} differ:\n" + "\n".join(wrong)


def _difference(engine: Engine, line: dict[str, Any]) -> str:
    """What is wrong with one line; empty when it agrees. ``exotic`` lines may be refused."""
    output, refusal = _rendered(engine, line)
    expected = line.get("output")
    if output == expected or (output is None and line["class"] == "exotic"):
        return ""
    return f"{line['name']} {line['template']!r}: {output if refusal is None else refusal!r} instead of {expected!r}"


def _rendered(engine: Engine, line: dict[str, Any]) -> tuple[str | None, str | None]:
    try:
        (text,) = compile_go_half(engine, {}, [("/t", line["template"])]).render(base_data(line["name"]))
    except TemplateFaults as failure:
        return None, str(failure)
    # In the OSC's JSON every byte that is no UTF-8 is one replacement character.
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text), None
