"""Every rule that code has is in the list that people read, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from osm_gitops.commands.validate.linter import all_rules

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "validate.md"


def test_the_list_of_rules_is_complete_and_true() -> None:
    table = PAGE.read_text("utf-8").split("\n## Rules\n", 1)[1]
    rows = re.findall(r"^\| `(.+?)` \| (\w+) \| (.+?) \|$", table, re.MULTILINE)
    assert rows == [(rule.id, rule.severity.value, rule.meaning) for rule in all_rules()]


def test_an_id_is_words_with_dashes_and_fits_an_annotation() -> None:
    ids = [rule.id for rule in all_rules()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each) and len(each) <= 40 for each in ids)
