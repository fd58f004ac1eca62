"""The creation rules of the nearest ``.sops.yaml``: recipients of a file, the selection of encrypted values, and why a
rule cannot be used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from osm_gitops.bounded.files import SMALL, read_file
from osm_gitops.errors import Code, InputError, Problem, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.regex import compile_pattern
from osm_gitops.sops.recipients import recipient_problem
from osm_gitops.yaml.kubernetes import Document, load_documents
from osm_gitops.yaml.lines import Lines

SELECTORS: Final = ("encrypted_regex", "unencrypted_regex", "encrypted_suffix", "unencrypted_suffix")
COMMENT_SELECTORS: Final = ("encrypted_comment_regex", "unencrypted_comment_regex")
DEFAULT_SUFFIX: Final = "_unencrypted"


@dataclass(frozen=True, slots=True)
class Selection:
    """At most one selector (RE2 expression or suffix of keys), and whether the MAC omits plain values.

    Without a selector, all values are encrypted except below keys that end in ``_unencrypted``.
    """

    encrypted_regex: str = ""
    unencrypted_regex: str = ""
    encrypted_suffix: str = ""
    unencrypted_suffix: str = ""
    mac_only_encrypted: bool = False

    @property
    def selector(self) -> tuple[str, str]:
        """Name and text of the selector."""
        for name in SELECTORS:
            if text := getattr(self, name):
                return name, text
        return "unencrypted_suffix", DEFAULT_SUFFIX


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selection. ``outside``: values are encrypted if no key of their path is ``chosen``."""

    outside: bool
    chosen: Callable[[str], bool]


@lru_cache(maxsize=64)
def compile_selection(selection: Selection) -> Selector:
    """The selector of ``selection``. Raises InputError for an invalid expression."""
    name, text = selection.selector
    chosen = _matcher(name, text) if name.endswith("_regex") else _ending(text)
    return Selector(name.startswith("unencrypted"), lru_cache(maxsize=4096)(chosen))


def _ending(text: str) -> Callable[[str], bool]:
    return lambda key: key.endswith(text)


def _matcher(name: str, text: str) -> Callable[[str], bool]:
    try:
        return compile_pattern(text).matches
    except GoError as fault:
        raise input_error(
            Code.SOPS_RULE_INVALID,
            f"{name} is not a valid regular expression in Go: {fault}",
            fix="Correct the expression",
        ) from None


_OTHER_KEYS: Final = {
    "pgp": "PGP keys",
    "kms": "AWS KMS keys",
    "gcp_kms": "GCP KMS keys",
    "hckms": "Huawei Cloud KMS keys",
    "azure_keyvault": "Azure Key Vault keys",
    "hc_vault_transit_uri": "HashiCorp Vault keys",
    "hc_vault": "HashiCorp Vault keys",
}
_AGE_ONLY: Final = (
    "osm-gitops encrypts for age recipients only, so owners of these keys would lose access. "
    "Add a separate rule with only age for the files of osm-gitops, before this one"
)


def read_creation_rule(raw: Mapping[str, Json], problems: list[Problem]) -> tuple[tuple[str, ...], Selection]:
    """Unique recipients in order, and the selection. Problems name the field of the rule."""
    recipients = tuple(dict.fromkeys(_recipients(raw, problems)))
    if not recipients and not problems:
        problems.append(
            Problem(Code.SOPS_RULE_NO_RECIPIENT, "the rule names no age recipient", fix="Add `age: age1…` to it")
        )
    for recipient in recipients:
        problem = recipient_problem(recipient)
        if problem:
            problems.append(problem.at(field="age"))
    return recipients, _selection(raw, problems)


def _recipients(raw: Mapping[str, Json], problems: list[Problem]) -> Iterator[str]:
    groups = _groups(raw, "key_groups", problems)
    if not raw.get("key_groups"):
        _refuse_other_keys(raw, "", problems)
        yield from _split(raw.get("age"), "age", problems)
    elif len(groups) > 1:
        problems.append(
            Problem(
                Code.SOPS_RULE_NOT_AGE_ONLY,
                "the rule splits the key among several key groups",
                field="key_groups",
                fix=_AGE_ONLY,
            )
        )
    for group in groups[:1]:
        yield from _of_group(group, "key_groups[0]", problems)


def _groups(raw: Mapping[str, Json], path: str, problems: list[Problem]) -> list[Mapping[str, Json]]:
    groups = raw.get(path.rpartition(".")[2]) or []
    if isinstance(groups, list) and all(isinstance(group, Mapping) for group in groups):
        return groups
    problems.append(Problem(Code.SOPS_RULE_INVALID, "it is not a list of key groups", field=path))
    return []


def _of_group(group: Mapping[str, Json], path: str, problems: list[Problem]) -> Iterator[str]:
    _refuse_other_keys(group, f"{path}.", problems)
    for place, merged in enumerate(_groups(group, f"{path}.merge", problems)):
        yield from _of_group(merged, f"{path}.merge[{place}]", problems)
    yield from _split(group.get("age"), f"{path}.age", problems)


