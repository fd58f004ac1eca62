"""The document that OSM makes of a configuration and gives to the transpiler, reconstructed.

The line and column numbers in OSM's two recorded refusals are those of this layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from osm_gitops.model.profile import ConfigHalf, File, Unit
from osm_gitops.render.user_data import permissions_text


def container_linux_config(half: ConfigHalf, keys: Sequence[str], *, with_machine_name: bool) -> str:
    """``keys`` are trimmed and unique, as osm-behaviour.md, "User-data" has them."""
    parts = []
    if keys:
        parts.append("passwd:\n  users:\n  - name: core\n    ssh_authorized_keys:\n")
        parts += [f"    - {key}\n" for key in keys]
    parts.append("\n")
    if with_machine_name or half.files:
        parts.append("storage:\n  files:\n")
    if with_machine_name:
        parts.append("  - path: /etc/machine-name\n    mode: 0600\n    filesystem: root\n")
        parts.append("    contents:\n      inline: '<MACHINE_NAME>'\n")
    parts += map(_file, half.files)
    if half.units:
        parts.append("systemd:\n  units:\n")
    for unit in half.units:
        parts += _unit(unit)
    return "".join(parts)


def _file(file: File) -> str:
    return (
        f"  - path: '{file.path}'\n    mode: {permissions_text(file.permissions)}\n    filesystem: root\n"
        f"    contents:\n      inline: |\n{_indented(10, file.content)}\n"
    )


def _unit(unit: Unit) -> Iterator[str]:
    enabled, masked = (str(bool(each)).lower() for each in (unit.enable, unit.mask))
    yield f"  - name: {unit.name}\n    enabled: {enabled}\n    mask: {masked}\n"
    if unit.content:
        yield f"    contents: |\n{_indented(6, unit.content)}\n"
    if unit.drop_ins:
        yield "    dropins:\n"
    for drop_in in unit.drop_ins:
        yield f"      - name: {drop_in.name}\n        contents: |\n{_indented(10, drop_in.content)}\n"


def _indented(blanks: int, text: str) -> str:
    margin = " " * blanks
    return margin + text.replace("\n", "\n" + margin)
