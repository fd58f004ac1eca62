"""User-data for cloud-init, to the byte (osm-behaviour.md, "cloud-init user-data").

OSM fills a text template and quotes nothing, so neither does this: what breaks the
YAML there breaks it here. Checks of the result are not this module's work.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from osm_gitops.model.config import ConfigHalf
from osm_gitops.model.profile import File, Modules, Unit


def render_cloud_init(
    half: ConfigHalf, ssh_keys: Sequence[str], machine_name: str | None, *, dist_upgrade: bool
) -> str:
    """One half as a ``#cloud-config``.

    ``ssh_keys`` are trimmed and unique; ``machine_name`` is what stands for the machine's
    name, ``None`` where this half does not set it.
    """
    parts = ["#cloud-config" if machine_name is None else f"#cloud-config\nhostname: {machine_name}", "\n\n"]
    if dist_upgrade:
        parts.append("package_upgrade: true\npackage_reboot_if_required: true\n")
    parts.append("ssh_pwauth: false\n\nssh_authorized_keys:\n")
    parts.extend(f"- '{key}'\n" for key in ssh_keys)
    parts.append("write_files:")
    parts.extend(map(_file, half.files))
    if machine_name is not None:
        parts.append(f"\n- path: /etc/machine-name\n  permissions: '0600'\n  content: |-\n        {machine_name}\n")
    if half.units:
        parts.append("coreos:\n  units:")
        parts.extend(map(_unit, half.units))
    if half.modules is not None:
        parts.extend(_modules(half.modules))
    return "".join(parts)


def permissions_text(permissions: int) -> str:
    """The decimal digits, with a zero before exactly three characters (644 is ``0644``, -12 is ``0-12``)."""
    text = str(permissions)
    return f"0{text}" if len(text) == 3 else text


# Most files are the same for many machines; those that differ pass through the cache once.
@lru_cache(maxsize=512)
def _file(file: File) -> str:
    encoding = f"\n  encoding: '{file.encoding}'" if file.encoding else ""
    content = b64encode(file.content.encode()).decode() if file.encoding == "b64" else file.content
    head = f"\n- path: '{file.path}'\n  permissions: '{permissions_text(file.permissions)}'{encoding}\n  content: |-\n"
    return f"{head}{_indent(4, content)}\n"


def _unit(unit: Unit) -> str:
    enabled, masked = ("true" if value else "false" for value in (unit.enable, unit.mask))
    command = "command: start" if unit.enable else ""
    parts = [f'\n  - name: "{unit.name}"\n    enable: {enabled}\n    {command}\n    mask: {masked}\n']
    if unit.content:
        parts.append(f"\n    content: |\n{_indent(6, unit.content)}")
    parts.append("\n")
    if unit.drop_ins:
        parts.append("\n    drop_ins:")
    parts.extend(
        f'\n      - name: "{drop_in.name}"\n        content: |\n{_indent(10, drop_in.content)}'
        for drop_in in unit.drop_ins
    )
    return "".join(parts)


def _modules(modules: Modules) -> Iterator[str]:
    for name, commands in (("bootcmd", modules.bootcmd), ("runcmd", modules.runcmd)):
        if commands:
            yield f"\n{name}:" + "".join(f"\n- {command}" for command in commands) + "\n"
    if modules.rh_subscription:
        yield f"\nrh_subscription:{_pairs(4, modules.rh_subscription)}\n"
    if modules.yum_repos:
        repos = (f"\n    {name}:{_pairs(7, modules.yum_repos[name])}" for name in _sorted_keys(modules.yum_repos))
        yield "\nyum_repos:" + "".join(repos) + "\n"
    if modules.yum_repo_dir:
        yield f"\nyum_repo_dir: {modules.yum_repo_dir}"


def _pairs(depth: int, pairs: Mapping[str, str]) -> str:
    return "".join(f"\n{' ' * depth}{key}: {pairs[key]}" for key in _sorted_keys(pairs))


def _sorted_keys(mapping: Mapping[str, object]) -> list[str]:
    """Keys in the order of their UTF-8 bytes, as Go sorts them."""
    return sorted(mapping, key=str.encode)


def _indent(depth: int, text: str) -> str:
    blanks = " " * depth
    return blanks + text.replace("\n", "\n" + blanks)
