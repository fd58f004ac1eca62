"""Texts that try to get out of the place that a report gives them."""

from __future__ import annotations

from hypothesis import strategies as st

FRAGMENTS = (
    "```", "````", "`", "``", "~~~", "</details>", "<details open>", "</summary>", "</code>", "</pre>",
    "<script>x</script>", "<img src=x onerror=y>", "<!--", "-->", "<![CDATA[", "@team", "@org/team", "#1", "GH-1",
    "org/repo#1", "http://evil.example/", "https://evil.example", "www.evil.example", "a@evil.example", "[a](b)",
    "![a](b)", "[a]: b", "|", "\\|", "\\", "\\\\|", "| a | b |\n|---|---|\n", "\n", "\n\n", "\r", "\r\n", "\t",
    "    ", "# h", "- x", "> q", "***", "---", "===", "*", "_", "~~", "&lt;", "&#64;", "\x1b[2J", "\u2028", "\u202e",
    "é", "x", " ", "", "a3f5c1d2e4b6a3f5c1d2e4b6a3f5c1d2e4b6a3f5",
)  # fmt: skip


def hostile_text(*, least: int = 0) -> st.SearchStrategy[str]:
    """Fragments in any order."""
    return st.lists(st.sampled_from(FRAGMENTS), min_size=least, max_size=8).map("".join)
