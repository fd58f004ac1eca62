"""Renders with osm_gitops and with Go, and tells where the two differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from osm_gitops.gotemplate.assembly import compile_go_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import BoundExceeded, Refused, TemplateFaults
from osm_gitops.render.data import ROOT_TYPES
from tests.oracle_client import ask, for_oracle

ENGINE = Engine(ROOT_TYPES)


@dataclass(frozen=True, slots=True)
class Half:
    """One half of a profile and the data to render it with."""

    files: Mapping[str, str]
    data: Mapping[str, Any]
    templates: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Comparison:
    """``refused`` counts what we refuse by name, by the sentence that says so."""

    rendered: int = 0
    failed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def check(self, *, most_refused: float = 0.0) -> None:
        """Fail on any difference, and if more than this share was refused by name."""
        count = self.rendered + self.failed + self.refused.total() + len(self.differences)
        shown = "\n\n".join(self.differences[:20])
        assert not self.differences, f"{len(self.differences)} of {count} differ:\n{shown}"
        assert self.rendered, "nothing was rendered"
        assert self.refused.total() <= most_refused * count, self.refused


def one_file(text: str, data: Mapping[str, Any]) -> Half:
    return Half({"/t": text}, data)


def compare(halves: Sequence[Half]) -> Comparison:
    """The same texts, or a failure on both sides, or a refusal by name on ours."""
    found = Comparison()
    for half, answer in zip(halves, ask(_request(half) for half in halves), strict=True):
        _compare(half, answer, found)
    return found


def differences(halves: Sequence[Half]) -> list[str]:
    """For each half what differs; empty where nothing does."""
    found = []
    for half, answer in zip(halves, ask(_request(half) for half in halves), strict=True):
        compared = Comparison()
        _compare(half, answer, compared)
        found.append("".join(compared.differences))
    return found


def _request(half: Half) -> dict[str, Any]:
    return {"files": half.files, "templates": half.templates, "data": for_oracle(half.data)}


def _compare(half: Half, answer: Mapping[str, Any], found: Comparison) -> None:
    wanted = answer.get("output")
    try:
        ours: Any = rendered(half)
        said = ""
    except TemplateFaults as failure:
        ours = None
        said = failure.faults[0].message
        if wanted is not None and isinstance(failure.faults[0], Refused | BoundExceeded):
            found.refused[said] += 1
            return
    if ours != wanted:
        found.differences.append(
            f"{half.templates or ''} {half.files}\n  ours: {ours or said!r}\n  Go:   {wanted or answer.get('error')!r}"
        )
    elif ours is None:
        found.failed += 1
    else:
        found.rendered += 1


def rendered(half: Half) -> dict[str, str]:
    """Our texts as an API server would store them: each byte that is no UTF-8 is one replacement character."""
    texts = compile_go_half(ENGINE, half.templates, list(half.files.items())).render(half.data)
    return dict(zip(half.files, map(_storable, texts), strict=True))


def _storable(text: str) -> str:
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)
