"""What a run tells a webhook: a line for each cluster that changed, failed anew or recovered, and for each new error.

What is known already, by the record in the cluster or the metrics file of the run before, is not told again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from osm_gitops.errors import Problem
from osm_gitops.report.mask import Masker
from osm_gitops.report.metrics import Measured
from osm_gitops.report.visible import many, visible

_MOST_LINES: Final = 40
_LONGEST_LINE: Final = 500
_MORE: Final = re.compile(r"and \d+ more")
_FOR_SLACK: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Notice:
    """One line. ``cluster`` is empty for a run that could not start. ``kind`` is run, failure or recovery; ``code`` is
    that of a failure's problem."""

    cluster: str
    kind: str
    text: str
    code: str = ""


def notices(runs: Iterable[Measured], known: Mapping[str, frozenset[str]]) -> Iterator[Notice]:
    """The lines of a run. ``known`` are codes of errors of the run before, by cluster."""
    for run in runs:
        ran, codes = run.ran, known.get(run.ran.cluster, frozenset())
        found = tuple(_errors(run))
        new = [each for each in found if each.code.value not in codes and not _is_recorded(each, run.known)]
        if ran.good and not ran.narrowed and (run.known or codes):
            yield Notice(ran.cluster, "recovery", f"{ran.cluster}: OK again")
        elif new or ran.changed:
            state = "failed" if found else "OK"
            counts = f"{many(len(ran.changed), 'pool')} changed, {many(len(found), 'error')}, {len(new)} of them new"
            yield Notice(ran.cluster, "run", f"{ran.cluster}: {state}: {counts}")
        for each in new:
            yield Notice(ran.cluster, "failure", _short(visible(f"{ran.cluster}: {each}")), each.code.value)


def not_started(problems: Iterable[Problem], known: frozenset[str]) -> tuple[Notice, ...]:
    """The lines of a run that could not start; none if all codes of its errors are ``known``."""
    found = tuple(dict.fromkeys(map(Masker().problem, problems)))
    new = [each for each in found if each.code.value not in known]
    if not new:
        return ()
    counts = f"{many(len(found), 'error')}, {len(new)} of them new"
    lines = (Notice("", "failure", _short(visible(str(each))), each.code.value) for each in new)
    return Notice("", "run", f"the run was not carried out: {counts}"), *lines


STARTED: Final = Notice("", "recovery", "runs are carried out again")


def _errors(run: Measured) -> Iterator[Problem]:
    """The masked errors of a run, as its record has them."""
    masker = Masker(run.ran.plan.sensitive if run.ran.plan else ())
    pools = (problems for _, problems in sorted(run.ran.failed.items()))
    yield from dict.fromkeys(map(masker.problem, chain(run.ran.troubles, *pools)))


def _is_recorded(problem: Problem, known: frozenset[str]) -> bool:
    """Whether the record of the run before has an error. It cuts long ones, and of many it only has the number."""
    text = str(problem)
    if any(_MORE.fullmatch(each) for each in known) and any(f"[{problem.code.value}]" in each for each in known):
        return True
    return any(text.startswith(each) for each in known)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def json_payload(lines: Sequence[Notice]) -> bytes:
    """The body for a webhook of any kind: ``text`` has all lines, ``events`` each of them."""
    shown = lines[:_MOST_LINES]
    events: list[dict[str, Any]] = [
        {"cluster": each.cluster or None, "kind": each.kind, "code": each.code or None, "text": each.text}
        for each in shown
    ]
    body = {"tool": "osm-gitops", "version": 1, "text": _text(lines), "events": events, "more": len(lines) - len(shown)}
    return json.dumps(body, ensure_ascii=False).encode()


def slack_payload(lines: Sequence[Notice]) -> bytes:
    """The body for an incoming webhook of Slack, and of what is compatible with it."""
    return json.dumps({"text": _text(lines).translate(_FOR_SLACK)}, ensure_ascii=False).encode()


def _text(lines: Sequence[Notice]) -> str:
    more = [f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    return "\n".join([*(each.text for each in lines[:_MOST_LINES]), *more])
