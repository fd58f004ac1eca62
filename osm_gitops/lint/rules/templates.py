"""Checks of a profile's templates, without rendering them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from osm_gitops.errors import Problem
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.inspection import Flaw, inspect_half
from osm_gitops.lint.rules import rules
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.render.config import half_texts

_RULES: Final[Mapping[Flaw, Rule]] = {
    Flaw.FAILS: rules.TEMPLATE_FAILS,
    Flaw.REFUSED: rules.TEMPLATE_REFUSED,
    Flaw.UNDEFINED: rules.UNDEFINED_NAME,
    Flaw.FIELD: rules.UNKNOWN_FIELD,
    Flaw.FILTER: rules.UNKNOWN_FILTER,
    Flaw.MISSING: rules.MISSING_TEMPLATE,
    Flaw.UNUSED: rules.UNUSED_TEMPLATE,
}
_WITH_KEY: Final = re.compile(r"(.+:\d+) (\S+)")
_FIXES: Final[Mapping[Flaw, str]] = {
    Flaw.UNDEFINED: 'Write value("path", default) for your own values; docs/reference/profiles.md lists the fields',
    Flaw.FIELD: "docs/reference/profiles.md lists the fields",
    Flaw.UNUSED: "Remove it, or use it",
}


def template_findings(engine: Engine, profile: OperatingSystemProfile) -> Iterator[Finding]:
    """All findings in templates that compile."""
    about = profile_name(profile)
    for half, config in (("bootstrap", profile.bootstrap), ("provisioning", profile.provisioning)):
        texts = half_texts(config, f"spec.{half}Config")
        for flawed in inspect_half(engine, *texts.sources, native=profile.jinja):
            yield Finding(
                _RULES[flawed.flaw],
                flawed.message,
                where=profile.manifest.line_in(texts.places.get(flawed.template, ""), flawed.line),
                about=f"{about}, {flawed.template}",
                fix=_FIXES.get(flawed.flaw, ""),
            )


def profile_name(profile: OperatingSystemProfile) -> str:
    """The name of a profile in findings."""
    return str(profile.manifest.ref)


def problem_finding(rule: Rule, problem: Problem, *, about: str = "") -> Finding:
    """A problem of reading, resolving or rendering as a finding."""
    # The place of a setting ends with its key.
    placed = _WITH_KEY.fullmatch(problem.where)
    where, field = (placed[1], placed[2]) if placed else (problem.where, "")
    field = problem.field or field
    return Finding(
        rule,
        _sentence(problem.what, field),
        where=where,
        about=problem.about or about,
        field=field,
        fix=problem.fix,
        problem=problem.code,
    )


def _sentence(what: str, field: str) -> str:
    """A complete sentence: a problem is printed after the name of its field, a finding before it."""
    is_rest = what.partition(" ")[0] in {"is", "has", "must", "does", "names"}
    _, keyed, key = field.rpartition(".annotations.")  # keys of annotations have dots
    return f"{key if keyed else field.rpartition('.')[2]} {what}" if field and is_rest else what
