"""Random templates and what Go's own text/template with sprig made of them.

``go_answers.jsonl`` was written by asking tests/oracle: ``templates`` and ``files`` as in a
half of a profile, ``output`` null where Go fails. Their data is that of templates.jsonl.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from osm_gitops.gotemplate.assembly import compile_go_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFaults
from osm_gitops.render.data import ROOT_TYPES
from tests.conformance.template_data import base_data

ANSWERS = [
    json.loads(line) for line in Path(__file__).with_name("go_answers.jsonl").read_text("utf-8").split("\n") if line
]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(ROOT_TYPES)


def _render(engine: Engine, templates: dict[str, str], files: dict[str, str]) -> dict[str, str] | None:
    try:
        texts = compile_go_half(engine, templates, list(files.items())).render(base_data("go-0"))
    except TemplateFaults:
        return None
    return dict(zip(files, texts, strict=True))


def test_there_are_answers() -> None:
    assert len(ANSWERS) > 300
    assert any(answer["output"] is None for answer in ANSWERS)


@pytest.mark.parametrize("answer", ANSWERS, ids=[str(number) for number in range(1, len(ANSWERS) + 1)])
def test_templates_agree_with_go(engine: Engine, answer: dict[str, dict[str, str]]) -> None:
    assert _render(engine, answer["templates"], answer["files"]) == answer["output"]
