"""For whom and what: the creation rules of the nearest ``.sops.yaml``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.regex import compile_pattern
from osm_gitops.sops.creation_rule import read_creation_rule
from osm_gitops.sops.selection import Selection
from osm_gitops.yaml.kubernetes import Document, load_documents
from osm_gitops.yaml.lines import Lines

Json = Any

FILE_NAME: Final = ".sops.yaml"


@dataclass(frozen=True, slots=True)
class Rule:
    """Age recipients and a selection; ``where`` is the ``.sops.yaml:LINE`` or the flag that they come from."""

    recipients: tuple[str, ...]
    selection: Selection
    where: str = ""


@dataclass(slots=True)
class CreationRules:
    """Finds the rule of a file; every ``.sops.yaml`` is read once. Folders above ``top`` are not looked into.

    ``allows`` says of a path whether it may be read.
    """

    top: Path | None = None
    allows: Callable[[Path], bool] | None = None
    _files: dict[str, _RuleFile | None] = field(default_factory=dict)

    def rule_for(self, path: Path) -> Rule | None:
        """The first creation rule of the nearest ``.sops.yaml`` that matches ``path``; ``None`` if there are no rules.

        The file need not exist. Raises InputError if rules exist and none matches, and for rules that cannot be
        honoured: keys other than age, several key groups, broken expressions and recipients.
        """
        place = os.path.abspath(path)  # noqa: PTH100 - 30,000 files: texts are quicker, and no link is followed, as in sops
        rules = self._nearest(os.path.dirname(place))  # noqa: PTH120
        return rules.rule_for(place) if rules else None

    def file_for(self, folder: Path) -> Path | None:
        """The ``.sops.yaml`` whose rules count for files in ``folder``. Raises InputError where it cannot be read."""
        rules = self._nearest(os.path.abspath(folder))  # noqa: PTH100 - as above
        return Path(rules.folder, FILE_NAME) if rules else None

    def _nearest(self, folder: str) -> _RuleFile | None:
        if folder in self._files:
            return self._files[folder]
        found = self._read(folder)
        if found is None:
            above = os.path.dirname(folder)  # noqa: PTH120
            if above != folder and folder != (os.path.abspath(self.top) if self.top else ""):  # noqa: PTH100
                found = self._nearest(above)
        self._files[folder] = found
        return found

    def _read(self, folder: str) -> _RuleFile | None:
        path = Path(folder, FILE_NAME)
        if self.allows is None or self.allows(path):
            return _read(folder)
        if path.is_symlink():
            raise input_error(
                Code.LINK_LEADS_OUT,
                "the file is a link that leads out of the tree",
                where=str(path),
                fix="Write a file there",
            )
        return None  # of folders above the tree


@dataclass(slots=True)
class _RuleFile:
    """One ``.sops.yaml`` with its rules, each looked into when a file first needs it."""

    folder: str
    name: str
    document: Document
    rules: Sequence[Mapping[str, Json]]
    _known: dict[int, Rule] = field(default_factory=dict)

    def rule_for(self, path: str) -> Rule | None:
        if not self.rules:  # as sops: a file without creation rules counts for nothing
            return None
        relative = path.removeprefix(self.folder.rstrip(os.sep) + os.sep).replace(os.sep, "/")
        for index, rule in enumerate(self.rules):
            if self._matches(index, rule, relative):
                if index not in self._known:
                    self._known[index] = self._parse(index, rule)
                return self._known[index]
        raise input_error(
            Code.NO_SOPS_RULE_MATCHES,
            f"no creation rule matches {relative}",
            where=self.name,
            fix="Add a rule with a path_regex that matches it, or a last one without path_regex",
        )

    def _matches(self, index: int, rule: Mapping[str, Json], relative: str) -> bool:
        expression = rule.get("path_regex") or ""
        if not isinstance(expression, str):
            raise input_error(
                Code.SOPS_RULE_INVALID, "path_regex is no text", where=self._where(index, "path_regex"), fix="Quote it"
            )
        try:
            return not expression or compile_pattern(expression).matches(relative)
        except GoError as fault:
            raise input_error(
                Code.SOPS_RULE_INVALID,
                f"path_regex is no regular expression that Go takes: {fault}",
                where=self._where(index, "path_regex"),
                fix="Correct the expression",
            ) from None

    def _parse(self, index: int, rule: Mapping[str, Json]) -> Rule:
        problems: list[Problem] = []
        recipients, selection = read_creation_rule(rule, problems)
        if problems:
            raise InputError(problem.at(where=self._where(index, problem.field)) for problem in problems)
        return Rule(recipients, selection, self._where(index))

    def _where(self, index: int, name: str = "") -> str:
        path = f"creation_rules[{index}]"
        line = self.document.lines.get(f"{path}.{name}") or self.document.lines.get(path) or self.document.line
        return f"{self.name}:{line}"


def _read(folder: str) -> _RuleFile | None:
    path = Path(folder, FILE_NAME)
    try:
        text = read_file(path, SMALL)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise input_error(Code.FILE_UNREADABLE, f"the file cannot be read: {error.strerror}", where=str(path)) from None
    documents = load_documents(text, str(path))
    document = documents[0] if documents else Document(None, 1, Lines("", 0))
    rules = document.value.get("creation_rules") if isinstance(document.value, Mapping) else None
    if not isinstance(rules or [], list) or not all(isinstance(rule, Mapping) for rule in rules or []):
        raise input_error(Code.SOPS_RULE_INVALID, "creation_rules is no list of rules", where=f"{path}:{document.line}")
    return _RuleFile(folder, str(path), document, rules or [])
