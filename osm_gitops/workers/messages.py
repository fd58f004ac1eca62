"""What goes through the pipes of a worker: frames of pickled messages, which are read back with care.

A worker trusts what it is sent. What it answers may have been made by whoever took it over, so an answer can hold
nothing but plain values and frozen records of this package.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from pathlib import PosixPath, PurePosixPath
from types import FunctionType
from typing import Any, Final

from osm_gitops.errors import OsmGitopsError

LENGTH: Final = struct.Struct(">Q")
"""What stands before each frame: how many bytes it has."""

LARGEST_ANSWER: Final = 256 << 20
"""Bytes. A frame beyond is no answer."""

_PACKAGE: Final = __name__.partition(".")[0]
_PLAIN: Final = {
    (each.__module__, each.__qualname__): each
    for each in (date, datetime, timedelta, timezone, PurePosixPath, PosixPath)
}


@dataclass(frozen=True, slots=True)
class Start:
    """Import these modules, then give up all rights but ``memory`` more bytes."""

    modules: tuple[str, ...]
    memory: int


@dataclass(frozen=True, slots=True)
class Request:
    """Call ``function`` with ``arguments`` within ``seconds`` of CPU time.

    The state ``series`` is its first argument where it is set; with ``makes`` the result becomes that state.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: int
    series: int = 0
    makes: bool = False


@dataclass(frozen=True, slots=True)
class Forget:
    """These states are needed no more; there is no answer."""

    series: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """A result."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised ``kind``, an error of this package, with its problems."""

    kind: str
    problems: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The function needed more memory than it may have."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The function raised something that nobody expected: its ``kind``, and the place in our code."""

    kind: str
    place: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has imported these modules, and given up its rights."""

    modules: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """``worn``: the worker has used so much memory that another should take the next call."""

    outcome: Done | Failed | OutOfMemory | Broken
    worn: bool = False


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request as it goes through a pipe, and the modules that reading it takes."""

    data: bytes
    modules: frozenset[str]
    seconds: int


def encode(request: Request) -> Encoded:
    """A request as it goes through a pipe."""
    stream = io.BytesIO()
    writer = _Writer(stream)
    writer.dump(request)
    data = stream.getvalue()
    return Encoded(LENGTH.pack(len(data)) + data, frozenset(writer.modules), request.seconds)


def frame(message: Start | Forget | Ready | Answer) -> bytes:
    """Any other message as it goes through a pipe."""
    data = pickle.dumps(message, protocol=5)
    return LENGTH.pack(len(data)) + data


class _Writer(pickle.Pickler):
    """Notes which modules have what it writes: a worker that is at work cannot import them any more."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.modules: set[str] = set()

    def persistent_id(self, obj: Any, /) -> None:
        kind = type(obj)
        module = obj.__module__ if kind is FunctionType or kind is type else kind.__module__
        self.modules.add(module)


def read_request(data: bytes) -> Start | Request | Forget:
    """A frame's content in a worker, which trusts its parent."""
    message: Start | Request | Forget = pickle.loads(data)  # noqa: S301 - from the process that started this one
    return message


def read_answer(data: bytes) -> Answer | Ready | None:
    """A frame's content in the parent; ``None`` if it is no answer that a worker of ours gives."""
    try:
        message = _Reader(io.BytesIO(data)).load()
    except Exception:  # noqa: BLE001 - made by whoever took the worker over; whatever it raises, it is no answer
        return None
    return message if isinstance(message, Answer | Ready) else None


class _Reader(pickle.Unpickler):
    """Builds plain values, and frozen records and enumerations that this process has loaded itself."""

    def find_class(self, module: str, name: str, /) -> Any:
        plain = _PLAIN.get((module, name))
        if plain is not None:
            return plain
        if module.partition(".")[0] == _PACKAGE and module in sys.modules:
            found = getattr(sys.modules[module], name, None)
            if isinstance(found, type) and found.__module__ == module and _is_record(found):
                return found
        message = f"{module}.{name} cannot be in an answer"
        raise pickle.UnpicklingError(message)


def _is_record(found: type) -> bool:
    """A frozen dataclass, an enumeration, or a class that says of itself that it is data and nothing else."""
    if is_dataclass(found):
        return bool(found.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return issubclass(found, Enum) or bool(getattr(found, "IS_DATA", False))


def error_kinds() -> dict[str, type[OsmGitopsError]]:
    """The errors of this package by name, which all are made from their problems."""
    kinds = {}
    waiting: list[type[OsmGitopsError]] = [OsmGitopsError]
    while waiting:
        kind = waiting.pop()
        kinds[kind.__name__] = kind
        waiting.extend(kind.__subclasses__())
    return kinds
