"""700 random configurations, compared with what the real transpiler answered.

The answers were recorded with the Container Linux Config transpiler 0.9.4 and yaml.v3
3.0.1, asked with the document that OSM makes of each configuration; ``null`` means
that it refused, or warned, which OSM takes for a refusal.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from osm_gitops.errors import InputError
from osm_gitops.model.profile import ConfigHalf, DropIn, File, Unit
from osm_gitops.render.ignition import render_ignition
from osm_gitops.render.user_data import unique_keys

ANSWERS = (Path(__file__).parent / "ignition_answers.jsonl").read_text("utf-8").splitlines()


def _render(question: dict[str, Any]) -> str:
    files = tuple(File(path, content, mode) for path, mode, content in question["files"])
    units = tuple(
        Unit(name, enable, mask, content, tuple(DropIn(*drop_in) for drop_in in drop_ins))
        for name, enable, mask, content, drop_ins in question["units"]
    )
    keys = unique_keys(question["keys"])
    half = ConfigHalf(files, units)
    return render_ignition(half, keys, "spec.bootstrapConfig", with_machine_name=question["machine_name"])


@pytest.mark.parametrize("line", [pytest.param(line, id=str(number)) for number, line in enumerate(ANSWERS, 1)])
def test_ignition_is_what_the_transpiler_makes_of_it(line: str) -> None:
    question = json.loads(line)
    if question["ignition"] is None:
        with pytest.raises(InputError):
            _render(question)
    else:
        assert _render(question) == question["ignition"]


def test_answers_of_both_kinds_were_recorded() -> None:
    refused = sum(json.loads(line)["ignition"] is None for line in ANSWERS)
    assert 100 < refused < len(ANSWERS) - 100
