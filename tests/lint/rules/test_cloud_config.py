"""Cloud-configs are read in parts, which hides no mistake: neither one inside of a part nor one between parts."""

from __future__ import annotations

import pytest

from osm_gitops.lint.rules.cloud_config import SYNTAX, UNKNOWN_KEY, WRITE_FILES, cloud_config_remarks
from osm_gitops.model.finding import Rule

_TEXT = """\
#cloud-config
hostname: a
ssh_pwauth: false
write_files:
- path: '/etc/a'
  permissions: '0644'
  content: |-
    a: b

- path: '/etc/b'
  permissions: '0644'
  content: |-
    b: c

runcmd:
- systemctl restart a
"""


def test_what_has_no_mistake_in_any_part_has_none() -> None:
    assert cloud_config_remarks(_TEXT) == ()


@pytest.mark.parametrize(
    ("right", "wrong", "rule", "line"),
    [
        ("'/etc/b'", "'/etc/a'", WRITE_FILES, 10),
        ("'/etc/b'", "'/etc/c/../a'", WRITE_FILES, 10),
        ("'/etc/a'", "'/etc/a", SYNTAX, 6),
        ("'0644'", "*mode", SYNTAX, 6),
        ("    b: c\n", "    b: c\n- path: /etc/a\n", WRITE_FILES, 14),
        ("    b: c\n", "    b: c\n---\n", SYNTAX, 16),
        ("    b: c\n", "    b: c\nhostname: b\n", SYNTAX, 14),
        ("    a: b\n", "    a: b\n  contnt: c\n", WRITE_FILES, 9),
        ("runcmd:", "runcmds:", UNKNOWN_KEY, 15),
        ("runcmd:", "write_files:", SYNTAX, 15),
    ],
)
def test_a_mistake_in_or_between_files_is_found_at_its_line(right: str, wrong: str, rule: Rule, line: int) -> None:
    cloud_config_remarks(_TEXT)  # its parts are known from now on
    found = [(remark.rule, remark.line) for remark in cloud_config_remarks(_TEXT.replace(right, wrong, 1))]
    assert (rule, line) in found
