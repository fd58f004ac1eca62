"""What passes between a run of ``validate`` and its worker: scopes, texts for external programs, their answers, and
results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from osm_gitops.config.settings import RawSetting
from osm_gitops.lint.rules.boot_file import BootFile, Checker, Half, Remark
from osm_gitops.model.finding import Finding
from osm_gitops.model.inputs import Inputs
from osm_gitops.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Scope:
    """The objects of a cluster. ``partial``: profiles may be elsewhere, so a missing one is not an error. ``given`` are
    the settings before parsing, with their origins."""

    name: str
    inputs: Inputs
    settings: Settings
    partial: bool = False
    given: tuple[RawSetting, ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """What was checked. ``refused`` are combinations that a profile refuses with ``fail``."""

    profiles: int = 0
    pools: int = 0
    combinations: int = 0
    refused: int = 0
    documents: int = 0
    texts: int = 0


@dataclass(frozen=True, slots=True)
class PartResult:
    """All findings of a part. Of ``hidden`` ones the messages may be made from secrets."""

    findings: tuple[Finding, ...]
    counts: Counts
    hidden: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A file for external programs. ``representative``: it has lines that no other file of its profile has."""

    path: str
    text: str
    permissions: int
    half: Half
    representative: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A remark of an external program on the text with this index. ``slow``: the program gets few texts."""

    text: int
    remark: Remark
    slow: bool


def ask_programs(checkers: Iterable[Checker], texts: Sequence[Text]) -> list[Answer]:
    """The answers of installed programs."""
    files = {(each.path, each.text): BootFile(each.path, each.text, each.permissions, each.half) for each in texts}
    numbers = {(each.path, each.text): number for number, each in enumerate(texts)}
    answers = []
    for checker in checkers:
        chosen = [files[each.path, each.text] for each in texts if each.representative or not checker.slow]
        for file, remark in checker.check(chosen):
            answers.append(Answer(numbers[file.path, file.text], remark, checker.slow))
    return answers