def _refuse_other_keys(raw: Mapping[str, Json], path: str, problems: list[Problem]) -> None:
    problems.extend(
        Problem(Code.SOPS_RULE_NOT_AGE_ONLY, f"the rule encrypts with {name} too", field=f"{path}{kind}", fix=_AGE_ONLY)
        for kind, name in _OTHER_KEYS.items()
        if raw.get(kind)
    )


def _split(value: Json, path: str, problems: list[Problem]) -> Iterator[str]:
    """Recipients of comma-separated texts."""
    texts = value if isinstance(value, list) else [value or ""]
    if not all(isinstance(text, str) for text in texts):
        problems.append(
            Problem(Code.SOPS_RULE_INVALID, "it is neither a text with recipients nor a list of them", field=path)
        )
        return
    for text in texts:
        yield from (name.strip() for name in text.split(",") if name.strip())


def _selection(raw: Mapping[str, Json], problems: list[Problem]) -> Selection:
    named = [name for name in (*SELECTORS, *COMMENT_SELECTORS) if raw.get(name)]
    if len(named) > 1:
        what = f"a rule has at most one selector, and this one has {', '.join(named)}"
        problems.append(Problem(Code.SOPS_RULE_INVALID, what, field=named[1], fix="Keep one of them"))
        return Selection()
    if named and named[0] in COMMENT_SELECTORS:
        what = f"{named[0]} selects by comments, and osm-gitops writes none"
        problems.append(
            Problem(
                Code.SOPS_RULE_INVALID, what, field=named[0], fix="Use encrypted_regex: ^(data|stringData)$ or the like"
            )
        )
        return Selection()
    problems.extend(
        Problem(Code.SOPS_RULE_INVALID, "it is not a text", field=name)
        for name in named
        if not isinstance(raw[name], str)
    )
    only_encrypted = raw.get("mac_only_encrypted") or False
    if not isinstance(only_encrypted, bool):
        problems.append(Problem(Code.SOPS_RULE_INVALID, "it is neither true nor false", field="mac_only_encrypted"))
    selection = Selection(**{name: str(raw[name]) for name in named}, mac_only_encrypted=only_encrypted is True)
    try:
        compile_selection(selection)
    except InputError as error:
        problems.extend(problem.at(field=named[0]) for problem in error.problems)
    return selection


Json = Any

FILE_NAME: Final = ".sops.yaml"


@dataclass(frozen=True, slots=True)
class Rule:
    """Age recipients and a selection; ``where`` is the ``.sops.yaml:LINE`` or the flag."""

    recipients: tuple[str, ...]
    selection: Selection
    where: str = ""


@dataclass(slots=True)
class CreationRules:
    """Finds the rule of a file. Each ``.sops.yaml`` is read once; folders above ``top`` are not searched.

    ``allows`` returns whether a path may be read.
    """

    top: Path | None = None
    allows: Callable[[Path], bool] | None = None
    _files: dict[str, _RuleFile | None] = field(default_factory=dict)
    _last: tuple[Path, Rule | None] | None = None

    def rule_for(self, path: Path) -> Rule | None:
        """The first creation rule of the nearest ``.sops.yaml`` that matches ``path``; ``None`` if there are no rules.

        The file need not exist. Raises InputError if none of the rules matches, and for unsupported rules: keys other
        than age, several key groups, invalid expressions and recipients.
        """
        if self._last is not None and self._last[0] is path:  # several questions about one file
            return self._last[1]
        place = os.path.abspath(path)  # noqa: PTH100 - 30,000 files: texts are quicker, and no link is followed, as in sops
        rules = self._nearest(os.path.dirname(place))  # noqa: PTH120
        rule = rules.rule_for(place) if rules else None
        self._last = (path, rule)
        return rule

    def file_for(self, folder: Path) -> Path | None:
        """The ``.sops.yaml`` for files in ``folder``. Raises InputError if it is unreadable."""
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
        return None  # above the tree


@dataclass(slots=True)
class _RuleFile:
    """One ``.sops.yaml`` with its rules, each parsed when a file first needs it."""

    folder: str
    name: str
    document: Document
    rules: Sequence[Mapping[str, Json]]
    _known: dict[int, Rule] = field(default_factory=dict)

    def rule_for(self, path: str) -> Rule | None:
        if not self.rules:  # as in sops, a file without creation rules is ignored
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
                Code.SOPS_RULE_INVALID,
                "path_regex is not a text",
                where=self._where(index, "path_regex"),
                fix="Quote it",
            )
        try:
            return not expression or compile_pattern(expression).matches(relative)
        except GoError as fault:
            raise input_error(
                Code.SOPS_RULE_INVALID,
                f"path_regex is not a valid regular expression in Go: {fault}",
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
        raise input_error(
            Code.SOPS_RULE_INVALID, "creation_rules is not a list of rules", where=f"{path}:{document.line}"
        )
    return _RuleFile(folder, str(path), document, rules or [])
