"""The ids of rules, which annotations name. A test of docs/reference/lint-rules.md has the list."""

from __future__ import annotations

import re
import subprocess
import sys

from osm_gitops.commands.validate.linter import all_rules


def test_an_id_is_words_with_dashes_and_fits_an_annotation() -> None:
    ids = [rule.id for rule in all_rules()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each) and len(each) <= 40 for each in ids)


def test_a_run_leaves_the_checks_to_its_worker() -> None:
    script = "import osm_gitops.commands.validate.run, sys; print('osm_gitops.lint.rules.catalogue' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
