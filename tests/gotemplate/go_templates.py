"""Templates with what Go makes of them: ``vectors/<family>.jsonl``, lines of ``[template, output or null]``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from osm_gitops.gotemplate.assembly import compile_go_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFaults
from osm_gitops.render.data import ROOT_TYPES
from tests.conformance.template_data import base_data

_FOLDER = Path(__file__).parent / "vectors"


def disagreements(family: str) -> list[str]:
    """The templates that print something else, or fail otherwise, than in Go."""
    lines = (_FOLDER / f"{family}.jsonl").read_text("utf-8").splitlines()
    assert len(lines) > 150
    found = []
    for line in lines:
        template, wanted = json.loads(line)
        ours = render(template)
        if ours != wanted:
            found.append(f"{template} gives {ours!r}, in Go {wanted!r}")
    return found


def render(template: str) -> str | None:
    """What the template prints; None where it fails. Bytes that are no UTF-8 are U+FFFD, as in the vectors."""
    try:
        (text,) = compile_go_half(_engine(), {}, [("/t", template)]).render(base_data("x-0"))
    except TemplateFaults:
        return None
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)


@cache
def _engine() -> Engine:
    return Engine(ROOT_TYPES)
