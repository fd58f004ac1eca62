"""External programs that check boot files, each behind one small class.

Belongs here: running shellcheck, bash, cloud-init and systemd-analyze on many files, in parallel within limits, and
parsing their output. May not come in: checks without them (``osm_gitops.lint.rules``), and the choice of what to check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from osm_gitops.lint.external import cloud_init, shell, systemd
from osm_gitops.lint.external.programs import find_program, run, scratch
from osm_gitops.lint.rules.boot_file import Checker
from osm_gitops.model.finding import Rule

RULES: Final[tuple[Rule, ...]] = (*shell.RULES, *systemd.RULES, *cloud_init.RULES)
_CHECKERS: Final[tuple[Callable[[Mapping[str, str]], Checker], ...]] = (
    shell.Shellcheck,
    shell.Bash,
    systemd.SystemdAnalyze,
    cloud_init.CloudInit,
)


def identities(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What the answers of programs depend on: which are installed, with their versions, and the units of this machine.

    A program is asked for its version, which says the same on all machines.
    """
    with scratch() as folder:
        found = [
            run([path, "--version"], folder, environment).output if path else ""
            for name in ("shellcheck", "bash", "systemd-analyze", "cloud-init")
            for path in (find_program(name, environment),)
        ]
    return *found, *systemd.system_units()


def checkers(environment: Mapping[str, str]) -> tuple[Checker, ...]:
    """All checkers; programs are searched on the PATH of ``environment``."""
    return tuple(make(environment) for make in _CHECKERS)
