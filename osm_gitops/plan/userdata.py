"""Reading back the user-data that OSM writes: cloud-init text and Ignition JSON (osm-behaviour.md, "User-data").

This reads our own fixed layout, not YAML: OSM's text need not be valid YAML. What does not
have that layout is left whole.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.model.objects import Json

_NamedText = tuple[str, str]

# osm-behaviour.md, "cloud-init user-data", item 8: the head of a file; its content follows, indented by four blanks.
_FILE_HEAD = re.compile(
    r"\n- path: '(?P<path>[^\n]*)'\n  permissions: '(?P<mode>[^'\n]*)'(?:\n  encoding: '(?P<encoding>[^'\n]*)')?"
    r"\n  content: \|-\n"
)
_SSH_KEYS = re.compile(r"\nssh_authorized_keys:\n((?:- '[^\n]*'\n)*)")


def user_data_texts(text: str, half: str) -> list[_NamedText] | None:
    """Files, keys and the rest of a cloud-config Secret by name; ``None`` where the layout is another."""
    if text.startswith("#cloud-config"):
        return list(_cloud_init(text, half))
    if text.startswith('{"ignition"'):
        return _ignition(text, half)
    return None


def _cloud_init(text: str, half: str) -> Iterator[_NamedText]:
    table, rest, end = [], [], 0
    for head in _FILE_HEAD.finditer(text):
        if head.start() < end:
            continue  # a file's content that looks like a file's head
        rest.append(text[end : head.start()])
        content, end = _block(text, head.end())
        encoding = head["encoding"] or ""
        yield f"{half} {head['path']}", _decoded(content, encoding)
        table.append(file_line(head["path"], head["mode"], encoding))
    rest.append(text[end:])
    remaining = "\n".join(part for part in rest if part.strip())
    keys = _SSH_KEYS.search(remaining)
    if keys:
        yield f"{half} ssh keys", "".join(f"{line[3:-1]}\n" for line in keys[1].splitlines())
        remaining = remaining[: keys.start(1)] + remaining[keys.end(1) :]
    if table:
        yield f"{half} list of files", "".join(table)
    yield f"{half} cloud-init", remaining


def _block(text: str, start: int) -> tuple[str, int]:
    """The content that is indented by four blanks from ``start`` on, and where it ends."""
    end = start
    while text.startswith("    ", end):
        stop = text.find("\n", end)
        if stop < 0:
            return _dedent(text[start:]), len(text)
        end = stop + 1
    # The line break before the next entry belongs to the layout.
    return _dedent(text[start : max(start, end - 1)]), max(start, end - 1) if end > start else start


def _dedent(block: str) -> str:
    return "\n".join(line[4:] for line in block.split("\n"))


def _decoded(content: str, encoding: str) -> str:
    if encoding != "b64":
        return content
    try:
        return b64decode(content, validate=True).decode()
    except (Base64Error, ValueError):
        return content


def file_line(path: str, mode: str, encoding: str) -> str:
    """One line of a table of files, alike for a configuration and for the user-data made from it."""
    return f"{mode} {path}{f' ({encoding})' if encoding else ''}\n"


def _ignition(text: str, half: str) -> list[_NamedText] | None:
    try:
        root = parse_json(text)
        return list(_ignition_texts(root, half))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _ignition_texts(root: Json, half: str) -> Iterator[_NamedText]:
    table, unusual = [], []
    for file in root.get("storage", {}).pop("files", []):
        yield f"{half} {file['path']}", _data_url(file["contents"].pop("source"))
        table.append(file_line(file["path"], f"{file.pop('mode'):04o}", ""))
        if file != {"path": file["path"], "filesystem": "root", "contents": {"verification": {}}}:
            unusual.append(file)
    for unit in root.get("systemd", {}).pop("units", []):
        yield from _unit_texts(unit, f"{half} unit {unit.pop('name')}")
    for user in root.get("passwd", {}).get("users", []):
        yield f"{half} ssh keys", "".join(f"{key}\n" for key in user.pop("sshAuthorizedKeys", []))
    if table:
        yield f"{half} list of files", "".join(table)
    if unusual:
        root["storage"]["files"] = unusual
    yield f"{half} ignition", json.dumps(root, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _unit_texts(unit: dict[str, Json], name: str) -> Iterator[_NamedText]:
    if "contents" in unit:
        yield name, unit.pop("contents")
    for drop_in in unit.pop("dropins", []):
        yield f"{name} drop-in {drop_in['name']}", drop_in.get("contents", "")
    switches = {"enable" if key == "enabled" else key: value for key, value in unit.items()}
    if switches:
        yield f"{name} switches", "".join(f"{key}: {json.dumps(switches[key])}\n" for key in sorted(switches))


def _data_url(source: str) -> str:
    """The text of ``data:,…``; any other address stays as it is."""
    if not source.startswith("data:,"):
        return source
    try:
        return unquote_to_bytes(source[6:]).decode()
    except UnicodeDecodeError:
        return source
