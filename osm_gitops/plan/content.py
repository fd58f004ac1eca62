"""The content of objects: files, units and keys as named texts for diffs.

Each difference between two bodies is in at least one text: other parts are shown as JSON. Equal parts are skipped.
User-data is parsed by the fixed layout of OSM's cloud-init text and Ignition JSON (osm-behaviour.md, "User-data"), not
as YAML: OSM's text need not be valid YAML. Text with another layout is not split.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TypeAlias

from osm_gitops.bounded.json_values import parse_json
from osm_gitops.gocompat.basetext import decode_base64
from osm_gitops.model.objects import LAST_APPLIED, Json
from osm_gitops.model.plan import TextChange
from osm_gitops.render.ignition import decode_data_url

# Most texts of a changed object are the same as before, so they are decoded only if they differ: what a text is made
# from, and how.
_Coded: TypeAlias = tuple[str, Callable[[str], str]]
_Content: TypeAlias = str | _Coded
_NamedText: TypeAlias = tuple[str, _Content]

# osm-behaviour.md, "cloud-init user-data", item 8: the head of a file; its content follows, indented by four blanks.
_FILE_HEAD = re.compile(
    r"\n- path: '(?P<path>[^\n]*)'\n  permissions: '(?P<mode>[^'\n]*)'(?:\n  encoding: '(?P<encoding>[^'\n]*)')?"
    r"\n  content: \|-\n"
)
_INDENTED = re.compile(r"(?:    [^\n]*+\n)*+")
_SHORT_URL = 1 << 15
_SSH_KEYS = re.compile(r"\nssh_authorized_keys:\n((?:- '[^\n]*'\n)*)")


def _user_data_texts(text: str, half: str) -> list[_NamedText] | None:
    """Files, keys and the rest of a cloud-config Secret by name; ``None`` for another layout."""
    if text.startswith("#cloud-config"):
        return list(_cloud_init(text, half))
    if text.startswith('{"ignition"'):
        return _ignition(text, half)
    return None


def _cloud_init(text: str, half: str) -> Iterator[_NamedText]:
    table, rest, end = [], [], 0
    for head in _FILE_HEAD.finditer(text):
        if head.start() < end:
            continue  # content that looks like the head of a file
        rest.append(text[end : head.start()])
        end = _end_of_block(text, head.end())
        encoding = head["encoding"] or ""
        yield f"{half} {head['path']}", (text[head.end() : end], _decoded if encoding == "b64" else _dedent)
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


def _end_of_block(text: str, start: int) -> int:
    """The end of the content that is indented by four spaces from ``start`` on."""
    lines = _INDENTED.match(text, start)
    end = lines.end() if lines else start
    if text.startswith("    ", end):
        return len(text)
    # The line break before the next entry is a part of the layout.
    return max(start, end - 1)


def _dedent(block: str) -> str:
    return f"\n{block}".replace("\n    ", "\n")[1:]


def _decoded(block: str) -> str:
    content = _dedent(block)
    decoded = _decode(content)
    return decoded if isinstance(decoded, str) else content


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
        source = file["contents"].pop("source")
        yield f"{half} {file['path']}", (_only_text(source), _data_url)
        table.append(file_line(file["path"], f"{file.pop('mode'):04o}", ""))
        if file != {"path": file["path"], "filesystem": "root", "contents": {"verification": {}}}:
            unusual.append(file)
    for unit in root.get("systemd", {}).pop("units", []):
        yield from _ignition_unit_texts(unit, f"{half} unit {unit.pop('name')}")
    for user in root.get("passwd", {}).get("users", []):
        yield f"{half} ssh keys", "".join(f"{key}\n" for key in user.pop("sshAuthorizedKeys", []))
    if table:
        yield f"{half} list of files", "".join(table)
    if unusual:
        root["storage"]["files"] = unusual
    yield f"{half} ignition", (json.dumps(root, sort_keys=True), _indented)


def _indented(text: str) -> str:
    return _readable(json.loads(text))


def _ignition_unit_texts(unit: dict[str, Json], name: str) -> Iterator[_NamedText]:
    if "contents" in unit:
        yield name, unit.pop("contents")
    for drop_in in unit.pop("dropins", []):
        yield f"{name} drop-in {drop_in['name']}", drop_in.get("contents", "")
    switches = {"enable" if key == "enabled" else key: value for key, value in unit.items()}
    if switches:
        yield f"{name} switches", "".join(f"{key}: {json.dumps(switches[key])}\n" for key in sorted(switches))


def _only_text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _data_url(source: str) -> str:
    """The text of ``data:,…``; other URLs are returned unchanged."""
    return _known_url(source) if len(source) < _SHORT_URL else _decoded_url(source)


def _decoded_url(source: str) -> str:
    if not source.startswith("data:,"):
        return source
    try:
        return decode_data_url(source)
    except UnicodeError:
        return source


# Cached, since pools of a profile share most files.
_known_url = lru_cache(maxsize=512)(_decoded_url)


# A part of a body, by its keys. Only parts that differ are split.
_Part: TypeAlias = tuple[str, ...]

_METADATA: _Part = ("metadata",)
_HALVES = {"bootstrapConfig": "bootstrap", "provisioningConfig": "provisioning"}
_DATA = frozenset({"data", "stringData"})
# Keys of Secrets with boot configuration: shown as text, with masked secrets.
BOOT_TEXTS = frozenset({"cloud-config", "fetch-bootstrap-script"})
_TAKEN_APART = frozenset({"files", "units", "userSSHKeys", "templates", "supportedContainerRuntimes"})


def changed_texts(before: Mapping[str, Json] | None, after: Mapping[str, Json] | None) -> tuple[TextChange, ...]:
    """The texts that differ between two bodies of one object, in reading order."""
    changes: list[TextChange] = []
    for part in _parts(before, after):
        sides = _value(before, part), _value(after, part)
        if part == _METADATA and all(isinstance(side, Mapping) for side in sides):
            changes.append(_metadata_change(*sides))
            continue
        old, new = _take_apart(before, part), _take_apart(after, part)
        names = dict.fromkeys([*new, *old])
        differ = [
            (name, _text(old.get(name)), _text(new.get(name))) for name in names if old.get(name) != new.get(name)
        ]
        # Texts may be made from different ones and be the same.
        found = [TextChange(name, theirs, ours) for name, theirs, ours in differ if theirs != ours]
        changes += found or [_whole(part, before, after)]
    return tuple(changes)


def _metadata_change(before: Json, after: Json) -> TextChange:
    """The fields that differ. The others do not explain them, and a fleet has as many metadata as objects."""
    old, new = (dict(_fields(_without_copies(metadata))) for metadata in (before, after))
    return TextChange("metadata", _lines(old.items() - new.items()), _lines(new.items() - old.items()))


def _lines(fields: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in sorted(fields))


def _text(content: _Content | None) -> str | None:
    if content is None or isinstance(content, str):
        return content
    made_from, decode = content
    return decode(made_from)


def _whole(part: _Part, before: Mapping[str, Json] | None, after: Mapping[str, Json] | None) -> TextChange:
    """A difference that is not in a text: white space of the layout, or bytes that are not text."""
    old, new = _value(before, part), _value(after, part)
    if part[0] in _DATA:
        old, new = decoded_data(before or {}).get(part[1]), decoded_data(after or {}).get(part[1])
        if isinstance(old, bytes) or isinstance(new, bytes):
            return TextChange(
                f"data {part[1]}", "bytes that are no text (before)\n", "bytes that are no text (after)\n"
            )
    return TextChange(" ".join(part), None if old is None else _readable(old), None if new is None else _readable(new))


def decoded_data(body: Mapping[str, Json], *, without: AbstractSet[str] = frozenset()) -> dict[str, str | bytes]:
    """A Secret's ``data`` and ``stringData``; bytes for values that are not text (or not base64). Keys of ``without``
    are left out."""
    found: dict[str, str | bytes] = {}
    for key, value in _mapping(body.get("data")).items():
        if key not in without:
            found[key] = _decode(value)
    for key, value in _mapping(body.get("stringData")).items():
        if key not in without:
            found[key] = str(value)
    return found


def _decode(value: Json) -> str | bytes:
    raw = decode_base64(str(value))
    if raw is None:
        return str(value).encode()
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


class _Texts:
    """Texts with unique names: a second text of a name gets a number."""

    def __init__(self) -> None:
        self.texts: dict[str, _Content] = {}

    def add(self, name: str, text: _Content) -> None:
        unique, number = name, 1
        while unique in self.texts:
            number += 1
            unique = f"{name} ({number})"
        self.texts[unique] = text


def _parts(before: Mapping[str, Json] | None, after: Mapping[str, Json] | None) -> Iterator[_Part]:
    old, new = before or {}, after or {}
    for key in sorted({*old, *new}):
        if key in old and key in new and old[key] == new[key]:
            continue
        if key != "spec" and key not in _DATA:
            yield (key,)
            continue
        old_inner, new_inner = _mapping(old.get(key)), _mapping(new.get(key))
        for inner in sorted({*old_inner, *new_inner}):
            if inner not in old_inner or inner not in new_inner or old_inner[inner] != new_inner[inner]:
                yield (key, inner)


def _value(body: Mapping[str, Json] | None, part: _Part) -> Json:
    value: Json = body
    for key in part:
        value = _mapping(value).get(key)
    return value


def _take_apart(body: Mapping[str, Json] | None, part: _Part) -> dict[str, _Content]:
    texts = _Texts()
    value = _value(body, part)
    if body is None or value is None:
        return {}
    if part[0] in _DATA:
        _secret_texts(texts, body, part[1])
    elif part[0] == "spec" and part[1] in _HALVES and isinstance(value, Mapping):
        _half_texts(texts, _HALVES[part[1]], value)
    elif part == _METADATA:
        texts.add("metadata", _flat(_without_copies(value)))
    else:
        texts.add(part[-1], _readable(value))
    return texts.texts


def _without_copies(metadata: Json) -> Json:
    """Metadata without the content of kubectl's copy of the object, which has all its secrets."""
    annotations = dict(_mapping(_mapping(metadata).get("annotations")))
    if LAST_APPLIED in annotations:
        annotations[LAST_APPLIED] = "(not shown)"
    return {**_mapping(metadata), **({"annotations": annotations} if annotations else {})}


