"""The oracle answers as OSM did: what the other comparisons here rest on."""

from __future__ import annotations

import pytest

from tests.conformance.template_data import base_data
from tests.conformance_data import template_lines
from tests.oracle_client import ask, for_oracle

pytestmark = pytest.mark.oracle


def test_the_oracle_gives_what_osm_gave_for_every_recorded_template() -> None:
    lines = list(template_lines())
    requests = [{"files": {"/t": line["template"]}, "data": for_oracle(base_data(line["name"]))} for line in lines]
    wrong = [
        f"{line['name']} {line['template']!r}: {answer} instead of {line.get('output')!r}"
        for line, answer in zip(lines, ask(requests), strict=True)
        if answer.get("output", {}).get("/t") != line.get("output")
    ]
    assert not wrong, "\n".join(wrong)
