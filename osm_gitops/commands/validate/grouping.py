"""One mistake, one finding: join findings of one mistake, leave out what follows from another finding, and name the
combinations that have it by what they have in common.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from osm_gitops.lint.external.shell import BASH, SHELLCHECK
from osm_gitops.lint.external.systemd import VERIFY
from osm_gitops.lint.rules import rules
from osm_gitops.lint.rules.cloud_config import HEADROOM, TOO_LARGE
from osm_gitops.lint.rules.files import TEMPLATE
from osm_gitops.lint.rules.systemd import EXEC_START, UNKNOWN_SECTION
from osm_gitops.model.finding import Finding

if TYPE_CHECKING:  # slow to import
    from osm_gitops.pipeline.synthetic import Combination

_NUMBER: Final = re.compile(r"\d[\d,.]*")

EVERY: Final = "every combination"


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Join findings that differ only in their pools."""
    pools: dict[Finding, dict[str, None]] = {}
    for finding in findings:
        pools.setdefault(replace(finding, seen_in=()), {}).update(dict.fromkeys(finding.seen_in))
    return tuple(replace(finding, seen_in=tuple(seen_in)) for finding, seen_in in pools.items())


# What follows from a mistake.


@dataclass(frozen=True, slots=True)
class _Consequence:
    """Findings of ``follows`` follow from those of ``cause`` that are in the same ``part``: at the same line, or in the
    same file of a profile. With ``always`` also in combinations in which the cause was not seen, for external programs
    get few of all files."""

    cause: Callable[[Finding], bool]
    follows: Callable[[Finding], bool]
    part: Callable[[Finding], object]
    always: bool = False


def _place(finding: Finding) -> object:
    return finding.where, finding.about


def _file(finding: Finding) -> object:
    return finding.about if ", " in finding.about else None


def _any_of(*ids: str) -> Callable[[Finding], bool]:
    return lambda finding: finding.id in ids


def _shellcheck(*codes: int) -> Callable[[Finding], bool]:
    return _any_of(*(f"{SHELLCHECK.id}-SC{code}" for code in codes))


def _is_broken_syntax(finding: Finding) -> bool:
    return finding.id.endswith("-syntax") or finding.id in ("kubelet-type", "kubelet-value")


_SUMMARIES: Final = (
    "has a bad unit file setting",
    "Unit configuration has fatal error, unit will not be started",
    "Timer unit lacks value setting. Refusing",
)


def _is_summary_of_systemd(finding: Finding) -> bool:
    return finding.rule == VERIFY and finding.message.endswith(_SUMMARIES)


def _is_of_unit(finding: Finding) -> bool:
    return finding.id.startswith("systemd-") and not _is_summary_of_systemd(finding)


def _lacks_section(finding: Finding) -> bool:
    return finding.rule == EXEC_START and "without a [Service] section" in finding.message


_BROKEN_SCRIPT: Final = (1039, 1046, 1049, 1050, 1054, 1057, 1058, 1061, 1062, 1064, 1070, 1088, 1089)
# The order counts: what follows from another finding is not a cause.
_CONSEQUENCES: Final = (
    _Consequence(
        _any_of(
            *(rules.TEMPLATE_FAILS.id, rules.TEMPLATE_REFUSED.id, rules.UNDEFINED_NAME.id, rules.UNKNOWN_FIELD.id),
            *(rules.UNKNOWN_FILTER.id, rules.MISSING_TEMPLATE.id),
        ),
        _any_of(rules.RENDERING.id),
        _place,
    ),
    _Consequence(_any_of(TEMPLATE.id), _is_broken_syntax, _place),
    # Other providers have other limits.
    _Consequence(
        _any_of(TOO_LARGE.id), _any_of(HEADROOM.id), lambda finding: (finding.about, finding.group), always=True
    ),
    # shellcheck tells the beginning and the end of what it cannot parse, and once more that it cannot.
    _Consequence(_shellcheck(1046), _shellcheck(1047), _file, always=True),
    _Consequence(_shellcheck(1049), _shellcheck(1050), _file, always=True),
    _Consequence(_shellcheck(1057), _shellcheck(1058), _file, always=True),
    _Consequence(_shellcheck(1061), _shellcheck(1062), _file, always=True),
    _Consequence(_shellcheck(*_BROKEN_SCRIPT), _shellcheck(1073, 1072), _file, always=True),
    _Consequence(_shellcheck(1073), _shellcheck(1072), _file, always=True),
    _Consequence(_shellcheck(*_BROKEN_SCRIPT, 1072, 1073), _any_of(BASH.id), _file, always=True),
    # Where rm gets an empty variable, it gets one without quotes, too.
    _Consequence(_shellcheck(2115), _shellcheck(2086), _place, always=True),
    _Consequence(_is_of_unit, _is_summary_of_systemd, _file, always=True),
    _Consequence(_any_of(UNKNOWN_SECTION.id), _lacks_section, _file),
)


