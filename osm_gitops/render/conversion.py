"""A profile of Go templates as one of native Jinja2: the texts that change (design.md, "One engine")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from osm_gitops.errors import InputError, Problem
from osm_gitops.gotemplate.conversion import ConvertedHalf, convert_half
from osm_gitops.gotemplate.engine import Engine
from osm_gitops.gotemplate.faults import TemplateFaults
from osm_gitops.model.profile import OperatingSystemProfile
from osm_gitops.render.config import template_problems
from osm_gitops.render.data import ROOT_TYPES
from osm_gitops.render.half_texts import HalfTexts, half_texts


@dataclass(frozen=True, slots=True)
class ConvertedProfile:
    """Jinja2 texts by their fields in the profile, all that are rendered; ``warnings`` say what to look at by hand."""

    texts: Mapping[str, str]
    warnings: tuple[Problem, ...]


def convert_profile(profile: OperatingSystemProfile) -> ConvertedProfile:
    """Convert the templates and files of both halves. Raises InputError with every fault and its place."""
    engine = Engine(ROOT_TYPES)
    texts: dict[str, str] = {}
    faults: list[Problem] = []
    warnings: list[Problem] = []
    halves = {"spec.bootstrapConfig": profile.bootstrap, "spec.provisioningConfig": profile.provisioning}
    for field, config in halves.items():
        half = half_texts(config, field)
        try:
            converted = convert_half(engine, *half.sources)
        except TemplateFaults as failure:
            faults += template_problems(profile, half.places, failure.faults)
            continue
        texts |= _by_field(half, converted)
        remarks = template_problems(profile, half.places, converted.remarks)
        warnings += (replace(each, fix="") for each in remarks)  # nothing need be corrected
    if faults:
        raise InputError(faults)
    return ConvertedProfile(texts, tuple(warnings))


def _by_field(half: HalfTexts, converted: ConvertedHalf) -> dict[str, str]:
    templates = {field: converted.templates[name] for name, (_, field) in half.templates.items()}
    files = {field: text for (_, field), text in zip(half.files, converted.files, strict=True)}
    return templates | files
