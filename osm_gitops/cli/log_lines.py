"""What goes to stderr as JSON: one object a line, for whatever collects logs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, Literal

Level = Literal["debug", "info", "warning", "error"]

VARIABLE: Final = "OSM_GITOPS_LOG_FORMAT"
_FLAG: Final = re.compile(r"--?log-format(?:=(.*))?", re.DOTALL)
_OWN_KEYS: Final = ("cluster", "pool")


class LogFormat(Enum):
    """How stderr is written: lines for people, or one JSON object a line."""

    TEXT = "text"
    JSON = "json"


def wanted_format(arguments: Sequence[str], environment: Mapping[str, str]) -> LogFormat:
    """What a command line asks for, before anything else of it is understood: its own mistakes are told so too.

    A value that is none is for the parser to refuse.
    """
    found = environment.get(VARIABLE, "")
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        match = _FLAG.fullmatch(argument)
        if match is not None:
            found = match[1] if match[1] is not None else "".join(arguments[index + 1 : index + 2])
    return LogFormat.JSON if found.lower() == LogFormat.JSON.value else LogFormat.TEXT


def log_line(text: str, level: Level, fields: Mapping[str, Any], shown: Callable[[str], str]) -> str:
    """One entry: ``time``, ``level``, ``message``, where known ``cluster`` and ``pool``, and all else in ``fields``.

    In ASCII, which no terminal and no collector misreads. ``shown`` is done to every text in it.
    """
    entry: dict[str, Any] = {"time": _now(), "level": level, "message": text}
    entry |= {name: fields[name] for name in _OWN_KEYS if fields.get(name)}
    more = {name: value for name, value in fields.items() if name not in _OWN_KEYS and value}
    return json.dumps(_each(entry | ({"fields": more} if more else {}), shown))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _each(value: Any, shown: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        # Names of files may hold bytes that are no UTF-8, which JSON has no way to write.
        return shown(value).encode(errors="surrogateescape").decode(errors="replace")
    if isinstance(value, Mapping):
        return {name: _each(inner, shown) for name, inner in value.items()}
    return [_each(inner, shown) for inner in value] if isinstance(value, list | tuple) else value
