"""People with age keys, and made-up documents, for the tests of the SOPS format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from osm_gitops.sops.keys import Keyring, find_keys, new_identity
from osm_gitops.sops.rules import Rule, Selection
from osm_gitops.yaml.jsontext import whole

VECTORS = Path(__file__).parent / "vectors"
VECTOR_KEYS = find_keys({"SOPS_AGE_KEY_FILE": str(VECTORS / "key.txt")})
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For machines that do other work at the same time."""
NOW = "2026-02-01T09:30:00Z"
LATER = "2026-02-02T10:00:00Z"
OURS = Selection(encrypted_regex="^(data|stringData|bootstrapConfig)$")
Trail = tuple[str | int, ...]


@dataclass(frozen=True)
class Person:
    key: str
    recipient: str

    @property
    def environment(self) -> Mapping[str, str]:
        return {"SOPS_AGE_KEY": self.key}

    @cached_property
    def keyring(self) -> Keyring:
        return find_keys(self.environment)

    def rule(self, selection: Selection = OURS) -> Rule:
        return Rule((self.recipient,), selection, "a test")


ANNA, BERT, CLEO = (Person(*new_identity()) for _ in range(3))

SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "pull-secret", "labels": {"app": "on"}},
    "data": {"token": "dG9wLXNlY3JldA==", "empty": "", "other": "geheim", "again": "geheim"},
    "stringData": {"list": ["first line", "second line", 7, True, 2.5, None, ["deep", {"er": "still"}]]},
}


def flattened(value: Any, trail: Trail = ()) -> Iterator[tuple[Trail, Any]]:
    """Every leaf with the keys and indices that lead to it; empty collections count as leaves."""
    if isinstance(value, Mapping) and value:
        for key, member in value.items():
            yield from flattened(member, (*trail, key))
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for index, member in enumerate(value):
            yield from flattened(member, (*trail, index))
    else:
        yield trail, value


def replaced(value: Any, trail: Trail, new: Any) -> Any:
    """A copy of ``value`` with ``new`` at the end of ``trail``."""
    if not trail:
        return new
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    copy[trail[0]] = replaced(value[trail[0]], trail[1:], new)
    return copy


def is_sealed(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("ENC[AES256_GCM,")


NAMES = ("data", "stringData", "metadata", "token_unencrypted", "spec", "fooConfig", "a:b", "8", "", "on")
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_keys = st.sampled_from(NAMES) | _texts
_numbers = st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False, allow_infinity=False).map(whole).filter(
    lambda number: isinstance(number, float) or abs(number) < 1 << 63
)
_awkward = st.sampled_from(
    (
        "",
        " ",
        "\n",
        "yes",
        "null",
        "~",
        "0x1f",
        "1e3",
        "2026-01-31",
        "a: b",
        "#c",
        "ENC[AES256_GCM,data:x]",
        "ü\u2028\ufeff🗝",
    )
)
scalars = (
    st.none() | st.booleans() | _numbers | _awkward | _texts | st.binary(max_size=600).map(lambda data: data.hex())
)
_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=4), max_leaves=12
)
documents = st.dictionaries(_keys.filter(lambda key: key != "sops"), _values, max_size=5)
selections = st.builds(
    lambda chosen, mac_only_encrypted: Selection(**chosen, mac_only_encrypted=mac_only_encrypted),
    st.sampled_from(
        (
            {},
            {"encrypted_regex": "^(data|stringData)$"},
            {"encrypted_regex": "a"},
            {"unencrypted_regex": "^(metadata|on)$"},
            {"encrypted_suffix": "Config"},
            {"unencrypted_suffix": "ata"},
        )
    ),
    st.booleans(),
)
