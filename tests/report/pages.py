"""What every page of ours must be."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from typing import Final

_VOID: Final = {"meta", "br", "input", "rect"}
_DIRECTIVES = {"default-src", "style-src", "script-src", "base-uri", "form-action"}


class Reader(HTMLParser):
    """Gathers elements, attributes, ids and links, and checks that each element is closed in its turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.names: list[str] = []
        self.links: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.names += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def allows_its_own_parts_alone(page: str) -> bool:
    """Whether the page's policy allows its style sheet and its script, by their hashes, and nothing else."""
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    rules = dict(rule.split(" ", 1) for rule in unescape(policy).split("; "))
    assert rules.keys() == _DIRECTIVES
    assert {rules[name] for name in ("default-src", "base-uri", "form-action")} == {"'none'"}
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return (rules["style-src"], rules["script-src"]) == (_source(style), _source(script))


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
