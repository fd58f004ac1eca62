"""One creation rule of a ``.sops.yaml``: its recipients and its selection, or why they cannot be honoured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.sops.recipients import recipient_problem
from osm_gitops.sops.selection import COMMENT_SELECTORS, SELECTORS, Selection, compile_selection

Json = Any

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
    "osm-gitops encrypts for age recipients only, and would lock those out. "
    "Give the files of osm-gitops a rule of their own, with age alone, before this one"
)


def read_creation_rule(raw: Mapping[str, Json], problems: list[Problem]) -> tuple[tuple[str, ...], Selection]:
    """Recipients, each once and in their order, and selection; problems name the field inside of the rule."""
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
    problems.append(Problem(Code.SOPS_RULE_INVALID, "this is no list of key groups", field=path))
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
    """Texts with recipients between commas."""
    texts = value if isinstance(value, list) else [value or ""]
    if not all(isinstance(text, str) for text in texts):
        problems.append(
            Problem(Code.SOPS_RULE_INVALID, "this is neither a text with recipients nor a list of them", field=path)
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
        what = f"{named[0]} goes by comments, and what osm-gitops writes has none"
        problems.append(
            Problem(
                Code.SOPS_RULE_INVALID, what, field=named[0], fix="Use encrypted_regex: ^(data|stringData)$ or the like"
            )
        )
        return Selection()
    problems.extend(
        Problem(Code.SOPS_RULE_INVALID, "this is no text", field=name)
        for name in named
        if not isinstance(raw[name], str)
    )
    only_encrypted = raw.get("mac_only_encrypted") or False
    if not isinstance(only_encrypted, bool):
        problems.append(Problem(Code.SOPS_RULE_INVALID, "this is neither true nor false", field="mac_only_encrypted"))
    selection = Selection(**{name: str(raw[name]) for name in named}, mac_only_encrypted=only_encrypted is True)
    try:
        compile_selection(selection)
    except InputError as error:
        problems.extend(problem.at(field=named[0]) for problem in error.problems)
    return selection