def _secret_texts(texts: _Texts, body: Mapping[str, Json], key: str) -> None:
    value = decoded_data(body)[key]
    if isinstance(value, bytes):
        texts.add(f"data {key}", f"{len(value)} bytes that are no text\n")
        return
    name = str(_mapping(body.get("metadata")).get("name", ""))
    half = next((half for half in _HALVES.values() if name.endswith(f"-{half}-config")), "")
    inside = _user_data_texts(value, half) if key == "cloud-config" and half else None
    for inner, text in inside if inside is not None else [(f"data {key}", value)]:
        texts.add(inner, text)


def _half_texts(texts: _Texts, half: str, value: Mapping[str, Json]) -> None:
    _file_texts(texts, half, value.get("files"))
    _unit_texts(texts, half, value.get("units"))
    if "userSSHKeys" in value:
        texts.add(f"{half} ssh keys", "".join(f"{key}\n" for key in _sequence(value["userSSHKeys"])))
    _template_texts(texts, half, value.get("templates"))
    for runtime in _sequence(value.get("supportedContainerRuntimes")):
        inner = f"{half} {_mapping(runtime).get('name', '')}"
        _file_texts(texts, inner, _mapping(runtime).get("files"))
        _template_texts(texts, inner, _mapping(runtime).get("templates"))
    rest = {key: inner for key, inner in value.items() if key not in _TAKEN_APART}
    for key in sorted(rest):
        texts.add(f"{half} {key}", _readable(rest[key]))


