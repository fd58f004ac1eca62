"""Which values of a document are encrypted: one of sops' selectors, asked key by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from osm_gitops.errors import Code, input_error
from osm_gitops.gocompat.fault import GoError
from osm_gitops.gocompat.regex import compile_pattern

SELECTORS: Final = ("encrypted_regex", "unencrypted_regex", "encrypted_suffix", "unencrypted_suffix")
COMMENT_SELECTORS: Final = ("encrypted_comment_regex", "unencrypted_comment_regex")
DEFAULT_SUFFIX: Final = "_unencrypted"


@dataclass(frozen=True, slots=True)
class Selection:
    """At most one selector (RE2 expressions, or endings of keys), and whether the MAC leaves clear values out.

    Without a selector every value is encrypted but those below a key that ends in ``_unencrypted``.
    """

    encrypted_regex: str = ""
    unencrypted_regex: str = ""
    encrypted_suffix: str = ""
    unencrypted_suffix: str = ""
    mac_only_encrypted: bool = False

    @property
    def selector(self) -> tuple[str, str]:
        """Name and text of the one selector that counts."""
        for name in SELECTORS:
            if text := getattr(self, name):
                return name, text
        return "unencrypted_suffix", DEFAULT_SUFFIX


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selection. ``outside`` says whether values are encrypted where no key of their path is ``chosen``."""

    outside: bool
    chosen: Callable[[str], bool]


@lru_cache(maxsize=64)
def compile_selection(selection: Selection) -> Selector:
    """The selector of ``selection``; raises InputError for an expression that RE2 does not take."""
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
            f"{name} is no regular expression that Go takes: {fault}",
            fix="Correct the expression",
        ) from None
