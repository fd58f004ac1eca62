"""Hooks of mkdocs.yml: anchors as GitHub makes them, Mermaid, links that lead out of docs/, and no outside hosts."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

from pymdownx.slugs import slugify
from pymdownx.superfences import fence_code_format

ROOT = Path(__file__).resolve().parent.parent
_LOG = logging.getLogger("mkdocs.hooks.site")  # what is below "mkdocs" counts for --strict
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_LOADED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)="?(?:https?:)?//[^>]*>""")


def on_config(config: Any) -> Any:
    """Set the options whose values are functions, which plain YAML cannot name."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    mermaid = {"name": "mermaid", "class": "mermaid", "format": fence_code_format}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [mermaid]}
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep the text of links to files of the repository that are not on the site, such as CONTRIBUTING.md."""
    folder = Path(page.file.abs_src_path).parent

    def unlinked(link: re.Match[str]) -> str:
        goal = Path(os.path.normpath(folder / link[2].partition("#")[0]))
        outside = goal.is_relative_to(ROOT) and not goal.is_relative_to(ROOT / "docs") and goal.exists()
        return link[1] if outside else link[0]

    return _ROW.sub(_with_plain_bars, _LINK.sub(unlinked, markdown))


def _with_plain_bars(row: re.Match[str]) -> str:
    """Code in a row of a table: GitHub wants bars escaped there, Python-Markdown wants them plain."""
    return re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), row[0])


def on_post_page(output: str, page: Any, **_: Any) -> None:
    """Warn of what a page loads from another host. Material itself loads one thing: Mermaid, from unpkg.com, for pages
    with a chart (explanation/architecture.md); without a network the chart's text is shown.
    """
    for tag in _LOADED.findall(output):
        _LOG.warning("%s loads from another host: %s", page.file.src_uri, tag)