def _file_texts(texts: _Texts, half: str, files: Json) -> None:
    table = []
    for file in _sequence(files):
        inline = _mapping(_mapping(_mapping(file).get("content")).get("inline"))
        path = str(_mapping(file).get("path", ""))
        texts.add(f"{half} {path}", str(inline.get("data", "")))
        digits = str(_mapping(file).get("permissions", ""))
        mode = f"0{digits}" if len(digits) == 3 else digits
        table.append(file_line(path, mode, str(inline.get("encoding", ""))))
    if table:
        texts.add(f"{half} list of files", "".join(table))


def _unit_texts(texts: _Texts, half: str, units: Json) -> None:
    for unit in _sequence(units):
        fields = _mapping(unit)
        name = f"{half} unit {fields.get('name', '')}"
        if "content" in fields:
            texts.add(name, str(fields["content"]))
        for drop_in in _sequence(fields.get("dropIns")):
            texts.add(f"{name} drop-in {_mapping(drop_in).get('name', '')}", str(_mapping(drop_in).get("content", "")))
        switches = {key: value for key, value in fields.items() if key not in {"name", "content", "dropIns"}}
        if switches:
            texts.add(f"{name} switches", _flat(switches))


def _template_texts(texts: _Texts, half: str, templates: Json) -> None:
    for name, text in sorted(_mapping(templates).items()):
        texts.add(f"{half} template {name}", str(text))


def _flat(value: Json) -> str:
    """Nested maps as ``a.b: value`` lines."""
    return _lines(_fields(value))


def _fields(value: Json, prefix: str = "") -> Iterator[tuple[str, str]]:
    if not isinstance(value, Mapping):
        yield prefix, value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        return
    for key, inner in value.items():
        yield from _fields(inner, f"{prefix}.{key}" if prefix else key)


def _readable(value: Json) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _mapping(value: Json) -> Mapping[str, Json]:
    # Fast path: isinstance() of an abstract class is slow.
    return value if value.__class__ is dict or isinstance(value, Mapping) else {}


def _sequence(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()
