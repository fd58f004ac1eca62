"""Run ``cloud-init schema`` on user-data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final

from osm_gitops.errors import InputError
from osm_gitops.lint.external.programs import CompletedProcess, find_program, run, run_parallel, scratch
from osm_gitops.lint.external.shell import STOPPED, stopped
from osm_gitops.lint.rules.boot_file import MOST_REMARKS, BootFile, Remark
from osm_gitops.lint.rules.cloud_config import USER_DATA, cloud_config_remarks, skeleton
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.yaml.kubernetes import load_documents

SCHEMA: Final = Rule("cloud-init-schema", Severity.ERROR, "cloud-init does not accept the user-data")
NOT_INSTALLED: Final = Rule(
    "cloud-init-not-installed", Severity.NOTE, "cloud-init is not installed, so user-data was not checked with it"
)
RULES: Final = (SCHEMA, NOT_INSTALLED)

_ERRORS: Final = re.compile(r"Cloud config schema errors: (.*?)(?:\n\n|\nError: Invalid|\Z)", re.DOTALL)
_ERROR: Final = re.compile(r"(?:^|, )([A-Za-z_][\w-]*(?:\.[\w-]+)*): ")
_AT: Final = re.compile(r"format-l(\d+)\.c\d+")
# What follows a quoted value; values may be secrets.
_BEHIND_VALUE: Final = re.compile(
    r"(?:.*)((?:is not|is too|does not|has non|was unexpected|is a required).*)", re.DOTALL
)
_UNEXPECTED: Final = re.compile(r"Additional properties are not allowed \(.*\)", re.DOTALL)

# OSM writes these keys without a value for pools without SSH keys or a subscription.
_WITHOUT_VALUE: Final = re.compile(r"ssh_authorized_keys|rh_subscription\.(?:username|password)")


@dataclass(frozen=True, slots=True)
class CloudInit:
    """Runs one process for all user-data that differ only in the texts of their files."""

    environment: Mapping[str, str] = field(repr=False)
    slow: ClassVar[bool] = False

    def missing(self) -> Finding | None:
        if find_program("cloud-init", self.environment):
            return None
        message = "cloud-init is not installed, so only osm-gitops' own checks checked user-data"
        return Finding(NOT_INSTALLED, message, fix="Install cloud-init from your distribution")

    def check(self, files: Sequence[BootFile]) -> Iterator[tuple[BootFile, Remark]]:
        words = [find_program("cloud-init", self.environment) or "cloud-init"]
        reported = cache(lambda text: {remark.line for remark in cloud_config_remarks(text)})
        for file, remark in check_user_data(words, files, self.environment):
            # Our own checks report the same line with a fix.
            if remark.line not in reported(file.text):
                yield file, remark


def check_user_data(
    words: Sequence[str], files: Sequence[BootFile], environment: Mapping[str, str]
) -> Iterator[tuple[BootFile, Remark]]:
    """Remarks of the cloud-init that ``words`` call on the files that are user-data."""
    alike: dict[str, BootFile] = {}
    for file in files:
        if file.path == USER_DATA:
            # To the schema the texts of files are just strings, which our own check verifies.
            alike.setdefault(skeleton(file.text), file)
    with scratch() as folder:
        answers = run_parallel(
            lambda each: _ask(words, each[0], each[1], folder, environment), list(enumerate(alike.values()))
        )
    for file, ran in zip(alike.values(), answers, strict=True):
        yield from ((file, remark) for remark in _remarks(file, ran))


def _ask(
    words: Sequence[str], number: int, file: BootFile, folder: Path, environment: Mapping[str, str]
) -> CompletedProcess:
    name = f"{number}.yaml"
    (folder / name).write_bytes(file.text.encode("utf-8", "surrogateescape"))
    ran = run([*words, "schema", "--config-file", name], folder, environment)
    if "invalid choice: 'schema'" in ran.errors:  # before cloud-init 22.2
        return run([*words, "devel", "schema", "--config-file", name], folder, environment)
    return ran


def _remarks(file: BootFile, ran: CompletedProcess) -> Iterator[Remark]:
    if ran.code == 0:
        return
    if ran.code is None:
        yield stopped("cloud-init", ran.stopped)
        return
    match = _ERRORS.search(f"{ran.output}\n\n{ran.errors}")
    parts = _ERROR.split(match[1]) if match else []
    if len(parts) < 3:
        yield Remark(STOPPED, "cloud-init answered in an unknown format")
        return
    for path, message in islice(dict(zip(parts[1::2], parts[2::2], strict=True)).items(), MOST_REMARKS):
        if _WITHOUT_VALUE.fullmatch(path) and message.startswith("None is not of type"):
            continue
        at = _AT.fullmatch(path)
        line = int(at[1]) if at else _line_of(file, path)
        where = "the cloud-config" if at else path
        yield Remark(
            SCHEMA, f"cloud-init says of {where}: {_without_values(message, at is not None)}", line, "Correct it"
        )


def _line_of(file: BootFile, path: str) -> int:
    """``write_files.0.permissions`` is ``write_files[0].permissions``."""
    field_path = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path)
    try:
        documents = load_documents(file.text, "")
    except InputError:
        return 1
    return documents[0].lines.get(field_path, 1) if documents else 1


def _without_values(message: str, is_syntax: bool) -> str:
    if is_syntax:
        return "it is not YAML that it can read" if "valid" in message else "its first line is not #cloud-config"
    if _UNEXPECTED.search(message):
        return "it has a key that is not allowed"
    match = _BEHIND_VALUE.match(message)
    return f"the value {' '.join(match[1].split())}" if match else "it does not fit the schema"
