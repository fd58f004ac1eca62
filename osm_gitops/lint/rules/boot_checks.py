"""The checks of the flow of a boot, on each distinct boot once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

from osm_gitops.lint.rules import (
    accounts,
    applied,
    boot_units,
    command_words,
    fetching,
    misspelled,
    packages,
    programs,
    unit_order,
    written_texts,
)
from osm_gitops.lint.rules.boot_file import BootDocument
from osm_gitops.lint.rules.boot_model import Boot, Spotted, boot_of, spotted_findings
from osm_gitops.model.finding import Finding, Rule

_CHECKS: Final[tuple[Callable[[Boot], Iterable[Spotted]], ...]] = (
    programs.check_programs,
    programs.check_bootcmd,
    programs.check_names_on_path,
    programs.check_commands_of_packages,
    programs.check_environment_files,
    accounts.check_accounts,
    programs.check_interpreters,
    misspelled.check_interpreters,
    misspelled.check_commands,
    misspelled.check_kernel,
    packages.check_packages,
    boot_units.check_names,
    boot_units.check_triggers,
    boot_units.check_started,
    boot_units.check_masked,
    boot_units.check_install_sections,
    unit_order.check_cycles,
    unit_order.check_waiting,
    unit_order.check_names,
    fetching.check_fail,
    fetching.check_authorities,
    fetching.check_architecture,
    fetching.check_keys_of_apt,
    applied.check_file_names,
    applied.check_folders,
    applied.check_applied,
    applied.check_bridge_settings,
    written_texts.check_written,
    command_words.check_words,
    command_words.check_reachable,
)
RULES: Final[tuple[Rule, ...]] = (
    *programs.RULES,
    *misspelled.RULES,
    *accounts.RULES,
    *command_words.RULES,
    *packages.RULES,
    *boot_units.RULES,
    *unit_order.RULES,
    *fetching.RULES,
)


def check_boot(document: BootDocument) -> Iterator[Finding]:
    """Check what runs on the node, in which order, with what files, packages and units."""
    yield from spotted_findings(document, _spotted(boot_of(document)))
    yield from applied.check_modules_of_system(document)


@lru_cache(maxsize=256)
def _spotted(boot: Boot) -> tuple[Spotted, ...]:
    return tuple(dict.fromkeys(each for check in _CHECKS for each in check(boot)))