def without_consequences(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings without those that follow from others, which name them. What follows is never more severe."""
    every = list(findings)
    followed: dict[int, list[str]] = {}
    gone: set[int] = set()
    for kind in _CONSEQUENCES:
        causes: dict[object, list[int]] = {}
        for number, finding in enumerate(every):
            part = kind.part(finding)
            if number not in gone and part is not None and kind.cause(finding):
                causes.setdefault(part, []).append(number)
        for number, finding in enumerate(every):
            if number in gone or not causes or not kind.follows(finding):
                continue
            for cause in causes.get(kind.part(finding), ()):
                if cause != number and cause not in gone and _covers(every[cause], finding, kind):
                    gone.add(number)
                    followed.setdefault(cause, []).extend((finding.id, *followed.pop(number, ())))
                    break
    for number, finding in enumerate(every):
        if number not in gone:
            consequences = (*finding.consequences, *followed.get(number, ()))
            yield replace(finding, consequences=tuple(dict.fromkeys(consequences))) if consequences else finding


def _covers(cause: Finding, finding: Finding, kind: _Consequence) -> bool:
    if cause.severity.weight < finding.severity.weight:
        return False
    return kind.always or not cause.seen_in or set(finding.seen_in) <= set(cause.seen_in)


# What is the same mistake.


def grouped(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Join the findings of one rule at one line that differ in numbers, or in the files of profiles that include the
    line. The most severe one speaks for all, or the one that was seen most."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_mistake(finding), []).append(finding)
    for same in groups.values():
        first = max(same, key=lambda each: (each.rank, len(each.seen_in)))
        others = dict.fromkeys(about for each in same for about in (each.about, *each.others) if about != first.about)
        yield replace(
            first,
            seen_in=tuple(dict.fromkeys(pool for each in same for pool in each.seen_in)),
            others=tuple(others),
            consequences=tuple(dict.fromkeys(id_ for each in same for id_ in each.consequences)),
        )


def _mistake(finding: Finding) -> object:
    rule = finding.rule.id, finding.problem, finding.suppressed
    if finding.group:
        return *rule, finding.about, finding.group
    # A line of a part that several files include; several objects in one line are several mistakes.
    shared = ", " in finding.about and finding.where.rpartition(":")[2].isdecimal()
    about = "" if shared else finding.about
    return *rule, finding.where, about, _numberless(finding.field), _numberless(finding.message)


def _numberless(text: str) -> str:
    return _NUMBER.sub("0", text)


# Where it was seen.


def seen_in(pools: Iterable[str], combinations: Mapping[str, Combination]) -> tuple[str, ...]:
    """The pools, and the combinations by the largest sets that have all of them: every one, those with a provider, a
    Kubernetes version or a setting, or without a setting. ``combinations`` are all that were checked, by label."""
    pools = dict.fromkeys(pools)
    found = pools.keys() & combinations.keys()
    summary = [pool for pool in pools if pool not in found]
    if found and len(found) == len(combinations):
        return *summary, EVERY
    left = set(found)
    for name, labels in sorted(_sets(combinations).items(), key=lambda each: -len(each[1])) if found else ():
        if labels <= found and len(labels & left) > 1:
            summary.append(f"{EVERY} {name}")
            left -= labels
    return *summary, *(pool for pool in pools if pool in left)


def _sets(combinations: Mapping[str, Combination]) -> dict[str, set[str]]:
    """The labels of all combinations with a provider, a Kubernetes version or a setting, or without a setting."""
    found: dict[str, set[str]] = {}
    of_setting: dict[str, set[str]] = {}
    for label, each in combinations.items():
        version = f"Kubernetes {each.kube_version.removeprefix('v')}"
        for name in (each.provider, version, *(variant.name for variant in each.variants), each.told):
            if name:
                found.setdefault(f"with {name}", set()).add(label)
        for variant in each.variants:
            of_setting.setdefault(variant.key, set()).add(label)
    without = {f"without {name}": combinations.keys() - labels for name, labels in of_setting.items()}
    return found | without
