"""External programs that check boot files, each behind one small class.

Belongs here: running shellcheck, bash, cloud-init and systemd-analyze on many files, in parallel within limits, and
parsing their output. May not come in: checks without them (``osm_gitops.lint.rules``), and the choice of what to check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from osm_gitops.lint.external import cloud_init, shell, systemd
from osm_gitops.lint.rules.boot_file import Checker
from osm_gitops.model.finding import Rule

RULES: Final[tuple[Rule, ...]] = (*shell.RULES, *systemd.RULES, *cloud_init.RULES)
_CHECKERS: Final[tuple[Callable[[Mapping[str, str]], Checker], ...]] = (
    shell.Shellcheck,
    shell.Bash,
    systemd.SystemdAnalyze,
    cloud_init.CloudInit,
)


def checkers(environment: Mapping[str, str]) -> tuple[Checker, ...]:
    """All checkers; programs are searched on the PATH of ``environment``."""
    return tuple(make(environment) for make in _CHECKERS)
