"""Checks for files and units of one half that conflict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, BootFile, BootUnit, Remark, normal_path, to_finding
from osm_gitops.lint.rules.systemd import unit_name_remark
from osm_gitops.model.finding import Finding, Rule, Severity

DUPLICATE_PATH: Final = Rule("duplicate-path", Severity.ERROR, "two files have the same path")
FILE_AND_UNIT: Final = Rule("file-and-unit", Severity.ERROR, "a file has the path of a unit of the profile")
FILE_BELOW_FILE: Final = Rule("file-below-file", Severity.ERROR, "a file has a path below another file")
DUPLICATE_UNIT: Final = Rule("duplicate-unit", Severity.ERROR, "two units or drop-ins have the same name")
UNIT_NOT_ENABLED: Final = Rule(
    "unit-without-install", Severity.WARNING, "a unit is enabled but has no [Install] section"
)
DROP_IN_NAME: Final = Rule("drop-in-name", Severity.ERROR, "systemd ignores a drop-in because of its name")
RULES: Final = (
    DUPLICATE_PATH,
    FILE_AND_UNIT,
    FILE_BELOW_FILE,
    DUPLICATE_UNIT,
    UNIT_NOT_ENABLED,
    DROP_IN_NAME,
)

_FIX: Final = "Keep one of them, and raise the profile's version"


def check_paths(document: BootDocument) -> Iterator[Finding]:
    """Check each half alone: the provisioning half may rewrite a file of the bootstrap half."""
    for half in HALVES:
        files = [file for file in document.files if file.half == half]
        units = [unit for unit in document.units if unit.half == half]
        for file, remark in _remarks(files, units):
            yield to_finding(document, file, remark)


def displaced_files(document: BootDocument) -> frozenset[int]:
    """The files (by ``id``) that are in the place of another file or of a unit, as :func:`check_paths` reports."""
    found: set[int] = set()
    for half in HALVES:
        units = {file.path for unit in document.units if unit.half == half for file in unit.files}
        written: set[str] = set()
        for file in document.files:
            if file.half == half:
                path = normal_path(file.path)
                if path in written or path in units:
                    found.add(id(file))
                written.add(path)
    return frozenset(found)


def _remarks(files: Iterable[BootFile], units: Iterable[BootUnit]) -> Iterator[tuple[BootFile, Remark]]:
    written: dict[str, BootFile] = {}
    for file in files:
        path = normal_path(file.path)
        if path in written:
            yield file, Remark(DUPLICATE_PATH, f"{path} is twice in this half; the later one is used, if any", 0, _FIX)
        written.setdefault(path, file)
    for path, file in written.items():
        for above in _above(path):
            if above in written:
                message = f"{path} is below {above}, which is a file"
                yield file, Remark(FILE_BELOW_FILE, message, 0, "Give one of them another path")
    yield from _unit_remarks(units, written)


def _above(path: str) -> Iterator[str]:
    while (path := path.rpartition("/")[0]) not in ("", "/"):
        yield path


def _unit_remarks(units: Iterable[BootUnit], written: Mapping[str, BootFile]) -> Iterator[tuple[BootFile, Remark]]:
    names: set[str] = set()
    for unit in units:
        place = unit.content or next(iter(unit.drop_ins), None) or BootFile(unit.name, "", 644, unit.half)
        if unit.name in names:
            yield place, Remark(DUPLICATE_UNIT, f"the unit {unit.name} is twice in this half", 0, _FIX)
        names.add(unit.name)
        if remark := unit_name_remark(unit.name):
            yield place, replace(remark, line=0)
        yield from _text_remarks(unit, written)
        if unit.enable and unit.content and not re.search(r"^\[Install\]", unit.content.text, re.MULTILINE):
            message = f"{unit.name} is enabled, but has no [Install] section"
            yield unit.content, Remark(UNIT_NOT_ENABLED, message, 0, "Add [Install] with WantedBy=multi-user.target")


def _text_remarks(unit: BootUnit, written: Mapping[str, BootFile]) -> Iterator[tuple[BootFile, Remark]]:
    paths: set[str] = set()
    for text in unit.files:
        if text.path in written:
            yield text, Remark(FILE_AND_UNIT, f"{text.path} is a file and a unit of this half", 0, _FIX)
        if text.path in paths:
            yield text, Remark(DUPLICATE_UNIT, f"the drop-in {text.path} is twice in this half", 0, _FIX)
        paths.add(text.path)
        if text is not unit.content and not text.path.endswith(".conf"):
            message = f"systemd reads drop-ins whose names end in .conf, not {text.path.rpartition('/')[2]}"
            yield text, Remark(DROP_IN_NAME, message, 0, "Rename it to end in .conf")
