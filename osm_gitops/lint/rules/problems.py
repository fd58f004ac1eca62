"""Findings from problems that other rooms report, and how findings name profiles and settings."""

from __future__ import annotations

import re
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.profile import OperatingSystemProfile

_WITH_KEY: Final = re.compile(r"(.+:\d+) (\S+)")


def profile_name(profile: OperatingSystemProfile) -> str:
    """The name of a profile in findings."""
    return str(profile.manifest.ref)


def problem_finding(rule: Rule, problem: Problem, *, about: str = "") -> Finding:
    """A problem of reading, resolving or rendering as a finding."""
    where, key = place_of_setting(problem.where)
    field = problem.field or key
    return Finding(
        rule,
        _sentence(problem.what, field),
        where=where,
        about=problem.about or about,
        field=field,
        fix=problem.fix,
        problem=problem.code,
    )


def place_of_setting(where: str) -> tuple[str, str]:
    """``FILE:LINE`` and the key of the origin of a setting, which ends with its key; or the whole origin."""
    placed = _WITH_KEY.fullmatch(where)
    return (placed[1], placed[2]) if placed else (where, "")


def _sentence(what: str, field: str) -> str:
    """A complete sentence: a problem is printed after the name of its field, a finding before it."""
    is_rest = what.partition(" ")[0] in {"is", "has", "must", "does", "names"}
    _, keyed, key = field.rpartition(".annotations.")  # keys of annotations have dots
    return f"{key if keyed else field.rpartition('.')[2]} {what}" if field and is_rest else what
