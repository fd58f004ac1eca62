"""Checks of Ignition 2.3.0: its schema, what Ignition refuses, and what it silently ignores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import normpath
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from osm_gitops.bounded.json_values import line_of_fault
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.lint.rules.boot_file import HALVES, BootDocument, Remark, closest_match, suggested_fix
from osm_gitops.lint.rules.cloud_config import SSH_KEY, key_fault
from osm_gitops.lint.rules.systemd import unit_name_remark, unit_remarks
from osm_gitops.model.finding import Finding, Rule, Severity
from osm_gitops.model.objects import value_at

# A shape is a mapping of members, a list of one shape, or the name of a scalar; ! marks required members.
Shape = Any

_VERIFICATION: Final[Shape] = {"hash": "string"}
_REFERENCE: Final[Shape] = {"source": "string!", "verification": _VERIFICATION}
_OWNER: Final[Shape] = {"id": "integer", "name": "string"}
_NODE: Final[Mapping[str, Shape]] = {
    "filesystem": "string!",
    "path": "string!",
    "user": _OWNER,
    "group": _OWNER,
    "overwrite": "boolean",
}
_CONTENTS: Final[Shape] = {"compression": "string", "source": "string", "verification": _VERIFICATION}
_DROP_INS: Final[Shape] = [{"name": "string!", "contents": "string"}]
_CREATE: Final[Shape] = {"force": "boolean", "options": ["string"]}
_MOUNT: Final[Shape] = {
    "device": "string!",
    "format": "string!",
    "label": "string",
    "uuid": "string",
    "options": ["string"],
    "wipeFilesystem": "boolean",
    "create": _CREATE,
}
_PARTITION: Final[Shape] = {
    **dict.fromkeys(("guid", "label", "typeGuid"), "string"),
    **dict.fromkeys(("number", "size", "sizeMiB", "start", "startMiB"), "integer"),
    **dict.fromkeys(("shouldExist", "wipePartitionEntry"), "boolean"),
}
_USER: Final[Shape] = {
    "name": "string!",
    **dict.fromkeys(("gecos", "homeDir", "passwordHash", "primaryGroup", "shell"), "string"),
    **dict.fromkeys(("noCreateHome", "noLogInit", "noUserGroup", "system"), "boolean"),
    "uid": "integer",
    "groups": ["string"],
    "sshAuthorizedKeys": ["string"],
    "create": {
        **dict.fromkeys(("gecos", "homeDir", "primaryGroup", "shell"), "string"),
        **dict.fromkeys(("noCreateHome", "noLogInit", "noUserGroup", "system"), "boolean"),
        "uid": "integer",
        "groups": ["string"],
    },
}
CONFIG: Final[Shape] = {
    "ignition": {
        "version": "string!",
        "config": {"append": [_REFERENCE], "replace": _REFERENCE},
        "security": {"tls": {"certificateAuthorities": [_REFERENCE]}},
        "timeouts": {"httpResponseHeaders": "integer", "httpTotal": "integer"},
    },
    "networkd": {"units": [{"name": "string!", "contents": "string", "dropins": _DROP_INS}]},
    "passwd": {
        "users": [_USER],
        "groups": [{"name": "string!", "gid": "integer", "passwordHash": "string", "system": "boolean"}],
    },
    "storage": {
        "disks": [{"device": "string!", "wipeTable": "boolean", "partitions": [_PARTITION]}],
        "raid": [
            {"name": "string!", "level": "string", "devices": ["string"], "options": ["string"], "spares": "integer"}
        ],
        "filesystems": [{"name": "string", "path": "string", "mount": _MOUNT}],
        "files": [{**_NODE, "mode": "integer", "append": "boolean", "contents": _CONTENTS}],
        "directories": [{**_NODE, "mode": "integer"}],
        "links": [{**_NODE, "hard": "boolean", "target": "string!"}],
    },
    "systemd": {
        "units": [
            {
                "name": "string!",
                "contents": "string",
                "dropins": _DROP_INS,
                "enable": "boolean",
                "enabled": "boolean",
                "mask": "boolean",
            }
        ]
    },
}
"""The whole document."""


SYNTAX: Final = Rule("ignition-syntax", Severity.ERROR, "the user-data is not Ignition 2.3.0")
SCHEMA: Final = Rule("ignition-schema", Severity.ERROR, "Ignition does not know a member, or expects another type")
VALUE: Final = Rule("ignition-value", Severity.ERROR, "Ignition cannot use a value")
DUPLICATE: Final = Rule("ignition-duplicate", Severity.ERROR, "two parts of an Ignition config conflict")
MODE: Final = Rule("ignition-mode", Severity.ERROR, "a mode is not an octal number in decimal notation")
RULES: Final = (SYNTAX, SCHEMA, VALUE, DUPLICATE, MODE)

VERSION: Final = "2.3.0"
_SCALARS: Final = {"string": (str,), "boolean": (bool,), "integer": (int,)}
_WORDS: Final = {"string": "a text", "boolean": "true or false", "integer": "a whole number"}
_SCHEMES: Final = ("http", "https", "tftp", "s3", "oem", "data")
_HASH: Final = re.compile(r"sha512-[0-9a-f]{128}")
_BROKEN_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_OCTAL_LOOK: Final = frozenset({600, 640, 644, 660, 664, 700, 711, 750, 755, 775, 777, 1755, 1777, 2755, 4755})
_ROOTS: Final = ("root", "oem")


def check_ignition(document: BootDocument) -> Iterator[Finding]:
    """Check the user-data of a pool that boots with Ignition; other checks report the content of files and units."""
    if document.utility != "ignition":
        return
    for half in HALVES:
        for remark in ignition_remarks(document.user_data[half].decode(errors="replace"), with_parts=False):
            where = document.profile.manifest.line_of(f"spec.{half}Config")
            yield Finding(remark.rule, f"in the {half} user-data, {remark.message}", where=where, fix=remark.fix)


def ignition_remarks(text: str, *, with_parts: bool = True) -> Iterator[Remark]:
    """Problems of a whole config. Without ``with_parts``, skip contents, paths and names of files and units, which
    other checks report at their sources. Lines are those of the JSON text.
    """
    repeated: list[str] = []

    def unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in members]
        repeated.extend(name for index, name in enumerate(names) if name in names[:index])
        return dict(members)

    try:
        config = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        line = line_of_fault(error, text)
        yield Remark(SYNTAX, "it is not JSON", line, "Ignition reads JSON, without comments and trailing commas")
        return
    yield from (Remark(DUPLICATE, f"the key {name} is twice in one object", 1, "Remove one") for name in repeated)
    version = value_at(config, ("ignition", "version"))
    if version != VERSION:
        yield Remark(SYNTAX, f"its version is {version!r}, not {VERSION!r}", 1, f"Write {VERSION}")
        return
    yield from _shape_remarks(config, CONFIG, "")
    yield from _storage_remarks(config, with_parts=with_parts)
    if with_parts:
        yield from _unit_remarks(_entries(config, "systemd", "units"))
    yield from _user_remarks(_entries(config, "passwd", "users"))


def _entries(config: Any, *path: str) -> list[Mapping[str, Any]]:
    found = value_at(config, path)
    return [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else []


def _shape_remarks(value: Any, shape: Shape, place: str) -> Iterator[Remark]:
    if value is None:
        return
    if isinstance(shape, str):
        wanted = shape.rstrip("!")
        if not isinstance(value, _SCALARS[wanted]) or (wanted == "integer" and isinstance(value, bool)):
            yield Remark(SCHEMA, f"{place} must be {_WORDS[wanted]}", 1, "Correct it")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield Remark(SCHEMA, f"{place} must be a list", 1, "Correct it")
            return
        for index, entry in enumerate(value):
            yield from _shape_remarks(entry, shape[0], f"{place}[{index}]")
    elif not isinstance(value, Mapping):
        yield Remark(SCHEMA, f"{place or 'the config'} must be an object", 1, "Correct it")
    else:
        yield from _member_remarks(value, shape, place)


def _member_remarks(value: Mapping[str, Any], shape: Mapping[str, Shape], place: str) -> Iterator[Remark]:
    for name, member in value.items():
        at = f"{place}.{name}" if place else name
        if name in shape:
            yield from _shape_remarks(member, shape[name], at)
        else:
            yield Remark(SCHEMA, f"Ignition does not know the member {at}", 1, suggested_fix(name, shape, "Remove it"))
    for name, below in shape.items():
        if (
            isinstance(below, str)
            and below.endswith("!")
            and not (value.get(name) or (name not in value and closest_match(name, value)))
        ):
            yield Remark(VALUE, f"{place} has no {name}", 1, "Set it")


def _storage_remarks(config: Any, *, with_parts: bool) -> Iterator[Remark]:
    kinds = {kind: _entries(config, "storage", kind) for kind in ("files", "directories", "links")}
    filesystems = {
        name for each in _entries(config, "storage", "filesystems") if isinstance(name := each.get("name"), str)
    }
    seen: dict[tuple[str, str], str] = {}
    for kind, nodes in kinds.items():
        for node in nodes:
            path = node.get("path")
            if not isinstance(path, str):
                continue
            if node.get("filesystem") not in (*filesystems, *_ROOTS):
                yield Remark(VALUE, f"the filesystem of {path} is neither root nor a declared one", 1, "Write root")
            yield from _node_remarks(node, kind, path, with_parts=with_parts)
            key = (str(node.get("filesystem")), normpath(path))
            if key in seen and with_parts:
                yield Remark(
                    DUPLICATE, f"{key[1]} is written twice, as one of the {seen[key]} and the {kind}", 1, "Keep one"
                )
            seen.setdefault(key, kind)
    if with_parts:
        yield from _below_remarks(seen)


def _below_remarks(seen: Mapping[tuple[str, str], str]) -> Iterator[Remark]:
    for filesystem, path in seen:
        above = path.rpartition("/")[0]
        while above:
            if seen.get((filesystem, above)) == "files":
                yield Remark(DUPLICATE, f"{path} is below {above}, which is a file", 1, "Give one another path")
            above = above.rpartition("/")[0]


def _node_remarks(node: Mapping[str, Any], kind: str, path: str, *, with_parts: bool) -> Iterator[Remark]:
    if with_parts and (not path.startswith("/") or path != normpath(path)):
        yield Remark(
            VALUE, f"the path {path} is not absolute and clean", 1, f"Write {normpath('/' + path.lstrip('/'))}"
        )
    if kind == "links":
        return
    mode = node.get("mode")
    if mode is None:
        yield Remark(MODE, f"{path} has no mode", 1, "Give it one, such as 420 for 0644")
    elif isinstance(mode, int) and not 0 <= mode <= 0o7777:
        yield Remark(
            MODE, f"the mode of {path} is not between 0 and 4095", 1, "Write the octal mode as a decimal number"
        )
    elif isinstance(mode, int) and mode in _OCTAL_LOOK:
        message = f"the mode {mode} of {path} is a decimal number, and means 0{mode:o}"
        yield Remark(MODE, message, 1, f"Write {int(str(mode), 8)} for 0{mode}")
    contents = node.get("contents")
    if kind == "files" and isinstance(contents, Mapping):
        yield from _contents_remarks(contents, path)


def _contents_remarks(contents: Mapping[str, Any], path: str) -> Iterator[Remark]:
    if contents.get("compression") not in (None, "", "gzip"):
        yield Remark(VALUE, f"the compression of {path} is not gzip", 1, "Remove it")
    digest = value_at(contents, ("verification", "hash"))
    if digest is not None and not (isinstance(digest, str) and _HASH.fullmatch(digest)):
        yield Remark(VALUE, f"the hash of {path} is not sha512-… of 128 hexadecimal digits", 1, "Correct it")
    source = contents.get("source", "")
    if not isinstance(source, str) or not source:
        return
    scheme, separator, rest = source.partition(":")
    if not separator or scheme not in _SCHEMES:
        yield Remark(
            VALUE, f"the source of {path} is not a URL that Ignition can fetch", 1, f"Use {', '.join(_SCHEMES)}"
        )
    elif scheme == "data" and (fault := _data_fault(rest)):
        yield Remark(VALUE, f"the data URL of {path} {fault}", 1, "Correct it")


def _data_fault(rest: str) -> str:
    head, comma, data = rest.partition(",")
    if not comma:
        return "has no comma"
    if _BROKEN_PERCENT.search(data):
        return "has a percent sign that is not an escape"
    if head.endswith(";base64") and decode_base64(unquote_to_bytes(data).decode("latin-1")) is None:
        return "is not base64"
    return ""


def _unit_remarks(units: Sequence[Mapping[str, Any]]) -> Iterator[Remark]:
    names: set[str] = set()
    for unit in units:
        name = unit.get("name")
        if not isinstance(name, str):
            continue
        if name in names:
            yield Remark(DUPLICATE, f"the unit {name} is duplicate", 1, "Keep one")
        names.add(name)
        if remark := unit_name_remark(name):
            yield remark
        yield from _text_remarks(unit, name)
        drop_ins = [each.get("name") for each in _entries(unit, "dropins")]
        for at, drop_in in enumerate(drop_ins):
            if drop_in in drop_ins[:at]:
                yield Remark(DUPLICATE, f"the drop-in {drop_in} of {name} is duplicate", 1, "Keep one")
            if not str(drop_in).endswith(".conf"):
                yield Remark(VALUE, f"the drop-in {drop_in} of {name} does not end in .conf", 1, "Rename it")


def _text_remarks(unit: Mapping[str, Any], name: str) -> Iterator[Remark]:
    contents = unit.get("contents")
    if isinstance(contents, str) and contents:
        yield from (_of_unit(name, each) for each in unit_remarks(contents, name, drop_in=False))
        if unit.get("enabled") and "[Install]" not in contents:
            yield Remark(VALUE, f"the unit {name} is enabled and has no [Install]", 1, "Add it")
    for drop_in in _entries(unit, "dropins"):
        if isinstance(text := drop_in.get("contents"), str):
            yield from (_of_unit(name, each) for each in unit_remarks(text, name, drop_in=True))


def _of_unit(name: str, remark: Remark) -> Remark:
    return replace(remark, message=f"in unit {name}, {remark.message}", line=1)


def _user_remarks(users: Sequence[Mapping[str, Any]]) -> Iterator[Remark]:
    names = [user.get("name") for user in users]
    for at, user in enumerate(users):
        name = names[at]
        if name in names[:at]:
            yield Remark(DUPLICATE, f"the user {name} is duplicate", 1, "Keep one")
        keys = user.get("sshAuthorizedKeys")
        for number, key in enumerate(keys if isinstance(keys, list) else [], 1):
            if isinstance(key, str) and (fault := key_fault(key)):
                yield Remark(SSH_KEY, f"SSH key {number} of user {name} {fault}", 1, "Correct or remove it")
