"""Values of the INI files that cloud providers read (osm-behaviour.md, "Cloud-config")."""

from __future__ import annotations


def quoted(text: str) -> str:
    """A text in double quotes, backslashes and quotes escaped; line breaks stay."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def flag(value: bool) -> str:
    return "true" if value else "false"
