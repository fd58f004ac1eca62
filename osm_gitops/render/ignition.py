"""User-data for Ignition 2.3.0, to the byte (osm-behaviour.md, "Ignition user-data").

OSM writes a Container Linux Config, parses it and converts it. Here the result is
written directly; ``ignition_text`` knows what the way through YAML does to a text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from osm_gitops.errors import Code, InputError, Problem
from osm_gitops.gocompat.gojson import encode
from osm_gitops.model.config import ConfigHalf
from osm_gitops.model.profile import File, Unit
from osm_gitops.render.ignition_text import TextFault, literal_block, plain_scalar, single_quoted
from osm_gitops.render.ignition_units import unit_json

Part = TypeVar("Part", File, Unit)

_HEAD: Final = '{"ignition":{"config":{},"security":{"tls":{}},"timeouts":{},"version":"2.3.0"},"networkd":{},'
_MACHINE_NAME_FILE: Final = (
    '{"filesystem":"root","path":"/etc/machine-name",'
    '"contents":{"source":"data:,%3CMACHINE_NAME%3E","verification":{}},"mode":384}'
)
_HIGHEST_MODE: Final = 0o7777
# The percent sign first: the others bring new ones.
_ESCAPES: Final = tuple((character, f"%{ord(character):02X}") for character in '% \n\t"#$&+,/:;<=>?@[\\]^`{|}')
_BEYOND_ASCII: Final = {code: f"%{code:02X}" for code in range(0x80, 0x100)}
_FIX: Final = "OSM hands it to Ignition by way of YAML: change the profile so that it survives that, or use cloud-init"


def render_ignition(half: ConfigHalf, ssh_keys: Sequence[str], field: str, *, with_machine_name: bool) -> str:
    """One half as Ignition JSON; ``field`` (``spec.bootstrapConfig``) names it in errors.

    ``ssh_keys`` are trimmed and unique. Raises InputError with everything that OSM or
    its transpiler would refuse.
    """
    problems: list[Problem] = []
    keys = _ssh_keys(ssh_keys, problems)
    files = [_MACHINE_NAME_FILE] if with_machine_name else []
    files += _rendered(half.files, _file, f"{field}.files", problems)
    units = _rendered(half.units, unit_json, f"{field}.units", problems)
    if problems:
        raise InputError(problems)
    authorized = f',"sshAuthorizedKeys":{encode(keys)}' if keys else ""
    users = f'"users":[{{"name":"core"{authorized}}}]' if ssh_keys else ""
    storage = f'"files":[{",".join(files)}]' if files else ""
    systemd = f'"units":[{",".join(units)}]' if units else ""
    return f'{_HEAD}"passwd":{{{users}}},"storage":{{{storage}}},"systemd":{{{systemd}}}}}'


def _ssh_keys(texts: Sequence[str], problems: list[Problem]) -> list[str]:
    """The keys as YAML reads them; one that reads as null vanishes."""
    keys = []
    for number, text in enumerate(texts, 1):
        try:
            key = plain_scalar(text)
        except TextFault as fault:
            field = "spec.template.spec.providerSpec.value.sshPublicKeys"
            problems.append(
                Problem(
                    Code.UNCODED, f"Ignition cannot be given SSH key {number} of {len(texts)}: it {fault}", field=field
                )
            )
            continue
        if key is not None:
            keys.append(key)
    return keys


def _rendered(
    parts: Sequence[Part], render: Callable[[Part], tuple[str, tuple[str, ...]]], field: str, problems: list[Problem]
) -> list[str]:
    rendered = []
    for index, part in enumerate(parts):
        text, faults = render(part)
        rendered.append(text)
        problems += [Problem(Code.UNCODED, fault, field=f"{field}[{index}]", fix=_FIX) for fault in faults]
    return rendered


# Most files are the same for many machines; those that differ pass through the cache once.
@lru_cache(maxsize=512)
def _file(file: File) -> tuple[str, tuple[str, ...]]:
    """The JSON of a file, and what is wrong with it."""
    faults = []
    path, content, mode = file.path, "", _mode(file.permissions)
    try:
        path = single_quoted(file.path)
    except TextFault as fault:
        faults.append(f"the path of file {file.path} {fault}")
    if not path.startswith("/"):
        faults.append(f"the path of file {file.path} is not absolute")
    if not 0 <= mode <= _HIGHEST_MODE:
        faults.append(
            f"the permissions {file.permissions} of file {file.path} are not possible with Ignition, "
            f"which takes more than three digits as a decimal number of at most {_HIGHEST_MODE}"
        )
    try:
        content = literal_block(file.content, 10)
    except TextFault as fault:
        faults.append(f"the content of file {file.path} {fault}")
    source = f'"contents":{{"source":"{data_url(content)}","verification":{{}}}}'
    return f'{{"filesystem":"root","path":{encode(path)},{source},"mode":{mode}}}', tuple(faults)


def _mode(permissions: int) -> int:
    """The file mode: three octal digits get a leading zero, which makes them octal in YAML."""
    digits = str(permissions)
    return int(digits, 8) if len(digits) == 3 and set(digits) <= set("01234567") else permissions


def data_url(content: str) -> str:
    """``content`` as a ``data:`` URL, percent-encoded."""
    # One pass per escaped character is the fastest way over much text.
    text = content if content.isascii() else content.encode().decode("latin-1")
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    return f"data:,{text if text.isascii() else text.translate(_BEYOND_ASCII)}"
