"""Checks of a profile's templates, without rendering them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.inspection import Flaw, inspect_half
from osm_gitops.lint.rules import rules
from osm_gitops.lint.rules.problems import profile_name
from osm_gitops.model.finding import Finding, Rule
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.render.half_texts import half_texts

_RULES: Final[Mapping[Flaw, Rule]] = {
    Flaw.FAILS: rules.TEMPLATE_FAILS,
    Flaw.REFUSED: rules.TEMPLATE_REFUSED,
    Flaw.UNDEFINED: rules.UNDEFINED_NAME,
    Flaw.FIELD: rules.UNKNOWN_FIELD,
    Flaw.FILTER: rules.UNKNOWN_FILTER,
    Flaw.MISSING: rules.MISSING_TEMPLATE,
    Flaw.UNUSED: rules.UNUSED_TEMPLATE,
}
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
