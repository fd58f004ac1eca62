"""The syntax trees of scripts."""

from __future__ import annotations

import pytest

from osm_gitops.shell.syntax import Node, is_deeper, parse

_SCRIPTS = (
    "",
    "echo a",
    "a && b || c; d | e\n" * 30,
    "if a; then while b; do case $c in d) (e; { f; }) ;; esac; done; fi",
    "echo " + "$(echo " * 40 + "x" + ")" * 40,
    "x=" + "${a:-" * 25 + "b" + "}" * 25 + "\n" + "echo one two three\n" * 50,
    "if true; then",
)


@pytest.mark.parametrize("script", _SCRIPTS)
def test_nodes_are_as_deep_as_their_deepest_one(script: str) -> None:
    root = parse(script)
    depth = _depth(root)
    assert is_deeper(root, depth - 1)
    assert not is_deeper(root, depth)


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, node.children), default=0)
